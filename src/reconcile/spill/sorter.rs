//! Lines in the order of their keys, within a budget.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::lines::LineTable;
use super::runs::Runs;
use super::spilling::Spilling;
use crate::reconcile::key::KeyAt;
use crate::reconcile::line::Line;

/// Sorts lines by key and keeps all of them; lines of one key keep the order in which they were added.
pub struct Sorter(Spilling<LineTable>);

impl Sorter {
    /// Holds at most `budget` bytes in memory (below some kilobytes: one line at a time).
    pub fn new(dir: Arc<SpillDir>, budget: usize) -> Self {
        Self(Spilling::new(dir, budget))
    }

    /// Adds a line of `at`.
    ///
    /// # Errors
    ///
    /// If a run cannot be written; nothing can be added any more then.
    pub fn add(&mut self, at: KeyAt<'_>, line: &Line) -> Result<(), SpillError> {
        while self.0.table.push(at, line).is_err() {
            self.0.write_out()?;
        }
        Ok(())
    }

    /// Bytes that it held at most.
    #[cfg(test)]
    pub fn peak_bytes(&self) -> usize {
        self.0.peak()
    }

    /// Runs on disk so far.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.0.runs()
    }

    /// All lines, as sorted runs; the last one stays in memory.
    ///
    /// # Errors
    ///
    /// If a run could not be written.
    pub fn finish(self) -> Result<Runs<Line>, SpillError> {
        self.0.finish()
    }
}
