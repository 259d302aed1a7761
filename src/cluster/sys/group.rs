//! Membership of a group: events instead of callbacks, and what the member knows of itself.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::list::{Entry, PartitionList, read};
use super::request::Queue;

/// The events that a client needs for a [`Member`].
pub(crate) const REBALANCES: i32 = rd::RD_KAFKA_EVENT_REBALANCE;

/// An offset to be assigned: the end of the partition, whatever the group has committed.
pub(crate) const END: i64 = rd::RD_KAFKA_OFFSET_END as i64;

/// A snapshot of what a member knows of itself.
pub(crate) struct GroupMetadata(NonNull<rd::rd_kafka_consumer_group_metadata_t>);

impl GroupMetadata {
    /// Generation; -1 while it has none.
    pub(crate) fn generation(&self) -> i32 {
        // SAFETY: a live snapshot.
        unsafe { rd::rd_kafka_consumer_group_metadata_generation_id(self.0.as_ptr()) }
    }

    /// Member id; empty while it has none.
    pub(crate) fn member_id(&self) -> String {
        // SAFETY: a live snapshot; the string belongs to it and is copied.
        unsafe { super::text(rd::rd_kafka_consumer_group_metadata_member_id(self.0.as_ptr())) }
    }

    pub(super) fn raw(&self) -> *const rd::rd_kafka_consumer_group_metadata_t {
        self.0.as_ptr()
    }
}

impl Drop for GroupMetadata {
    fn drop(&mut self) {
        // SAFETY: ours, not used after.
        unsafe { rd::rd_kafka_consumer_group_metadata_destroy(self.0.as_ptr()) };
    }
}

/// What the group wants of a member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GroupEvent {
    /// These partitions are added.
    Assign(Vec<Entry>),
    /// These partitions are to be given back.
    Revoke(Vec<Entry>),
    /// Served; nothing to do.
    Other,
}

/// A consumer that is a member of a group.
pub(crate) struct Member(Queue);

impl Member {
    /// A member on `client`, whose every event comes from one queue.
    pub(crate) fn new(client: &Arc<Client>) -> Option<Member> {
        // SAFETY: a live consumer.
        let code = unsafe { rd::rd_kafka_poll_set_consumer(client.raw()) };
        Code::from(code).is_ok().then(|| Queue::consumer(client).map(Member)).flatten()
    }

    /// Its client.
    pub(crate) fn client(&self) -> &Arc<Client> {
        self.0.client()
    }

    /// Joins the group with this one topic.
    pub(crate) fn subscribe(&self, topic: &str) -> Result<(), Fault> {
        let mut list = PartitionList::new(1);
        list.add(topic, -1, i64::from(rd::RD_KAFKA_OFFSET_INVALID), None);
        // SAFETY: a live consumer and list.
        let code = unsafe { rd::rd_kafka_subscribe(self.client().raw(), list.raw()) };
        Fault::check(Code::from(code))
    }

    /// Begins to leave: a revoke of everything comes, and must be answered.
    pub(crate) fn unsubscribe(&self) -> Result<(), Fault> {
        // SAFETY: a live consumer.
        Fault::check(Code::from(unsafe { rd::rd_kafka_unsubscribe(self.client().raw()) }))
    }

    /// Waits for the next event; counts as the poll that keeps a member in its group.
    pub(crate) fn poll(&self, wait: Duration) -> Option<GroupEvent> {
        let event = self.0.poll(wait)?;
        if event.kind() != rd::RD_KAFKA_EVENT_REBALANCE {
            return Some(GroupEvent::Other);
        }
        // SAFETY: a live rebalance event; its list belongs to it and is copied.
        let partitions = unsafe { read(rd::rd_kafka_event_topic_partition_list(event.raw())) };
        Some(match event.code() {
            Code::ASSIGN_PARTITIONS => GroupEvent::Assign(partitions),
            Code::REVOKE_PARTITIONS => GroupEvent::Revoke(partitions),
            _ => GroupEvent::Other,
        })
    }

    /// Wakes the thread that polls.
    pub(crate) fn wake(&self) {
        self.0.wake();
    }

    /// Takes partitions on.
    pub(crate) fn assign(&self, partitions: &PartitionList) -> Result<(), Fault> {
        // SAFETY: a live consumer and list; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_incremental_assign(self.client().raw(), partitions.raw()))
        }
    }

    /// Gives partitions back.
    pub(crate) fn unassign(&self, partitions: &PartitionList) -> Result<(), Fault> {
        // SAFETY: a live consumer and list; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_incremental_unassign(self.client().raw(), partitions.raw()))
        }
    }

    /// Gives everything back, whatever the protocol.
    pub(crate) fn unassign_all(&self) -> Result<(), Fault> {
        // SAFETY: a live consumer; null is an empty assignment.
        let code = unsafe { rd::rd_kafka_assign(self.client().raw(), std::ptr::null()) };
        Fault::check(Code::from(code))
    }

    /// Fetches nothing of these.
    pub(crate) fn pause(&self, partitions: &PartitionList) -> Result<(), Fault> {
        // SAFETY: a live consumer and list.
        let code = unsafe { rd::rd_kafka_pause_partitions(self.client().raw(), partitions.raw()) };
        Fault::check(Code::from(code))
    }

    /// Whether librdkafka holds the assignment for lost.
    pub(crate) fn assignment_lost(&self) -> bool {
        // SAFETY: a live consumer.
        unsafe { rd::rd_kafka_assignment_lost(self.client().raw()) != 0 }
    }

    /// What the member knows of itself now.
    pub(crate) fn metadata(&self) -> Option<GroupMetadata> {
        // SAFETY: a live consumer; the snapshot is ours.
        NonNull::new(unsafe { rd::rd_kafka_consumer_group_metadata(self.client().raw()) })
            .map(GroupMetadata)
    }

    /// Begins to close; events go on coming from the queue until [`closed`](Member::closed).
    pub(crate) fn start_closing(&self) -> Result<(), Fault> {
        // SAFETY: a live consumer and its queue; the error is ours.
        unsafe { Fault::take(rd::rd_kafka_consumer_close_queue(self.client().raw(), self.0.raw())) }
    }

    /// Whether it is closed.
    pub(crate) fn closed(&self) -> bool {
        // SAFETY: a live consumer.
        unsafe { rd::rd_kafka_consumer_closed(self.client().raw()) != 0 }
    }
}
