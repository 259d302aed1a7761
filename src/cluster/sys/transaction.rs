//! The calls of a transaction. Each blocks; none retries.

use std::time::Duration;

use rdkafka::bindings as rd;

use super::fault::Fault;
use super::group::GroupMetadata;
use super::list::PartitionList;
use super::produce::Producer;

/// librdkafka's "the rest of the transaction time-out", the only safe one for an end.
const REST: i32 = -1;

impl Producer {
    /// Fences older producers of the transactional id.
    pub(crate) fn init_transactions(&self, wait: Duration) -> Result<(), Fault> {
        // SAFETY: a live producer; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_init_transactions(self.client().raw(), super::millis(wait)))
        }
    }

    /// Opens a transaction; sends nothing.
    pub(crate) fn begin_transaction(&self) -> Result<(), Fault> {
        // SAFETY: a live producer; the error is ours.
        unsafe { Fault::take(rd::rd_kafka_begin_transaction(self.client().raw())) }
    }

    /// Adds offsets of the group that `member` belongs to.
    pub(crate) fn send_offsets(
        &self,
        offsets: &PartitionList,
        member: &GroupMetadata,
        wait: Duration,
    ) -> Result<(), Fault> {
        // SAFETY: a live producer, list and metadata; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_send_offsets_to_transaction(
                self.client().raw(),
                offsets.raw(),
                member.raw(),
                super::millis(wait),
            ))
        }
    }

    /// Commits; waits as long as the transaction may live.
    pub(crate) fn commit_transaction(&self) -> Result<(), Fault> {
        // SAFETY: a live producer; the error is ours.
        unsafe { Fault::take(rd::rd_kafka_commit_transaction(self.client().raw(), REST)) }
    }

    /// Aborts; waits as long as the transaction may live.
    pub(crate) fn abort_transaction(&self) -> Result<(), Fault> {
        // SAFETY: a live producer; the error is ours.
        unsafe { Fault::take(rd::rd_kafka_abort_transaction(self.client().raw(), REST)) }
    }
}
