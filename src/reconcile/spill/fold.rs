//! The table that folds records into one manifest per key.

use std::cmp::Ordering;
use std::hint::black_box;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::arena::Arena;
use super::chunks::Chunks;
use super::table::{Full, Table, chunk_shift};
use crate::digest::RecordDigest;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Place, Seen};

/// Key length that stands for no key.
const NO_KEY: u32 = u32::MAX;

/// Index slot that names no row.
const EMPTY: u64 = u64::MAX;

/// Slots of the smallest index.
const SMALLEST_INDEX: usize = 16;

/// What a row holds. Most keys of a large topic have one record, so a row has room for one; what is
/// more than that lies in a list of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One claimed record: `digest`, and its offset in `word`.
    One,
    /// The same, and its value is null.
    Tombstone,
    /// The manifest whose number is in `word`.
    Many,
}

/// 48 bytes.
struct Row {
    /// Low and high half of the record digest: two halves, because a `u128` would make it 64 bytes.
    digest: [u64; 2],
    word: u64,
    key_start: u32,
    key_len: u32,
    topic: u32,
    partition: i32,
    hash: u32,
    shape: Shape,
}

impl Row {
    fn at<'a>(&self, keys: &'a Arena) -> KeyAt<'a> {
        let key = (self.key_len != NO_KEY).then(|| keys.get(self.key_start, self.key_len as usize));
        KeyAt { topic: self.topic, key, partition: self.partition }
    }

    fn only(&self, tombstone: bool) -> Manifest {
        let digest = u128::from(self.digest[0]) | u128::from(self.digest[1]) << 64;
        let digest = RecordDigest(digest);
        let mut manifest = Manifest::default();
        let offset = self.word as i64;
        manifest.push(Seen { offset, digest, tombstone, place: Place::Claimed });
        manifest
    }

    fn manifest(&self, many: &Chunks<Manifest>) -> Manifest {
        match self.shape {
            Shape::One => self.only(false),
            Shape::Tombstone => self.only(true),
            Shape::Many => *many.get(self.word as usize),
        }
    }
}

/// A hash table with open addressing over rows that never move.
pub struct FoldTable {
    keys: Arena,
    rows: Chunks<Row>,
    many: Chunks<Manifest>,
    /// Hash of the key in the high half, number of the row in the low half. Its length is a power of
    /// two; it is rebuilt from the rows, so that old and new never exist at once.
    index: Vec<u64>,
    budget: usize,
}

