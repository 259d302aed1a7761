//! Offsets of partitions: log start, log end, last stable offset, by time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::{Admin, CHUNK, PATIENCE, REQUEST};
use crate::cluster::class::{Call, Class, ClusterError, classify};
use crate::cluster::sys::code::Code;
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::list::PartitionList;
use crate::cluster::sys::offsets::{EARLIEST, LATEST, NEWEST, list, listed, with_timestamps};
use crate::plan::TopicPartition;

/// Which offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The first offset that the log still holds.
    LogStart,
    /// The high watermark: what is replicated, open transactions included.
    LogEnd,
    /// The last stable offset: the first offset of the earliest open transaction, else the high
    /// watermark. `read_committed` reads up to it.
    LastStable,
    /// The first record at or after this time (milliseconds since 1970); the log end where there
    /// is none.
    Timestamp(i64),
}

/// An offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetAt {
    /// The offset.
    pub offset: i64,
    /// Leader epoch there, where the broker tells it.
    pub leader_epoch: Option<i32>,
}

/// What each partition's question came to.
type Found = BTreeMap<TopicPartition, Result<OffsetAt, ClusterError>>;

/// The greatest timestamp of each partition; none where it has no record.
type Newest = BTreeMap<TopicPartition, Result<Option<i64>, ClusterError>>;

impl Admin {
    /// The offset `at` of each partition. Partitions fail one by one: a missing one is its own error.
    pub fn offsets(&self, partitions: &[TopicPartition], at: At) -> Result<Found, ClusterError> {
        let mut found = Found::new();
        let mut wanted: BTreeSet<TopicPartition> = partitions.iter().cloned().collect();
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(50);
        while !wanted.is_empty() {
            let last_try = Instant::now() + pause > deadline;
            let mut again = BTreeSet::new();
            for chunk in wanted.into_iter().collect::<Vec<_>>().chunks(CHUNK) {
                self.ask(chunk, at, last_try, &mut found, &mut again)?;
            }
            wanted = again;
            if !wanted.is_empty() {
                tracing::debug!(side = %self.side(), partitions = wanted.len(), "asking again");
                // The client asks with the leader epoch that it has cached, and keeps an outdated one
                // for minutes (measured, after a broker was away): a full answer replaces it.
                if let Err(fault) = self.client.metadata(true, REQUEST) {
                    tracing::debug!(side = %self.side(), %fault.text, "no fresh metadata");
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(2));
            }
        }
        if let At::Timestamp(_) = at {
            self.end_where_none(&mut found)?;
        }
        Ok(found)
    }

    /// The greatest timestamp of each partition's records, in milliseconds since 1970; none where there
    /// is no record. All is none where the brokers cannot tell (before 3.0) or we cannot see whether they
    /// can: they would not refuse the question, but answer another one.
    pub fn newest(&self, partitions: &[TopicPartition]) -> Result<Option<Newest>, ClusterError> {
        const LIST_OFFSETS: i16 = 2;
        if self.api_versions().get(&LIST_OFFSETS).is_none_or(|(_, highest)| *highest < 7) {
            return Ok(None);
        }
        let mut found = Newest::new();
        for chunk in partitions.chunks(CHUNK) {
            let entries = self.retry("cannot read the greatest timestamps", || {
                let mut wanted = PartitionList::new(chunk.len());
                for partition in chunk {
                    wanted.add(&partition.topic, partition.partition, NEWEST, None);
                }
                let request = list(&self.client, &wanted, false, REQUEST)?;
                Ok(with_timestamps(&request.wait(REQUEST * 2)?))
            })?;
            for (entry, timestamp) in entries {
                let at = TopicPartition::new(entry.topic, entry.partition);
                let answer = if entry.code.is_ok() {
                    Ok((entry.offset >= 0).then_some(timestamp))
                } else {
                    let what = format!("cannot read the greatest timestamp of `{at}`");
                    Err(self.error(&what, &Fault::from_code(entry.code)))
                };
                found.insert(at, answer);
            }
        }
        Ok(Some(found))
    }

    /// One request. What passes goes to `again`, unless this was the last try.
    fn ask(
        &self,
        chunk: &[TopicPartition],
        at: At,
        last_try: bool,
        found: &mut Found,
        again: &mut BTreeSet<TopicPartition>,
    ) -> Result<(), ClusterError> {
        let (spec, committed) = match at {
            At::LogStart => (EARLIEST, false),
            At::LogEnd => (LATEST, false),
            At::LastStable => (LATEST, true),
            At::Timestamp(millis) => (millis.max(0), false),
        };
        let what = "cannot read the offsets of the partitions";
        let entries = self.retry(what, || {
            let mut wanted = PartitionList::new(chunk.len());
            for partition in chunk {
                wanted.add(&partition.topic, partition.partition, spec, None);
            }
            Ok(listed(&list(&self.client, &wanted, committed, REQUEST)?.wait(REQUEST * 2)?))
        })?;
        let mut answers: BTreeMap<(String, i32), _> = entries
            .into_iter()
            .map(|entry| ((entry.topic.clone(), entry.partition), entry))
            .collect();
        for partition in chunk {
            let key = (partition.topic.to_string(), partition.partition);
            let fault = match answers.remove(&key) {
                Some(entry) if entry.code.is_ok() && is_told(at, entry.offset) => {
                    let (offset, leader_epoch) = (entry.offset, entry.leader_epoch);
                    found.insert(partition.clone(), Ok(OffsetAt { offset, leader_epoch }));
                    continue;
                }
                Some(entry) if !entry.code.is_ok() => Fault::from_code(entry.code),
                // A connection that broke leaves its entries without an error, and without an offset.
                Some(_) | None => Fault::from_code(Code::TIMED_OUT),
            };
            if !last_try && classify(Call::Ask, &fault) == Class::Retriable {
                again.insert(partition.clone());
            } else {
                let what = format!("cannot read the offsets of `{partition}`");
                found.insert(partition.clone(), Err(self.error(&what, &fault)));
            }
        }
        Ok(())
    }

    /// A time after the last record has no offset: it is the log end.
    fn end_where_none(&self, found: &mut Found) -> Result<(), ClusterError> {
        let none: Vec<TopicPartition> = found
            .iter()
            .filter(|(_, answer)| matches!(answer, Ok(at) if at.offset < 0))
            .map(|(partition, _)| partition.clone())
            .collect();
        if !none.is_empty() {
            found.extend(self.offsets(&none, At::LogEnd)?);
        }
        Ok(())
    }
}

/// What a broker answers for a time that no record has (ListOffsets in the protocol).
const NO_RECORD: i64 = -1;

/// Whether an entry without an error holds an answer: librdkafka gives one back as it was asked with where
/// nobody answered it (offset -1001, measured with connections that were cut).
fn is_told(at: At, offset: i64) -> bool {
    offset >= 0 || (matches!(at, At::Timestamp(_)) && offset == NO_RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_nobody_answered_is_no_offset() {
        for at in [At::LogStart, At::LogEnd, At::LastStable, At::Timestamp(5)] {
            assert!(is_told(at, 0) && is_told(at, 7), "{at:?}");
            assert!(!is_told(at, -1001), "{at:?}");
            assert_eq!(is_told(at, NO_RECORD), matches!(at, At::Timestamp(_)), "{at:?}");
        }
    }
}
