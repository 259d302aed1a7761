//! Reading topics, from their beginning to where they end at the time of the call.

use super::super::Error;
use super::{Oracle, Stored, admin::text};
use serde_json::{Value, json};

/// What a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the last stable offset, without aborted records.
    ReadCommitted,
    /// Up to the high watermark, with all.
    ReadUncommitted,
}

/// Where a partition begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    pub earliest: i64,
    /// The high watermark.
    pub latest: i64,
    /// The last stable offset.
    pub stable: i64,
}

/// What one partition holds. Equal digests and counts: the same records in the same order, byte for
/// byte; offsets do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    pub partition: i32,
    pub count: u64,
    pub tombstones: u64,
    /// Hex, over key, value, headers and timestamp of each record, each with its length.
    pub sha256: String,
}

/// Record numbers `first`, `first + step`, …, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: i64,
    pub step: i64,
    pub count: i64,
}

impl Oracle {
    /// Every record; by offset within a partition. For small topics.
    pub fn read(&self, topic: &str, isolation: Isolation) -> Result<Vec<Stored>, Error> {
        let mut records = self.read_with(topic, isolation, json!({}))?;
        records.sort_by_key(|stored| (stored.record.partition, stored.offset));
        Ok(records)
    }

    /// One partition, from `from` up to and without `until`.
    pub fn read_range(
        &self,
        topic: &str,
        isolation: Isolation,
        partition: i32,
        from: i64,
        until: i64,
    ) -> Result<Vec<Stored>, Error> {
        let range = json!({"partition": partition, "from": from, "until": until});
        self.read_with(topic, isolation, range)
    }

    fn read_with(
        &self,
        topic: &str,
        isolation: Isolation,
        fields: Value,
    ) -> Result<Vec<Stored>, Error> {
        let answer = self.call("read", with(topic, isolation, fields))?;
        Ok(answer.as_array().into_iter().flatten().map(Stored::from_json).collect())
    }

    /// One for each partition. For topics of any size.
    pub fn digest(&self, topic: &str, isolation: Isolation) -> Result<Vec<Digest>, Error> {
        let answer = self.call("digest", with(topic, isolation, json!({})))?;
        let partitions = answer.as_array().into_iter().flatten();
        Ok((0..)
            .zip(partitions)
            .map(|(partition, one)| Digest {
                partition,
                count: one["count"].as_u64().unwrap_or_default(),
                tombstones: one["tombstones"].as_u64().unwrap_or_default(),
                sha256: text(&one["sha256"]),
            })
            .collect())
    }

    /// For each partition the numbers of its numbered records, in order; −1 is none of them.
    pub fn ids(&self, topic: &str, isolation: Isolation) -> Result<Vec<Vec<Run>>, Error> {
        let answer = self.call("ids", with(topic, isolation, json!({})))?;
        let number = |run: &Value, at: usize| run[at].as_i64().unwrap_or(-1);
        let run = |run: &Value| Run {
            first: number(run, 0),
            step: number(run, 1),
            count: number(run, 2),
        };
        let partitions = answer.as_array().into_iter().flatten();
        Ok(partitions
            .map(|runs| runs.as_array().into_iter().flatten().map(run).collect())
            .collect())
    }
}

fn with(topic: &str, isolation: Isolation, mut fields: Value) -> Value {
    fields["topic"] = json!(topic);
    fields["committed"] = json!(isolation == Isolation::ReadCommitted);
    fields
}
