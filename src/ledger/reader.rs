//! Reads the ledger from the target: the one part of `ledger/` that touches the network.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::{
    Admin, At, ClusterError, Connection, Isolation, LogRange, LogReader, OffsetAt, Reached,
};
use crate::error::Error;
use crate::ledger::{Entry, Header, LaneState, ReplayError, decode};
use crate::plan::TopicPartition;
use crate::record::Record;

/// Reads the partitions of one ledger topic, `read_committed`.
pub struct LedgerReader {
    logs: Box<dyn Logs>,
    topic: Arc<str>,
}

/// The cluster that holds the ledger, as its reader sees it; what is not committed is not shown.
pub trait Logs: Send + Sync {
    /// As [`Admin::offsets`].
    fn offsets(
        &self,
        partitions: &[TopicPartition],
        at: At,
    ) -> Result<BTreeMap<TopicPartition, Result<OffsetAt, ClusterError>>, ClusterError>;

    /// As [`LogReader::read`].
    fn read(
        &self,
        range: &LogRange,
        each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClusterError>;

    /// As [`LogReader::read_each`].
    fn read_each(
        &self,
        ranges: &[LogRange],
        each: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Reached>, ClusterError>;

    /// Whether the cluster has no topic of this name any more.
    fn lacks(&self, topic: &str) -> bool;
}

struct OnTarget {
    admin: Arc<Admin>,
    log: Mutex<LogReader>,
}

impl Logs for OnTarget {
    fn offsets(
        &self,
        partitions: &[TopicPartition],
        at: At,
    ) -> Result<BTreeMap<TopicPartition, Result<OffsetAt, ClusterError>>, ClusterError> {
        self.admin.offsets(partitions, at)
    }

    fn read(
        &self,
        LogRange { at, from, until }: &LogRange,
        each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClusterError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.read(at, *from, *until, each).map(drop)
    }

    fn read_each(
        &self,
        ranges: &[LogRange],
        each: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Reached>, ClusterError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.read_each(ranges, each)
    }

    fn lacks(&self, topic: &str) -> bool {
        let found = self.admin.describe_known(&[topic]);
        matches!(found.map(|mut found| found.remove(topic)), Ok(Some(None)))
    }
}

/// The offsets that bound a ledger partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Above 0 the ledger has lost its beginning.
    pub log_start: i64,
    /// High watermark.
    pub log_end: i64,
    /// Last stable offset: below the high watermark while a transaction is open.
    pub last_stable: i64,
}

/// Why the ledger could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The target failed.
    Cluster(ClusterError),
    /// What is there cannot be the ledger that onceover wrote.
    Damaged(String),
    /// The topic of this name is gone.
    Gone(String),
}

impl From<ClusterError> for ReadError {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Cluster(error) => error.into(),
            ReadError::Damaged(what) => Error::refused("ledger-damaged", what).hint(
                "look at it with `onceover status PLAN --ledger`; a ledger that somebody else \
                 wrote to or cut cannot be trusted, a new plan name starts a new one",
            ),
            ReadError::Gone(topic) => Error::refused(
                "ledger-damaged",
                format!("ledger topic `{topic}` is gone: somebody deleted it"),
            )
            .hint(
                "the copied records are there, but nobody knows any more how far the copy came; copy \
                 again with a new plan name (a new ledger) into empty target topics",
            ),
        }
    }
}

/// How many entries a look for the latest snapshot reads at first; then eight times as many.
const FIRST_LOOK: i64 = 64;

impl LedgerReader {
    /// A reader of `topic` with a consumer of its own.
    pub fn open(
        connection: &Connection,
        admin: Arc<Admin>,
        topic: Arc<str>,
    ) -> Result<Self, ClusterError> {
        let log = Mutex::new(LogReader::open(connection, Isolation::Committed)?);
        Ok(Self::over(Box::new(OnTarget { admin, log }), topic))
    }

    /// A reader of `topic` over these logs.
    pub fn over(logs: Box<dyn Logs>, topic: Arc<str>) -> Self {
        Self { logs, topic }
    }

