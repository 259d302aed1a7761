//! A plain reader of single logs, on either side: the ledger, anchors, foreign records.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::scan::{Scan, Seen};
use super::{Isolation, ReaderTuning, consumer};
use crate::cluster::class::{Call, ClusterError, denied};
use crate::cluster::connect::Connection;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::consume::{Consumer, Fetched};
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::list::PartitionList;
use crate::plan::TopicPartition;
use crate::record::Record;

/// How long a log may bring nothing before reading it is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Messages taken per call: what they take up stays in the processor's cache until they are freed, and
/// little is handed out beside what the queue counts.
const TAKE: usize = 1024;

/// Partitions looked at together by [`LogReader::first_at`].
const TOGETHER: usize = 500;

/// What was asked for is there, so nobody waits for records; but each reading begins behind the request that
/// the one before has left at the end of its log. With 100 ms the ledger of 6 lanes took 2 s to read (measured).
const FETCH_WAIT: Duration = Duration::from_millis(5);

/// Reading whole logs.
const BULK: ReaderTuning =
    ReaderTuning { queue_bytes: 32 << 20, fetch_bytes: 4 << 20, fetch_wait: FETCH_WAIT };

/// Reading one record of each of many logs.
const TINY: ReaderTuning =
    ReaderTuning { queue_bytes: 16 << 20, fetch_bytes: 64 << 10, fetch_wait: FETCH_WAIT };

/// What is at an offset.
#[derive(Debug)]
pub enum First<'a> {
    /// The first visible record at or after it.
    Record(&'a Record<'a>),
    /// None up to the end of the partition; the next offset to be read there.
    None {
        /// Position at the end.
        end: i64,
    },
    /// The offset is not in the log: deleted, beyond the end, or no such partition.
    Lost {
        /// What the client said.
        reason: String,
    },
}

/// What is to be read of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRange {
    /// The partition.
    pub at: TopicPartition,
    /// First offset.
    pub from: i64,
    /// First offset behind it.
    pub until: i64,
}

/// How far a range was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// To this position: the end of the range, or the offset after the record at which it broke off.
    Position(i64),
    /// To where the log no longer holds what comes next: retention or `delete-records` was faster.
    Lost {
        /// Position.
        at: i64,
        /// What the client said.
        reason: String,
    },
}

/// Reads logs from an offset to another.
pub struct LogReader {
    connection: Connection,
    isolation: Isolation,
    tuning: ReaderTuning,
    bulk: Option<Consumer>,
    tiny: Option<Consumer>,
}

impl LogReader {
    /// A reader that sees what `isolation` lets it see. Connects when it first reads.
    pub fn open(connection: &Connection, isolation: Isolation) -> Result<LogReader, ClusterError> {
        let connection = connection.clone();
        Ok(LogReader { connection, isolation, tuning: BULK, bulk: None, tiny: None })
    }

    /// The same, holding at most about `queue_bytes` of what it has fetched ahead.
    pub fn open_within(
        connection: &Connection,
        isolation: Isolation,
        queue_bytes: usize,
    ) -> Result<LogReader, ClusterError> {
        let fetch_bytes = BULK.fetch_bytes.min(queue_bytes / 4);
        let tuning = ReaderTuning { queue_bytes, fetch_bytes, ..BULK };
        Ok(LogReader { tuning, ..Self::open(connection, isolation)? })
    }

