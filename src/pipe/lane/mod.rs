//! One lane: a fixed share of the plan's partitions, moved by one thread with one source consumer
//! and one transactional producer.
//!
//! ```text
//!  fence ─▶ read ledger ─▶ judge ─▶ bind ─▶ assign ─▶ ┌ read ▸ produce ▸ … ▸ commit ┐ ─▶ close
//!    ▲                                                └──────────────◀──────────────┘
//!    └──────── any doubt: abort, new producer, the ledger says what was committed ◀───┘
//! ```
//!
//! There is one way to recover from everything: fence anew, read the ledger, go on from there.

mod begin;
mod commit;
mod copy;
mod doubt;
mod ends;
#[cfg(test)]
mod model;
mod settled;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cluster::{Class, ClusterError};
use crate::error::{Error, Side};
use crate::ledger::{Fence, LaneState, ReadError};
use crate::pipe::ask::Ask;
use crate::pipe::batch::BatchRule;
use crate::pipe::decide::{Circumstances, Next, Trouble, next};
use crate::pipe::engine::{Source, Target};
use crate::pipe::failpoint;
use crate::pipe::gather::Pair;
use crate::pipe::shared::{Shared, TRANSACTION_TIMEOUT};
use crate::pipe::stop::{Stop, Wish};
use crate::pipe::suspects::Suspects;
use crate::plan::TopicPartition;

/// How a lane came to its end.
#[derive(Debug)]
pub enum LaneEnd {
    /// Every partition has reached the fence, and the ledger says so.
    Finished,
    /// Told to stop; nothing is open.
    Released,
    /// The membership is gone or the lane has another owner.
    Dropped,
    /// It cannot go on.
    Failed(Error),
}

/// Why the work on a lane was broken off.
enum Halt {
    Cluster(ClusterError),
    Person(Error),
    End(LaneEnd),
}

impl From<ClusterError> for Halt {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Person(error)
    }
}

impl From<ReadError> for Halt {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Cluster(error) => Self::Cluster(error),
            lost @ (ReadError::Damaged(_) | ReadError::Gone(_)) => Self::Person(lost.into()),
        }
    }
}

