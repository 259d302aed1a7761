//! Lists of partitions with offsets and leader epochs.

use std::ptr::NonNull;

use rdkafka::bindings as rd;

use super::code::Code;
use crate::plan::TopicPartition;

/// A list that we own.
pub(crate) struct PartitionList(NonNull<rd::rd_kafka_topic_partition_list_t>);

// SAFETY: a plain heap object without thread affinity.
unsafe impl Send for PartitionList {}

/// One entry of a list, copied out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Topic name.
    pub topic: String,
    /// Partition number.
    pub partition: i32,
    /// Offset, or one of librdkafka's negative marks.
    pub offset: i64,
    /// Leader epoch, where there is one.
    pub leader_epoch: Option<i32>,
    /// Error of this entry.
    pub code: Code,
}

impl PartitionList {
    /// An empty list with room for `capacity` entries.
    pub(crate) fn new(capacity: usize) -> PartitionList {
        let capacity = i32::try_from(capacity).unwrap_or(0);
        // SAFETY: no preconditions; the call aborts rather than return null.
        let raw = unsafe { rd::rd_kafka_topic_partition_list_new(capacity) };
        PartitionList(NonNull::new(raw).expect("librdkafka aborts when memory is out"))
    }

    /// A list of `partitions` without offsets.
    pub(crate) fn of<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> Self {
        let mut list = PartitionList::new(16);
        for at in partitions {
            list.add(&at.topic, at.partition, i64::from(rd::RD_KAFKA_OFFSET_INVALID), None);
        }
        list
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, topic: &str, partition: i32, offset: i64, epoch: Option<i32>) {
        let topic = super::c_string(topic);
        // SAFETY: the list is ours; the name is copied; the entry stays valid until the next add.
        unsafe {
            let entry =
                rd::rd_kafka_topic_partition_list_add(self.0.as_ptr(), topic.as_ptr(), partition);
            (*entry).offset = offset;
            if let Some(epoch) = epoch {
                rd::rd_kafka_topic_partition_set_leader_epoch(entry, epoch);
            }
        }
    }

    /// All entries, copied out.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        // SAFETY: the list is ours.
        unsafe { read(self.0.as_ptr()) }
    }

    /// Whether it has no entry.
    pub(crate) fn is_empty(&self) -> bool {
        // SAFETY: the list is ours.
        unsafe { self.0.as_ref() }.cnt == 0
    }

    /// For C calls.
    pub(super) fn raw(&self) -> *mut rd::rd_kafka_topic_partition_list_t {
        self.0.as_ptr()
    }
}

impl Drop for PartitionList {
    fn drop(&mut self) {
        // SAFETY: ours, and not used after.
        unsafe { rd::rd_kafka_topic_partition_list_destroy(self.0.as_ptr()) };
    }
}

/// All entries of a list that somebody else owns; none where it is null.
///
/// # Safety
/// `list` is null or a live list.
pub(super) unsafe fn read(list: *const rd::rd_kafka_topic_partition_list_t) -> Vec<Entry> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a live list has `cnt` entries.
    let (first, count) = unsafe { ((*list).elems, (*list).cnt) };
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: indexes below the count.
    (0..count).map(|index| unsafe { entry(first.add(index)) }).collect()
}

/// One entry, copied out.
///
/// # Safety
/// `raw` is a live entry.
pub(super) unsafe fn entry(raw: *const rd::rd_kafka_topic_partition_t) -> Entry {
    // SAFETY: the caller's promise.
    unsafe {
        let epoch = rd::rd_kafka_topic_partition_get_leader_epoch(raw);
        Entry {
            topic: super::text((*raw).topic),
            partition: (*raw).partition,
            offset: (*raw).offset,
            leader_epoch: (epoch >= 0).then_some(epoch),
            code: Code::read(&raw const (*raw).err),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_offset_and_epoch() {
        let mut list = PartitionList::new(0);
        assert!(list.is_empty());
        list.add("orders", 3, 42, Some(7));
        list.add("orders", 4, 0, None);
        let entries = list.entries();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].topic, "orders");
        assert_eq!((entries[0].offset, entries[0].leader_epoch), (42, Some(7)));
        assert_eq!((entries[1].partition, entries[1].leader_epoch), (4, None));
    }
}
