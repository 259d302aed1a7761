//! Where the fold finds its rows: a hash index with open addressing.

/// Slot that names no row.
const EMPTY: u64 = u64::MAX;

/// Slots of the smallest index.
const SMALLEST: usize = 16;

/// Hash of the key in the high half of a slot, number of the row in the low half. Its length is a power of two.
#[derive(Default)]
pub struct Index {
    slots: Vec<u64>,
}

impl Index {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    /// Whether it has to grow before another row is entered beside `rows`: three quarters of the slots may be taken.
    #[inline]
    pub fn is_full(&self, rows: usize) -> bool {
        rows >= self.slots.len() / 4 * 3
    }

    /// Bytes that growing takes beside what it has.
    pub fn growth(&self) -> usize {
        self.slots.len().max(SMALLEST) * size_of::<u64>()
    }

    /// Twice as many slots, all of them empty: old and new never exist at once, so the rows must be entered again.
    pub fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SMALLEST);
        self.slots = Vec::new(); // Given back before the new one is taken.
        self.slots = vec![EMPTY; slots];
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.slots.fill(EMPTY);
    }

    /// Gives its memory back.
    pub fn release(&mut self) {
        self.slots = Vec::new();
    }

    /// Names a row in the first free slot for its hash.
    pub fn enter(&mut self, hash: u32, row: u32) {
        let mut slot = self.slot(hash);
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.set(slot, hash, row);
    }

    /// Lets a slot name another row with the same hash.
    pub fn set(&mut self, slot: usize, hash: u32, row: u32) {
        self.slots[slot] = u64::from(hash) << 32 | u64::from(row);
    }

    /// Slots and rows with this hash, in the order in which they are tried.
    #[inline]
    pub fn candidates(&self, hash: u32) -> impl Iterator<Item = (usize, u32)> {
        let mask = self.slots.len().wrapping_sub(1);
        let first = self.slot(hash);
        // At least a quarter of the slots is empty; an index without slots has no first one.
        (first..)
            .map(move |slot| slot & mask)
            .map_while(|slot| {
                self.slots.get(slot).filter(|entry| **entry != EMPTY).map(|entry| (slot, *entry))
            })
            .filter(move |(_, entry)| (entry >> 32) as u32 == hash)
            .map(|(slot, entry)| (slot, entry as u32))
    }

    /// What lies where looking for this hash begins: to be touched.
    #[inline]
    pub fn home(&self, hash: u32) -> u64 {
        self.slots.get(self.slot(hash)).copied().unwrap_or(EMPTY)
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        hash as usize & self.slots.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_hash_are_found_in_the_order_in_which_they_came_and_others_are_not() {
        let mut index = Index::default();
        assert_eq!(index.candidates(5).count(), 0);
        assert!(index.is_full(0));
        index.grow();
        assert!(!index.is_full(11) && index.is_full(12));
        // 5 and 21 have the same home among 16 slots, and the last slot's neighbour is the first one.
        for (hash, row) in [(5, 1), (21, 2), (5, 3), (15, 4), (31, 5)] {
            index.enter(hash, row);
        }
        let rows =
            |index: &Index, hash| index.candidates(hash).map(|(_, row)| row).collect::<Vec<_>>();
        assert_eq!(
            [5, 21, 15, 31, 6].map(|hash| rows(&index, hash)),
            [vec![1, 3], vec![2], vec![4], vec![5], vec![]]
        );
        let (slot, _) = index.candidates(21).next().expect("it was entered");
        index.set(slot, 21, 9);
        assert_eq!(rows(&index, 21), [9]);
        index.clear();
        assert_eq!(rows(&index, 5), [0; 0]);
    }
}
