//! Which records of one partition have their equal on the other side.

use super::pairing::meet;
use super::same::{same, timeless, unwritable};
use super::{PartitionLines, Rules, counts};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// A record without an equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Left {
    /// Index into its side's lines.
    pub(super) line: u32,
    /// How many records before it have an equal: two leftovers of the two sides with the same number
    /// stand between the same equal records.
    pub(super) slot: u32,
}

/// One partition of a group after matching: what is left, and how the others were matched.
#[derive(Debug)]
pub(super) struct Matched<'a> {
    pub(super) lines: &'a PartitionLines,
    /// Source records that count and have no equal.
    pub(super) source: Vec<Left>,
    /// Target records that count and have no equal.
    pub(super) target: Vec<Left>,
    /// Target records behind the range that no source record needed.
    pub(super) late: Vec<u32>,
    /// Target records behind the range that are the equal of a source record: it was in flight.
    pub(super) arrived: Vec<u32>,
    /// Pairs of the ledger that are not equal.
    pub(super) unequal: Vec<(u32, u32)>,
    /// The first source record whose equal was written by another writer, and how many such there are.
    pub(super) rewritten: Option<(u32, u32, u64)>,
    /// Records that are equal but for a timestamp that cannot be written.
    pub(super) untimed: u64,
    /// Whether a record of another partition lies here.
    pub(super) received: bool,
}

impl<'a> Matched<'a> {
    /// Matches the records of `lines`: with a ledger first by what it says, else (and then) as multisets.
    pub(super) fn of(rules: Rules, lines: &'a PartitionLines) -> Self {
        let mut matched = Self {
            lines,
            source: Vec::new(),
            target: Vec::new(),
            late: Vec::new(),
            arrived: Vec::new(),
            unequal: Vec::new(),
            rewritten: None,
            untimed: 0,
            received: false,
        };
        if rules.ledger {
            matched.by_ledger();
        } else {
            matched.by_digest();
        }
        matched
    }

