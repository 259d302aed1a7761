//! What one side of a partition came to, whatever its keys: the line in `partitions.csv`.

use crate::digest::{RecordDigest, SequenceDigest};
use crate::reconcile::manifest::Place;

/// Gaps that are kept one by one; of a log with more of them the whole is read again.
const GAPS: usize = 10_000;

/// Counts of one side of a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records that were compared; on the target those of other writers too.
    pub records: u64,
    /// Those of them whose value is null.
    pub tombstones: u64,
    /// Their digest, in order.
    pub digest: SequenceDigest,
    /// Bytes of keys, values and headers read.
    pub bytes: u64,
    /// Records read, compared or not.
    pub read: u64,
    /// Records that do not count, because the other side no longer holds theirs.
    pub expired: u64,
    /// Records that no run names.
    pub foreign: u64,
    /// Offset of the last record that counts.
    pub last: Option<i64>,
    /// Offsets without a visible record, between `from` and `to`.
    pub gaps: Gaps,
}

/// Stretches of offsets without a visible record: markers, aborted records, what compaction took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Half-open, in order.
    pub list: Vec<(i64, i64)>,
    /// There were more: then they are one, from the first to the last.
    overflown: bool,
    next: i64,
}

impl Gaps {
    /// Nothing seen yet of a range that begins at `from`.
    pub fn starting_at(from: i64) -> Self {
        Self { next: from, ..Self::default() }
    }

    /// A record is visible at `offset`, or the range ends there.
    pub fn seen(&mut self, offset: i64, shortest: i64) {
        if offset - self.next >= shortest {
            if self.list.len() < GAPS && !self.overflown {
                self.list.push((self.next, offset));
            } else {
                let first = self.list.first().map_or(self.next, |gap| gap.0);
                self.list.clear();
                self.list.push((first, offset));
                self.overflown = true;
            }
        }
        self.next = self.next.max(offset + 1);
    }
}

impl Tally {
    /// A record that was read; `place` is `None` where it does not count.
    pub fn take(
        &mut self,
        offset: i64,
        place: Option<Place>,
        digest: RecordDigest,
        tombstone: bool,
        bytes: usize,
    ) {
        self.read += 1;
        self.bytes += bytes as u64;
        match place {
            None => self.expired += 1,
            Some(Place::Beyond) => {}
            Some(place) => {
                self.records += 1;
                self.tombstones += u64::from(tombstone);
                self.foreign += u64::from(place == Place::Foreign);
                self.digest.push(digest);
                self.last = Some(offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_no_record_was_seen_at() {
        let mut gaps = Gaps::starting_at(5);
        for offset in [5, 6, 8, 12, 20] {
            gaps.seen(offset, 1);
        }
        assert_eq!(gaps.list, [(7, 8), (9, 12), (13, 20)]);
        let mut longer = Gaps::starting_at(5);
        for offset in [5, 6, 8, 12, 20] {
            longer.seen(offset, 2);
        }
        assert_eq!(longer.list, [(9, 12), (13, 20)]);
    }

    #[test]
    fn too_many_gaps_become_one() {
        let mut gaps = Gaps::starting_at(0);
        (1..=10_100).for_each(|n| gaps.seen(2 * n, 1));
        assert_eq!(gaps.list, [(0, 20_200)]);
    }
}