    /// The ledger topic's name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The coordinates of ledger partition `number`.
    pub fn partition(&self, number: u32) -> TopicPartition {
        let number = i32::try_from(number).expect("a topic has fewer than 2^31 partitions");
        TopicPartition::new(self.topic.clone(), number)
    }

    /// The bounds of ledger partition `number`, the log end taken first: what was committed before
    /// this call lies below the last stable offset as soon as that has reached the log end.
    pub fn ends(&self, number: u32) -> Result<Ends, ReadError> {
        Ok(self.ends_of(&[self.partition(number)])?[0])
    }

    /// The same of partitions `0..count`, in three rounds.
    pub fn all_ends(&self, count: u32) -> Result<Vec<Ends>, ReadError> {
        let asked: Vec<TopicPartition> = (0..count).map(|number| self.partition(number)).collect();
        self.ends_of(&asked)
    }

    fn ends_of(&self, asked: &[TopicPartition]) -> Result<Vec<Ends>, ReadError> {
        let log_ends = self.offsets(asked, At::LogEnd)?;
        let last_stable = self.offsets(asked, At::LastStable)?;
        let log_starts = self.offsets(asked, At::LogStart)?;
        let ends = log_ends.into_iter().zip(last_stable).zip(log_starts);
        Ok(ends
            .map(|((log_end, last_stable), log_start)| Ends { log_start, log_end, last_stable })
            .collect())
    }

    fn offsets(&self, asked: &[TopicPartition], which: At) -> Result<Vec<i64>, ReadError> {
        let mut answer = self.logs.offsets(asked, which).map_err(|error| self.gone_or(error))?;
        let one = |at| {
            let one = answer.remove(at).expect("an answer for each partition asked for");
            one.map(|found| found.offset)
        };
        asked.iter().map(one).collect::<Result<_, _>>().map_err(|error| self.gone_or(error))
    }

    /// What cannot be asked for may be a deleted topic, and that does not pass; the client only says
    /// that it finds no leaders.
    fn gone_or(&self, error: ClusterError) -> ReadError {
        if self.logs.lacks(self.topic()) {
            return ReadError::Gone(self.topic.to_string());
        }
        ReadError::Cluster(error.of_known_topic())
    }

    /// The last stable offsets of ledger partitions `0..count`, in one round.
    pub fn last_stable(&self, count: u32) -> Result<Vec<i64>, ReadError> {
        let asked: Vec<TopicPartition> = (0..count).map(|number| self.partition(number)).collect();
        self.offsets(&asked, At::LastStable)
    }

