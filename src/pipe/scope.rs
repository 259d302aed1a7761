//! The scope of a run: which partitions, to where, by which lane. Pure.

use crate::ledger::Fence;
use crate::pipe::gather::Pair;
use crate::plan::lane_of;

/// All partitions of a run. Made once, then only read.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Sorted by source partition.
    pub pairs: Vec<Pair>,
    /// Lanes of the ledger.
    pub lanes: u32,
}

impl Scope {
    /// The pairs of lane `lane`; with a fence, only those that the fence names.
    pub fn lane(&self, lane: u32, fence: Option<&Fence>) -> Vec<Pair> {
        let ours = |pair: &&Pair| {
            lane_of(&pair.source.topic, pair.source.partition, self.lanes) == lane
                && fence.is_none_or(|fence| fence.get(&pair.source).is_some())
        };
        self.pairs.iter().filter(ours).cloned().collect()
    }

    /// The control partition's number in the ledger.
    pub fn control(&self) -> u32 {
        self.lanes
    }
}
