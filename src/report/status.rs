//! `onceover status`: where a plan stands, from its ledger and, while the source answers, the source's
//! log ends. Pure; `status_text` and `status_json` give it words.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::{Outlook, Risk};
use crate::ledger::{ControlState, LaneState};
use crate::plan::{TopicPartition, lane_of};

/// The source's partitions and their log end offsets, none where a partition does not tell; or why they are not
/// known.
pub type SourceEnds = Result<BTreeMap<TopicPartition, Option<i64>>, String>;

/// How far a plan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There is no ledger: nothing was ever copied.
    NoLedger,
    /// A ledger without a fence: a tail, or a run that has just begun.
    NoFence,
    /// Some partition has not reached the fence.
    Copying,
    /// Every lane has reached the fence; something of it is not proved.
    Copied,
    /// Every lane has reached the fence, and everything up to the positions is proved.
    Proved,
}

/// The latest valid fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceLine {
    /// Its name.
    pub id: String,
    /// When it was taken, in milliseconds since 1970.
    pub taken_at: i64,
    /// Who took it.
    pub worker: String,
    /// When it was reached, if it was.
    pub done_at: Option<i64>,
}

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
    /// Whether nothing is copied that is not proved.
    pub fn everything(&self) -> bool {
        self.of > 0 && self.whole == self.of
    }
}

impl PartitionLine {
    fn unknown(at: &TopicPartition) -> Self {
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
}

/// One lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLine {
    /// Its number.
    pub lane: u32,
    /// Who wrote its last entry.
    pub worker: Option<String>,
    /// How many owners it has had.
    pub epoch: u64,
    /// Transactions that moved something.
    pub carries: u64,
    /// How many partitions are bound.
    pub partitions: usize,
}

/// A run that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLine {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The refusal's word.
    pub word: String,
    /// What happened.
    pub what: String,
    /// Whose run it was.
    pub worker: String,
}

/// What the ledger belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// Its generation.
    pub generation: u32,
    /// How many lanes it has.
    pub lanes: u32,
    /// Cluster id of the source.
    pub source_cluster: String,
    /// Cluster id of the target.
    pub target_cluster: String,
}

/// Where a plan stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The plan's name.
    pub plan: String,
    /// The ledger's topic on the target.
    pub ledger_topic: String,
    /// What the ledger belongs to, if there is one.
    pub ledger: Option<LedgerLine>,
    /// How far it has come.
    pub stage: Stage,
    /// The latest fence, if there was one.
    pub fence: Option<FenceLine>,
    /// By topic and number.
    pub partitions: Vec<PartitionLine>,
    /// By number.
    pub lanes: Vec<LaneLine>,
    /// In the order of the ledger.
    pub refused: Vec<RefusedLine>,
    /// Why the source did not answer, if it did not.
    pub source_silent: Option<String>,
    /// Topics of the ledger that the source, which answered, does not have.
    pub gone: Vec<String>,
    /// Why nobody knows how the retention race stands, if that could not be asked.
    pub race_unknown: Option<String>,
}

