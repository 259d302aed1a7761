//! Second reading where only the last record of a key counts: compacted topics.
//!
//! A tombstone equals an absent key: compaction removes it in the end, on each side at its own time. For
//! the same reason a loss is told only by the end: what lies before the last record may be gone on
//! either side. Another writer's records are named even where they change nothing.

use std::collections::HashMap;

use super::same::same;
use super::tally::Tally;
use super::witness::Witness;
use super::{Classified, PartitionLines, Rules, counts};
use crate::digest::RecordDigest;
use crate::reconcile::difference::{Kind, MadeBy};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// How the two ends of a key in one partition compare.
#[derive(Debug, Clone, Copy)]
enum Ends<'a> {
    /// Equal; whether only by a timestamp that cannot be written.
    Same { untimed: bool },
    /// The source's last record is not on the target, whose own last record is older, a tombstone or none.
    Lost { source: &'a Line, target: Option<&'a Line>, why: Why },
    /// The key has ended on the source, but not on the target.
    Kept { source: Option<&'a Line>, target: &'a Line },
    /// Both sides have a last record.
    Changed { source: &'a Line, target: &'a Line },
}

/// What the target has instead of a lost record.
#[derive(Debug, Clone, Copy)]
enum Why {
    Nothing,
    Tombstone,
    /// The source's record at that offset.
    Older(i64),
}

/// Says how the ends of a group differ.
pub(super) fn classify(rules: Rules, partitions: &[PartitionLines]) -> Classified {
    let witness = Witness::of(rules);
    let judged: Vec<&PartitionLines> =
        partitions.iter().filter(|lines| !lines.any_beyond()).collect();
    let ends: Vec<Ends<'_>> = judged.iter().map(|lines| ends(lines)).collect();
    let mut tallies = vec![Tally::default(); judged.len()];
    let mut classified = Classified {
        superseded: (partitions.len() - judged.len()) as u64,
        ..Classified::default()
    };
    let mut came = vec![false; judged.len()];
    for (at, from) in ends.iter().enumerate() {
        let Ends::Lost { source, .. } = from else { continue };
        let arrived = |(to, ends): (usize, &Ends<'_>)| match ends {
            Ends::Kept { target, .. } if !came[to] && same(source, target) => Some(to),
            _ => None,
        };
        if let Some(to) = ends.iter().enumerate().find_map(arrived)
            && let Ends::Kept { target, .. } = ends[to]
        {
            came[to] = true;
            classified.untimed += u64::from(source.digest != target.digest);
            tallies[at].moved(source, judged[to].partition, target, witness.wrote(target));
        }
    }
    for (at, lines) in judged.iter().enumerate() {
        let tally = &mut tallies[at];
        let moved = came[at] || !tally.is_empty();
        if let Ends::Same { untimed } = ends[at] {
            classified.untimed += u64::from(untimed);
        } else if !moved {
            differ(&ends[at], tally, witness);
        }
        other_writers(lines, !matches!(ends[at], Ends::Same { .. }), tally, witness);
        let records = |lines: &[Line]| lines.iter().filter(|line| counts(line)).count() as u64;
        let row = tally.difference(lines.partition, records(&lines.source), records(&lines.target));
        classified.differences.extend(row);
    }
    classified
}

fn ends(lines: &PartitionLines) -> Ends<'_> {
    let (source_last, target_last) = (lines.source.last(), lines.target.last());
    let live = |last: Option<&_>| last.is_some_and(|line: &Line| !line.tombstone);
    match (source_last, target_last) {
        (Some(source), Some(target)) if live(source_last) && live(target_last) => {
            if same(source, target) {
                return Ends::Same { untimed: source.digest != target.digest };
            }
            match older(lines, source, target) {
                Some(offset) => Ends::Lost { source, target: target_last, why: Why::Older(offset) },
                None => Ends::Changed { source, target },
            }
        }
        (Some(source), target) if live(source_last) => {
            let why = if target.is_some() { Why::Tombstone } else { Why::Nothing };
            Ends::Lost { source, target, why }
        }
        (source, Some(target)) if live(target_last) => Ends::Kept { source, target },
        _ => Ends::Same { untimed: false },
    }
}

/// Offset of the older source record that `target` is the copy of. By the ledger, if it names `target`:
/// then the older record need not be on the source any more. Else by an equal digest. What another
/// writer wrote is not the copy of anything.
fn older(lines: &PartitionLines, source: &Line, target: &Line) -> Option<i64> {
    match target.source_offset {
        _ if target.place == Place::Foreign => None,
        Some(offset) => (offset < source.offset).then_some(offset),
        None => {
            lines.source.iter().find(|line| line.digest == target.digest).map(|line| line.offset)
        }
    }
}

fn differ(ends: &Ends<'_>, tally: &mut Tally, witness: Witness) {
    let foreign = |line: &Line| line.place == Place::Foreign;
    match *ends {
        Ends::Same { .. } => {}
        Ends::Lost { source, target, why } => {
            let made_by = match target {
                Some(target) if foreign(target) => witness.says(MadeBy::Writer),
                _ => witness.lacking(source),
            };
            tally.note(Kind::Missing, Some(source), target, made_by);
            match why {
                Why::Nothing => {}
                Why::Tombstone => {
                    tally.remark(Kind::Missing, "the target's last record is a tombstone".into())
                }
                Why::Older(offset) => tally.remark(
                    Kind::Missing,
                    format!(
                        "the target's last record is the source's older one at offset {offset}"
                    ),
                ),
            }
        }
        Ends::Kept { source, target } => {
            let made_by = match source {
                Some(tombstone) if !foreign(target) => witness.lacking(tombstone),
                _ => witness.wrote(target),
            };
            tally.note(Kind::Extra, source, Some(target), made_by);
            if source.is_some() {
                tally.remark(Kind::Extra, "the source's last record is a tombstone".into());
            }
        }
        Ends::Changed { source, target } => tally.changed(source, target, witness.wrote(target)),
    }
}

/// Names every record of another writer: a double if the source or the pipe had it, else an extra. The
/// last one is left out where the row is about it already.
fn other_writers(lines: &PartitionLines, without_last: bool, tally: &mut Tally, witness: Witness) {
    let foreign = |line: &&Line| line.place == Place::Foreign;
    if !lines.target.iter().any(|line| foreign(&line)) {
        return;
    }
    let mut originals: HashMap<RecordDigest, Option<&Line>> = HashMap::new();
    for line in lines.source.iter().rev() {
        originals.insert(line.digest, Some(line));
    }
    for line in lines.target.iter().filter(|line| !foreign(line)) {
        originals.entry(line.digest).or_insert(None);
    }
    let named = lines.target.len() - usize::from(without_last && !lines.target.is_empty());
    for target in lines.target[..named].iter().filter(foreign) {
        let made_by = witness.wrote(target);
        match originals.get(&target.digest) {
            Some(source) => tally.note(Kind::Duplicated, *source, Some(target), made_by),
            None => tally.note(Kind::Extra, None, Some(target), made_by),
        }
    }
}
