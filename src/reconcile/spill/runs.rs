//! The sorted runs that one collector or sorter made.

use super::stored::Stored;
use super::table::{InOrder, Table};
use super::write::RunFile;
use crate::reconcile::key::KeyAt;

/// Sorted runs in the order of reading: equal keys of an earlier run come first.
pub struct Runs<T: Stored> {
    pub(super) files: Vec<RunFile>,
    /// The last run.
    pub(super) memory: Option<MemoryRun<T::Table>>,
}

/// A sorted table, and the row at which it stands.
pub struct MemoryRun<T> {
    table: T,
    order: InOrder,
}

impl<T: Table> MemoryRun<T> {
    /// Stands at the first row of a sorted table.
    pub fn new(table: T) -> Self {
        Self { order: InOrder::new(&table), table }
    }

    /// The key at which it stands; `None` at the end.
    pub fn at(&self) -> Option<KeyAt<'_>> {
        self.order.at(&self.table)
    }

    /// The payload at which it stands, and a step to the next row.
    pub fn take(&mut self) -> Option<T::Payload> {
        self.order.take(&self.table)
    }
}

#[cfg(test)]
mod for_tests {
    use std::sync::Arc;

    use super::super::{SpillDir, SpillError, write::write_table};
    use super::*;

    impl<T: Stored> Runs<T> {
        /// Entries of all runs: at least as many as come out of the merge.
        pub fn entries(&self) -> u64 {
            let memory = self.memory.as_ref().map_or(0, |run| run.table.len() as u64);
            self.files.iter().map(|file| file.entries).sum::<u64>() + memory
        }

        /// Writes the last run to disk too, where a test can spoil it.
        pub fn write_out(&mut self, dir: &Arc<SpillDir>) -> Result<(), SpillError> {
            if let Some(run) = self.memory.take() {
                self.files.push(write_table(dir, &run.table, 1 << 18)?);
            }
            Ok(())
        }
    }
}