/// A lane and what it owns.
pub struct Lane<S, T> {
    number: u32,
    who: String,
    shared: Arc<Shared<dyn Ask>>,
    source: S,
    target: T,
    stop: Stop,
    /// Whether the group still names this worker as the lane's owner.
    member: Box<dyn Fn() -> bool + Send>,
    /// What the ledger says; entries are applied to it only after their commit.
    state: LaneState,
    /// The lane's ownership epoch: one above the last that the ledger shows.
    epoch: u64,
    fence: Option<Arc<Fence>>,
    pairs: Vec<Pair>,
    /// Next source offset per pair, committed or open.
    positions: Vec<i64>,
    rule: BatchRule,
    /// An earlier request may still be under way: raise the epoch before the next transaction.
    renew: bool,
    /// Each record goes in a request of its own.
    one_by_one: bool,
    /// Where a transaction of its own had no marker when the lane began, and its next one has to do: up to where the
    /// partition's records are counted as copied.
    unmarked: BTreeMap<TopicPartition, i64>,
    /// A record was refused: of which transaction, and of which small one.
    suspects: Suspects,
    /// The group lost offsets or fell behind: the next transaction writes all of the lane's.
    rewrite_group: bool,
    /// Partitions whose deletions may have expired unread: the next commit says so.
    unrecorded: Vec<usize>,
    batch_bytes: usize,
    rate: Option<f64>,
    last_commit: Instant,
    trouble: Trouble,
}

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// A lane that is not begun yet.
    pub fn new(
        number: u32,
        shared: Arc<Shared<dyn Ask>>,
        (source, target): (S, T),
        stop: Stop,
        member: Box<dyn Fn() -> bool + Send>,
    ) -> Self {
        let run = &shared.plan.run;
        let rule = BatchRule {
            interval: run.commit_interval,
            bytes: run.commit_bytes,
            records: 500_000,
            coded: crate::ledger::MAX_PART_BYTES,
            pause: Duration::from_secs(1) / run.max_transactions_per_second.max(1),
            transaction_timeout: failpoint::transaction_timeout(TRANSACTION_TIMEOUT),
        };
        Self {
            number,
            who: format!("lane {number}"),
            last_commit: shared.clock.now(),
            shared,
            source,
            target,
            stop,
            member,
            state: LaneState::default(),
            epoch: 0,
            fence: None,
            pairs: Vec::new(),
            positions: Vec::new(),
            rule,
            renew: false,
            one_by_one: false,
            unmarked: BTreeMap::new(),
            suspects: Suspects::default(),
            rewrite_group: false,
            unrecorded: Vec::new(),
            batch_bytes: 0,
            rate: None,
            trouble: Trouble::default(),
        }
    }

    /// Works until the fence, a stop, or an error that ends the lane.
    pub fn run(mut self) -> LaneEnd {
        loop {
            let halt = match self.begin().and_then(|()| self.copy()) {
                Ok(end) => return self.close(end),
                Err(halt) => halt,
            };
            match halt {
                Halt::End(end) => return self.close(end),
                Halt::Person(error) => return self.close(LaneEnd::Failed(error)),
                Halt::Cluster(error) => {
                    if let Some(end) = self.after(error) {
                        return self.close(end);
                    }
                }
            }
        }
    }

    fn close(&mut self, end: LaneEnd) -> LaneEnd {
        // Whatever is open must not outlive the lane; nothing is lost if this fails, the next
        // owner's fence aborts it.
        if let Err(error) = self.target.abort() {
            tracing::debug!(lane = self.number, %error, "abort on close failed");
        }
        self.shared.board.go_on(&self.who);
        end
    }

    /// Up to where each partition was read.
    fn read(&self) -> BTreeMap<TopicPartition, i64> {
        let partitions = self.pairs.iter().map(|pair| pair.source.clone());
        partitions.zip(self.positions.iter().copied()).collect()
    }

    /// Applies the rule for an error; `None` means: begin again.
    fn after(&mut self, error: ClusterError) -> Option<LaneEnd> {
        let (failures, fenced, in_trouble) = self.trouble.failed(self.now(), error.class);
        let now = Circumstances { failures, fenced, in_trouble, one_by_one: self.one_by_one };
        let step = next(error.class, now);
        tracing::warn!(lane = self.number, class = ?error.class, %error, step = ?step, "lane interrupted");
        let pause = match step {
            Next::Drop => return Some(LaneEnd::Dropped),
            Next::Fail if error.class == Class::Fenced => {
                return Some(LaneEnd::Failed(self.somebody_else(&error)));
            }
            Next::Fail => return Some(LaneEnd::Failed(self.final_words(error))),
            Next::Closer => {
                self.one_by_one = self.suspects.closer(&self.read());
                Duration::ZERO
            }
            Next::Again(pause) => pause,
        };
        self.shared.board.wait(&self.who, format!("a new try after: {error}"));
        let until = self.now() + pause;
        while self.now() < until {
            if self.stop.wish() != Wish::Run {
                return Some(LaneEnd::Released);
            }
            self.pause(Duration::from_millis(20).min(pause));
        }
        if error.class == Class::Fenced && !(self.member)() {
            return Some(LaneEnd::Dropped);
        }
        None
    }

    fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    fn pause(&self, pause: Duration) {
        self.shared.clock.sleep(pause);
    }

    fn somebody_else(&self, error: &ClusterError) -> Error {
        let id = self.shared.plan.transactional_id(self.number);
        Error::taken_over(format!(
            "transactional id `{id}` is taken again and again though the group names this worker: {}",
            error.what
        ))
        .hint("look for another process that uses this plan name on this target outside the group")
    }

    fn final_words(&self, error: ClusterError) -> Error {
        let side = error.side;
        let class = error.class;
        let error = Error::from(error);
        if error.hint.is_some() {
            return error;
        }
        let hint = match (class, side) {
            (Class::Record, _) => {
                "raise `max.message.bytes` (or the timestamp bounds) of the target topic, or set \
                 `compression.type` in `[target.properties]`, then run again: nothing was lost, the \
                 run goes on at this record"
            }
            (_, Side::Source) => {
                "nothing was lost: run again when the source answers, it goes on where it stopped"
            }
            (_, Side::Target) => {
                "nothing was lost: run again when the target answers, it goes on where it stopped"
            }
        };
        error.hint(hint)
    }

    /// A point of the protocol: see [`failpoint`].
    fn point(&self, name: &str) -> Result<(), Halt> {
        Ok(failpoint::at(name, self.number)?)
    }

    /// Ends the work where the membership is gone or an abort is wanted.
    fn still_ours(&self) -> Result<(), Halt> {
        if self.stop.wish() == Wish::Abort {
            return Err(Halt::End(LaneEnd::Released));
        }
        if (self.member)() { Ok(()) } else { Err(Halt::End(LaneEnd::Dropped)) }
    }
}
