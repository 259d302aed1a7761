//! The table that folds records into one manifest per key.

use std::hint::black_box;
use std::ops::Range;

use super::arena::Arena;
use super::chunks::Chunks;
use super::index::Index;
use super::name::Name;
use super::rows::{Many, One, Rare, Row};
use super::table::{Full, Table, chunk_shift};
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Place, Seen};

/// Bit of a row's number that says: a row of many.
const MANY: u32 = 1 << 31;

/// The row that a key seems to have: one with its hash.
#[derive(Debug, Clone, Copy)]
pub struct Guess(u32);

impl Guess {
    /// Nothing is known.
    pub const NONE: Self = Self(u32::MAX);

    fn many(self) -> Option<usize> {
        (self.0 & MANY != 0 && self.0 != Self::NONE.0).then_some((self.0 & !MANY) as usize)
    }
}

/// A hash table with open addressing over rows of two kinds. A known key of many records costs a look at
/// its slot and one at its row.
pub struct FoldTable {
    ones: Chunks<One>,
    manys: Chunks<Many>,
    rare: Chunks<Rare>,
    /// Keys that are too long for a name.
    keys: Arena,
    index: Index,
    budget: usize,
}

impl FoldTable {
    /// Folds one record into its key's manifest; nothing has changed if the table is full. `long` are the
    /// bytes of a key that is longer than its name, `guess` what [`FoldTable::warm_for`] said about it.
    pub fn push(&mut self, name: &Name, long: &[u8], seen: Seen, guess: Guess) -> Result<(), Full> {
        if let Some(many) = guess.many().and_then(|many| self.manys.find_mut(many))
            && seen.place == Place::Claimed
            && long.is_empty()
            && many.name == *name
        {
            many.push(seen);
            return Ok(());
        }
        match self.find(name, long) {
            None => self.insert(name, long, seen),
            Some((_, row)) if row & MANY != 0 => self.push_to_many(row & !MANY, seen),
            Some((slot, row)) => {
                self.afford(|table| Some(table.manys.cost() + table.rare_cost(seen.place)))?;
                let many = self.promote(slot, row);
                self.push_to_many(many, seen)
            }
        }
    }

