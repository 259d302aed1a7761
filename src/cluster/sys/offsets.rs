//! Offsets of partitions: ListOffsets with an isolation level.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_IsolationLevel_t as Level;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::fault::Fault;
use super::list::{Entry, PartitionList, entry};
use super::request::{Event, Options, Pending, Queue, elements};

/// Asks for the log start offset, as an offset of the request's list.
pub(crate) const EARLIEST: i64 = rd::rd_kafka_OffsetSpec_t::RD_KAFKA_OFFSET_SPEC_EARLIEST as i64;
/// Asks for the end: high watermark, or the last stable offset under `committed`.
pub(crate) const LATEST: i64 = rd::rd_kafka_OffsetSpec_t::RD_KAFKA_OFFSET_SPEC_LATEST as i64;

/// Asks for the record with the greatest timestamp (KIP-734, ListOffsets version 7). An older broker
/// takes it for a time, and answers with the first record.
pub(crate) const NEWEST: i64 = rd::rd_kafka_OffsetSpec_t::RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP as i64;

/// Asks for offsets; each entry's offset is [`EARLIEST`], [`LATEST`] or a time in milliseconds.
pub(crate) fn list(
    client: &Arc<Client>,
    wanted: &PartitionList,
    committed: bool,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_LISTOFFSETS, timeout);
    let level = if committed {
        Level::RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED
    } else {
        Level::RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
    };
    // SAFETY: all arguments live during the calls, which copy them.
    unsafe {
        Fault::take(rd::rd_kafka_AdminOptions_set_isolation_level(options.raw(), level))?;
        rd::rd_kafka_ListOffsets(client.raw(), wanted.raw(), options.raw(), queue.raw());
    }
    Ok(Pending(queue))
}

/// Reads the answer to [`list`]: per partition its offset, leader epoch and error.
pub(crate) fn listed(answer: &Event) -> Vec<Entry> {
    with_timestamps(answer).into_iter().map(|(entry, _)| entry).collect()
}

/// The same, each with its record's timestamp; -1 where there is none.
pub(crate) fn with_timestamps(answer: &Event) -> Vec<(Entry, i64)> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_ListOffsets_result(answer.raw());
        if result.is_null() {
            return Vec::new();
        }
        let mut count = 0;
        let first = rd::rd_kafka_ListOffsets_result_infos(result, &raw mut count);
        elements(first, count)
            .iter()
            .map(|&info| {
                let at = rd::rd_kafka_ListOffsetsResultInfo_topic_partition(info);
                (entry(at), rd::rd_kafka_ListOffsetsResultInfo_timestamp(info))
            })
            .collect()
    }
}
