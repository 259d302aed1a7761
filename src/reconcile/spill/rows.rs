//! The rows of the fold. Most keys of a large topic have one record, so a row of one has no room for more;
//! a key of many has another kind of row. Both hold all that is touched when the key's next record comes.

use super::arena::Arena;
use super::chunks::Chunks;
use super::name::Name;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Place, Seen};

/// A record digest of which rows can be packed: a `u128` would pad them.
#[derive(Debug, Clone, Copy)]
struct Halves([u64; 2]);

impl Halves {
    fn of(digest: u128) -> Self {
        Self([digest as u64, (digest >> 64) as u64])
    }

    fn whole(self) -> u128 {
        u128::from(self.0[0]) | u128::from(self.0[1]) << 64
    }
}

/// A key with one claimed record: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct One {
    /// The key.
    pub name: Name,
    digest: Halves,
    offset: i64,
    /// Where a long key begins in the arena.
    pub start: u32,
    tombstone: bool,
}

impl One {
    /// Of a claimed record.
    pub fn of(name: &Name, start: u32, seen: &Seen) -> Self {
        let (offset, tombstone) = (seen.offset, seen.tombstone);
        Self { name: *name, digest: Halves::of(seen.digest.0), offset, start, tombstone }
    }

    /// Its manifest.
    pub fn manifest(&self) -> Manifest {
        let mut manifest = Manifest::default();
        manifest.push(Seen {
            offset: self.offset,
            digest: RecordDigest(self.digest.whole()),
            tombstone: self.tombstone,
            place: Place::Claimed,
        });
        manifest
    }
}

/// What only few keys have: a manifest's `foreign`, `first_foreign` and `beyond`.
#[derive(Debug, Clone, Copy)]
pub struct Rare {
    foreign: u64,
    first_foreign: i64,
    beyond: u64,
}

/// Place among the rare that says: there is none.
const NONE: u32 = u32::MAX;

/// The last claimed record of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    None,
    Value,
    Tombstone,
}

/// A key with any number of records: two cache lines, of the pair that processors fetch together.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub struct Many {
    /// The key.
    pub name: Name,
    sequence: SequenceDigest,
    /// Where a long key begins in the arena.
    pub start: u32,
    /// Place among the rare.
    rare: u32,
    sum: Halves,
    digest: Halves,
    first_offset: i64,
    last_offset: i64,
    tombstones: u64,
    last: Last,
}

impl Many {
    /// A key with nothing but claimed records.
    pub fn of(name: &Name, start: u32, claimed: &Manifest) -> Self {
        debug_assert!(claimed.foreign == 0 && claimed.beyond == 0);
        let mut many = Self {
            name: *name,
            sequence: SequenceDigest::EMPTY,
            start,
            rare: NONE,
            sum: Halves::of(0),
            digest: Halves::of(0),
            first_offset: -1,
            last_offset: -1,
            tombstones: 0,
            last: Last::None,
        };
        many.set(claimed);
        many
    }

    /// The fields of its manifest that belong to claimed records.
    #[inline]
    fn claimed(&self) -> Manifest {
        let digest = RecordDigest(self.digest.whole());
        Manifest {
            sequence: self.sequence,
            sum: self.sum.whole(),
            tombstones: self.tombstones,
            last: match self.last {
                Last::None => None,
                Last::Value => Some((digest, false)),
                Last::Tombstone => Some((digest, true)),
            },
            first_offset: self.first_offset,
            last_offset: self.last_offset,
            ..Manifest::default()
        }
    }

    #[inline]
    fn set(&mut self, claimed: &Manifest) {
        self.sequence = claimed.sequence;
        self.sum = Halves::of(claimed.sum);
        self.tombstones = claimed.tombstones;
        self.digest = Halves::of(claimed.last.map_or(0, |(digest, _)| digest.0));
        self.last = match claimed.last {
            None => Last::None,
            Some((_, false)) => Last::Value,
            Some((_, true)) => Last::Tombstone,
        };
        self.first_offset = claimed.first_offset;
        self.last_offset = claimed.last_offset;
    }

