//! Records into manifests, within a budget.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::fold::{FoldTable, Guess};
use super::name::Name;
use super::runs::Runs;
use super::spilling::Spilling;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Seen};

/// Records that are looked up together: a table of many keys lies outside of the caches, and so many
/// loads that do not wait for each other take little more time than one.
const TOGETHER: usize = 32;

/// Bytes of their long keys; a still longer one is looked up alone.
const KEY_BYTES: usize = 16 << 10;

/// Folds the records of the partitions that one reader reads: all records of a partition, in their order.
pub struct Collector {
    spilling: Spilling<FoldTable>,
    waiting: Vec<Waiting>,
    guesses: Vec<Guess>,
    /// The long keys of those that wait, one behind the other.
    keys: Vec<u8>,
}

/// A record that is looked up with those around it.
struct Waiting {
    name: Name,
    seen: Seen,
}

impl Collector {
    /// Holds at most `budget` bytes in memory (below some kilobytes: one record at a time, whatever the
    /// length of its key), beside some kilobytes of records that are looked up together.
    pub fn new(dir: Arc<SpillDir>, budget: usize) -> Self {
        let waiting = Vec::with_capacity(TOGETHER);
        Self {
            spilling: Spilling::new(dir, budget),
            waiting,
            guesses: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Adds the next record of `at`.
    ///
    /// # Errors
    ///
    /// If a run cannot be written; nothing can be added any more then.
    pub fn add(&mut self, at: KeyAt<'_>, seen: Seen) -> Result<(), SpillError> {
        let name = Name::of(at);
        let long = if name.long().is_some() { at.key.unwrap_or_default() } else { &[] };
        if self.waiting.len() == TOGETHER || self.keys.len() + long.len() > KEY_BYTES {
            self.look_up()?;
        }
        if long.len() > KEY_BYTES {
            return push(&mut self.spilling, &name, long, seen, Guess::NONE);
        }
        self.keys.extend_from_slice(long);
        self.waiting.push(Waiting { name, seen });
        Ok(())
    }

    fn look_up(&mut self) -> Result<(), SpillError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let names = self.waiting.iter().map(|one| &one.name);
        self.spilling.table.warm_for(names, &mut self.guesses);
        let mut rest = &self.keys[..];
        for (one, guess) in self.waiting.iter().zip(&self.guesses) {
            let (long, behind) = rest.split_at(one.name.long().unwrap_or(0));
            rest = behind;
            push(&mut self.spilling, &one.name, long, one.seen, *guess)?;
        }
        self.waiting.clear();
        self.keys.clear();
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

    /// Nothing more comes: does what [`Collector::finish`] would have to do, on the reader's thread.
    ///
    /// # Errors
    ///
    /// If a run cannot be written.
    pub fn settle(&mut self) -> Result<(), SpillError> {
        self.look_up()?;
        self.spilling.settle()
    }

    /// All manifests, as sorted runs; the last one stays in memory.
    ///
    /// # Errors
    ///
    /// If a run could not be written.
    pub fn finish(mut self) -> Result<Runs<Manifest>, SpillError> {
        self.settle()?;
        self.spilling.finish()
    }
}

fn push(
    spilling: &mut Spilling<FoldTable>,
    name: &Name,
    long: &[u8],
    seen: Seen,
    guess: Guess,
) -> Result<(), SpillError> {
    while spilling.table.push(name, long, seen, guess).is_err() {
        spilling.write_out()?;
    }
    Ok(())
}
