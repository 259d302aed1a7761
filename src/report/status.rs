//! `onceover status`: where a plan stands, from its ledger and, while the source answers, the source's
//! log ends. Pure; `status_text` and `status_json` give it words.

use std::collections::{BTreeMap, BTreeSet};

use super::status_partition::{PartitionLine, ProofLine, Proved};
use crate::check::Outlook;
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

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
