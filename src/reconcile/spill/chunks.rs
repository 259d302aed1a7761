//! Rows that lie one behind the other, in chunks: growing copies nothing.

use super::arena::CHUNK_OVERHEAD;

/// A growing list of rows. Every chunk has the same number of rows, a power of two. Clearing keeps the
/// memory.
pub struct Chunks<R> {
    chunks: Vec<Vec<R>>,
    len: usize,
    shift: u32,
}

impl<R> Chunks<R> {
    /// Chunks of at most `chunk_bytes`, but of one row at least.
    pub fn new(chunk_bytes: usize) -> Self {
        let rows = (chunk_bytes / size_of::<R>()).max(1);
        Self { chunks: Vec::new(), len: 0, shift: rows.ilog2() }
    }

    fn chunk_cost(&self) -> usize {
        (size_of::<R>() << self.shift) + CHUNK_OVERHEAD
    }

    fn used(&self) -> usize {
        self.len.div_ceil(1 << self.shift)
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * self.chunk_cost()
    }

    /// Bytes that would be allocated for one more row.
    pub fn cost(&self) -> usize {
        if self.len < self.chunks.len() << self.shift { 0 } else { self.chunk_cost() }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a row; its number.
    pub fn push(&mut self, row: R) -> usize {
        let chunk = self.len >> self.shift;
        if chunk == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(1 << self.shift));
        }
        self.chunks[chunk].push(row);
        self.len += 1;
        self.len - 1
    }

    /// Takes a row out; the last one takes its number.
    pub fn swap_remove(&mut self, row: usize) -> R {
        self.len -= 1;
        let last = self.chunks[self.len >> self.shift].pop().expect("the last row is there");
        if row == self.len { last } else { std::mem::replace(self.get_mut(row), last) }
    }

    /// The row with this number.
    pub fn get(&self, row: usize) -> &R {
        &self.chunks[row >> self.shift][row & ((1 << self.shift) - 1)]
    }

    /// The row with this number.
    pub fn get_mut(&mut self, row: usize) -> &mut R {
        &mut self.chunks[row >> self.shift][row & ((1 << self.shift) - 1)]
    }

    /// The row with this number, if there is one.
    pub fn find_mut(&mut self, row: usize) -> Option<&mut R> {
        self.chunks.get_mut(row >> self.shift)?.get_mut(row & ((1 << self.shift) - 1))
    }

    /// All chunks that hold rows.
    pub fn chunks(&self) -> &[Vec<R>] {
        &self.chunks[..self.used()]
    }

    /// The same.
    pub fn chunks_mut(&mut self) -> &mut [Vec<R>] {
        let used = self.used();
        &mut self.chunks[..used]
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.chunks.iter_mut().for_each(Vec::clear);
        self.len = 0;
    }

    /// Gives back chunks that hold nothing.
    pub fn release(&mut self) {
        self.chunks.truncate(self.used());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_every_byte_is_announced() {
        let mut rows = Chunks::new(64);
        for _ in 0..2 {
            for n in 0..100u64 {
                let (before, cost) = (rows.bytes(), rows.cost());
                assert_eq!(rows.push(n), n as usize);
                assert_eq!(rows.bytes(), before + cost);
            }
            assert!((0..100).all(|n| *rows.get(n) == n as u64));
            assert_eq!(rows.chunks().iter().flatten().count(), 100);
            assert_eq!((rows.swap_remove(3), *rows.get(3)), (3, 99));
            assert_eq!((rows.swap_remove(98), rows.len()), (98, 98));
            assert_eq!((rows.find_mut(97).copied(), rows.find_mut(98)), (Some(97), None));
            assert_eq!((rows.push(5), *rows.get(98), *rows.get(97)), (98, 5, 97));
            rows.clear();
            assert_eq!(rows.cost(), 0);
        }
        rows.release();
        assert_eq!(rows.bytes(), 0);
    }
}
