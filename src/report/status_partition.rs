//! What [`status`](super::status) says of one source partition, and what that comes to.

use crate::check::{Outlook, Risk};
use crate::ledger::LaneState;
use crate::plan::TopicPartition;

/// One source partition. `None`: not known, or not bound yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLine {
    /// The source partition.
    pub at: TopicPartition,
    /// Topic on the target.
    pub target_topic: Option<String>,
    /// Its lane, once there is a ledger.
    pub lane: Option<u32>,
    /// First source offset in scope.
    pub start: Option<i64>,
    /// Next source offset to copy.
    pub position: Option<i64>,
    /// The latest fence's offset.
    pub fence: Option<i64>,
    /// Log end offset of the source.
    pub log_end: Option<i64>,
    /// Records on the target.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records whose timestamp could not be kept.
    pub untimed: u64,
    /// Source offsets that were gone before they could be copied.
    pub gone: u64,
    /// What the latest proof says of it.
    pub proof: Option<ProofLine>,
    /// How its retention race stands, where something of it is not copied and the source tells.
    pub outlook: Option<Outlook>,
}

/// What the latest proof said of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofLine {
    /// Source offset up to which both sides were compared.
    pub up_to: i64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Keys that differed; proved means 0.
    pub differences: u64,
}

impl PartitionLine {
    /// Of which nothing is known yet.
    pub(super) fn unknown(at: &TopicPartition) -> Self {
        Self {
            at: at.clone(),
            target_topic: None,
            lane: None,
            start: None,
            position: None,
            fence: None,
            log_end: None,
            records: 0,
            bytes: 0,
            untimed: 0,
            gone: 0,
            proof: None,
            outlook: None,
        }
    }

    /// Offsets between position and log end, where both are known.
    pub fn lag(&self) -> Option<u64> {
        Some(difference(self.position?, self.log_end?))
    }

    /// Source offset up to which both sides are known to be equal.
    pub fn proved(&self) -> Option<i64> {
        self.proof.filter(|proof| proof.differences == 0).map(|proof| proof.up_to)
    }

    /// Size of what is not copied, an estimate by what is; `average`: bytes of a record elsewhere.
    pub fn bytes_behind(&self, average: u64) -> Option<u64> {
        let average = self.bytes.checked_div(self.records).unwrap_or(average);
        Some(self.lag()?.saturating_mul(average))
    }

    /// Whether retention may take, or will take, what is not copied of it.
    pub fn at_risk(&self) -> bool {
        self.outlook.is_some_and(|one| matches!(one.risk, Risk::Now | Risk::Lost(_) | Risk::Gone))
    }

    /// Offsets that are copied and not proved.
    pub fn unproved(&self) -> Option<u64> {
        let position = self.position?;
        Some(difference(self.proved().or(self.start)?, position))
    }

    /// Whether everything that is copied of it is proved.
    pub fn proved_whole(&self) -> bool {
        self.proved().is_some_and(|proved| self.position.is_some_and(|position| proved >= position))
    }

    /// Whether it is at its fence; one without a fence has nothing to reach.
    pub fn reached(&self) -> bool {
        self.fence.is_none_or(|fence| self.position.is_some_and(|position| position >= fence))
    }

    /// Takes over what `lane` says about this partition.
    pub(super) fn fill(&mut self, lane: &LaneState) {
        if let Some(state) = lane.partitions.get(&self.at) {
            self.target_topic = Some(state.target_topic.to_string());
            self.start = Some(state.start);
            self.position = Some(state.next);
            self.records = state.records;
            self.bytes = state.bytes;
            self.untimed = state.untimed;
            self.gone = state.gaps.iter().map(|gap| difference(gap.from, gap.to)).sum();
        }
    }
}

/// How far a plan is proved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proved {
    /// Partitions that are proved up to their position.
    pub whole: usize,
    /// Partitions that have a position.
    pub of: usize,
    /// Offsets between what is proved and the positions.
    pub behind: u64,
    /// Partitions in which the latest proof found differences.
    pub different: usize,
    /// When the latest proof said something new, in milliseconds since 1970.
    pub last_at: Option<i64>,
}

impl Proved {
    /// Of these partitions.
    pub(super) fn of(partitions: &[PartitionLine]) -> Self {
        let bound = || partitions.iter().filter(|line| line.position.is_some());
        let proofs = || bound().filter_map(|line| line.proof);
        Self {
            whole: bound().filter(|line| line.proved_whole()).count(),
            of: bound().count(),
            behind: bound().filter_map(PartitionLine::unproved).sum(),
            different: proofs().filter(|proof| proof.differences > 0).count(),
            last_at: proofs().map(|proof| proof.at).max(),
        }
    }

    /// Whether nothing is copied that is not proved.
    pub fn everything(&self) -> bool {
        self.of > 0 && self.whole == self.of
    }
}

fn difference(low: i64, high: i64) -> u64 {
    u64::try_from(high.saturating_sub(low)).unwrap_or(0)
}
