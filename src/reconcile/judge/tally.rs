//! What was found in one partition of a group, and the row that it makes.

use std::collections::BTreeMap;

use super::same::Parts;
use crate::reconcile::difference::{Difference, Kind, MadeBy};
use crate::reconcile::line::Line;

/// How often something happened, and where first.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    count: u64,
    source_offset: Option<i64>,
    target_offset: Option<i64>,
    made_by: Option<MadeBy>,
}

/// Everything that was found in one partition of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    found: [Found; Kind::ALL.len()],
    /// In which parts the changed records differ, all together.
    parts: Parts,
    /// How many went where.
    moved: BTreeMap<i32, u64>,
    /// How many are doubles of another partition's record.
    duplicated: BTreeMap<i32, u64>,
    /// A remark on all records of one kind.
    remark: Option<(Kind, String)>,
}

impl Tally {
    /// Notes one record; the one that comes first, on the source if it is there, stands for its kind.
    pub(super) fn note(
        &mut self,
        kind: Kind,
        source: Option<&Line>,
        target: Option<&Line>,
        made_by: Option<MadeBy>,
    ) {
        let offset = |line: Option<&Line>| line.map(|line| line.offset);
        self.note_at(kind, offset(source), offset(target), made_by);
    }

    /// [`Tally::note`] by offsets.
    pub(super) fn note_at(
        &mut self,
        kind: Kind,
        source_offset: Option<i64>,
        target_offset: Option<i64>,
        made_by: Option<MadeBy>,
    ) {
        // A double or an extra is a record of the target; the source offset is only its original's.
        let place = |found: &Found| match kind {
            Kind::Duplicated | Kind::Extra => found.target_offset,
            _ => found.source_offset,
        };
        let new = Found { count: 1, source_offset, target_offset, made_by };
        let found = &mut self.found[kind as usize];
        if found.count == 0 || place(&new) < place(found) {
            *found = Found { count: found.count, ..new };
        }
        found.count += 1;
    }

    /// Notes that `source` was changed to `target`.
    pub(super) fn changed(&mut self, source: &Line, target: &Line, made_by: Option<MadeBy>) {
        self.parts = self.parts | Parts::of(source, target);
        self.note(Kind::Changed, Some(source), Some(target), made_by);
    }

    /// Notes that `source` is in partition `to` of the target, as `target`.
    pub(super) fn moved(&mut self, source: &Line, to: i32, target: &Line, made_by: Option<MadeBy>) {
        *self.moved.entry(to).or_default() += 1;
        self.note(Kind::Moved, Some(source), Some(target), made_by);
    }

    /// Notes that `target` is a double of a record of partition `of` of the source.
    pub(super) fn duplicated_from(&mut self, of: i32, target: &Line, made_by: Option<MadeBy>) {
        *self.duplicated.entry(of).or_default() += 1;
        self.note(Kind::Duplicated, None, Some(target), made_by);
    }

    /// Sets the number of records of a kind, where it was not noted one by one.
    pub(super) fn count(&mut self, kind: Kind, count: u64) {
        self.found[kind as usize].count = count;
    }

    /// Sets the number of moved records, where they were not noted one by one.
    pub(super) fn count_moved(&mut self, to: i32, count: u64) {
        self.moved = BTreeMap::from([(to, count)]);
        self.count(Kind::Moved, count);
    }

    /// Adds a remark in brackets to the number of a kind.
    pub(super) fn remark(&mut self, kind: Kind, remark: String) {
        self.remark = Some((kind, remark));
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.found.iter().all(|found| found.count == 0)
    }

    /// The row, if anything was found: the gravest kind gives its name, offsets and maker.
    pub(super) fn difference(
        &self,
        partition: i32,
        source_records: u64,
        target_records: u64,
    ) -> Option<Difference> {
        let kind = Kind::ALL.into_iter().find(|kind| self.found[*kind as usize].count > 0)?;
        let Found { source_offset, target_offset, made_by, .. } = self.found[kind as usize];
        Some(Difference {
            partition,
            kind,
            detail: self.detail(),
            source_records,
            target_records,
            source_offset,
            target_offset,
            made_by,
        })
    }

    fn detail(&self) -> String {
        let mut words = Vec::new();
        for kind in Kind::ALL {
            let count = self.found[kind as usize].count;
            let parts = self.parts.to_string();
            let elsewhere = match kind {
                Kind::Moved => Some((&self.moved, "to")),
                Kind::Duplicated => Some((&self.duplicated, "from")),
                _ => None,
            };
            let here = count - elsewhere.map_or(0, |(places, _)| places.values().sum::<u64>());
            if here > 0 && kind == Kind::Changed && !parts.is_empty() {
                words.push(format!("{here} {kind} ({parts})"));
            } else if here > 0 {
                words.push(format!("{here} {kind}"));
            }
            if let Some((places, word)) = elsewhere {
                let each = |(place, n)| format!("{n} {kind} {word} partition {place}");
                words.extend(places.iter().map(each));
            }
            if let (Some((of, remark)), Some(last)) = (&self.remark, words.last_mut())
                && *of == kind
                && count > 0
            {
                *last = format!("{last} ({remark})");
            }
        }
        words.join(", ")
    }
}
