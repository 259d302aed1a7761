//! Translation of offsets over many carries of one partition. Exact: it never extrapolates.

use super::lane::CarryPartition;
use super::position::PartitionState;
use super::runs::{NotRising, Runs};

/// All that was carried of one partition, as one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetMap {
    runs: Runs,
    next: i64,
    target_next: i64,
}

impl OffsetMap {
    /// Nothing carried yet of a partition bound at this source offset and this target log end.
    pub fn new(start: i64, target_start: i64) -> Self {
        Self { runs: Runs::default(), next: start, target_next: target_start }
    }

    /// Nothing carried yet of this partition.
    pub fn of(state: &PartitionState) -> Self {
        Self::new(state.start, state.target_start)
    }

    /// Adds the partition's next carry, in the ledger's order.
    pub fn push(&mut self, carry: &CarryPartition) -> Result<(), NotRising> {
        self.runs.append(&carry.runs)?;
        self.next = carry.next;
        self.target_next = self.runs.last().map_or(self.target_next, |(_, target)| target + 1);
        Ok(())
    }

    /// Target offset of exactly the record at this source offset.
    pub fn to_target(&self, source: i64) -> Option<i64> {
        self.runs.to_target(source)
    }

    /// Source offset of exactly the record at this target offset.
    pub fn to_source(&self, target: i64) -> Option<i64> {
        self.runs.to_source(target)
    }

    /// Where a consumer that would read `source` next goes on in the target: at the first record carried
    /// at or after it, or behind all of them if none is. `None` while `source` is beyond what was carried.
    pub fn translate(&self, source: i64) -> Option<i64> {
        if source > self.next {
            return None;
        }
        Some(self.runs.translate_next(source).unwrap_or(self.target_next))
    }

    /// First source offset that was not carried.
    pub fn next(&self) -> i64 {
        self.next
    }
}
