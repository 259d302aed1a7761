//! Aborted copies: records of aborted transactions stay in the target's log, and a consumer that reads
//! uncommitted (the default of Kafka's Java client) sees them.

use super::part::Part;
use super::read::{Sink, Task};
use super::tally::Tally;
use crate::cluster::LogRange;
use crate::error::Result;
use crate::record::Record;

/// Counts records, committed or not.
pub struct Count(Vec<u64>);

impl Count {
    /// Of so many parts.
    pub fn new(parts: usize) -> Self {
        Self(vec![0; parts])
    }
}

impl Sink for Count {
    fn take(&mut self, part: usize, _record: &Record<'_>) -> Result<()> {
        self.0[part] += 1;
        Ok(())
    }

    fn end(&mut self, _part: usize, _position: i64) -> Result<()> {
        Ok(())
    }
}

/// What is to be read again, uncommitted: from the first gap of a partition to its last.
pub fn tasks(parts: &[Part], tallies: &[Tally]) -> Vec<Task> {
    let task = |(index, (part, tally)): (usize, (&Part, &Tally))| {
        let (from, until) = tally.gaps.range?;
        let range = LogRange { at: part.target.clone(), from, until };
        Some(Task { part: index, range, shown: part.target.clone() })
    };
    parts.iter().zip(tallies).enumerate().filter_map(task).collect()
}

/// Aborted copies by part: what was counted there, less what a committed reading saw.
pub fn aborted(counts: &[Count], tallies: &[Tally]) -> Vec<u64> {
    let all = |part: usize| counts.iter().map(|count| count.0[part]).sum::<u64>();
    tallies
        .iter()
        .enumerate()
        .map(|(part, tally)| all(part).saturating_sub(tally.gaps.inside))
        .collect()
}