    /// Touches what looking these keys up will touch, all of them at each step: loads that do not wait for
    /// each other take little more time than one. Says where each of them seems to be.
    pub fn warm_for<'n>(
        &self,
        names: impl Iterator<Item = &'n Name> + Clone,
        guesses: &mut Vec<Guess>,
    ) {
        black_box(names.clone().fold(0, |all, name| all ^ self.index.home(name.hash)));
        guesses.clear();
        let row = |name: &Name| self.index.candidates(name.hash).next().map(|(_, row)| row);
        guesses.extend(names.clone().map(|name| row(name).map_or(Guess::NONE, Guess)));
        // By itself: the fewer instructions between two loads, the more of them are on their way at once.
        let touch = |guess: &Guess| match guess.many() {
            Some(many) => self.manys.get(many).touch(),
            None if guess.0 < MANY => u64::from(self.ones.get(guess.0 as usize).start),
            None => 0,
        };
        black_box(guesses.iter().fold(0, |all, guess| all ^ touch(guess)));
        for (name, guess) in names.zip(&*guesses) {
            if name.long().is_some() && guess.0 != Guess::NONE.0 {
                black_box(self.name_at(guess.0).1.key.and_then(|key| key.last()));
            }
        }
    }

    fn name_at(&self, row: u32) -> (&Name, KeyAt<'_>) {
        if row & MANY == 0 {
            let one = self.ones.get(row as usize);
            (&one.name, one.at(&self.keys))
        } else {
            let many = self.manys.get((row & !MANY) as usize);
            (&many.name, many.at(&self.keys))
        }
    }

    fn find(&self, name: &Name, long: &[u8]) -> Option<(usize, u32)> {
        let is_it = |row: u32| {
            let (found, at) = self.name_at(row);
            found == name && (long.is_empty() || at.key == Some(long))
        };
        self.index.candidates(name.hash).find(|(_, row)| is_it(*row))
    }

    fn push_to_many(&mut self, many: u32, seen: Seen) -> Result<(), Full> {
        if seen.place == Place::Claimed {
            self.manys.get_mut(many as usize).push(seen);
            return Ok(());
        }
        if self.manys.get(many as usize).is_common() {
            self.afford(|table| Some(table.rare.cost()))?;
        }
        self.manys.get_mut(many as usize).push_rare(seen, &mut self.rare);
        Ok(())
    }

    /// Makes a row of one, named in `slot`, a row of many; its number. The last row of one takes its place.
    fn promote(&mut self, slot: usize, row: u32) -> u32 {
        let last = self.ones.len() as u32 - 1;
        if row != last {
            let hash = self.ones.get(last as usize).name.hash;
            let of_last = self.index.candidates(hash).find(|(_, row)| *row == last);
            let (of_last, _) = of_last.expect("each row is in the index");
            self.index.set(of_last, hash, row);
        }
        let one = self.ones.swap_remove(row as usize);
        let many = self.manys.push(Many::of(&one.name, one.start, &one.manifest())) as u32;
        self.index.set(slot, one.name.hash, many | MANY);
        many
    }

    fn insert(&mut self, name: &Name, long: &[u8], seen: Seen) -> Result<(), Full> {
        let alone = seen.place == Place::Claimed;
        // No address or no row number left is as good as no memory left; neither happens to an
        // empty table.
        self.afford(|table| {
            let row = if alone {
                table.ones.cost()
            } else {
                table.manys.cost() + table.rare_cost(seen.place)
            };
            let numbered = table.len() < (MANY - 1) as usize;
            numbered.then_some(table.keys.cost(long.len())? + row + table.index_cost())
        })?;
        self.grow_index();
        let start = if long.is_empty() {
            0
        } else {
            self.keys.make(long.len());
            self.keys.put(long)
        };
        let row = if alone {
            self.ones.push(One::of(name, start, &seen)) as u32
        } else {
            let mut many = Many::of(name, start, &Manifest::default());
            many.push_rare(seen, &mut self.rare);
            self.manys.push(many) as u32 | MANY
        };
        self.index.enter(name.hash, row);
        Ok(())
    }

    fn rare_cost(&self, place: Place) -> usize {
        if place == Place::Claimed { 0 } else { self.rare.cost() }
    }

    /// Whether that many more bytes are within the budget, after unused memory was given back if need be
    /// (memory that the rows before a clear left may be of the wrong kind for those after it). `None`
    /// never is.
    fn afford(&mut self, cost: impl Fn(&Self) -> Option<usize>) -> Result<(), Full> {
        let fits = |table: &Self| {
            let cost = cost(table)?;
            Some(cost == 0 || table.bytes() + cost <= table.budget)
        };
        if fits(self) == Some(true) {
            return Ok(());
        }
        self.release();
        if fits(self) == Some(true) || self.len() == 0 { Ok(()) } else { Err(Full) }
    }

    fn release(&mut self) {
        self.keys.release();
        self.ones.release();
        self.manys.release();
        self.rare.release();
    }

    fn index_cost(&self) -> usize {
        if self.index.is_full(self.len()) { self.index.growth() } else { 0 }
    }

    fn grow_index(&mut self) {
        if self.index.is_full(self.len()) {
            self.index.grow();
            for row in 0..self.ones.len() as u32 {
                self.index.enter(self.ones.get(row as usize).name.hash, row);
            }
            for row in 0..self.manys.len() as u32 {
                self.index.enter(self.manys.get(row as usize).name.hash, row | MANY);
            }
        }
    }
}

/// Sorts each chunk by key.
fn sort<R: Row>(rows: &mut Chunks<R>, keys: &Arena) {
    for chunk in rows.chunks_mut() {
        chunk.sort_unstable_by(|a, b| a.at(keys).cmp(&b.at(keys)));
    }
}

/// Touches the end of the keys of some rows, if they are not in the rows themselves.
fn touch<R: Row>(rows: &[R], range: Range<usize>, keys: &Arena) {
    for row in rows.iter().take(range.end).skip(range.start) {
        black_box(row.at(keys).key.and_then(|key| key.first()));
    }
}

