//! The source half of the pipe: batches of records of one partition, as librdkafka holds them.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Isolation, ReaderTuning, TAKE, consumer, position_is_gone};
use crate::cluster::class::{Call, Class, ClusterError, classify, denied};
use crate::cluster::connect::Connection;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::consume::{Consumer, Fetched, Notice, Place};
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::list::PartitionList;
use crate::cluster::sys::message::Messages;
use crate::pipe::engine::{Batch, Polled, Source, StartAt};
use crate::plan::TopicPartition;
use crate::record::Record;

/// How long an assignment may take to settle before its positions can be checked.
const SETTLE: Duration = Duration::from_secs(30);

/// Records of one source partition.
pub struct SourceBatch {
    partition: usize,
    from: Arc<[TopicPartition]>,
    messages: Messages,
}

impl SourceBatch {
    /// The source partition.
    pub fn source(&self) -> &TopicPartition {
        &self.from[self.partition]
    }

    /// For the writer.
    pub(in crate::cluster) fn messages(&self) -> &Messages {
        &self.messages
    }
}

impl fmt::Debug for SourceBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.offset(self.len() - 1);
        write!(f, "SourceBatch({}@{}..={last})", self.source(), self.offset(0))
    }
}

impl Batch for SourceBatch {
    fn partition(&self) -> usize {
        self.partition
    }

    fn len(&self) -> usize {
        self.messages.len()
    }

    fn offset(&self, index: usize) -> i64 {
        self.messages.offset(index)
    }

    fn visit(&self, see: &mut dyn FnMut(usize, &Record<'_>)) {
        let _to_the_end = self.messages.visit(&mut |index, record| {
            see(index, record);
            ControlFlow::Continue(())
        });
    }
}

/// One consumer that reads what it is assigned, committed records only.
pub struct SourceReader {
    connection: Connection,
    group: String,
    tuning: ReaderTuning,
    consumer: Consumer,
    /// The client has had an assignment.
    used: bool,
    /// The assignment, as batches refer to it.
    from: Arc<[TopicPartition]>,
    state: Vec<Reading>,
    index: HashMap<(Arc<str>, i32), usize>,
    /// What [`index`](Self::index) said, by librdkafka's own key: no name is looked at per batch.
    places: HashMap<Place, usize>,
}

/// Where reading a partition stands.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// Nothing below is handed out: what a former assignment left in the client is void.
    next: i64,
    /// Paused or lost: hands nothing out until the next assignment.
    silent: bool,
}

impl SourceReader {
    /// A reader without an assignment. `group` is only a name that the source's rules must allow.
    pub fn open(
        connection: &Connection,
        group: &str,
        tuning: ReaderTuning,
    ) -> Result<SourceReader, ClusterError> {
        Ok(SourceReader {
            connection: connection.clone(),
            group: group.to_owned(),
            tuning,
            consumer: Self::fresh(connection, group, tuning)?,
            used: false,
            from: Arc::new([]),
            state: Vec::new(),
            index: HashMap::new(),
            places: HashMap::new(),
        })
    }

    fn fresh(
        connection: &Connection,
        group: &str,
        tuning: ReaderTuning,
    ) -> Result<Consumer, ClusterError> {
        // The queue's bytes are those of keys and values alone; of small records their number is the bound.
        let ahead = (tuning.queue_bytes / 512).clamp(1_000, 1_000_000);
        consumer(connection, "reader", group, Isolation::Committed, tuning, ahead, TAKE)
    }

    fn error(&self, what: &str, fault: &Fault) -> ClusterError {
        let notices = Some(self.consumer.client().notices());
        self.connection.error(Call::Fetch, what, fault, notices)
    }

