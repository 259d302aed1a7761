//! The target half of the pipe: one transactional id, copies of source records, one transaction at
//! a time.
//!
//! ```text
//! fence ─▶ begin ─▶ write… ─▶ drain ─▶ write_entry ─▶ drain ─▶ send_offsets ─▶ commit
//!   ▲                  └──────────────── any error ────────────────┘   abort ─▶ fence
//! ```
//!
//! Whoever fenced last owns the transactional id; that, and nothing else, keeps two lanes from
//! writing the same records. The group's answer to `send_offsets` is the second lock.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deliveries::Deliveries;
use crate::cluster::class::{Call, Class, ClusterError, denied};
use crate::cluster::connect::Connection;
use crate::cluster::membership::Membership;
use crate::cluster::reader::SourceBatch;
use crate::cluster::sys::client::Role;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::list::PartitionList;
use crate::cluster::sys::produce::{DELIVERY_REPORTS, Producer};
use crate::pipe::engine::{Batch, Taken, Target};
use crate::pipe::failpoint;
use crate::plan::TopicPartition;

/// How long a fence is tried: a coordinator's restart fits in.
const FENCE: Duration = Duration::from_secs(60);

/// How long a purged producer may take to report what it dropped.
const PURGE: Duration = Duration::from_secs(10);

/// One wait for delivery reports; the first one ends it.
const SLICE: Duration = Duration::from_millis(10);

/// How a writer sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterTuning {
    /// Bytes of keys and values queued and in flight; a single larger record goes alone.
    pub queue_bytes: usize,
    /// Bytes of one request's records; must stay below the smallest `max.message.bytes` of its
    /// target topics, or one request of many records is refused whole (measured).
    pub batch_bytes: usize,
    /// How long the coordinator keeps an idle transaction open.
    pub transaction_timeout: Duration,
    /// Pause before a retry inside the client: the defence against late requests rests on it.
    pub retry_backoff: Duration,
    /// One record per request, as small as it gets, so that only the guilty one is refused.
    pub one_by_one: bool,
}

/// One transactional producer after another, all of one transactional id.
pub struct TransactionalWriter {
    connection: Connection,
    transactional_id: String,
    tuning: WriterTuning,
    membership: Arc<Membership>,
    lane: i32,
    producer: Option<Producer>,
    deliveries: Deliveries,
    /// Between begin and the end of a transaction: only then is there something to abort.
    open: bool,
    /// The last write found no room: the next [`serve`](Target::serve) waits for some.
    full: bool,
}

impl TransactionalWriter {
    /// A writer without a producer: [`fence`](Target::fence) makes one. `lane` is the ledger
    /// partition that `membership` must be assigned.
    pub fn new(
        connection: &Connection,
        transactional_id: &str,
        tuning: WriterTuning,
        membership: Arc<Membership>,
        lane: i32,
    ) -> TransactionalWriter {
        TransactionalWriter {
            connection: connection.clone(),
            transactional_id: transactional_id.to_owned(),
            tuning,
            membership,
            lane,
            producer: None,
            deliveries: Deliveries::default(),
            open: false,
            full: false,
        }
    }

    /// Records queued or in flight: 0 when everything is delivered.
    pub fn in_flight(&self) -> usize {
        self.producer.as_ref().map_or(0, Producer::in_flight)
    }

    fn start(&self) -> Result<Producer, ClusterError> {
        let WriterTuning { batch_bytes, transaction_timeout, .. } = self.tuning;
        let backoff = self.tuning.retry_backoff.as_millis().clamp(1, 300_000);
        let mut own = vec![
            ("transactional.id", self.transactional_id.clone()),
            ("transaction.timeout.ms", transaction_timeout.as_millis().to_string()),
            ("enable.idempotence", "true".to_owned()),
            ("acks", "all".to_owned()),
            ("max.in.flight", "5".to_owned()),
            // Whatever size: the broker decides, and says which record.
            ("message.max.bytes", "1000000000".to_owned()),
            ("batch.size", batch_bytes.clamp(1, i32::MAX as usize).to_string()),
            ("batch.num.messages", "1000000".to_owned()),
            // A batch goes when it is full, or when somebody waits for it ([`Producer::hurry`]), never by
            // its age: while one request of a partition is in flight no other is sent, and librdkafka
            // spins on what is due (measured: half of a run's CPU).
            ("linger.ms", "1000".to_owned()),
            // Bounded here, not there: a record larger than the queue would never find room.
            ("queue.buffering.max.kbytes", i32::MAX.to_string()),
            ("queue.buffering.max.messages", "10000000".to_owned()),
            ("retry.backoff.ms", backoff.to_string()),
            ("retry.backoff.max.ms", backoff.max(1000).to_string()),
            ("delivery.report.only.error", "false".to_owned()),
        ];
        if self.tuning.one_by_one {
            own.extend([("batch.num.messages", "1".to_owned()), ("linger.ms", "0".to_owned())]);
            // A broker measures what it is sent: a record that the source holds compressed may fit
            // under the same limit only if it is compressed again.
            if !self.connection.sets(&["compression.type", "compression.codec"]) {
                own.push(("compression.type", "zstd".to_owned()));
            }
        }
        let client = self.connection.start(Role::Producer, "writer", &own, DELIVERY_REPORTS)?;
        Ok(Producer::new(&client))
    }