impl Table for FoldTable {
    type Payload = Manifest;

    fn new(budget: usize) -> Self {
        let shift = chunk_shift(budget);
        Self {
            ones: Chunks::new(1 << shift),
            manys: Chunks::new(1 << shift),
            rare: Chunks::new(1 << shift),
            keys: Arena::new(shift),
            index: Index::default(),
            budget,
        }
    }

    fn bytes(&self) -> usize {
        let rows = self.ones.bytes() + self.manys.bytes() + self.rare.bytes();
        self.keys.bytes() + rows + self.index.bytes()
    }

    fn len(&self) -> usize {
        self.ones.len() + self.manys.len()
    }

    fn sort(&mut self) {
        sort(&mut self.ones, &self.keys);
        sort(&mut self.manys, &self.keys);
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.ones.clear();
        self.manys.clear();
        self.rare.clear();
        self.index.clear();
    }

    fn seal(&mut self) {
        self.index.release();
        self.release();
    }

    fn chunks(&self) -> usize {
        self.ones.chunks().len() + self.manys.chunks().len()
    }

    fn at(&self, chunk: usize, row: usize) -> Option<KeyAt<'_>> {
        let ones = self.ones.chunks();
        match ones.get(chunk) {
            Some(ones) => ones.get(row).map(|row| row.at(&self.keys)),
            None => self.manys.chunks()[chunk - ones.len()].get(row).map(|row| row.at(&self.keys)),
        }
    }

    fn warm(&self, chunk: usize, rows: Range<usize>) {
        let ones = self.ones.chunks();
        match ones.get(chunk) {
            Some(ones) => touch(ones, rows, &self.keys),
            None => touch(&self.manys.chunks()[chunk - ones.len()], rows, &self.keys),
        }
    }

    fn payload(&self, chunk: usize, row: usize) -> Manifest {
        let ones = self.ones.chunks();
        match ones.get(chunk) {
            Some(ones) => ones[row].manifest(),
            None => self.manys.chunks()[chunk - ones.len()][row].manifest(&self.rare),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::RecordDigest;

    fn seen(offset: i64) -> Seen {
        Seen { offset, digest: RecordDigest(1), tombstone: false, place: Place::Claimed }
    }

    #[test]
    fn a_table_whose_keys_change_in_length_still_fills_its_budget() {
        let mut table = FoldTable::new(1 << 16);
        let mut fill = |len: usize| {
            table.clear();
            for offset in 0i64.. {
                let mut key = vec![0; len];
                key[..8].copy_from_slice(&offset.to_le_bytes());
                let name = Name::of(KeyAt { topic: 0, key: Some(&key), partition: 0 });
                let long = if name.long().is_some() { &key[..] } else { &[] };
                if table.push(&name, long, seen(offset), Guess::NONE).is_err() {
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

    #[test]
    fn a_row_that_takes_the_place_of_another_is_found_there() {
        let mut table = FoldTable::new(1 << 20);
        let names: Vec<Name> = (0..1_000u32)
            .map(|n| Name::of(KeyAt { topic: 0, key: Some(&n.to_le_bytes()), partition: 0 }))
            .collect();
        let mut expected = vec![0u64; names.len()];
        // Second records come in another order than the first ones, and some keys never have one.
        let order = (0..1_000).chain((0..900).map(|n| n * 7 % 1_000)).chain(0..500);
        for (offset, key) in (0..).zip(order) {
            // A wrong guess changes nothing.
            let guess = Guess((offset as u32 % 7) | MANY);
            assert_eq!(table.push(&names[key], &[], seen(offset), guess), Ok(()));
            expected[key] += 1;
        }
        let counted: Vec<u64> = names
            .iter()
            .map(|name| match table.find(name, &[]) {
                Some((_, row)) if row & MANY != 0 => {
                    table.manys.get((row & !MANY) as usize).manifest(&table.rare).records()
                }
                Some(_) => 1,
                None => 0,
            })
            .collect();
        assert_eq!(counted, expected);
        assert_eq!(table.len(), names.len());
    }
}
