//! Records into manifests, within a budget.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::fold::FoldTable;
use super::runs::Runs;
use super::spilling::Spilling;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Seen};

/// Folds the records of the partitions that one reader reads: all records of a partition, in their order.
pub struct Collector(Spilling<FoldTable>);

impl Collector {
    /// Holds at most `budget` bytes in memory (below some kilobytes: one record at a time, whatever the
    /// length of its key).
    pub fn new(dir: Arc<SpillDir>, budget: usize) -> Self {
        Self(Spilling::new(dir, budget))
    }

    /// Adds the next record of `at`.
    ///
    /// # Errors
    ///
    /// If a run cannot be written; nothing can be added any more then.
    pub fn add(&mut self, at: KeyAt<'_>, seen: Seen) -> Result<(), SpillError> {
        while self.0.table.push(at, seen).is_err() {
            self.0.write_out()?;
        }
        Ok(())
    }

    /// Bytes that it held at most.
    pub fn peak_bytes(&self) -> usize {
        self.0.peak()
    }

    /// Runs on disk so far.
    pub fn runs(&self) -> usize {
        self.0.runs()
    }

    /// All manifests, as sorted runs; the last one stays in memory.
    ///
    /// # Errors
    ///
    /// If a run could not be written.
    pub fn finish(self) -> Result<Runs<Manifest>, SpillError> {
        self.0.finish()
    }
}
