//! The board: what a running worker knows about its progress, written by the lanes once per commit,
//! read by bars, status lines and the summary. Everything shown is computed from one [`Snapshot`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::plan::TopicPartition;

/// Progress of one source partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Position when this worker first saw the partition.
    pub began: i64,
    /// Next source offset to copy, committed.
    pub position: i64,
    /// Where copying ends: the fence of a one-shot run, the last known log end of a tail.
    pub end: i64,
    /// Records committed by this process.
    pub records: u64,
    /// Bytes of keys, values and headers committed by this process.
    pub bytes: u64,
    /// Records whose timestamp (0) the client library replaced by the wall clock.
    pub untimed: u64,
}

/// Something that holds the run up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Who waits: `lane 3`, `worker`, `control`.
    pub who: String,
    /// For what: `the open transaction on source orders-3 (last stable offset 812, fence 900)`.
    pub what: String,
    /// Since when.
    pub since: Instant,
}

/// Everything on the board at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Instant,
    /// When the run began.
    pub started: Instant,
    /// By source partition.
    pub partitions: BTreeMap<TopicPartition, Progress>,
    /// Data transactions committed by this process.
    pub transactions: u64,
    /// Waits, the longest first.
    pub waits: Vec<Wait>,
    /// Lanes that this worker owns now.
    pub lanes_owned: u32,
    /// Lanes of the plan.
    pub lanes_total: u32,
}

#[derive(Debug)]
struct Inner {
    partitions: BTreeMap<TopicPartition, Progress>,
    transactions: u64,
    waits: BTreeMap<String, (String, Instant)>,
    lanes_owned: u32,
    lanes_total: u32,
}

/// Shared by lanes (writers) and reporters (readers).
#[derive(Debug, Clone)]
pub struct Board {
    started: Instant,
    inner: Arc<Mutex<Inner>>,
    /// The signal that asked for an end; 0 without one.
    stop: Arc<AtomicI32>,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            inner: Arc::new(Mutex::new(Inner {
                partitions: BTreeMap::new(),
                transactions: 0,
                waits: BTreeMap::new(),
                lanes_owned: 0,
                lanes_total: 0,
            })),
            stop: Arc::default(),
        }
    }
}

impl Board {
    // A panicking lane must not take the screen with it: the numbers stay readable.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares a partition, or moves its end; what was counted stays.
    pub fn scope(&self, partition: &TopicPartition, position: i64, end: i64) {
        let mut inner = self.lock();
        let fresh = Progress { began: position, ..Progress::default() };
        let progress = inner.partitions.entry(partition.clone()).or_insert(fresh);
        progress.position = progress.position.max(position);
        progress.end = progress.end.max(end);
    }

    /// Counts what a committed transaction moved of one partition.
    pub fn moved(
        &self,
        partition: &TopicPartition,
        position: i64,
        records: u64,
        bytes: u64,
        untimed: u64,
    ) {
        let mut inner = self.lock();
        let progress = inner.partitions.entry(partition.clone()).or_default();
        progress.position = progress.position.max(position);
        progress.records += records;
        progress.bytes += bytes;
        progress.untimed += untimed;
    }

    /// Counts a committed data transaction.
    pub fn transaction(&self) {
        self.lock().transactions += 1;
    }

    /// Says what `who` waits for; the same wait said again keeps its begin.
    pub fn wait(&self, who: &str, what: impl Into<String>) {
        let what = what.into();
        let mut inner = self.lock();
        match inner.waits.get_mut(who) {
            Some((said, _)) if *said == what => {}
            Some(slot) => *slot = (what, Instant::now()),
            None => {
                inner.waits.insert(who.to_owned(), (what, Instant::now()));
            }
        }
    }

    /// `who` goes on.
    pub fn go_on(&self, who: &str) {
        self.lock().waits.remove(who);
    }

    /// Asks for an end, because of this signal.
    pub fn stop(&self, signal: i32) {
        self.stop.store(signal, Ordering::Relaxed);
    }

    /// The signal that asked for an end, if one has.
    pub fn stopped_by(&self) -> Option<i32> {
        Some(self.stop.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// How many of the plan's lanes this worker owns.
    pub fn lanes(&self, owned: u32, total: u32) {
        let mut inner = self.lock();
        (inner.lanes_owned, inner.lanes_total) = (owned, total);
    }

    /// Everything at this moment.
    pub fn snapshot(&self) -> Snapshot {
        let inner = self.lock();
        let mut waits: Vec<Wait> = inner
            .waits
            .iter()
            .map(|(who, (what, since))| Wait {
                who: who.clone(),
                what: what.clone(),
                since: *since,
            })
            .collect();
        waits.sort_by_key(|wait| wait.since);
        Snapshot {
            at: Instant::now(),
            started: self.started,
            partitions: inner.partitions.clone(),
            transactions: inner.transactions,
            waits,
            lanes_owned: inner.lanes_owned,
            lanes_total: inner.lanes_total,
        }
    }
}

impl Snapshot {
    /// Since the run began.
    pub fn elapsed(&self) -> Duration {
        self.at.saturating_duration_since(self.started)
    }

    /// Sum over all partitions; `began`, `position` and `end` are sums of offsets.
    pub fn total(&self) -> Progress {
        self.partitions.values().fold(Progress::default(), |sum, part| Progress {
            began: sum.began + part.began,
            position: sum.position + part.position,
            end: sum.end + part.end,
            records: sum.records + part.records,
            bytes: sum.bytes + part.bytes,
            untimed: sum.untimed + part.untimed,
        })
    }

    /// Sums by topic.
    pub fn topics(&self) -> BTreeMap<Arc<str>, Progress> {
        let mut topics: BTreeMap<Arc<str>, Progress> = BTreeMap::new();
        for (at, part) in &self.partitions {
            let sum = topics.entry(at.topic.clone()).or_default();
            sum.began += part.began;
            sum.position += part.position;
            sum.end += part.end;
            sum.records += part.records;
            sum.bytes += part.bytes;
            sum.untimed += part.untimed;
        }
        topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_said_again_keeps_its_begin_and_a_new_one_starts_anew() {
        let board = Board::default();
        board.wait("lane 0", "a");
        let first = board.snapshot().waits[0].since;
        board.wait("lane 0", "a");
        assert_eq!(board.snapshot().waits[0].since, first);
        board.wait("lane 0", "b");
        assert_eq!(board.snapshot().waits[0].what, "b");
        board.go_on("lane 0");
        assert!(board.snapshot().waits.is_empty());
    }

    #[test]
    fn counts_add_up_by_topic_and_positions_never_go_back() {
        let board = Board::default();
        for partition in 0..2 {
            let at = TopicPartition::new("orders", partition);
            board.scope(&at, 10, 100);
            board.moved(&at, 60, 50, 5_000, 1);
            board.moved(&at, 40, 0, 0, 0);
        }
        let topic = board.snapshot().topics()["orders"];
        let both = Progress {
            began: 20,
            position: 120,
            end: 200,
            records: 100,
            bytes: 10_000,
            untimed: 2,
        };
        assert_eq!(topic, both);
        assert_eq!(board.snapshot().total(), both);
    }
}