impl FoldTable {
    /// Folds one record into its key's manifest; nothing has changed if the table is full. `hash` is
    /// [`hash`] of `at`.
    pub fn push(&mut self, at: KeyAt<'_>, hash: u32, seen: Seen) -> Result<(), Full> {
        let mut slot = self.slot(hash);
        while let Some(&entry) = self.index.get(slot) {
            if entry == EMPTY {
                break;
            }
            let row = entry as u32 as usize;
            if (entry >> 32) as u32 == hash && self.rows.get(row).at(&self.keys) == at {
                return self.push_to(row, seen);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
        self.insert(at, hash, seen)
    }

    /// Touches what looking these keys up will touch, all of them at each step.
    pub fn warm_for(&self, hashes: impl Iterator<Item = u32> + Clone) {
        let entry = |hash| self.index.get(self.slot(hash)).copied().filter(|entry| *entry != EMPTY);
        black_box(hashes.clone().filter_map(entry).fold(0, |all, entry| all ^ entry));
        let row = |hash| entry(hash).map(|entry| self.rows.get(entry as u32 as usize));
        black_box(hashes.clone().filter_map(row).fold(0, |all, row| all ^ row.word));
        for row in hashes.filter_map(row) {
            black_box(row.at(&self.keys).key.and_then(<[u8]>::first));
            if row.shape == Shape::Many {
                let manifest = self.many.get(row.word as usize);
                black_box((manifest.sequence.count, manifest.last_offset, manifest.beyond));
            }
        }
    }

    fn push_to(&mut self, row: usize, seen: Seen) -> Result<(), Full> {
        if self.rows.get(row).shape != Shape::Many {
            self.afford(self.many.cost(), |table| table.many.cost())?;
            let manifest = self.rows.get(row).manifest(&self.many);
            let word = self.many.push(manifest) as u64;
            let row = self.rows.get_mut(row);
            (row.shape, row.word) = (Shape::Many, word);
        }
        let word = self.rows.get(row).word;
        self.many.get_mut(word as usize).push(seen);
        Ok(())
    }

    fn insert(&mut self, at: KeyAt<'_>, hash: u32, seen: Seen) -> Result<(), Full> {
        let key = at.key.unwrap_or_default();
        let alone = seen.place == Place::Claimed;
        let cost = |table: &Self| {
            let many = if alone { 0 } else { table.many.cost() };
            Some(table.keys.cost(key.len())? + table.rows.cost() + many + table.index_cost())
        };
        // No address or no row number left is as good as no memory left; neither happens to an
        // empty table.
        let total = cost(self).filter(|_| self.rows.len() < EMPTY as u32 as usize).ok_or(Full)?;
        self.afford(total, |table| cost(table).unwrap_or(usize::MAX))?;
        self.grow_index();
        self.keys.make(key.len());
        let key_start = self.keys.put(key);
        let (shape, word) = match (seen.place, seen.tombstone) {
            (Place::Claimed, false) => (Shape::One, seen.offset as u64),
            (Place::Claimed, true) => (Shape::Tombstone, seen.offset as u64),
            _ => {
                let mut manifest = Manifest::default();
                manifest.push(seen);
                (Shape::Many, self.many.push(manifest) as u64)
            }
        };
        let row = self.rows.push(Row {
            digest: [seen.digest.0 as u64, (seen.digest.0 >> 64) as u64],
            word,
            key_start,
            key_len: if at.key.is_some() { key.len() as u32 } else { NO_KEY },
            topic: at.topic,
            partition: at.partition,
            hash,
            shape,
        });
        self.enter(hash, row);
        Ok(())
    }

    /// Whether `cost` more bytes are within the budget, after unused memory was given back if need be
    /// (memory that the rows before a clear left may be of the wrong kind for those after it).
    fn afford(&mut self, cost: usize, again: impl Fn(&Self) -> usize) -> Result<(), Full> {
        if cost == 0 || self.bytes() + cost <= self.budget {
            return Ok(());
        }
        self.keys.release();
        self.rows.release();
        self.many.release();
        let cost = again(self);
        let fits = self.bytes().saturating_add(cost) <= self.budget || self.rows.len() == 0;
        if fits { Ok(()) } else { Err(Full) }
    }

    /// Three quarters of the slots may be taken.
    fn index_is_full(&self) -> bool {
        self.rows.len() >= self.index.len() / 4 * 3
    }

    fn index_cost(&self) -> usize {
        if self.index_is_full() {
            self.index.len().max(SMALLEST_INDEX) * size_of::<u64>()
        } else {
            0
        }
    }

    fn grow_index(&mut self) {
        if self.index_is_full() {
            let slots = (self.index.len() * 2).max(SMALLEST_INDEX);
            self.index = Vec::new(); // Given back before the new one is taken.
            self.index = vec![EMPTY; slots];
            for row in 0..self.rows.len() {
                let hash = self.rows.get(row).hash;
                self.enter(hash, row);
            }
        }
    }

    fn slot(&self, hash: u32) -> usize {
        hash as usize & self.index.len().wrapping_sub(1)
    }

    fn enter(&mut self, hash: u32, row: usize) {
        let mut slot = self.slot(hash);
        while self.index[slot] != EMPTY {
            slot = (slot + 1) & (self.index.len() - 1);
        }
        self.index[slot] = u64::from(hash) << 32 | row as u64;
    }
}

/// What a key is found by.
pub fn hash(at: KeyAt<'_>) -> u32 {
    let place = u64::from(at.topic) << 32 | u64::from(at.partition as u32);
    let seed = if at.key.is_some() { place } else { !place };
    xxh3_64_with_seed(at.key.unwrap_or_default(), seed) as u32
}

impl Table for FoldTable {
    type Payload = Manifest;

    fn new(budget: usize) -> Self {
        let shift = chunk_shift(budget);
        Self {
            keys: Arena::new(shift),
            rows: Chunks::new(1 << shift),
            many: Chunks::new(1 << shift),
            index: Vec::new(),
            budget,
        }
    }

    fn bytes(&self) -> usize {
        let index = self.index.len() * size_of::<u64>();
        self.keys.bytes() + self.rows.bytes() + self.many.bytes() + index
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn sort(&mut self) {
        let order = |a: &Row, b: &Row| -> Ordering { a.at(&self.keys).cmp(&b.at(&self.keys)) };
        self.rows.chunks_mut().iter_mut().for_each(|chunk| chunk.sort_unstable_by(order));
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
        self.many.clear();
        self.index.fill(EMPTY);
    }

    fn seal(&mut self) {
        self.index = Vec::new();
        self.keys.release();
        self.rows.release();
        self.many.release();
    }

    fn chunks(&self) -> usize {
        self.rows.chunks().len()
    }

    fn at(&self, chunk: usize, row: usize) -> Option<KeyAt<'_>> {
        self.rows.chunks()[chunk].get(row).map(|row| row.at(&self.keys))
    }

    fn warm(&self, chunk: usize, rows: Range<usize>) {
        let mut touched = 0;
        for row in self.rows.chunks()[chunk].iter().take(rows.end).skip(rows.start) {
            touched ^= row.at(&self.keys).key.and_then(|key| key.first()).copied().unwrap_or(0);
            if row.shape == Shape::Many {
                let manifest = self.many.get(row.word as usize);
                touched ^= (manifest.sum ^ u128::from(manifest.beyond)) as u8;
            }
        }
        black_box(touched);
    }

    fn payload(&self, chunk: usize, row: usize) -> Manifest {
        self.rows.chunks()[chunk][row].manifest(&self.many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_48_bytes() {
        assert_eq!(size_of::<Row>(), 48);
    }

    #[test]
    fn a_table_whose_keys_change_in_length_still_fills_its_budget() {
        let mut table = FoldTable::new(1 << 16);
        let seen = |offset| Seen {
            offset,
            digest: RecordDigest(1),
            tombstone: false,
            place: Place::Claimed,
        };
        let mut fill = |len: usize| {
            table.clear();
            for offset in 0i64.. {
                let mut key = vec![0; len];
                key[..8].copy_from_slice(&offset.to_le_bytes());
                let at = KeyAt { topic: 0, key: Some(&key), partition: 0 };
                if table.push(at, hash(at), seen(offset)).is_err() {
                    return (table.bytes(), table.len());
                }
            }
            unreachable!("a table is full some time")
        };
        let (_, fresh) = fill(8);
        let (bytes, long) = fill(900);
        assert!(bytes <= 1 << 16 && long > 40, "{long} rows in {bytes} bytes");
        assert_eq!(fill(8).1, fresh);
    }
}