impl Status {
    /// Reads a status out of the replayed ledger: `lanes[k]` is lane *k*. Partitions that only the fence
    /// or the source knows are shown too. A plan without a ledger has the default control state, and no
    /// lanes.
    pub fn new(
        plan: impl Into<String>,
        ledger_topic: impl Into<String>,
        control: &ControlState,
        lanes: &[LaneState],
        source: SourceEnds,
    ) -> Self {
        let latest = control.fences().last();
        let (ends, source_silent) = match source {
            Ok(ends) => (ends, None),
            Err(why) => (BTreeMap::new(), Some(why)),
        };
        let lane_count = control.header.as_ref().map(|header| header.lanes);
        let fenced: BTreeMap<_, _> =
            latest.map(|(fence, _)| fence.iter().collect()).unwrap_or_default();
        let known: BTreeSet<&TopicPartition> = lanes
            .iter()
            .flat_map(|lane| lane.partitions.keys())
            .chain(fenced.keys())
            .chain(ends.keys())
            .collect();
        let mut partitions: Vec<PartitionLine> = known
            .into_iter()
            .map(|at| PartitionLine {
                lane: lane_count.map(|count| lane_of(&at.topic, at.partition, count)),
                fence: fenced.get(at).copied(),
                log_end: ends.get(at).copied().flatten(),
                ..PartitionLine::unknown(at)
            })
            .collect();
        for line in &mut partitions {
            for lane in lanes {
                line.fill(lane);
            }
            line.proof = control.verified.get(&line.at).map(|(at, verified)| ProofLine {
                up_to: verified.source.next,
                at: *at,
                differences: verified.differences,
            });
        }
        let everything_proved = Proved::of(&partitions).everything();
        let all: BTreeSet<&str> = partitions.iter().map(|line| &*line.at.topic).collect();
        let there: BTreeSet<&str> = ends.keys().map(|at| &*at.topic).collect();
        let gone = all.difference(&there).filter(|_| source_silent.is_none());
        let gone = gone.map(|topic| (*topic).to_owned()).collect();
        Self {
            plan: plan.into(),
            ledger_topic: ledger_topic.into(),
            ledger: control.header.as_ref().map(|header| LedgerLine {
                generation: header.generation,
                lanes: header.lanes,
                source_cluster: header.source_cluster.clone(),
                target_cluster: header.target_cluster.clone(),
            }),
            stage: match (&control.header, latest) {
                (None, _) => Stage::NoLedger,
                (Some(_), None) => Stage::NoFence,
                (Some(_), Some((_, None))) => Stage::Copying,
                (Some(_), Some((_, Some(_)))) if everything_proved => Stage::Proved,
                (Some(_), Some((_, Some(_)))) => Stage::Copied,
            },
            fence: latest.map(|(fence, done)| FenceLine {
                id: fence.id.clone(),
                taken_at: fence.at,
                worker: fence.worker.clone(),
                done_at: done.map(|done| done.at),
            }),
            partitions,
            lanes: (0..)
                .zip(lanes)
                .map(|(lane, state)| LaneLine {
                    lane,
                    worker: state.last_worker.clone(),
                    epoch: state.last_epoch,
                    carries: state.last_seq,
                    partitions: state.partitions.len(),
                })
                .collect(),
            refused: control
                .refused
                .iter()
                .map(|(_, refused)| RefusedLine {
                    at: refused.at,
                    word: refused.word.clone(),
                    what: refused.what.clone(),
                    worker: refused.worker.clone(),
                })
                .collect(),
            source_silent,
            gone,
            race_unknown: None,
        }
    }

    /// Takes over how the retention race stands.
    pub fn take_outlooks(&mut self, found: Result<BTreeMap<TopicPartition, Outlook>, String>) {
        match found {
            Ok(found) => {
                for line in &mut self.partitions {
                    line.outlook = found.get(&line.at).copied();
                }
            }
            Err(why) => self.race_unknown = Some(why),
        }
    }

    /// Source partitions that no run has seen yet: added since, or made with a new topic.
    pub fn unseen(&self) -> usize {
        self.partitions
            .iter()
            .filter(|line| line.position.is_none() && line.log_end.is_some())
            .count()
    }

    /// Records and bytes on the target.
    pub fn moved(&self) -> (u64, u64) {
        let sum = |of: fn(&PartitionLine) -> u64| self.partitions.iter().map(of).sum();
        (sum(|line| line.records), sum(|line| line.bytes))
    }

    /// The sum of the known lags, and how many partitions have none.
    pub fn lag(&self) -> (u64, usize) {
        let known: Vec<u64> = self.partitions.iter().filter_map(PartitionLine::lag).collect();
        (known.iter().sum(), self.partitions.len() - known.len())
    }

    /// How far it is proved.
    pub fn proved(&self) -> Proved {
        Proved::of(&self.partitions)
    }

    /// How many partitions of the fence have reached it, and how many it has.
    pub fn reached(&self) -> (usize, usize) {
        let fenced = || self.partitions.iter().filter(|line| line.fence.is_some());
        (fenced().filter(|line| line.reached()).count(), fenced().count())
    }
}

impl Proved {
    fn of(partitions: &[PartitionLine]) -> Self {
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
}

impl PartitionLine {
    /// Takes over what `lane` says about this partition.
    fn fill(&mut self, lane: &LaneState) {
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

fn difference(low: i64, high: i64) -> u64 {
    u64::try_from(high.saturating_sub(low)).unwrap_or(0)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
