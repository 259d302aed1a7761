//! What became of the records of a transaction: their target offsets, in the order of the writes.

use crate::cluster::class::{Call, Class, ClusterError, classify};
use crate::cluster::sys::produce::Delivery;
use crate::error::Side;
use crate::plan::TopicPartition;

/// Entries are numbered downwards from here, records upwards from 0.
const ENTRY: usize = usize::MAX;

/// Records written since the transaction began, and the reports about them.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    /// Per record its source offset, until its report replaces that with its target offset.
    offsets: Vec<i64>,
    /// Where the records came from and go to: the first number of each run, in order.
    runs: Vec<Run>,
    /// Per ledger entry its offset, -1 until its report is there.
    entries: Vec<i64>,
    /// Bytes of what is queued or in flight.
    bytes: usize,
    /// Reports that brought an offset.
    delivered: usize,
    /// A report without an offset (the broker answered "duplicate sequence").
    unknown: Option<usize>,
    error: Option<ClusterError>,
}

#[derive(Debug)]
struct Run {
    first: usize,
    source: TopicPartition,
    target: TopicPartition,
}

/// What a record takes in the client beside its key and value, in bytes (measured: 400 to 500).
const OVERHEAD: usize = 400;

impl Deliveries {
    /// Forgets everything: a new transaction.
    pub(super) fn clear(&mut self) {
        self.bytes = 0;
        self.offsets.clear();
        self.entries.clear();
        self.runs.clear();
        (self.delivered, self.unknown, self.error) = (0, None, None);
    }

    /// The records that follow come from `source` and go to `target`.
    pub(super) fn begin_run(&mut self, source: &TopicPartition, target: &TopicPartition) {
        let (source, target) = (source.clone(), target.clone());
        match self.runs.last() {
            Some(run) if run.source == source && run.target == target => {}
            _ => self.runs.push(Run { first: self.offsets.len(), source, target }),
        }
    }

    /// The number of the next record.
    pub(super) fn next(&self) -> usize {
        self.offsets.len()
    }

    /// The next record, with this source offset and size, is queued.
    pub(super) fn queued(&mut self, source_offset: i64, bytes: usize) {
        self.offsets.push(source_offset);
        self.bytes += bytes + OVERHEAD;
    }

    /// Whether a record of `more` bytes, and what the client keeps beside, fits in `limit`. One alone always
    /// does, however large.
    pub(super) fn room_for(&self, more: usize, limit: usize) -> bool {
        self.bytes == 0 || self.bytes + more + OVERHEAD <= limit
    }

    /// The number to send the next ledger entry with.
    pub(super) fn next_entry(&mut self) -> usize {
        self.entries.push(-1);
        ENTRY - (self.entries.len() - 1)
    }

    /// The entry's place, if the number is one of an entry.
    fn entry(&self, number: usize) -> Option<usize> {
        let place = ENTRY - number;
        (place < self.entries.len()).then_some(place)
    }

    /// A report.
    pub(super) fn report(&mut self, side: Side, delivery: Delivery) {
        let number = delivery.number;
        if self.entry(number).is_none() {
            self.bytes = self.bytes.saturating_sub(delivery.bytes + OVERHEAD);
        }
        match delivery.outcome {
            Ok(offset) if self.entry(number).is_some() => self.entries[ENTRY - number] = offset,
            Ok(offset) => {
                if offset < 0 {
                    self.unknown = self.unknown.or(Some(number));
                }
                // A number that was never given out would be a fault of the client library.
                if let Some(place) = self.offsets.get_mut(number) {
                    *place = offset;
                    self.delivered += 1;
                }
            }
            Err(fault) => {
                let class = classify(Call::Produce, &fault);
                let what = format!("{} was not written: {}", self.name(number), fault.text);
                self.fail(ClusterError::new(side, class, what));
            }
        }
    }

    /// Keeps the error that tells most: the rest follow from it (once a record is refused, what is
    /// queued behind it is refused as well).
    pub(super) fn fail(&mut self, error: ClusterError) {
        let telling = |class| match class {
            Class::Abort | Class::Retriable => 0,
            Class::Unclear => 1,
            Class::NotMember | Class::Fenced | Class::TakenOver => 2,
            Class::Final => 3,
            Class::Record => 4,
        };
        let stands =
            self.error.as_ref().is_some_and(|known| telling(known.class) >= telling(error.class));
        if !stands {
            self.error = Some(error);
        }
    }

