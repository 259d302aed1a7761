//! Buckets: what one side holds of many keys, as one digest. Pure.
//!
//! `docs/digest.md`, "Bucket digests", says the same for a second implementation.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::digest::{RecordDigest, SequenceDigest};
use crate::reconcile::manifest::Manifest;
use crate::reconcile::policy::Policy;

/// Buckets of a partition, besides the one of records without a key: 20 KiB per partition cross the link,
/// and of one key that differs 1/256 of its partition is read again.
pub const BUCKETS: u16 = 256;

/// Length of a field that is null, as in a record's canonical form.
const NULL: u64 = u64::MAX;

/// First byte of what is hashed for a key: the form's version, and which form.
const WHOLE_SEQUENCE: u8 = 1;
const LAST_RECORD: u8 = 2;

/// A bucket's number; `None` is that of records without a key.
pub type BucketId = Option<u8>;

/// The bucket of a key, or of what stands for it.
#[expect(clippy::cast_possible_truncation, reason = "modulo 256")]
pub fn bucket_of(key: Option<&[u8]>) -> BucketId {
    key.map(|key| xxh3_64(key) as u8)
}

/// What one side holds of a bucket of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Keys, those that do not count included.
    pub keys: u64,
    /// Claimed records.
    pub records: u64,
    /// Those of them whose value is null.
    pub tombstones: u64,
    /// Keys with a newer record behind the range: where digests differ, they are to be left out.
    pub superseded: u64,
    /// Records that no run names.
    pub foreign: u64,
    /// Digest of the keys that count, in their order.
    pub digest: SequenceDigest,
}

impl Default for Bucket {
    fn default() -> Self {
        let digest = SequenceDigest::EMPTY;
        Self { keys: 0, records: 0, tombstones: 0, superseded: 0, foreign: 0, digest }
    }
}

impl Bucket {
    /// Adds the bucket's next key; keys rise.
    pub fn push(&mut self, policy: Policy, key: Option<&[u8]>, manifest: &Manifest) {
        self.keys += 1;
        self.records += manifest.records();
        self.tombstones += manifest.tombstones;
        self.superseded += u64::from(manifest.beyond > 0);
        self.foreign += manifest.foreign;
        if let Some(digest) = key_digest(policy, key, manifest) {
            self.digest.push(digest);
        }
    }

    /// Whether both sides hold the same of all keys. Where this says no, the keys decide.
    pub fn same(source: &Bucket, target: &Bucket) -> bool {
        source.digest == target.digest && source.foreign + target.foreign == 0
    }
}

/// Digest of what counts of a key; `None` where nothing does.
fn key_digest(policy: Policy, key: Option<&[u8]>, manifest: &Manifest) -> Option<RecordDigest> {
    let mut bytes = Vec::with_capacity(64);
    let field = |bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(&key.map_or(NULL, |key| key.len() as u64).to_le_bytes());
        bytes.extend_from_slice(key.unwrap_or_default());
    };
    // A record without a key is never compacted away.
    if policy.compacts() && key.is_some() {
        let (last, _) = manifest.last.filter(|(_, tombstone)| !tombstone)?;
        bytes.push(LAST_RECORD);
        field(&mut bytes);
        bytes.extend_from_slice(&last.0.to_le_bytes());
    } else {
        let SequenceDigest { count, a, b } = manifest.sequence;
        if count == 0 {
            return None;
        }
        bytes.push(WHOLE_SEQUENCE);
        field(&mut bytes);
        for number in [count, a, b] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    Some(RecordDigest(xxh3_128(&bytes)))
}

/// All buckets of one topic, by partition.
pub type TopicBuckets = BTreeMap<(i32, BucketId), Bucket>;

/// Adds a key of the topic. Keys of one partition rise; partitions may alternate.
pub fn add(
    buckets: &mut TopicBuckets,
    policy: Policy,
    key: Option<&[u8]>,
    partition: i32,
    manifest: &Manifest,
) {
    buckets.entry((partition, bucket_of(key))).or_default().push(policy, key, manifest);
}

#[cfg(test)]
mod tests;
