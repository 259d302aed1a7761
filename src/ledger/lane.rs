//! Entries of lane partitions. Only the lane's own transactional id writes them, each in a transaction.
//!
//! Times (`at`, `created`) are milliseconds since 1970. `worker` names the worker that wrote the entry,
//! `epoch` is the lane's ownership epoch: one more for each new owner.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::arc_str;
use super::position::PartitionState;
use super::runs::Runs;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::plan::TopicPartition;

/// First entry of every ledger partition: what the ledger belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Name of the plan.
    pub plan: String,
    /// Ledger generation; the lane count is fixed for one.
    pub generation: u32,
    /// How many lanes; the topic has one partition more.
    pub lanes: u32,
    /// Cluster id of the source.
    pub source_cluster: String,
    /// Cluster id of the target.
    pub target_cluster: String,
    /// What this ledger partition is for.
    pub partition_role: Role,
    /// Version of the onceover that wrote it.
    pub tool: String,
    /// When.
    pub created: i64,
}

/// What a ledger partition is for; written as `"lane 3"` or `"control"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The lane with this number.
    Lane(u32),
    /// The last partition.
    Control,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Lane(lane) => write!(f, "lane {lane}"),
            Role::Control => f.write_str("control"),
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let role = match text.strip_prefix("lane ") {
            Some(lane) => lane.parse().ok().map(Role::Lane),
            None => (text == "control").then_some(Role::Control),
        };
        role.ok_or_else(|| format!("`{text}` is neither `lane <number>` nor `control`"))
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Source partitions get their target partition and start, in a transaction before any data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// Who wrote it.
    pub worker: String,
    /// The lane's ownership epoch.
    pub epoch: u64,
    /// Canonical text of the plan's naming rule: bound for as long as the ledger lives.
    pub naming: String,
    /// Canonical text of the plan's start positions: bound as well.
    pub start: String,
    /// The partitions bound.
    pub partitions: Vec<BindPartition>,
}

/// One bound partition. The target partition has the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindPartition {
    /// Source topic.
    #[serde(with = "arc_str")]
    pub topic: Arc<str>,
    /// Partition number on both sides.
    pub partition: i32,
    /// Id of the source topic, where its brokers have ids (2.8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Target topic.
    #[serde(with = "arc_str")]
    pub target_topic: Arc<str>,
    /// Id of the target topic, where its brokers have ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_topic_id: Option<String>,
    /// First source offset to copy.
    pub start: i64,
    /// Log end offset of the target partition at binding.
    pub target_start: i64,
    /// How the target partition was found.
    pub found: Found,
}

/// How a target partition was found at binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Log start equal to log end.
    Empty,
    /// With records, taken on by the user's decision.
    Adopted,
}

/// What one transaction moved. Large ones are cut into parts of the same transaction
/// ([`into_parts`](Carry::into_parts)); it counts only when all of them are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carry {
    /// Number of the carry in its lane, from 1, without holes.
    pub seq: u64,
    /// Number of this part, from 1.
    pub part: u32,
    /// How many parts.
    pub parts: u32,
    /// Who wrote it.
    pub worker: String,
    /// The lane's ownership epoch.
    pub epoch: u64,
    /// Ledger offset of the first part of the latest snapshot, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<i64>,
    /// When.
    pub at: i64,
    /// The touched partitions, each once; only a partition whose runs need several parts is repeated in
    /// them, the same but for the runs.
    pub partitions: Vec<CarryPartition>,
}

/// What one transaction moved of one partition: the source offsets `[first, next)`. With no records read
/// it only advances the position over control and aborted records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarryPartition {
    /// Source topic.
    #[serde(with = "arc_str")]
    pub topic: Arc<str>,
    /// Partition number on both sides.
    pub partition: i32,
    /// The partition's position before: the `next` of the entry before.
    pub first: i64,
    /// The partition's position after.
    pub next: i64,
    /// Source and target offset of every written record.
    #[serde(default, skip_serializing_if = "Runs::is_empty")]
    pub runs: Runs,
    /// Records read: `written + filtered + dead`.
    pub read: u64,
    /// Records written to the target partition: those that `runs` maps.
    pub written: u64,
    /// Records that a transform dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub filtered: u64,
    /// Records that went to the dead-letter topic.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dead: u64,
    /// Bytes of keys, values and headers written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Digest of the records written, in order.
    #[serde(default, skip_serializing_if = "SequenceDigest::is_empty")]
    pub digest: SequenceDigest,
    /// The last record read, if any was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Written records whose timestamp could not be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untimed: u64,
}

impl CarryPartition {
    /// The source partition.
    pub fn at(&self) -> TopicPartition {
        TopicPartition::new(Arc::clone(&self.topic), self.partition)
    }
}

impl BindPartition {
    /// The source partition.
    pub fn at(&self) -> TopicPartition {
        TopicPartition::new(Arc::clone(&self.topic), self.partition)
    }
}

/// A source record by which the same log is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Its source offset.
    pub offset: i64,
    /// Its leader epoch, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i32>,
    /// Its digest, with its timestamp.
    pub digest: RecordDigest,
    /// Its timestamp, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

/// Source offsets `[from, to)` that were gone before they could be read; the plan accepts that. With `from`
/// = `to`, deletions below it that may have expired unread (a compacted topic).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    /// Source topic.
    #[serde(with = "arc_str")]
    pub topic: Arc<str>,
    /// Partition number.
    pub partition: i32,
    /// The partition's position before.
    pub from: i64,
    /// The partition's position after.
    pub to: i64,
    /// Why they were gone.
    pub reason: String,
    /// When.
    pub at: i64,
}

impl Gap {
    /// The source partition.
    pub fn at(&self) -> TopicPartition {
        TopicPartition::new(Arc::clone(&self.topic), self.partition)
    }
}

/// Everything about the lane's partitions, so that a start reads little. Cut into parts like a carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Number of the last carry before it.
    pub seq: u64,
    /// Number of this part, from 1.
    pub part: u32,
    /// How many parts.
    pub parts: u32,
    /// Who wrote it.
    pub worker: String,
    /// The lane's ownership epoch.
    pub epoch: u64,
    /// When.
    pub at: i64,
    /// The bound naming rule, once anything is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub naming: Option<String>,
    /// The bound start positions, once anything is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The latest phase of each wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseChange>,
    /// The partitions.
    pub partitions: Vec<SnapshotPartition>,
}

/// One partition of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotPartition {
    /// Source topic.
    #[serde(with = "arc_str")]
    pub topic: Arc<str>,
    /// Partition number.
    pub partition: i32,
    /// What the ledger says about it up to here.
    pub state: PartitionState,
}

/// A wave changes its phase. In a lane partition it is written by the cutover, with the lane's
/// transactional id; the control partition has the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseChange {
    /// Name of the wave.
    pub wave: String,
    /// Its phase from here on.
    pub phase: Phase,
    /// When.
    pub at: i64,
}

/// Where a wave is between copying and being live on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Copied until told otherwise.
    Tailing,
    /// Copied up to where the source stood still.
    Draining,
    /// Nothing is copied any more.
    Fenced,
    /// Reconciled without a difference up to the fence.
    Proved,
    /// Consumer groups have their offsets on the target.
    GroupsTranslated,
    /// Live on the target.
    Done,
    /// On the way back: forward never runs again.
    Reversed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