    /// The error so far.
    pub(super) fn check(&self) -> Result<(), ClusterError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// The target offsets, once every record has its report.
    pub(super) fn offsets(&self, side: Side) -> Result<&[i64], ClusterError> {
        self.check()?;
        if let Some(number) = self.unknown {
            let what = format!("{} was written at an offset that was not told", self.name(number));
            return Err(ClusterError::new(side, Class::Abort, what));
        }
        if self.delivered != self.offsets.len() {
            let missing = self.offsets.len() - self.delivered;
            let what = format!("{missing} records have no delivery report yet");
            return Err(ClusterError::new(side, Class::Abort, what));
        }
        Ok(&self.offsets)
    }

    /// The ledger entries' offsets, once each has its report.
    pub(super) fn entries(&self, side: Side) -> Result<&[i64], ClusterError> {
        self.check()?;
        if self.entries.iter().any(|offset| *offset < 0) {
            let what = "a ledger entry was written at an offset that was not told";
            return Err(ClusterError::new(side, Class::Abort, what));
        }
        Ok(&self.entries)
    }

    /// A record for people: its source partition and offset, and where it was to go.
    fn name(&self, number: usize) -> String {
        let run = self.runs.partition_point(|run| run.first <= number).checked_sub(1);
        match run.map(|run| &self.runs[run]).zip(self.offsets.get(number)) {
            Some((Run { source, target, .. }, offset)) if *offset >= 0 => {
                format!("record {source}@{offset} for `{target}`")
            }
            Some((Run { source, target, .. }, _)) => format!("a record of {source} for `{target}`"),
            None => "a ledger entry".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::sys::code::Code;
    use crate::cluster::sys::fault::Fault;

    fn three() -> Deliveries {
        let mut deliveries = Deliveries::default();
        deliveries.begin_run(&TopicPartition::new("a", 1), &TopicPartition::new("b", 1));
        deliveries.queued(100, 10);
        deliveries.queued(101, 10);
        deliveries.begin_run(&TopicPartition::new("a", 2), &TopicPartition::new("b", 2));
        deliveries.queued(7, 10);
        deliveries
    }

    fn ok(number: usize, offset: i64) -> Delivery {
        Delivery { number, bytes: 10, outcome: Ok(offset) }
    }

    #[test]
    fn offsets_are_in_the_order_of_the_writes_whatever_the_order_of_the_reports() {
        let mut deliveries = three();
        assert!(deliveries.offsets(Side::Target).is_err(), "nothing is reported yet");
        let entry = deliveries.next_entry();
        assert!(deliveries.entries(Side::Target).is_err(), "nothing is reported yet");
        for (number, offset) in [(2, 40), (entry, 9), (0, 30), (1, 31)] {
            deliveries.report(Side::Target, ok(number, offset));
        }
        assert_eq!(deliveries.next(), 3);
        assert_eq!(deliveries.offsets(Side::Target), Ok(&[30, 31, 40][..]));
        assert_eq!(deliveries.entries(Side::Target), Ok(&[9][..]));
    }

    #[test]
    fn a_record_larger_than_the_queue_goes_alone() {
        let mut deliveries = three();
        let four = 4 * (10 + OVERHEAD);
        assert!(deliveries.room_for(10, four) && !deliveries.room_for(11, four));
        for number in 0..3 {
            deliveries.report(Side::Target, ok(number, 1));
        }
        assert!(deliveries.room_for(100, 40));
    }

    #[test]
    fn a_report_without_an_offset_asks_for_an_abort() {
        let mut deliveries = three();
        for (number, offset) in [(0, 30), (1, -1001), (2, 40)] {
            deliveries.report(Side::Target, ok(number, offset));
        }
        let error = deliveries.offsets(Side::Target).expect_err("an offset is missing");
        assert_eq!(error.class, Class::Abort);
    }

    #[test]
    fn the_record_at_fault_is_named_and_outranks_what_follows_from_it() {
        let mut deliveries = three();
        let failed =
            |number, code| Delivery { number, bytes: 10, outcome: Err(Fault::from_code(code)) };
        deliveries.report(Side::Target, failed(0, Code::PURGE_QUEUE));
        deliveries.report(Side::Target, failed(2, Code::MESSAGE_TOO_LARGE));
        deliveries.report(Side::Target, failed(1, Code::PURGE_QUEUE));
        let error = deliveries.check().expect_err("a record failed");
        assert_eq!(error.class, Class::Record);
        assert!(error.what.contains("record a-2@7 for `b-2`"), "{error}");
    }
}
