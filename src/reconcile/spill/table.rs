//! What a table in memory offers to be written out in order.

use std::ops::Range;

use super::contest::Contest;
use super::stored::Stored;
use crate::reconcile::key::KeyAt;

/// No room within the budget: the table has to be written out and cleared first.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// A table of keys with payloads. Its rows lie in chunks, each of which is sorted by itself (it fits
/// into the processor's cache), and [`InOrder`] goes through all of them at once.
pub trait Table {
    /// What a row holds beside its key.
    type Payload: Stored<Table = Self>;

    /// A table that answers [`Full`] rather than allocate more than `budget` bytes, but holds one row
    /// at least.
    fn new(budget: usize) -> Self;

    /// Bytes allocated.
    fn bytes(&self) -> usize;

    /// Rows.
    fn len(&self) -> usize;

    /// Sorts the chunks. Nothing can be added before [`Table::clear`].
    fn sort(&mut self);

    /// Forgets all rows and keeps the memory.
    fn clear(&mut self);

    /// Gives back memory that is not needed for reading.
    fn seal(&mut self);

    /// How many chunks hold rows.
    fn chunks(&self) -> usize;

    /// The key of a chunk's row; `None` behind the last one.
    fn at(&self, chunk: usize, row: usize) -> Option<KeyAt<'_>>;

    /// Looks at keys and payloads of a chunk's rows all at once, as far as there are such rows: they lie
    /// anywhere in memory, and waiting for all of them takes hardly longer than for one.
    fn warm(&self, chunk: usize, rows: Range<usize>);

    /// The payload of a chunk's row.
    fn payload(&self, chunk: usize, row: usize) -> Self::Payload;
}

/// Bytes of one chunk, as a power of two: small enough that a table fills its budget well, and large
/// enough to hold any payload.
pub fn chunk_shift(budget: usize) -> u32 {
    (budget / 64).clamp(1 << 9, 1 << 20).ilog2()
}

/// Rows of each chunk that are warmed together: those of all chunks still fit into the processor's cache.
/// Measured on a busy machine: a million keys of two records each, 0.2 million a second without it and 0.4
/// with it.
const WARM: usize = 16;

/// A way through all rows of a sorted table.
pub struct InOrder {
    /// Row at which each chunk stands.
    rows: Vec<usize>,
    contest: Contest,
}

impl InOrder {
    /// Stands at the first row.
    pub fn new<T: Table>(table: &T) -> Self {
        let chunks = table.chunks();
        (0..chunks).for_each(|chunk| table.warm(chunk, 0..WARM));
        let contest = Contest::new(chunks, |chunk| table.at(chunk, 0));
        Self { rows: vec![0; chunks], contest }
    }

    /// The row at which it stands; `None` at the end.
    pub fn at<'a, T: Table>(&self, table: &'a T) -> Option<KeyAt<'a>> {
        let chunk = self.contest.winner()?;
        table.at(chunk, self.rows[chunk])
    }

    /// Payload of the row at which it stands, and a step to the next.
    pub fn take<T: Table>(&mut self, table: &T) -> Option<T::Payload> {
        let chunk = self.contest.winner()?;
        let row = self.rows[chunk];
        table.at(chunk, row)?;
        let next = row + 1;
        self.rows[chunk] = next;
        if next.is_multiple_of(WARM) {
            table.warm(chunk, next..next + WARM);
        }
        self.contest.moved(|chunk| table.at(chunk, self.rows[chunk]));
        Some(table.payload(chunk, row))
    }
}