    /// Adds the key's next claimed record.
    #[inline]
    pub fn push(&mut self, seen: Seen) {
        debug_assert_eq!(seen.place, Place::Claimed);
        let mut claimed = self.claimed();
        claimed.push(seen);
        self.set(&claimed);
    }

    /// Whether a record that is not claimed takes a place among the rare.
    pub fn is_common(&self) -> bool {
        self.rare == NONE
    }

    /// Adds the key's next record, one that is not claimed.
    pub fn push_rare(&mut self, seen: Seen, all: &mut Chunks<Rare>) {
        debug_assert_ne!(seen.place, Place::Claimed);
        if self.rare == NONE {
            self.rare = all.push(Rare { foreign: 0, first_foreign: -1, beyond: 0 }) as u32;
        }
        let mut manifest = self.manifest(all);
        manifest.push(seen);
        let Manifest { foreign, first_foreign, beyond, .. } = manifest;
        *all.get_mut(self.rare as usize) = Rare { foreign, first_foreign, beyond };
    }

    /// Its manifest.
    pub fn manifest(&self, all: &Chunks<Rare>) -> Manifest {
        let claimed = self.claimed();
        if self.rare == NONE {
            return claimed;
        }
        let Rare { foreign, first_foreign, beyond } = *all.get(self.rare as usize);
        Manifest { foreign, first_foreign, beyond, ..claimed }
    }

    /// Reads something of each of its cache lines.
    pub fn touch(&self) -> u64 {
        self.sequence.count ^ self.tombstones
    }
}

/// A row of either kind.
pub trait Row {
    /// The key.
    fn at<'a>(&'a self, keys: &'a Arena) -> KeyAt<'a>;
}

impl Row for One {
    fn at<'a>(&'a self, keys: &'a Arena) -> KeyAt<'a> {
        self.name.at(self.start, keys)
    }
}

impl Row for Many {
    fn at<'a>(&'a self, keys: &'a Arena) -> KeyAt<'a> {
        self.name.at(self.start, keys)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_are_whole_cache_lines() {
        assert_eq!((size_of::<One>(), align_of::<One>()), (64, 64));
        assert_eq!((size_of::<Many>(), align_of::<Many>()), (128, 128));
    }

    fn records() -> impl Strategy<Value = Vec<Seen>> {
        let place = prop_oneof![Just(Place::Claimed), Just(Place::Foreign), Just(Place::Beyond)];
        prop::collection::vec((any::<u128>(), any::<bool>(), place), 0..9).prop_map(|records| {
            let seen = |(offset, (digest, tombstone, place))| Seen {
                offset,
                digest: RecordDigest(digest),
                tombstone,
                place,
            };
            (3..).zip(records).map(seen).collect()
        })
    }

    proptest! {
        #[test]
        fn a_row_of_many_is_its_manifest(records in records()) {
            let name = Name::of(KeyAt { topic: 0, key: None, partition: 0 });
            let mut rare = Chunks::new(64);
            let mut row = Many::of(&name, 0, &Manifest::default());
            let mut manifest = Manifest::default();
            for seen in records {
                manifest.push(seen);
                if seen.place == Place::Claimed {
                    row.push(seen);
                } else {
                    row.push_rare(seen, &mut rare);
                }
                prop_assert_eq!(row.manifest(&rare), manifest);
            }
        }

        #[test]
        fn a_row_of_one_is_its_manifest(
            digest in any::<u128>(),
            tombstone in any::<bool>(),
            offset in 0i64..,
        ) {
            let name = Name::of(KeyAt { topic: 0, key: None, partition: 0 });
            let digest = RecordDigest(digest);
            let seen = Seen { offset, digest, tombstone, place: Place::Claimed };
            let mut manifest = Manifest::default();
            manifest.push(seen);
            prop_assert_eq!(One::of(&name, 0, &seen).manifest(), manifest);
        }
    }
}