    /// The source's line of that index.
    pub(super) fn source_line(&self, line: u32) -> &'a Line {
        &self.lines.source[line as usize]
    }

    /// The target's line of that index.
    pub(super) fn target_line(&self, line: u32) -> &'a Line {
        &self.lines.target[line as usize]
    }

    /// Target records that count: those in range, of other writers, and those that were in flight.
    pub(super) fn target_records(&self) -> u64 {
        (self.lines.target.iter().filter(|line| counts(line)).count() + self.arrived.len()) as u64
    }

    /// Source records that count.
    pub(super) fn source_records(&self) -> u64 {
        self.lines.source.iter().filter(|line| counts(line)).count() as u64
    }

    /// Each target record with the source record that the ledger names. What is left after that is
    /// matched as a multiset: in a copy that lost or gained a record, everything behind it has shifted.
    fn by_ledger(&mut self) {
        let PartitionLines { source, target, .. } = self.lines;
        let mut has_copy = vec![false; source.len()];
        let mut target_left = Vec::new();
        for (to, line) in numbered(target).filter(|(_, line)| counts(line)) {
            let original =
                line.source_offset.filter(|_| line.place == Place::Claimed).and_then(|offset| {
                    let at = source.partition_point(|line| line.offset < offset);
                    source
                        .get(at)
                        .filter(|line| line.offset == offset && counts(line))
                        .map(|line| (at, line))
                });
            match original {
                Some((at, original)) if !has_copy[at] && same(original, line) => {
                    has_copy[at] = true;
                    self.untimed += u64::from(original.digest != line.digest);
                }
                Some((at, _)) => {
                    self.unequal.push((at as u32, to));
                    target_left.push(to);
                }
                None => target_left.push(to),
            }
        }
        let mut source_left: Vec<u32> = numbered(source)
            .filter(|(at, line)| counts(line) && !has_copy[*at as usize])
            .map(|(at, _)| at)
            .collect();
        let mut rewritten: Option<(u32, u32, u64)> = None;
        self.untimed += meet_equals(self.lines, &mut source_left, &mut target_left, |at, to| {
            if target[to as usize].place == Place::Foreign {
                let (first, copy, count) = rewritten.unwrap_or((at, to, 0));
                let (first, copy) = (first, copy).min((at, to));
                rewritten = Some((first, copy, count + 1));
            }
        });
        self.rewritten = rewritten;
        // Both must still be without an equal, and none may be in two pairs.
        let mut taken = None;
        self.unequal.sort_unstable();
        self.unequal.retain(|(at, to)| {
            let keep = taken != Some(*at)
                && source_left.binary_search(at).is_ok()
                && target_left.binary_search(to).is_ok();
            taken = keep.then_some(*at).or(taken);
            keep
        });
        let left = |line| Left { line, slot: 0 };
        self.source = source_left.into_iter().map(left).collect();
        self.target = target_left.into_iter().map(left).collect();
    }

    /// As multisets. The equal records at the beginning and at the end are matched first, so that of
    /// several equal ones the one at the first place where the sides differ is left over.
    fn by_digest(&mut self) {
        let PartitionLines { source, target, .. } = self.lines;
        let counting = |lines: &[Line]| -> Vec<u32> {
            numbered(lines).filter(|(_, line)| counts(line)).map(|(at, _)| at).collect()
        };
        let (all_source, all_target) = (counting(source), counting(target));
        let equal = |at: &u32, to: &u32| source[*at as usize].digest == target[*to as usize].digest;
        let head = all_source.iter().zip(&all_target).take_while(|(at, to)| equal(at, to)).count();
        let (source_rest, target_rest) = (&all_source[head..], &all_target[head..]);
        let tail = (source_rest.iter().rev().zip(target_rest.iter().rev()))
            .take_while(|(at, to)| equal(at, to))
            .count();
        let mut source_left = source_rest[..source_rest.len() - tail].to_vec();
        let mut target_left = target_rest[..target_rest.len() - tail].to_vec();
        let lines = self.lines;
        self.untimed += meet_equals(lines, &mut source_left, &mut target_left, |_, _| ());

        self.late = numbered(target).filter(|(_, line)| !counts(line)).map(|(at, _)| at).collect();
        let (late, arrived) = (&mut self.late, &mut self.arrived);
        self.untimed += meet_equals(lines, &mut source_left, late, |_, to| arrived.push(to));

        self.source = slots(&all_source, source_left);
        self.target = slots(&all_target, target_left);
    }
}

/// Pairs equal records, then those that are equal but for a timestamp that cannot be written; returns
/// how many the latter are.
fn meet_equals(
    lines: &PartitionLines,
    source_left: &mut Vec<u32>,
    target_left: &mut Vec<u32>,
    mut pair: impl FnMut(u32, u32),
) -> u64 {
    let source = |at: u32| &lines.source[at as usize];
    let target = |to: u32| &lines.target[to as usize];
    let digests = (|at| Some(source(at).digest), |to| Some(target(to).digest));
    meet(source_left, target_left, digests.0, digests.1, &mut pair);
    let mut untimed = 0;
    let timeless = (|at| unwritable(source(at)), |to| Some(timeless(target(to))));
    meet(source_left, target_left, timeless.0, timeless.1, |at, to| {
        untimed += 1;
        pair(at, to);
    });
    untimed
}

/// Leftovers with the number of matched records before each; both lists ascend.
fn slots(all: &[u32], left: Vec<u32>) -> Vec<Left> {
    let slot = |(before, line): (usize, u32)| {
        let place = all.partition_point(|at| *at < line);
        Left { line, slot: (place - before) as u32 }
    };
    left.into_iter().enumerate().map(slot).collect()
}

fn numbered(lines: &[Line]) -> impl Iterator<Item = (u32, &Line)> {
    (0u32..).zip(lines)
}
