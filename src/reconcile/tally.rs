//! What one side of a partition came to, whatever its keys: the line in `partitions.csv`.

use super::manifest::{Place, Seen};
use crate::digest::SequenceDigest;

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

/// Offsets without a visible record (markers, aborted records, what compaction took): where they begin
/// and end, and what is visible in between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// From the beginning of the first gap to the end of the last one.
    pub range: Option<(i64, i64)>,
    /// Visible records in that range.
    pub inside: u64,
    /// Visible records behind it.
    since: u64,
    next: i64,
}

impl Gaps {
    /// Nothing seen yet of a range that begins at `from`.
    pub fn starting_at(from: i64) -> Self {
        Self { next: from, ..Self::default() }
    }

    /// A record is visible at `offset`. Gaps that are shorter than `shortest` do not count.
    pub fn visible(&mut self, offset: i64, shortest: i64) {
        self.end(offset, shortest);
        self.since += u64::from(self.range.is_some());
        self.next = offset + 1;
    }

    /// The range ends before `offset`.
    pub fn end(&mut self, offset: i64, shortest: i64) {
        if offset - self.next >= shortest {
            let first = self.range.map_or(self.next, |range| range.0);
            self.range = Some((first, offset));
            self.inside += std::mem::take(&mut self.since);
        }
    }
}

impl Tally {
    /// A record that was read, and does not count so far.
    pub fn read(&mut self, bytes: usize) {
        self.read += 1;
        self.bytes += bytes as u64;
    }

    /// The record that was read last counts, unless it lies beyond.
    pub fn count(&mut self, seen: &Seen) {
        if seen.place != Place::Beyond {
            self.records += 1;
            self.tombstones += u64::from(seen.tombstone);
            self.foreign += u64::from(seen.place == Place::Foreign);
            self.digest.push(seen.digest);
            self.last = Some(seen.offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(offsets: &[i64], end: i64, shortest: i64) -> (Option<(i64, i64)>, u64) {
        let mut gaps = Gaps::starting_at(5);
        offsets.iter().for_each(|offset| gaps.visible(*offset, shortest));
        gaps.end(end, shortest);
        (gaps.range, gaps.inside)
    }

    #[test]
    fn gaps_are_what_no_record_was_seen_at() {
        assert_eq!(gaps(&[5, 6, 8, 12, 20], 21, 1), (Some((7, 20)), 2));
        assert_eq!(gaps(&[5, 6, 8, 12, 20], 21, 2), (Some((9, 20)), 1));
        assert_eq!(gaps(&[5, 6, 8], 10, 2), (None, 0), "a marker between and one behind");
        assert_eq!(gaps(&[8], 11, 2), (Some((5, 11)), 1), "before the first and behind the last");
        assert_eq!(gaps(&[], 7, 2), (Some((5, 7)), 0));
    }
}