    /// Shows every visible entry from `from` on below `until`, as bytes.
    pub fn raw(
        &self,
        number: u32,
        from: i64,
        until: i64,
        see: &mut dyn FnMut(i64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ClusterError> {
        if from >= until {
            return Ok(());
        }
        self.logs.read(&LogRange { at: self.partition(number), from, until }, &mut |record| {
            see(record.offset, record.value.unwrap_or_default())
        })
    }

    /// Shows every entry from `from` on below `until`.
    pub fn entries(
        &self,
        number: u32,
        from: i64,
        until: i64,
        see: &mut dyn FnMut(i64, Entry) -> Result<(), ReplayError>,
    ) -> Result<(), ReadError> {
        let mut damage = None;
        self.raw(number, from, until, &mut |offset, bytes| {
            let seen = decode(bytes)
                .map_err(|error| error.to_string())
                .and_then(|entry| see(offset, entry).map_err(|error| error.to_string()));
            match seen {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    damage = Some(self.unreadable(number, offset, &error));
                    ControlFlow::Break(())
                }
            }
        })?;
        damage.map_or(Ok(()), |what| Err(ReadError::Damaged(what)))
    }

    /// Shows every entry of several partitions, each from an offset on below another, all at once:
    /// `see` is told the number of the partition.
    pub fn entries_of(
        &self,
        ranges: &[(u32, i64, i64)],
        see: &mut dyn FnMut(u32, i64, Entry) -> Result<(), ReplayError>,
    ) -> Result<(), ReadError> {
        let mut damage = None;
        let range = |&(number, from, until)| LogRange { at: self.partition(number), from, until };
        let asked: Vec<LogRange> = ranges.iter().map(range).collect();
        let reached = self.logs.read_each(&asked, &mut |index, record| {
            if damage.is_some() {
                return ControlFlow::Break(());
            }
            let (number, offset) = (ranges[index].0, record.offset);
            let seen = decode(record.value.unwrap_or_default())
                .map_err(|error| error.to_string())
                .and_then(|entry| see(number, offset, entry).map_err(|error| error.to_string()));
            let Err(error) = seen else { return ControlFlow::Continue(()) };
            damage = Some(self.unreadable(number, offset, &error));
            ControlFlow::Break(())
        })?;
        if let Some(what) = damage {
            return Err(ReadError::Damaged(what));
        }
        for ((number, ..), reached) in ranges.iter().zip(reached) {
            if let Reached::Lost { at, reason } = reached {
                return Err(ReadError::Damaged(self.unreadable(*number, at, &reason)));
            }
        }
        Ok(())
    }

    fn unreadable(&self, number: u32, offset: i64, error: &str) -> String {
        format!("ledger `{}` cannot be read at offset {offset}: {error}", self.partition(number))
    }

    /// The state of lane `lane` as committed below `until`, read from its latest snapshot on.
    pub fn lane(&self, lane: u32, until: i64) -> Result<LaneState, ReadError> {
        let from = self.latest_snapshot(lane, until)?;
        let mut state = if from == 0 {
            LaneState::default()
        } else {
            let first = self.lane_header(lane, from)?;
            LaneState::from_snapshot(first).map_err(|error| self.damaged(lane, &error))?
        };
        self.entries(lane, from, until, &mut |offset, entry| state.apply(offset, entry))?;
        state.check_end().map_err(|error| self.damaged(lane, &error))?;
        Ok(state)
    }

    /// The first visible entry. Not always at offset 0: a first transaction that was aborted takes offsets.
    fn lane_header(&self, lane: u32, below: i64) -> Result<Header, ReadError> {
        let mut first = LaneState::default();
        let mut applied = Ok(());
        self.raw(lane, 0, below, &mut |offset, bytes| {
            applied = first.apply_bytes(offset, bytes);
            ControlFlow::Break(())
        })?;
        applied.map_err(|error| self.damaged(lane, &error))?;
        first.header.ok_or_else(|| {
            ReadError::Damaged(format!(
                "ledger `{}` has no header before its snapshot at offset {below}",
                self.partition(lane)
            ))
        })
    }

    fn damaged(&self, number: u32, error: &ReplayError) -> ReadError {
        ReadError::Damaged(format!("ledger `{}`: {error}", self.partition(number)))
    }

    /// Brings a state up to what is committed below `until`; tells whether there was anything new.
    pub fn catch_up(
        &self,
        lane: u32,
        state: &mut LaneState,
        until: i64,
    ) -> Result<bool, ReadError> {
        let mut news = false;
        self.entries(lane, state.next_offset, until, &mut |offset, entry| {
            news = true;
            state.apply(offset, entry)
        })?;
        Ok(news)
    }

    /// Where replay may begin: the latest snapshot that any entry names, else the beginning.
    fn latest_snapshot(&self, lane: u32, until: i64) -> Result<i64, ReadError> {
        let mut look = FIRST_LOOK;
        loop {
            let from = (until - look).max(0);
            let mut found = None;
            self.entries(lane, from, until, &mut |offset, entry| {
                if matches!(entry, Entry::Carry(_) | Entry::Snapshot(_)) {
                    found = Some(entry.snapshot_before(offset));
                }
                Ok(())
            })?;
            match found {
                Some(at) => return Ok(at.unwrap_or(0)),
                None if from == 0 => return Ok(0),
                None => look = look.saturating_mul(8),
            }
        }
    }
}
