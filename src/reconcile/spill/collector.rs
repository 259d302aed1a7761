//! Records into manifests, within a budget.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::fold::{FoldTable, hash};
use super::runs::Runs;
use super::spilling::Spilling;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Seen};

/// Records that are looked up together: a table of many keys lies outside of the caches, and so many
/// loads that do not wait for each other take little more time than one.
const TOGETHER: usize = 32;

/// Bytes of their keys; a longer one is looked up alone.
const KEY_BYTES: usize = 16 << 10;

/// Folds the records of the partitions that one reader reads: all records of a partition, in their order.
pub struct Collector {
    spilling: Spilling<FoldTable>,
    waiting: Vec<Waiting>,
    keys: Vec<u8>,
}

/// A record that is looked up with those around it.
struct Waiting {
    topic: u32,
    partition: i32,
    /// End of its key in the keys of all; the beginning is the end of the one before.
    key_end: usize,
    has_key: bool,
    hash: u32,
    seen: Seen,
}

impl Collector {
    /// Holds at most `budget` bytes in memory (below some kilobytes: one record at a time, whatever the
    /// length of its key), beside some kilobytes of records that are looked up together.
    pub fn new(dir: Arc<SpillDir>, budget: usize) -> Self {
        let waiting = Vec::with_capacity(TOGETHER);
        Self { spilling: Spilling::new(dir, budget), waiting, keys: Vec::new() }
    }

    /// Adds the next record of `at`.
    ///
    /// # Errors
    ///
    /// If a run cannot be written; nothing can be added any more then.
    pub fn add(&mut self, at: KeyAt<'_>, seen: Seen) -> Result<(), SpillError> {
        let key = at.key.unwrap_or_default();
        if self.waiting.len() == TOGETHER || self.keys.len() + key.len() > KEY_BYTES {
            self.look_up()?;
        }
        if key.len() > KEY_BYTES {
            return self.push(at, hash(at), seen);
        }
        self.keys.extend_from_slice(key);
        self.waiting.push(Waiting {
            topic: at.topic,
            partition: at.partition,
            key_end: self.keys.len(),
            has_key: at.key.is_some(),
            hash: hash(at),
            seen,
        });
        Ok(())
    }

    fn look_up(&mut self) -> Result<(), SpillError> {
        let waiting = std::mem::take(&mut self.waiting);
        let keys = std::mem::take(&mut self.keys);
        self.spilling.table.warm_for(waiting.iter().map(|one| one.hash));
        let mut start = 0;
        for one in &waiting {
            let key = one.has_key.then(|| &keys[start..one.key_end]);
            start = one.key_end;
            let at = KeyAt { topic: one.topic, key, partition: one.partition };
            self.push(at, one.hash, one.seen)?;
        }
        (self.waiting, self.keys) = (waiting, keys);
        self.waiting.clear();
        self.keys.clear();
        Ok(())
    }

    fn push(&mut self, at: KeyAt<'_>, hash: u32, seen: Seen) -> Result<(), SpillError> {
        while self.spilling.table.push(at, hash, seen).is_err() {
            self.spilling.write_out()?;
        }
        Ok(())
    }

    /// Bytes that it held at most.
    #[cfg(test)]
    pub fn peak_bytes(&self) -> usize {
        self.spilling.peak()
    }

    /// Runs on disk so far.
    #[cfg(test)]
    pub fn runs(&self) -> usize {
        self.spilling.runs()
    }

    /// All manifests, as sorted runs; the last one stays in memory.
    ///
    /// # Errors
    ///
    /// If a run could not be written.
    pub fn finish(mut self) -> Result<Runs<Manifest>, SpillError> {
        self.look_up()?;
        self.spilling.finish()
    }
}
