//! Bytes that lie one behind the other, in chunks: growing copies nothing.

/// What a chunk costs beside its memory: its place in the list, and its share of a sort.
pub const CHUNK_OVERHEAD: usize = 64;

/// Byte strings, addressed by where they begin. A string lies in one chunk; one that is longer than a
/// chunk has a chunk of its own size, in which no other string begins behind the usual size. Clearing
/// keeps the memory.
pub struct Arena {
    chunks: Vec<Vec<u8>>,
    /// The chunk that is being filled.
    current: usize,
    shift: u32,
    bytes: usize,
}

impl Arena {
    /// Chunks of 2^`shift` bytes.
    pub fn new(shift: u32) -> Self {
        Self { chunks: Vec::new(), current: 0, shift, bytes: 0 }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn chunk_size(&self) -> usize {
        1 << self.shift
    }

    fn fits(&self, n: usize) -> bool {
        self.chunks.get(self.current).is_some_and(|chunk| chunk.capacity() - chunk.len() >= n)
    }

    /// The chunk that would be filled next.
    fn following(&self) -> usize {
        if self.chunks.is_empty() { 0 } else { self.current + 1 }
    }

    /// Bytes that would be allocated for `n` more; `None` if no address is left.
    pub fn cost(&self, n: usize) -> Option<usize> {
        if self.fits(n) {
            return Some(0);
        }
        if self.following() >= 1usize << (32 - self.shift) {
            return None;
        }
        if n <= self.chunk_size() && self.following() < self.chunks.len() {
            return Some(0);
        }
        Some(n.max(self.chunk_size()) + CHUNK_OVERHEAD)
    }

    /// Makes sure that the next `n` bytes lie in one chunk.
    pub fn make(&mut self, n: usize) {
        if self.fits(n) {
            return;
        }
        let following = self.following();
        if n > self.chunk_size() || following == self.chunks.len() {
            let chunk = Vec::with_capacity(n.max(self.chunk_size()));
            self.bytes += chunk.capacity() + CHUNK_OVERHEAD;
            self.chunks.insert(following, chunk);
        }
        self.current = following;
    }

    /// Appends bytes for which [`Arena::make`] made room; where they begin. Later bytes
    /// begin later; where no bytes begin says nothing.
    pub fn put(&mut self, bytes: &[u8]) -> u32 {
        let chunk = &mut self.chunks[self.current];
        debug_assert!(chunk.capacity() - chunk.len() >= bytes.len());
        let start = (self.current << self.shift) + chunk.len();
        chunk.extend_from_slice(bytes);
        start as u32
    }

    /// What [`Arena::put`] put at `start`, and all that follows in its chunk.
    pub fn from(&self, start: u32) -> &[u8] {
        &self.chunks[(start >> self.shift) as usize][start as usize & (self.chunk_size() - 1)..]
    }

    /// The `len` bytes at `start`.
    pub fn get(&self, start: u32, len: usize) -> &[u8] {
        if len == 0 { &[] } else { &self.from(start)[..len] }
    }

    /// Forgets all strings.
    pub fn clear(&mut self) {
        let size = self.chunk_size();
        self.chunks.retain(|chunk| chunk.capacity() == size);
        self.chunks.iter_mut().for_each(Vec::clear);
        self.current = 0;
        self.bytes = self.chunks.len() * (size + CHUNK_OVERHEAD);
    }

    /// Gives back chunks that hold nothing.
    pub fn release(&mut self) {
        let following = self.following();
        self.chunks.drain(following..).for_each(|chunk| {
            self.bytes -= chunk.capacity() + CHUNK_OVERHEAD;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(arena: &mut Arena, bytes: &[u8]) -> u32 {
        let (before, cost) = (arena.bytes(), arena.cost(bytes.len()).expect("addresses are left"));
        arena.make(bytes.len());
        assert_eq!(arena.bytes(), before + cost);
        arena.put(bytes)
    }

    #[test]
    fn strings_of_all_lengths_come_back_after_each_clear() {
        let mut arena = Arena::new(4);
        for _ in 0..3 {
            let strings: Vec<Vec<u8>> = (0..70u8).map(|n| vec![n; usize::from(n) % 37]).collect();
            let starts: Vec<u32> = strings.iter().map(|s| put(&mut arena, s)).collect();
            let some = strings.iter().zip(&starts).filter(|(string, _)| !string.is_empty());
            assert!(some.map(|(_, start)| start).is_sorted());
            for (string, start) in strings.iter().zip(starts) {
                assert_eq!(arena.get(start, string.len()), string);
            }
            arena.clear();
            arena.make(1);
            arena.release();
            assert_eq!(arena.bytes(), 16 + CHUNK_OVERHEAD);
        }
    }
}