    fn producer(&self) -> Result<&Producer, ClusterError> {
        self.producer.as_ref().ok_or_else(|| self.no_producer())
    }

    fn no_producer(&self) -> ClusterError {
        let what = "the lane has no producer: it was not fenced, or fencing failed";
        ClusterError::new(self.connection.side(), Class::Abort, what)
    }

    fn error(&self, call: Call, what: &str, fault: Fault) -> ClusterError {
        match &self.producer {
            Some(producer) => super::error(&self.connection, producer.client(), call, what, fault),
            None => self.connection.error(call, what, &fault, None),
        }
    }

    /// Calls `init_transactions` until it succeeds, fails for good, or takes too long.
    fn init(&self) -> Result<(), ClusterError> {
        let what = format!("cannot initialise transactional id `{}`", self.transactional_id);
        let producer = self.producer()?;
        let deadline = Instant::now() + FENCE;
        let mut pause = Duration::from_millis(50);
        loop {
            // A producer that knows its brokers first is initialised ten times faster (measured).
            let outcome = producer
                .client()
                .metadata(false, Duration::from_secs(10))
                .and_then(|_| producer.init_transactions(Duration::from_secs(15)));
            let Err(fault) = outcome else { return Ok(()) };
            // Serves errors, so that the reason is known.
            producer.serve(Duration::ZERO, &mut |_| ());
            let error = self.error(Call::Init, &what, fault);
            if error.class != Class::Retriable || Instant::now() + pause > deadline {
                return Err(error);
            }
            tracing::warn!(side = %error.side, lane = self.lane, "{}; trying again", error.what);
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Takes the reports that are there, waiting at most `wait` for the first.
    fn take_reports(&mut self, wait: Duration) {
        let Self { producer: Some(producer), deliveries, connection, .. } = self else { return };
        let side = connection.side();
        let mut wait = wait;
        while producer.serve(wait, &mut |delivery| deliveries.report(side, delivery)) {
            wait = Duration::ZERO;
        }
    }

    /// Records of a broken transaction are only said to be purged; why it broke the next call tells.
    /// `begin_transaction` is that call: it changes nothing while a transaction is open.
    fn why(&self, error: ClusterError) -> ClusterError {
        if error.class != Class::Abort {
            return error;
        }
        let begun = self.producer().map(Producer::begin_transaction);
        match begun {
            Ok(Err(fault)) if denied(fault.code) => {
                self.error(Call::Produce, "cannot write to the target topics", fault)
            }
            _ => error,
        }
    }

    fn not_a_member(&self) -> ClusterError {
        let what = format!("lane {} is not ours any more: the group took it back", self.lane);
        ClusterError::new(self.connection.side(), Class::NotMember, what)
    }
}

impl Target for TransactionalWriter {
    type Batch = SourceBatch;

    fn fence(&mut self) -> Result<(), ClusterError> {
        if let Some(old) = self.producer.take() {
            old.end();
        }
        self.deliveries.clear();
        self.open = false;
        if !self.membership.owns(self.lane) {
            return Err(self.not_a_member());
        }
        failpoint::at("lane-in-fence", self.lane)?;
        self.producer = Some(self.start()?);
        self.init().inspect_err(|_| {
            if let Some(useless) = self.producer.take() {
                useless.end();
            }
        })
    }

    fn tune(&mut self, batch_bytes: usize, one_by_one: bool) {
        (self.tuning.batch_bytes, self.tuning.one_by_one) = (batch_bytes, one_by_one);
    }

    fn begin(&mut self) -> Result<(), ClusterError> {
        self.take_reports(Duration::ZERO);
        self.deliveries.clear();
        let begun = self.producer()?.begin_transaction();
        begun.map_err(|fault| self.error(Call::Produce, "cannot begin a transaction", fault))?;
        self.open = true;
        Ok(())
    }

    fn write(
        &mut self,
        to: &TopicPartition,
        batch: &SourceBatch,
        records: Range<usize>,
    ) -> Result<Taken, ClusterError> {
        let Some(producer) = &mut self.producer else { return Err(self.no_producer()) };
        let topic = match producer.topic(&to.topic) {
            Ok(topic) => topic,
            Err(fault) => {
                return Err(self.error(Call::Produce, &format!("cannot write to `{to}`"), fault));
            }
        };
        self.deliveries.begin_run(batch.source(), to);
        for index in records {
            let number = self.deliveries.next();
            let bytes = batch.messages().bytes(index);
            if !self.deliveries.room_for(bytes, self.tuning.queue_bytes) {
                self.full = true;
                return Ok(Taken::UpTo(index));
            }
            match producer.copy(topic, to.partition, batch.messages(), index, number) {
                Ok(()) => self.deliveries.queued(batch.offset(index), bytes),
                Err(fault) if fault.code == Code::QUEUE_FULL => {
                    self.full = true;
                    return Ok(Taken::UpTo(index));
                }
                Err(fault) => {
                    let (source, offset) = (batch.source(), batch.offset(index));
                    let what = format!("cannot write record {source}@{offset} to `{to}`");
                    return Err(self.error(Call::Produce, &what, fault));
                }
            }
        }
        Ok(Taken::All)
    }

    fn write_entry(&mut self, to: &TopicPartition, entry: &[u8]) -> Result<(), ClusterError> {
        let Some(producer) = &mut self.producer else { return Err(self.no_producer()) };
        let number = self.deliveries.next_entry();
        let sent = producer
            .topic(&to.topic)
            .and_then(|topic| producer.send(topic, to.partition, entry, number));
        sent.map_err(|fault| {
            self.error(Call::Produce, &format!("cannot write an entry to `{to}`"), fault)
        })
    }

    fn serve(&mut self) -> Result<(), ClusterError> {
        // A lane that has records in hand and no room would only spin.
        let full = std::mem::take(&mut self.full);
        let wait = if full { SLICE } else { Duration::ZERO };
        if full {
            self.producer()?.hurry();
        }
        self.take_reports(wait);
        self.deliveries.check().map_err(|error| self.why(error))
    }

    fn drain(
        &mut self,
        alive: &mut dyn FnMut() -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        while self.in_flight() > 0 {
            self.producer()?.hurry();
            self.take_reports(SLICE);
            // What is left would only fail too, some of it after a time-out.
            self.deliveries.check().map_err(|error| self.why(error))?;
            alive()?;
        }
        self.deliveries.check().map_err(|error| self.why(error))
    }

    fn delivered(&mut self) -> Result<&[i64], ClusterError> {
        self.deliveries.offsets(self.connection.side())
    }

    fn entries(&mut self) -> Result<&[i64], ClusterError> {
        self.deliveries.entries(self.connection.side())
    }

    fn send_offsets(&mut self, offsets: &[(TopicPartition, i64)]) -> Result<(), ClusterError> {
        let mut list = PartitionList::new(offsets.len());
        for (at, offset) in offsets {
            list.add(&at.topic, at.partition, *offset, None);
        }
        let producer = self.producer()?;
        let wait = self.tuning.transaction_timeout.min(Duration::from_secs(30));
        let sent = self
            .membership
            .with_metadata(self.lane, |member| producer.send_offsets(&list, member, wait));
        match sent {
            None => Err(self.not_a_member()),
            Some(Ok(())) => Ok(()),
            Some(Err(fault)) => {
                Err(self.error(Call::SendOffsets, "cannot add offsets to the transaction", fault))
            }
        }
    }

    fn commit(&mut self) -> Result<(), ClusterError> {
        let committed = self.producer()?.commit_transaction();
        committed
            .map_err(|fault| self.error(Call::Commit, "cannot commit the transaction", fault))?;
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> Result<(), ClusterError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        // The client's own abort flushes without serving reports: queued records would use up its
        // whole time-out (measured). So everything goes first.
        self.producer()?.purge();
        let deadline = Instant::now() + PURGE;
        while self.in_flight() > 0 && Instant::now() < deadline {
            self.take_reports(SLICE);
        }
        let aborted = self.producer()?.abort_transaction();
        self.take_reports(Duration::ZERO);
        self.deliveries.clear();
        aborted.map_err(|fault| self.error(Call::Abort, "cannot abort the transaction", fault))
    }
}

impl Drop for TransactionalWriter {
    fn drop(&mut self) {
        if let Some(producer) = self.producer.take() {
            producer.end();
        }
    }
}
