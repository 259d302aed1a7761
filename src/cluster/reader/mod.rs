//! Reading records: the source half of the pipe, and a plain reader of single logs.

mod log;
mod scan;
mod source;

pub use log::{First, LogRange, LogReader, Reached};
pub use source::{SourceBatch, SourceReader};

use std::time::Duration;

use super::class::ClusterError;
use super::connect::Connection;
use super::sys::client::Role;
use super::sys::code::Code;
use super::sys::consume::Consumer;

/// Which records are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Those of committed transactions and of none, up to the last stable offset.
    Committed,
    /// All, up to the high watermark.
    Uncommitted,
}

/// How much a reader may hold, and how patient its requests are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderTuning {
    /// Bytes of records fetched ahead, over all partitions. One poll may hand out as much again.
    pub queue_bytes: usize,
    /// Bytes per partition and fetch request.
    pub fetch_bytes: usize,
    /// How long a broker may hold a request back while there is no record. A request that waits keeps newly
    /// assigned partitions of the broker waiting.
    pub fetch_wait: Duration,
}

/// Messages that a lane takes per call: enough to make the call's own cost vanish.
const TAKE: usize = 8192;

/// A consumer that is told what to read: no membership, no committed offsets, no reset by itself.
fn consumer(
    connection: &Connection,
    part: &str,
    group: &str,
    isolation: Isolation,
    tuning: ReaderTuning,
    ahead: usize,
    take: usize,
) -> Result<Consumer, ClusterError> {
    let level = match isolation {
        Isolation::Committed => "read_committed",
        Isolation::Uncommitted => "read_uncommitted",
    };
    let fetch = tuning.fetch_bytes.clamp(1, 1_000_000_000);
    // One request asks for several partitions; it must not overshoot the queue much. A single
    // batch that is larger still comes.
    let response = (tuning.queue_bytes / 2).clamp(1_000_000, 1_000_000_000);
    let queue = (tuning.queue_bytes / 1024).clamp(1, 2_097_151);
    let own = [
        // `assign` needs a group id; nothing is ever committed under it.
        ("group.id", group.to_owned()),
        ("isolation.level", level.to_owned()),
        ("enable.partition.eof", "true".to_owned()),
        ("enable.auto.commit", "false".to_owned()),
        ("enable.auto.offset.store", "false".to_owned()),
        ("auto.offset.reset", "error".to_owned()),
        ("check.crcs", "true".to_owned()),
        ("fetch.min.bytes", "1".to_owned()),
        ("fetch.wait.max.ms", tuning.fetch_wait.as_millis().to_string()),
        ("fetch.error.backoff.ms", "100".to_owned()),
        // The default of 1 s stalls a lane that filled its queue once (measured).
        ("fetch.queue.backoff.ms", "5".to_owned()),
        ("fetch.message.max.bytes", fetch.to_string()),
        ("fetch.max.bytes", response.to_string()),
        ("receive.message.max.bytes", i32::MAX.to_string()),
        ("queued.max.messages.kbytes", queue.to_string()),
        ("queued.min.messages", ahead.to_string()),
        ("max.poll.interval.ms", "86400000".to_owned()),
    ];
    let client = connection.start(Role::Consumer, part, &own, 0)?;
    Ok(Consumer::new(&client, take).expect("a consumer with a group id has a queue"))
}

/// Whether a code says that the position is not in the log: the partition delivers nothing more.
fn position_is_gone(code: Code) -> bool {
    matches!(
        code,
        Code::AUTO_OFFSET_RESET
            | Code::OFFSET_OUT_OF_RANGE
            | Code::LOG_TRUNCATION
            | Code::UNKNOWN_TOPIC_OR_PARTITION
            | Code::UNKNOWN_TOPIC
            | Code::UNKNOWN_PARTITION
    )
}
