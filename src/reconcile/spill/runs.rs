//! The sorted runs that one collector or sorter made.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::stored::Stored;
use super::table::{InOrder, Table};
use super::write::{RunFile, write_table};
use crate::reconcile::key::KeyAt;

/// Write buffer of [`Runs::to_disk`].
const WRITE_BUFFER: usize = 1 << 18;

/// Sorted runs in the order of reading: equal keys of an earlier run come first.
pub struct Runs<T: Stored> {
    pub(super) files: Vec<RunFile>,
    /// The last run.
    pub(super) memory: Option<MemoryRun<T::Table>>,
}

impl<T: Stored> Runs<T> {
    /// Entries of all runs: at least as many as come out of the merge.
    pub fn entries(&self) -> u64 {
        let memory = self.memory.as_ref().map_or(0, |run| run.table.len() as u64);
        self.files.iter().map(|file| file.entries).sum::<u64>() + memory
    }

    /// Bytes that the last run holds in memory.
    pub fn bytes_in_memory(&self) -> usize {
        self.memory.as_ref().map_or(0, |run| run.table.bytes())
    }

    /// Bytes in files.
    pub fn bytes_on_disk(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Writes the last run to disk too, and gives its memory back.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn to_disk(&mut self, dir: &Arc<SpillDir>) -> Result<(), SpillError> {
        if let Some(run) = self.memory.take() {
            self.files.push(write_table(dir, &run.table, WRITE_BUFFER)?);
        }
        Ok(())
    }
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