    /// Shows the visible records of `at` from offset `from` on and below `until` (a last stable
    /// offset or high watermark that was asked for), until `each` breaks. Returns the position
    /// reached: `until`, or the offset after the record at which it broke off.
    ///
    /// Control and aborted records count as read: the position passes over them. Half a minute
    /// without progress is a retriable error; an offset that is not in the log a final one.
    pub fn read(
        &mut self,
        at: &TopicPartition,
        from: i64,
        until: i64,
        each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> Result<i64, ClusterError> {
        let range = LogRange { at: at.clone(), from, until };
        let reached = self.read_each(&[range], &mut |_, record| each(record))?.remove(0);
        match reached {
            Reached::Position(position) => Ok(position),
            Reached::Lost { reason, .. } => {
                let what = format!("cannot read `{at}`");
                let fault = Fault::new(Code::OFFSET_OUT_OF_RANGE, reason);
                Err(self.connection.error(Call::Fetch, &what, &fault, None))
            }
        }
    }

    /// [`read`](LogReader::read) of many partitions at once, each of them named once: `each` is called
    /// with the index of the range. Tells of each range how far it came.
    pub fn read_each(
        &mut self,
        ranges: &[LogRange],
        each: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Reached>, ClusterError> {
        let mut reached: Vec<Reached> =
            ranges.iter().map(|range| Reached::Position(range.from)).collect();
        let open: Vec<usize> =
            (0..ranges.len()).filter(|i| ranges[*i].from < ranges[*i].until).collect();
        let start: Vec<_> = open.iter().map(|i| (ranges[*i].at.clone(), ranges[*i].from)).collect();
        if start.is_empty() {
            return Ok(reached);
        }
        self.scan(Size::Bulk, &start, &mut |index, seen| {
            let index = open[index];
            let until = ranges[index].until;
            let Reached::Position(position) = &mut reached[index] else { return true };
            match seen {
                Seen::Record(record) if record.offset < until => {
                    *position = record.offset + 1;
                    each(index, record).is_break() || *position >= until
                }
                Seen::Record(_) => {
                    *position = until;
                    true
                }
                Seen::End(end) => {
                    *position = (*position).max(end.min(until));
                    *position >= until
                }
                Seen::Lost(reason) => {
                    reached[index] = Reached::Lost { at: *position, reason };
                    true
                }
            }
        })?;
        Ok(reached)
    }

    /// What is at or after each of these offsets, many partitions at once with small fetches.
    /// `each` is called once per entry of `at`, with its index, in any order.
    pub fn first_at(
        &mut self,
        at: &[(TopicPartition, i64)],
        each: &mut dyn FnMut(usize, First<'_>),
    ) -> Result<(), ClusterError> {
        for round in rounds(at) {
            let start: Vec<_> = round.iter().map(|&index| at[index].clone()).collect();
            self.scan(Size::Tiny, &start, &mut |index, seen| {
                let first = match seen {
                    Seen::Record(record) => First::Record(record),
                    Seen::End(end) => First::None { end },
                    Seen::Lost(reason) => First::Lost { reason },
                };
                each(round[index], first);
                true
            })?;
        }
        Ok(())
    }

    /// Reads partitions from their offsets until `see` has said of each that it is done.
    fn scan(
        &mut self,
        size: Size,
        start: &[(TopicPartition, i64)],
        see: &mut dyn FnMut(usize, Seen<'_>) -> bool,
    ) -> Result<(), ClusterError> {
        self.try_scan(size, start, see).inspect_err(|_| {
            // Half-way through: the next scan begins with a client that holds nothing.
            match size {
                Size::Bulk => self.bulk = None,
                Size::Tiny => self.tiny = None,
            }
        })
    }

    fn try_scan(
        &mut self,
        size: Size,
        start: &[(TopicPartition, i64)],
        see: &mut dyn FnMut(usize, Seen<'_>) -> bool,
    ) -> Result<(), ClusterError> {
        let connection = self.connection.clone();
        let what = match start {
            [(at, _)] => format!("cannot read `{at}`"),
            _ => "cannot read the partitions".to_owned(),
        };
        let consumer = self.consumer(size)?;
        let error = |consumer: &Consumer, fault: &Fault| {
            connection.error(Call::Fetch, &what, fault, Some(consumer.client().notices()))
        };
        let mut scan = Scan::of(start);
        let mut list = PartitionList::new(start.len());
        for (at, offset) in start {
            list.add(&at.topic, at.partition, *offset, None);
        }
        consumer
            .unassign()
            .and_then(|()| consumer.assign(&list))
            .map_err(|fault| error(consumer, &fault))?;
        // A partition that is done is read on and ignored, never paused: a pause outlives the assignment
        // and, lifted, moves the position of the next one.
        let mut progress = Instant::now();
        while scan.open > 0 {
            let mut outcome = Ok(());
            consumer.take(Duration::from_millis(100), &mut |fetched| {
                // An error that comes again and again is no progress.
                let tells = matches!(&fetched, Fetched::Records(..))
                    || matches!(&fetched, Fetched::Notice(n) if n.code == Code::PARTITION_EOF);
                if outcome.is_ok() {
                    match scan.take(fetched, see) {
                        // Nor is what comes of a partition that is done.
                        Ok(open) if open && tells => progress = Instant::now(),
                        Ok(_) => {}
                        Err(fault) => outcome = Err(fault),
                    }
                }
            });
            consumer.client().serve();
            outcome.map_err(|fault| error(consumer, &fault))?;
            for (code, text) in consumer.client().notices().take_errors() {
                if denied(code) && code != Code::GROUP_DENIED {
                    return Err(error(consumer, &Fault::new(code, text)));
                }
            }
            if progress.elapsed() > PATIENCE {
                return Err(error(consumer, &Fault::from_code(Code::TIMED_OUT)));
            }
        }
        consumer.unassign().map_err(|fault| error(consumer, &fault))
    }

    fn consumer(&mut self, size: Size) -> Result<&mut Consumer, ClusterError> {
        let (place, tuning, ahead) = match size {
            Size::Bulk => (&mut self.bulk, self.tuning, ahead(self.tuning.queue_bytes)),
            Size::Tiny => (&mut self.tiny, TINY, 1),
        };
        if place.is_none() {
            // The client id is the name that the cluster's rules allow.
            let group = self.connection.client_id();
            *place = Some(consumer(
                &self.connection,
                "log-reader",
                group,
                self.isolation,
                tuning,
                ahead,
                TAKE,
            )?);
        }
        Ok(place.as_mut().expect("just made"))
    }
}

/// Messages fetched ahead per partition. The queue counts bytes of keys and values alone, but a message
/// takes some 400 bytes beside (measured: 20 million records of 52 B filled 4 times their queues).
fn ahead(queue_bytes: usize) -> usize {
    (queue_bytes / 256).clamp(1_000, 1_000_000)
}

/// Indexes of `at` in groups that can be read together: a partition is in each at most once.
fn rounds(at: &[(TopicPartition, i64)]) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut times_seen: HashMap<&TopicPartition, usize> = HashMap::new();
    let mut open: HashMap<usize, usize> = HashMap::new();
    for (index, (partition, _)) in at.iter().enumerate() {
        let times = times_seen.entry(partition).or_default();
        let round = *open.entry(*times).or_insert_with(|| {
            rounds.push(Vec::new());
            rounds.len() - 1
        });
        rounds[round].push(index);
        if rounds[round].len() == TOGETHER {
            open.remove(times);
        }
        *times += 1;
    }
    rounds
}

#[derive(Clone, Copy)]
enum Size {
    Bulk,
    Tiny,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_that_is_asked_for_twice_is_read_in_two_rounds() {
        let at = |partition| (TopicPartition::new("t", partition), 0);
        let many: Vec<_> = (0..700).chain([3, 4]).map(at).collect();
        let rounds = rounds(&many);
        assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [500, 200, 2]);
        assert_eq!(rounds[2], [700, 701]);
    }
}
