//! How `reconcile.memory` is shared out.

use std::mem::size_of;
use std::num::NonZero;
use std::thread::available_parallelism;

use super::line::Line;
use super::spill::Limits;

/// Bytes of one librdkafka consumer's queue: enough to keep a thread busy (8 MiB read as fast as 32 MiB).
const QUEUE: usize = 8 << 20;

/// Shares of `reconcile.memory`. What is fetched ahead is taken off first; half of the rest belongs to
/// the tables, the other half to what cannot be counted: librdkafka's own, the allocator's, the program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that each reader may have fetched ahead; there is one per core and side.
    pub queue: usize,
    /// Bytes of each reader's table of keys or lines.
    pub table: usize,
    /// Of the set of keys that are read again.
    pub suspects: usize,
    /// Of merging, per side.
    pub merge: usize,
    /// Records of one key that are compared one by one.
    pub lines: usize,
}

impl Budget {
    /// For so many bytes in all.
    pub fn of(memory: u64) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self::shared(usize::try_from(memory).unwrap_or(usize::MAX), 2 * cores)
    }

    fn shared(memory: usize, readers: usize) -> Self {
        // librdkafka may hand out as much again as it holds ahead.
        let queue = (memory / 8 / readers).clamp(1 << 20, QUEUE);
        Self {
            queue,
            table: (memory / 2 / readers).max(1 << 20),
            suspects: memory / 8,
            merge: memory / 16,
            lines: memory / 4 / size_of::<Line>(),
        }
    }

    /// Bounds of reading run files.
    pub fn limits(&self) -> Limits {
        Limits::of_bytes(self.merge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_stay_below_the_whole() {
        for (memory, readers) in [(64 << 20, 4), (128 << 20, 4), (512 << 20, 32), (4 << 30, 8)] {
            let budget = Budget::shared(memory, readers);
            let reading = readers * (2 * budget.queue + budget.table);
            assert!(reading <= memory, "{memory} {readers}");
            // The tables' last runs stay in memory while they are merged, and so do the suspects.
            let merging = readers * budget.table + 2 * budget.merge + budget.suspects;
            assert!(merging <= memory, "{memory} {readers}");
        }
    }
}
