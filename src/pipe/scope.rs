//! The scope of a run: which partitions, to where, by which lane. Pure.

use crate::ledger::Fence;
use crate::pipe::gather::Pair;
use crate::plan::{TopicPartition, lane_of};

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

    /// A partition of `fence` in lane `lane` that this worker does not have: it came between the
    /// worker's look at the source and the fence, and its target may not exist yet.
    pub fn missing(&self, lane: u32, fence: &Fence) -> Option<TopicPartition> {
        fence.iter().map(|(at, _)| at).find(|at| {
            lane_of(&at.topic, at.partition, self.lanes) == lane
                && self.pairs.binary_search_by(|pair| pair.source.cmp(at)).is_err()
        })
    }

    /// The control partition's number in the ledger.
    pub fn control(&self) -> u32 {
        self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: i32) -> TopicPartition {
        TopicPartition::new("t", partition)
    }

    #[test]
    fn a_partition_of_the_fence_that_the_worker_never_saw_is_found_in_its_lane_alone() {
        let pair =
            |n| Pair { source: at(n), target: at(n), compacted: false, delete_retention: None };
        let scope = Scope { pairs: vec![pair(0), pair(1)], lanes: 2 };
        let fence = Fence::new("f", 1, "w", (0..3).map(|n| (at(n), 10)));
        let lane = lane_of("t", 2, 2);
        assert_eq!(scope.missing(lane, &fence), Some(at(2)));
        assert_eq!(scope.missing(1 - lane, &fence), None);
    }
}
