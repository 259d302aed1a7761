//! Where two long sequences differ, from digests of stretches of them. Pure.
//!
//! A stretch ends behind a record whose own digest says so (content-defined chunking, as in rsync's and
//! LBFS's descendants), so that a record that is missing or added on one side shifts nothing: the
//! stretches behind it are the same on both sides again.

use std::collections::HashMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::digest::{RecordDigest, SequenceDigest};

/// How much longer than the mean a stretch may become: equal records have no end of their own.
const LONGEST: u64 = 16;
/// What part of the mean it has at least: equal records may all be an end.
const SHORTEST: u64 = 4;

/// A stretch of one side's records of a key in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Of its records.
    pub content: SequenceDigest,
    /// Of what stands for them.
    pub sequence: SequenceDigest,
    /// Offset of its first record.
    pub first: i64,
    /// Offset of its last record.
    pub last: i64,
}

/// Cuts a sequence into stretches as it is read.
#[derive(Debug)]
pub struct Chunker {
    mask: u128,
    shortest: u64,
    longest: u64,
    chunks: Vec<Chunk>,
    open: bool,
}

impl Chunker {
    /// Stretches of about `mean` records: a power of two.
    pub fn new(mean: u64) -> Self {
        let mean = mean.max(1).next_power_of_two();
        Self {
            mask: u128::from(mean - 1),
            shortest: mean / SHORTEST,
            longest: mean.saturating_mul(LONGEST),
            chunks: Vec::new(),
            open: false,
        }
    }

    /// Adds the next record. What stands for it in the stretch's digest is `as_what`; where the stretch
    /// ends depends on its own digest alone.
    pub fn push(&mut self, offset: i64, digest: RecordDigest, as_what: RecordDigest) {
        if !self.open {
            let sequence = SequenceDigest::EMPTY;
            let (content, first, last) = (sequence, offset, offset);
            self.chunks.push(Chunk { content, sequence, first, last });
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.content.push(digest);
        chunk.sequence.push(as_what);
        chunk.last = offset;
        let (count, ends) = (chunk.sequence.count, digest.0 & self.mask == 0);
        self.open = count < self.shortest || !ends && count < self.longest;
    }

    /// All stretches, in order.
    pub fn finish(self) -> Vec<Chunk> {
        self.chunks
    }
}

/// What stands for a record where the ledger says which target record is the copy of which source record:
/// only a copy is like its original, and another writer's record like nothing. `source_offset` is that of
/// the original.
pub fn with_origin(digest: RecordDigest, source_offset: Option<i64>) -> RecordDigest {
    let offset = source_offset.unwrap_or(-1).to_le_bytes();
    RecordDigest(xxh3_128(&[&digest.0.to_le_bytes()[..], &offset].concat()))
}

/// Offsets of one side that must be looked at one by one, in order, and at most how many records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlike {
    /// Half-open, disjoint, ascending.
    pub ranges: Vec<Range<i64>>,
    /// Records in them.
    pub records: u64,
}

impl Unlike {
    /// Whether the record at this offset is among them.
    pub fn contains(&self, offset: i64) -> bool {
        let behind = self.ranges.partition_point(|range| range.end <= offset);
        self.ranges.get(behind).is_some_and(|range| range.start <= offset)
    }

    /// From the first to behind the last.
    pub fn span(&self) -> Option<Range<i64>> {
        Some(self.ranges.first()?.start..self.ranges.last()?.end)
    }

    /// The stretches of one side that have no equal, and the last records of those before them.
    fn of(chunks: &[Chunk], likeness: &[Likeness]) -> Self {
        let mut unlike = Self::default();
        for (chunk, likeness) in chunks.iter().zip(likeness) {
            let (start, records) = match likeness {
                Likeness::Equal => continue,
                Likeness::Neighbour => (chunk.last, 1),
                Likeness::None => (chunk.first, chunk.sequence.count),
            };
            unlike.records += records;
            unlike.ranges.push(start..chunk.last + 1);
        }
        unlike
    }
}

/// What a stretch has on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    None,
    /// Its equal; and on one of the sides the stretch behind it has none. Its last record, which is on both
    /// sides, tells where that one stands.
    Neighbour,
    /// Its equal.
    Equal,
}

/// What of both sides does not lie in equal stretches that stand in the same order.
pub fn unlike(source: &[Chunk], target: &[Chunk]) -> [Unlike; 2] {
    let [of_source, of_target] = likeness(source, target);
    [Unlike::of(source, &of_source), Unlike::of(target, &of_target)]
}

