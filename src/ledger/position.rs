//! What the ledger says about one partition.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::arc_str;
use super::lane::{Anchor, BindPartition, CarryPartition, Found, Gap};
use crate::digest::SequenceDigest;

/// Everything that the ledger says about one source partition up to some entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionState {
    /// Id of the source topic at binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// Target topic.
    #[serde(with = "arc_str")]
    pub target_topic: Arc<str>,
    /// Id of the target topic at binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_topic_id: Option<String>,
    /// First source offset to copy.
    pub start: i64,
    /// Log end offset of the target partition at binding.
    pub target_start: i64,
    /// How the target partition was found at binding.
    pub found: Found,
    /// Next source offset to read.
    pub next: i64,
    /// Target offset of the last record carried plus 1; `target_start` before there is one. The target's
    /// log end is never below it.
    pub target_next: i64,
    /// The last source record carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Records written.
    pub records: u64,
    /// Records read: `records + filtered + dead`.
    pub read: u64,
    /// Records that a transform dropped.
    pub filtered: u64,
    /// Records that went to the dead-letter topic.
    pub dead: u64,
    /// Bytes of keys, values and headers written.
    pub bytes: u64,
    /// Written records whose timestamp could not be kept.
    pub untimed: u64,
    /// Digest of all records written, in order.
    pub digest: SequenceDigest,
    /// Source offsets that were gone before they could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRange>,
    /// Before this time no deletion can have been missed, in milliseconds since 1970: when the lane was
    /// last known to have read the partition to its log end; until then, when its copying began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_up_at: Option<i64>,
}

/// Source offsets `[from, to)` that were gone before they could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapRange {
    /// First offset.
    pub from: i64,
    /// First offset behind it.
    pub to: i64,
    /// Why they were gone.
    pub reason: String,
    /// When it was found, in milliseconds since 1970.
    pub at: i64,
}

impl PartitionState {
    /// Nothing carried yet. `since` is a time before which nothing of it can have been copied.
    pub(super) fn bound(bind: BindPartition, since: Option<i64>) -> Result<Self, String> {
        if bind.partition < 0 || bind.start < 0 || bind.target_start < 0 {
            return Err(format!("`{}` is bound to negative numbers", bind.at()));
        }
        Ok(Self {
            topic_id: bind.topic_id,
            target_topic: bind.target_topic,
            target_topic_id: bind.target_topic_id,
            start: bind.start,
            target_start: bind.target_start,
            found: bind.found,
            next: bind.start,
            target_next: bind.target_start,
            anchor: None,
            records: 0,
            read: 0,
            filtered: 0,
            dead: 0,
            bytes: 0,
            untimed: 0,
            digest: SequenceDigest::EMPTY,
            gaps: Vec::new(),
            caught_up_at: since,
        })
    }

    /// Whether any transaction has moved the position; gaps alone have carried nothing.
    pub fn carried(&self) -> bool {
        self.next - self.start > self.skipped()
    }

    /// Source offsets that were gone before they could be read.
    pub fn skipped(&self) -> i64 {
        self.gaps.iter().map(|gap| gap.to - gap.from).sum()
    }

    /// Adds one transaction's share, or says what does not fit.
    pub(super) fn carry(&mut self, carry: &CarryPartition) -> Result<(), String> {
        check_carry(carry)?;
        if carry.first != self.next {
            return Err(format!("begins at {}, but the position is {}", carry.first, self.next));
        }
        if let Some((_, target)) = carry.runs.first()
            && target < self.target_next
        {
            return Err(format!(
                "writes to target offset {target}, but the one before was {}",
                self.target_next - 1
            ));
        }
        // Every other count is part of `read`.
        let sums = self.read.checked_add(carry.read).zip(self.bytes.checked_add(carry.bytes));
        (self.read, self.bytes) = sums.ok_or("counts more than fits into 64 bits")?;
        self.next = carry.next;
        self.target_next =
            carry.runs.last().map_or(self.target_next, |(_, target)| target.saturating_add(1));
        self.anchor = carry.anchor.or(self.anchor);
        self.records += carry.written;
        self.filtered += carry.filtered;
        self.dead += carry.dead;
        self.untimed += carry.untimed;
        self.digest = self.digest.compose(carry.digest);
        Ok(())
    }

    /// Whether a state that was read back agrees with itself.
    pub(super) fn check(&self) -> Result<(), String> {
        let counted = sum(self.records, self.filtered, self.dead) == Some(self.read)
            && self.digest.count == self.records
            && self.untimed <= self.records;
        let placed = 0 <= self.start
            && self.start <= self.next
            && 0 <= self.target_start
            && self.target_start <= self.target_next;
        if counted && placed { Ok(()) } else { Err("contradicts itself".to_owned()) }
    }

    /// Leaves out source offsets, or says what does not fit. Deletions that may have expired unread are a
    /// gap without a length: nobody knows where they were.
    pub(super) fn gap(&mut self, gap: Gap) -> Result<(), String> {
        let Gap { from, to, reason, at, .. } = gap;
        if from != self.next {
            return Err(format!("a gap begins at {from}, but the position is {}", self.next));
        }
        if to < from {
            return Err(format!("a gap of {from} to {to} is none"));
        }
        self.gaps.push(GapRange { from, to, reason, at });
        self.next = to;
        Ok(())
    }
}

/// Whether a carry agrees with itself.
fn check_carry(carry: &CarryPartition) -> Result<(), String> {
    let CarryPartition { first, next, read, written, filtered, dead, .. } = *carry;
    if next < first {
        return Err(format!("goes back from {first} to {next}"));
    }
    let inside = |offset: i64| (first..next).contains(&offset);
    let ends = carry.runs.first().into_iter().chain(carry.runs.last());
    let anchor = carry.anchor.map(|anchor| anchor.offset);
    if let Some(offset) = ends.map(|(source, _)| source).chain(anchor).find(|at| !inside(*at)) {
        return Err(format!("carries {offset}, which is not in {first} to {next}"));
    }
    if carry.runs.len() != written || carry.digest.count != written {
        return Err(format!(
            "says {written} records written, but maps {} and digests {}",
            carry.runs.len(),
            carry.digest.count
        ));
    }
    if carry.untimed > written {
        return Err(format!("says {written} records written, but {} untimed", carry.untimed));
    }
    if sum(written, filtered, dead) != Some(read) {
        return Err(format!(
            "says {read} records read, but {written} written, {filtered} filtered, {dead} dead"
        ));
    }
    Ok(())
}

fn sum(written: u64, filtered: u64, dead: u64) -> Option<u64> {
    written.checked_add(filtered)?.checked_add(dead)
}
