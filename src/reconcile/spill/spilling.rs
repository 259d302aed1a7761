//! What collector and sorter do when their table is full, and at the end.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::runs::{MemoryRun, Runs};
use super::table::Table;
use super::write::{RunFile, write_table};

/// A table, and the runs that were written out of it.
pub struct Spilling<T> {
    /// The table.
    pub table: T,
    dir: Arc<SpillDir>,
    files: Vec<RunFile>,
    write_buffer: usize,
    peak: usize,
    failed: bool,
    sorted: bool,
}

impl<T: Table> Spilling<T> {
    /// An empty table; table and write buffer together have `budget` bytes.
    pub fn new(dir: Arc<SpillDir>, budget: usize) -> Self {
        let write_buffer = (budget / 32).clamp(1 << 9, 1 << 18);
        let table = T::new(budget.saturating_sub(write_buffer));
        Self { table, dir, files: Vec::new(), write_buffer, peak: 0, failed: false, sorted: false }
    }

    /// Bytes that were allocated at most.
    pub fn peak(&self) -> usize {
        self.peak.max(self.table.bytes())
    }

    /// Runs on disk so far.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.files.len()
    }

    /// Writes the table out and clears it.
    pub fn write_out(&mut self) -> Result<(), SpillError> {
        self.check()?;
        self.peak = self.peak().max(self.table.bytes() + self.write_buffer);
        // The rows cannot be found any more once they are sorted: whoever goes on after an error would
        // add to the wrong ones.
        self.failed = true;
        self.table.sort();
        self.files.push(write_table(&self.dir, &self.table, self.write_buffer)?);
        self.table.clear();
        self.failed = false;
        Ok(())
    }

    /// Nothing more comes: sorts what is in memory.
    pub fn settle(&mut self) -> Result<(), SpillError> {
        self.check()?;
        if !self.sorted {
            self.table.seal();
            self.table.sort();
            self.sorted = true;
        }
        Ok(())
    }

    /// The runs; what is in memory stays there, as the last one.
    pub fn finish(mut self) -> Result<Runs<T::Payload>, SpillError> {
        self.settle()?;
        let memory = (self.table.len() > 0).then(|| MemoryRun::new(self.table));
        Ok(Runs { files: self.files, memory })
    }

    fn check(&self) -> Result<(), SpillError> {
        if self.failed {
            return Err(SpillError::Failed { folder: self.dir.path().into() });
        }
        Ok(())
    }
}