    /// Seeks to the positions that have a leader epoch: unlike `assign`, a seek always checks them.
    fn check_epochs(&self, from: &[StartAt]) -> Result<(), ClusterError> {
        let what = "cannot check the positions";
        let mut left: Vec<&StartAt> =
            from.iter().filter(|start| start.leader_epoch.is_some()).collect();
        let deadline = Instant::now() + SETTLE;
        while !left.is_empty() {
            let mut list = PartitionList::new(left.len());
            for start in &left {
                let StartAt { at, offset, leader_epoch } = start;
                list.add(&at.topic, at.partition, *offset, *leader_epoch);
            }
            // Entries that did not answer in time say so themselves.
            let outcome = self.consumer.seek(&mut list, Duration::from_secs(5));
            let mut refused = None;
            for (start, entry) in std::mem::take(&mut left).into_iter().zip(list.entries()) {
                match entry.code {
                    Code::OK => {}
                    // The fetcher of the partition is still stopping or starting.
                    Code::STATE | Code::PREV_IN_PROGRESS | Code::IN_PROGRESS => left.push(start),
                    code => refused = Some((start, Fault::from_code(code))),
                }
            }
            if let Some((start, fault)) = refused {
                return Err(self.error(&format!("{what} of `{}`", start.at), &fault));
            }
            if left.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                let fault = outcome.err().unwrap_or_else(|| Fault::from_code(Code::TIMED_OUT));
                return Err(self.error(what, &fault));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Errors that belong to no partition. A cluster that is away is not one: the client tries on.
    fn check_client(&self) -> Result<(), ClusterError> {
        let client = self.consumer.client();
        client.serve();
        for (code, text) in client.notices().take_errors() {
            // A reader is no member of its group; that it may not be one does not hinder it.
            if denied(code) && code != Code::GROUP_DENIED {
                return Err(self.error("cannot read", &Fault::new(code, text)));
            }
        }
        Ok(())
    }
}

impl Source for SourceReader {
    type Batch = SourceBatch;

    fn assign(&mut self, from: &[StartAt]) -> Result<(), ClusterError> {
        let what = "cannot assign the partitions";
        // Nothing of a former assignment may reach into this one: a pause outlives its assignment in
        // librdkafka, and lifting it moves the position to where the paused one was. A new client
        // remembers nothing.
        if std::mem::replace(&mut self.used, true) {
            self.consumer = Self::fresh(&self.connection, &self.group, self.tuning)?;
        }
        self.places.clear();
        self.from = from.iter().map(|start| start.at.clone()).collect();
        self.index = from
            .iter()
            .enumerate()
            .map(|(index, start)| ((Arc::clone(&start.at.topic), start.at.partition), index))
            .collect();
        self.state =
            from.iter().map(|start| Reading { next: start.offset, silent: false }).collect();
        if from.is_empty() {
            return Ok(());
        }
        let mut list = PartitionList::new(from.len());
        for StartAt { at, offset, .. } in from {
            list.add(&at.topic, at.partition, *offset, None);
        }
        self.consumer.assign(&list).map_err(|fault| self.error(what, &fault))?;
        self.check_epochs(from)
    }

    fn pause(&mut self, partition: usize) -> Result<(), ClusterError> {
        self.state[partition].silent = true;
        let at = &self.from[partition];
        self.consumer
            .pause(&PartitionList::of([at]))
            .map_err(|fault| self.error(&format!("cannot pause `{at}`"), &fault))
    }

    fn poll(&mut self, wait: Duration) -> Result<Vec<Polled<SourceBatch>>, ClusterError> {
        self.check_client()?;
        let mut polled = Vec::new();
        let mut failed = None;
        let Self { consumer, from, state, index, places, .. } = self;
        consumer.take(wait, &mut |fetched| match fetched {
            Fetched::Records(place, partition, messages) => {
                let known = places.get(&place).copied().or_else(|| {
                    let key = (Arc::from(messages.topic()), partition);
                    index.get(&key).copied().inspect(|&known| _ = places.insert(place, known))
                });
                if let Some(partition) = known
                    && let Some(messages) = state[partition].accept(messages)
                {
                    let from = Arc::clone(from);
                    polled.push(Polled::Records(SourceBatch { partition, from, messages }));
                }
            }
            Fetched::Notice(notice) => {
                let partition = notice
                    .topic
                    .as_deref()
                    .and_then(|topic| index.get(&(Arc::from(topic), notice.partition)).copied());
                match partition {
                    Some(partition) => match state[partition].hear(partition, notice) {
                        Ok(heard) => polled.extend(heard),
                        Err(notice) => failed = failed.take().or(Some(notice)),
                    },
                    None => tracing::debug!(?notice, "not about an assigned partition"),
                }
            }
        });
        match failed {
            None => Ok(polled),
            Some(Notice { topic, partition, code, text, .. }) => {
                let what = format!("cannot read `{}-{partition}`", topic.unwrap_or_default());
                Err(self.error(&what, &Fault::new(code, text)))
            }
        }
    }
}

impl Reading {
    /// The records that are wanted: none of a silent partition, none below the next offset.
    fn accept(&mut self, mut messages: Messages) -> Option<Messages> {
        if self.silent {
            return None;
        }
        let stale = (0..messages.len()).take_while(|&i| messages.offset(i) < self.next).count();
        messages.drop_first(stale);
        let last = messages.len().checked_sub(1)?;
        self.next = messages.offset(last) + 1;
        Some(messages)
    }

    /// What a notice about partition number `partition` means; `Err` where reading cannot go on.
    fn hear(
        &mut self,
        partition: usize,
        notice: Notice,
    ) -> Result<Option<Polled<SourceBatch>>, Notice> {
        if self.silent {
            return Ok(None);
        }
        if notice.code == Code::PARTITION_EOF {
            let position = notice.offset;
            let current = position >= self.next;
            self.next = self.next.max(position);
            return Ok(current.then_some(Polled::End { partition, position }));
        }
        if position_is_gone(notice.code) {
            self.silent = true;
            return Ok(Some(Polled::Lost { partition, reason: notice.text }));
        }
        match classify(Call::Fetch, &Fault::from_code(notice.code)) {
            Class::Retriable => {
                tracing::debug!(?notice, "the client tries on");
                Ok(None)
            }
            _ => Err(notice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(code: Code, offset: i64) -> Notice {
        Notice { topic: Some("t".into()), partition: 0, code, offset, text: "words".into() }
    }

    #[test]
    fn an_end_below_the_assigned_position_is_one_of_a_former_assignment() {
        let mut reading = Reading { next: 10, silent: false };
        let heard = reading.hear(0, notice(Code::PARTITION_EOF, 9)).expect("no failure");
        assert!(heard.is_none());
        let heard = reading.hear(3, notice(Code::PARTITION_EOF, 12)).expect("no failure");
        assert!(
            matches!(heard, Some(Polled::End { partition: 3, position: 12 })),
            "{}",
            reading.next
        );
        assert_eq!(reading.next, 12);
    }

    #[test]
    fn a_lost_partition_says_so_once_and_then_nothing() {
        let mut reading = Reading { next: 10, silent: false };
        let heard = reading.hear(0, notice(Code::AUTO_OFFSET_RESET, 10)).expect("no failure");
        assert!(matches!(heard, Some(Polled::Lost { .. })));
        let heard = reading.hear(0, notice(Code::PARTITION_EOF, 12)).expect("no failure");
        assert!(heard.is_none());
    }

    #[test]
    fn a_batch_that_cannot_be_read_is_not_passed_over() {
        let mut reading = Reading { next: 10, silent: false };
        let bad_message = Code(-199);
        assert!(reading.hear(0, notice(bad_message, 10)).is_err());
        let heard = reading.hear(0, notice(Code::TRANSPORT, 10)).expect("no failure");
        assert!(heard.is_none());
    }
}
