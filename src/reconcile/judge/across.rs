//! Between the partitions of a group: records that moved, and doubles of what is elsewhere.

use std::collections::HashMap;
use std::hash::Hash;

use super::counts;
use super::matching::{Left, Matched};
use super::pairing::meet;
use super::same::{timeless, unwritable};
use super::tally::Tally;
use super::witness::Witness;
use crate::reconcile::difference::Kind;
use crate::reconcile::line::Line;

/// A leftover of the source and its partition's index.
type Gone = (u32, Left);
/// A leftover of the target and its partition's index; those behind the range come last.
type Come = (bool, u32, Left);

/// A source record without an equal in its partition, that has one in another: it moved. The row is the
/// source partition's. Equals in one partition are matched already, so the partitions always differ.
pub(super) fn moved(found: &mut [Matched<'_>], tallies: &mut [Tally], witness: Witness) {
    let (mut gone, mut come): (Vec<Gone>, Vec<Come>) = (Vec::new(), Vec::new());
    for (partition, matched) in (0u32..).zip(found.iter()) {
        gone.extend(matched.source.iter().map(|left| (partition, *left)));
        come.extend(matched.target.iter().map(|left| (false, partition, *left)));
        let late = |line: &u32| (true, partition, Left { line: *line, slot: 0 });
        come.extend(matched.late.iter().map(late));
    }
    if found.len() < 2 || gone.is_empty() || come.is_empty() {
        return;
    }
    let source = |(at, left): Gone| found[at as usize].source_line(left.line);
    let target = |(_, to, left): Come| found[to as usize].target_line(left.line);
    let mut pairs = Vec::new();
    let digests = (|item| Some(source(item).digest), |item| Some(target(item).digest));
    meet(&mut gone, &mut come, digests.0, digests.1, |from, to| pairs.push((from, to)));
    let timed = pairs.len();
    let timeless = (|item| unwritable(source(item)), |item| Some(timeless(target(item))));
    meet(&mut gone, &mut come, timeless.0, timeless.1, |from, to| pairs.push((from, to)));

    for (number, (from, to)) in pairs.into_iter().enumerate() {
        let (source, target) = (source_of(found, from), target_of(found, to));
        let partition = found[to.1 as usize].lines.partition;
        tallies[from.0 as usize].moved(source, partition, target, witness.wrote(target));
        found[from.0 as usize].untimed += u64::from(number >= timed);
        found[to.1 as usize].received = true;
    }
    for matched in found.iter_mut() {
        matched.source.clear();
        matched.target.clear();
    }
    for (at, left) in gone {
        found[at as usize].source.push(left);
    }
    for (_, to, left) in come.into_iter().filter(|(late, ..)| !late) {
        found[to as usize].target.push(left);
    }
}

fn source_of<'a>(found: &[Matched<'a>], (at, left): Gone) -> &'a Line {
    found[at as usize].source_line(left.line)
}

fn target_of<'a>(found: &[Matched<'a>], (_, to, left): Come) -> &'a Line {
    found[to as usize].target_line(left.line)
}

/// The original of a double: the first in its own partition, else one in another.
#[derive(Debug, Clone, Copy, Default)]
struct Original {
    own: Option<u32>,
    other: Option<u32>,
}

/// A target record without an equal that is free, but with one that is matched already: a double. The
/// original is looked for in the same partition first.
pub(super) fn duplicated(found: &mut [Matched<'_>], tallies: &mut [Tally], witness: Witness) {
    if found.iter().all(|matched| matched.target.is_empty()) {
        return;
    }
    let by_digest = originals(found, |line| line.digest, |line| Some(line.digest));
    let by_parts = originals(found, timeless, unwritable);
    for (partition, (matched, tally)) in (0u32..).zip(found.iter_mut().zip(tallies)) {
        let lines = matched.lines;
        let source = &lines.source;
        let partitions = &by_digest.1;
        matched.target.retain(|left| {
            let target = &lines.target[left.line as usize];
            let original = [
                by_digest.0.get(&(partition, target.digest)),
                by_parts.0.get(&(partition, timeless(target))),
            ];
            let made_by = witness.wrote(target);
            let own =
                original.iter().find_map(|original| original.and_then(|original| original.own));
            let other =
                original.iter().find_map(|original| original.and_then(|original| original.other));
            match (own, other) {
                (Some(at), _) => {
                    tally.note(Kind::Duplicated, source.get(at as usize), Some(target), made_by)
                }
                (None, Some(of)) => tally.duplicated_from(partitions[of as usize], target, made_by),
                (None, None) => return true,
            }
            false
        });
    }
}

/// For each leftover of the target (by partition and key) its original, and the partitions' numbers.
fn originals<K: Eq + Hash + Copy>(
    found: &[Matched<'_>],
    target_key: impl Fn(&Line) -> K,
    source_key: impl Fn(&Line) -> Option<K>,
) -> (HashMap<(u32, K), Original>, Vec<i32>) {
    let mut originals: HashMap<(u32, K), Original> = HashMap::new();
    let mut wanted: HashMap<K, Vec<u32>> = HashMap::new();
    for (partition, matched) in (0u32..).zip(found) {
        for left in &matched.target {
            let key = target_key(matched.target_line(left.line));
            if originals.insert((partition, key), Original::default()).is_none() {
                wanted.entry(key).or_default().push(partition);
            }
        }
    }
    for (partition, matched) in (0u32..).zip(found) {
        for (at, line) in (0u32..).zip(&matched.lines.source).filter(|(_, line)| counts(line)) {
            let Some(key) = source_key(line) else { continue };
            for by in wanted.get(&key).into_iter().flatten() {
                let original = originals.entry((*by, key)).or_default();
                let place = if *by == partition { &mut original.own } else { &mut original.other };
                place.get_or_insert(if *by == partition { at } else { partition });
            }
        }
    }
    (originals, found.iter().map(|matched| matched.lines.partition).collect())
}
