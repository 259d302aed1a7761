//! Entries of the control partition. They are not transactional: of entries that exclude each other the
//! first valid one in log order wins ([`ControlState`](super::ControlState)).
//!
//! Times (`at`) are milliseconds since 1970.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::arc_str;
use super::lane::Anchor;
use crate::digest::SequenceDigest;
use crate::error::Side;
use crate::plan::TopicPartition;

/// How far a one-shot run copies: per source partition its high watermark, all taken in one round.
/// Open until a [`Done`]. Large ones are cut into parts; the last part to arrive makes it count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// Unique name.
    pub id: String,
    /// Number of this part, from 1.
    pub part: u32,
    /// How many parts.
    pub parts: u32,
    /// The one point in time that the fence stands for.
    pub at: i64,
    /// Who wrote it.
    pub worker: String,
    /// Per source topic the high watermarks of partitions 0, 1, …; `null` for one that is not in it.
    pub partitions: BTreeMap<String, Vec<Option<i64>>>,
}

impl Fence {
    /// A fence of one part.
    pub fn new(
        id: impl Into<String>,
        at: i64,
        worker: impl Into<String>,
        high_watermarks: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Self {
        let mut partitions: BTreeMap<String, Vec<Option<i64>>> = BTreeMap::new();
        for (of, high_watermark) in high_watermarks {
            let topic = partitions.entry(of.topic.to_string()).or_default();
            let index = usize::try_from(of.partition).expect("partition numbers start at 0");
            if topic.len() <= index {
                topic.resize(index + 1, None);
            }
            topic[index] = Some(high_watermark);
        }
        Self { id: id.into(), part: 1, parts: 1, at, worker: worker.into(), partitions }
    }

    /// The partition's high watermark, if the partition is in the fence.
    pub fn get(&self, of: &TopicPartition) -> Option<i64> {
        let index = usize::try_from(of.partition).ok()?;
        *self.partitions.get(&*of.topic)?.get(index)?
    }

    /// All partitions with their high watermarks, by topic and number.
    pub fn iter(&self) -> impl Iterator<Item = (TopicPartition, i64)> {
        self.partitions.iter().flat_map(|(topic, marks)| {
            let topic: Arc<str> = Arc::from(topic.as_str());
            (0..).zip(marks).filter_map(move |(partition, mark)| {
                mark.map(|mark| (TopicPartition::new(Arc::clone(&topic), partition), mark))
            })
        })
    }
}

/// Every lane has reached the fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Name of the fence.
    pub fence: String,
    /// When.
    pub at: i64,
    /// Who wrote it.
    pub worker: String,
    /// Records in the target partitions up to here, by the ledger.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a reconciliation proved. One pass may write several, for different partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// Unique name of the pass.
    pub pass: String,
    /// When.
    pub at: i64,
    /// Who wrote it.
    pub worker: String,
    /// Hash of the plan that was in effect.
    pub plan: String,
    /// The partitions that were compared.
    pub partitions: Vec<VerifiedPartition>,
}

/// What was proved about one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedPartition {
    /// Source topic.
    #[serde(with = "arc_str")]
    pub topic: Arc<str>,
    /// Partition number on both sides.
    pub partition: i32,
    /// Source offset from which on it holds.
    pub from: i64,
    /// Records compared.
    pub records: u64,
    /// Differences found; proved means 0.
    pub differences: u64,
    /// Digest of the records compared, where the whole sequence was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<SequenceDigest>,
    /// The source as it was then.
    pub source: ProvedSide,
    /// The target as it was then.
    pub target: ProvedSide,
}

impl VerifiedPartition {
    /// One side as it was then.
    pub fn side(&self, side: Side) -> &ProvedSide {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// The source partition.
    pub fn at(&self) -> TopicPartition {
        TopicPartition::new(Arc::clone(&self.topic), self.partition)
    }
}

/// One side of a proof; if any of it no longer holds, the next pass is a full one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvedSide {
    /// First offset that was not compared.
    pub next: i64,
    /// Topic id, where the brokers have ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Leader epoch, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<i32>,
    /// The last record compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
}

/// Free fields of the plan changed under the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanChange {
    /// When.
    pub at: i64,
    /// What changed; empty in the first one of a ledger.
    pub changes: Vec<Change>,
    /// Hash of the plan from here on.
    pub hash: String,
}

/// One changed field, as the plan file spells it. Never holds a value that came from `${…}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Path of the field, for example `run.max_rate`.
    pub field: String,
    /// Its value before, if it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Its value from here on, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A person decided that a refusal does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// The refusal's word.
    pub what: String,
    /// The topics that it is about; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// Why, in the person's words.
    pub reason: String,
    /// When.
    pub at: i64,
}

/// A run was refused for safety.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The refusal's word.
    pub word: String,
    /// What happened, in words.
    pub what: String,
    /// When.
    pub at: i64,
    /// Who wrote it.
    pub worker: String,
}

/// Topics were paused by a person, or go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paused {
    /// Whether they are paused from here on.
    pub paused: bool,
    /// The topics; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub at: i64,
}