fn likeness(source: &[Chunk], target: &[Chunk]) -> [Vec<Likeness>; 2] {
    // The first place at which the sides differ is to be seen, whatever order the rest is in.
    let equal = |(at, to): &(&Chunk, &Chunk)| at.content == to.content;
    let head = source.iter().zip(target).take_while(equal).count();
    let of_head = (0..head).filter(|at| source[*at].sequence == target[*at].sequence);
    let mut pairs: Vec<(usize, usize)> = of_head.map(|at| (at, at)).collect();

    let mut places: HashMap<SequenceDigest, Vec<usize>> = HashMap::new();
    for (to, chunk) in target.iter().enumerate().skip(head).rev() {
        places.entry(chunk.sequence).or_default().push(to);
    }
    // The first with the first, and so on: lists were filled from the end.
    let meet = |(at, chunk): (usize, &Chunk)| {
        places.get_mut(&chunk.sequence).and_then(Vec::pop).map(|to| (at, to))
    };
    let met: Vec<(usize, usize)> = source.iter().enumerate().skip(head).filter_map(meet).collect();
    let rising = rising(&met).into_iter();
    pairs.extend(rising.filter(|(at, to)| *at != head && *to != head));

    let mut of_source = vec![Likeness::None; source.len()];
    let mut of_target = vec![Likeness::None; target.len()];
    for (at, to) in &pairs {
        (of_source[*at], of_target[*to]) = (Likeness::Equal, Likeness::Equal);
    }
    for (at, to) in pairs {
        let next = [of_source.get(at + 1), of_target.get(to + 1)];
        if next.contains(&Some(&Likeness::None)) {
            (of_source[at], of_target[to]) = (Likeness::Neighbour, Likeness::Neighbour);
        }
    }
    [of_source, of_target]
}

/// A longest selection of `pairs`, whose first numbers rise, in which the second ones rise as well
/// (patience sorting).
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (index, (_, to)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < *to);
        before[index] = pile.checked_sub(1).map(|left| piles[left]);
        match piles.get_mut(pile) {
            Some(top) => *top = index,
            None => piles.push(index),
        }
    }
    let mut chosen = Vec::with_capacity(piles.len());
    let mut next = piles.last().copied();
    while let Some(index) = next {
        chosen.push(pairs[index]);
        next = before[index];
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunks(records: &[u64], mean: u64) -> Vec<Chunk> {
        let mut chunker = Chunker::new(mean);
        for (offset, record) in (0..).zip(records) {
            let digest = RecordDigest(xxh3_128(&record.to_le_bytes()));
            chunker.push(offset, digest, digest);
        }
        chunker.finish()
    }

    fn sides(source: &[u64], target: &[u64], mean: u64) -> [Unlike; 2] {
        unlike(&chunks(source, mean), &chunks(target, mean))
    }

    #[test]
    fn of_a_million_records_without_one_only_its_neighbourhood_is_unlike() {
        let source: Vec<u64> = (0..1_000_000).collect();
        let mut target = source.clone();
        target.remove(400_000);
        let [of_source, of_target] = sides(&source, &target, 256);
        assert!(of_source.contains(400_000));
        let records = of_source.records + of_target.records;
        assert!(records > 0 && records < 4 * 256 * LONGEST, "{records}");
        assert!(of_source.span().is_some_and(|span| span.end - span.start < 5_000));
    }

    #[test]
    fn equal_records_come_to_an_end_as_well() {
        let cut = chunks(&[7; 10_000], 16);
        let longest = cut.iter().map(|chunk| chunk.sequence.count).max();
        assert!(longest <= Some(16 * LONGEST), "{longest:?}");
        assert_eq!(cut.iter().map(|chunk| chunk.sequence.count).sum::<u64>(), 10_000);
    }

    proptest! {
        #[test]
        fn what_is_not_unlike_is_equal_and_in_order(
            records in prop::collection::vec(0u64..40, 0..200),
            edits in prop::collection::vec((0u8..3, any::<prop::sample::Index>(), 0u64..40), 0..6),
            mean in 1u64..9,
        ) {
            let mut target = records.clone();
            for (edit, at, with) in edits {
                let at = at.index(target.len() + 1);
                match edit {
                    0 => target.insert(at, with),
                    1 if at < target.len() => drop(target.remove(at)),
                    2 if at < target.len() => target[at] = with,
                    _ => {}
                }
            }
            let cut = [chunks(&records, mean), chunks(&target, mean)];
            let likeness = likeness(&cut[0], &cut[1]);
            let kept = |side: usize| -> Vec<SequenceDigest> {
                let both = cut[side].iter().zip(&likeness[side]);
                both.filter(|(_, like)| **like != Likeness::None).map(|(chunk, _)| chunk.sequence).collect()
            };
            prop_assert_eq!(kept(0), kept(1));
            let unlike = unlike(&cut[0], &cut[1]);
            for side in [0, 1] {
                for (chunk, like) in cut[side].iter().zip(&likeness[side]) {
                    let seen = (chunk.first..=chunk.last).filter(|at| unlike[side].contains(*at)).count();
                    let expected = match like {
                        Likeness::None => chunk.sequence.count as usize,
                        Likeness::Neighbour => 1,
                        Likeness::Equal => 0,
                    };
                    prop_assert_eq!(seen, expected);
                }
                let all: i64 = unlike[side].ranges.iter().map(|range| range.end - range.start).sum();
                prop_assert_eq!(all as u64, unlike[side].records);
            }
            prop_assert_eq!(unlike.iter().all(|unlike| unlike.records == 0), records == target);
        }
    }
}
