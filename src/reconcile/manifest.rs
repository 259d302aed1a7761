//! What one side holds of one key: the manifest's line, and how records fold into it.

use crate::digest::{RecordDigest, SequenceDigest};

/// What a record that was read is to the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the range that is proved. On the target, with a ledger: named by a run.
    Claimed,
    /// On the target, with a ledger: a committed record that no run names.
    Foreign,
    /// Behind the range that is proved: says only that the key has moved on since.
    Beyond,
}

/// One record as a manifest sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its offset on its own side.
    pub offset: i64,
    /// Its digest.
    pub digest: RecordDigest,
    /// Whether its value is null.
    pub tombstone: bool,
    /// What it is to the proof.
    pub place: Place,
}

/// Everything that one side holds of one key in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manifest {
    /// Digest of the claimed records in their order; its count is the number of claimed records.
    pub sequence: SequenceDigest,
    /// Sum of the claimed records' digests modulo 2^128: equal for equal multisets.
    pub sum: u128,
    /// Claimed records whose value is null.
    pub tombstones: u64,
    /// The last claimed record, and whether its value is null.
    pub last: Option<(RecordDigest, bool)>,
    /// Offset of the first claimed record, −1 without one.
    pub first_offset: i64,
    /// Offset of the last claimed record, −1 without one.
    pub last_offset: i64,
    /// Records that no run names.
    pub foreign: u64,
    /// Offset of the first of them, −1 without one.
    pub first_foreign: i64,
    /// Records behind the range that is proved.
    pub beyond: u64,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            sequence: SequenceDigest::EMPTY,
            sum: 0,
            tombstones: 0,
            last: None,
            first_offset: -1,
            last_offset: -1,
            foreign: 0,
            first_foreign: -1,
            beyond: 0,
        }
    }
}

impl Manifest {
    /// Claimed records.
    pub fn records(&self) -> u64 {
        self.sequence.count
    }

    /// Adds the key's next record; offsets rise.
    #[inline]
    pub fn push(&mut self, seen: Seen) {
        match seen.place {
            Place::Claimed => {
                self.sequence.push(seen.digest);
                self.sum = self.sum.wrapping_add(seen.digest.0);
                self.tombstones += u64::from(seen.tombstone);
                self.last = Some((seen.digest, seen.tombstone));
                if self.first_offset < 0 {
                    self.first_offset = seen.offset;
                }
                self.last_offset = seen.offset;
            }
            Place::Foreign => {
                self.foreign += 1;
                if self.first_foreign < 0 {
                    self.first_foreign = seen.offset;
                }
            }
            Place::Beyond => self.beyond += 1,
        }
    }

    /// Adds what was read of the same key after all of this.
    pub fn absorb(&mut self, later: &Manifest) {
        self.sequence = self.sequence.compose(later.sequence);
        self.sum = self.sum.wrapping_add(later.sum);
        self.tombstones += later.tombstones;
        self.last = later.last.or(self.last);
        if self.first_offset < 0 {
            self.first_offset = later.first_offset;
        }
        if later.last_offset >= 0 {
            self.last_offset = later.last_offset;
        }
        self.foreign += later.foreign;
        if self.first_foreign < 0 {
            self.first_foreign = later.first_foreign;
        }
        self.beyond += later.beyond;
    }
}

/// What both sides hold of one key in one partition; at least one side has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionPair {
    /// Source partition; target records of another writer count to the partition of the same number.
    pub partition: i32,
    /// `None` where the source has no record of the key.
    pub source: Option<Manifest>,
    /// `None` where the target has no record of the key.
    pub target: Option<Manifest>,
}

impl PartitionPair {
    /// Both sides, an empty manifest where there is none.
    pub fn sides(&self) -> (Manifest, Manifest) {
        (self.source.unwrap_or_default(), self.target.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen() -> impl Strategy<Value = Vec<Seen>> {
        let place = prop_oneof![Just(Place::Claimed), Just(Place::Foreign), Just(Place::Beyond)];
        prop::collection::vec((any::<u128>(), any::<bool>(), place), 0..12).prop_map(|records| {
            let seen = |(offset, (digest, tombstone, place))| Seen {
                offset,
                digest: RecordDigest(digest),
                tombstone,
                place,
            };
            (3..).zip(records).map(seen).collect()
        })
    }

    fn of(records: &[Seen]) -> Manifest {
        let mut manifest = Manifest::default();
        records.iter().for_each(|record| manifest.push(*record));
        manifest
    }

    proptest! {
        #[test]
        fn a_manifest_of_a_whole_is_put_together_from_its_pieces(
            records in seen(), cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(records.len() + 1);
            let mut whole = of(&records[..cut]);
            whole.absorb(&of(&records[cut..]));
            prop_assert_eq!(whole, of(&records));
        }
    }
}
