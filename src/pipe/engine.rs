//! The seam between a lane and the client library that moves its records.
//!
//! A lane talks to a [`Source`] that hands over batches of records *of one partition*, and to a
//! [`Target`] that takes them inside a transaction and answers with target offsets. It knows nothing
//! of the library behind. The first engine is librdkafka (`cluster/`); one that forwards record
//! batches without taking them apart must be able to take its place without touching the lane's
//! protocol, the ledger or the refusals.

use std::time::Duration;

use crate::cluster::ClusterError;
use crate::plan::TopicPartition;
use crate::record::Record;

/// Where reading of a source partition begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAt {
    /// The source partition.
    pub at: TopicPartition,
    /// First offset wanted.
    pub offset: i64,
    /// Leader epoch of the record before it, where known: lets the client detect a truncated log.
    pub leader_epoch: Option<i32>,
}

/// Records of one source partition, in order.
#[expect(clippy::len_without_is_empty, reason = "there is no empty batch")]
pub trait Batch {
    /// Index of the partition in the slice given to [`Source::assign`].
    fn partition(&self) -> usize;
    /// How many records; never 0.
    fn len(&self) -> usize;
    /// Offset of record `index` (below [`len`](Batch::len)).
    fn offset(&self, index: usize) -> i64;
    /// Shows every record in order, with its index.
    fn visit(&self, see: &mut dyn FnMut(usize, &Record<'_>));
}

/// What a poll of the source brought.
#[derive(Debug)]
pub enum Polled<B> {
    /// Records of one partition.
    Records(B),
    /// The partition `partition` is read to its end; the next offset to read there is `position`.
    /// Under `read_committed` that is the last stable offset, control records included.
    End {
        /// Index in the slice given to [`Source::assign`].
        partition: usize,
        /// Next offset to read.
        position: i64,
    },
    /// The position is not in the log any more (`auto.offset.reset=error`): gone, truncated or beyond
    /// the end. The lane finds out why by its own queries; the partition delivers nothing until the
    /// next [`Source::assign`].
    Lost {
        /// Index in the slice given to [`Source::assign`].
        partition: usize,
        /// What the client said.
        reason: String,
    },
}

/// The reading half of an engine. One owner, one thread.
pub trait Source {
    /// What it hands over.
    type Batch: Batch;

    /// Replaces the whole assignment: reads from these positions, nothing else, nothing buffered before.
    /// Positions with an epoch are checked for truncation.
    fn assign(&mut self, from: &[StartAt]) -> Result<(), ClusterError>;

    /// Stops fetching a partition (it has reached its fence); records that were already fetched are
    /// not delivered any more.
    fn pause(&mut self, partition: usize) -> Result<(), ClusterError>;

    /// Waits at most `wait` for something; an empty answer means nothing came.
    fn poll(&mut self, wait: Duration) -> Result<Vec<Polled<Self::Batch>>, ClusterError>;
}

/// Whether a write found room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All records of the range are queued.
    All,
    /// The queue is full; the first record not taken is at this index. Poll and offer the rest again.
    UpTo(usize),
}

/// The writing half of an engine: one transactional id, one owner, one thread.
///
/// The order of calls is fence, then per transaction: begin, write…, drain, delivered, write_entry,
/// drain, send_offsets, commit; or abort at any point after begin.
pub trait Target {
    /// What it takes: the batches of the matching [`Source`].
    type Batch: Batch;

    /// Makes a new producer and calls `init_transactions`: fences every older owner of the
    /// transactional id and aborts what it left open. Called again, it raises the epoch.
    fn fence(&mut self) -> Result<(), ClusterError>;

    /// Takes effect with the next [`fence`](Target::fence): the largest record batch that is sent, and
    /// whether each record goes in a request of its own, so that a refused one stands alone.
    fn tune(&mut self, batch_bytes: usize, one_by_one: bool);

    /// Opens a transaction. Costs no request.
    fn begin(&mut self) -> Result<(), ClusterError>;

    /// Queues `records` of `batch` for partition `to`, in order.
    fn write(
        &mut self,
        to: &TopicPartition,
        batch: &Self::Batch,
        records: std::ops::Range<usize>,
    ) -> Result<Taken, ClusterError>;

    /// Queues one ledger entry.
    fn write_entry(&mut self, to: &TopicPartition, entry: &[u8]) -> Result<(), ClusterError>;

    /// Serves delivery reports without waiting; returns the first delivery error.
    fn serve(&mut self) -> Result<(), ClusterError>;

    /// Waits until nothing is in flight; returns the first delivery error. `alive` is called between
    /// waits and may end the wait by returning an error.
    fn drain(
        &mut self,
        alive: &mut dyn FnMut() -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError>;

    /// Target offsets of the records written since [`begin`](Target::begin), in the order of the
    /// writes; entries are not among them. Valid after [`drain`](Target::drain). An offset that the
    /// broker did not tell (duplicate-sequence answer) is an error of class abort.
    fn delivered(&mut self) -> Result<&[i64], ClusterError>;

    /// Ledger offsets of the entries written since [`begin`](Target::begin), in the order of the
    /// writes. Valid after [`drain`](Target::drain).
    fn entries(&mut self) -> Result<&[i64], ClusterError>;

    /// Adds group offsets to the transaction, with the membership's metadata read and checked at this
    /// moment (generation ≥ 0, member id not empty, assignment not lost).
    fn send_offsets(&mut self, offsets: &[(TopicPartition, i64)]) -> Result<(), ClusterError>;

    /// Commits. Any error but a clean refusal is of class unclear: only the ledger tells.
    fn commit(&mut self) -> Result<(), ClusterError>;

    /// Whether the end of a transaction, or its offsets, were sent more than once since the last
    /// [`fence`](Target::fence): the client retries inside, on another connection, and the first copy may
    /// still arrive, in a later transaction (KAFKA-17754). Only a rising epoch makes it harmless.
    fn sent_again(&self) -> bool;

    /// Drops what is queued and aborts; nothing to do where no transaction is open.
    fn abort(&mut self) -> Result<(), ClusterError>;
}
