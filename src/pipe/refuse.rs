//! Refusals: what a lane must not copy, decided from facts alone (design, section 6).
//!
//! [`judge`] is asked for every partition before anything is written, and again by each lane after
//! it has fenced its predecessors.

use std::time::Duration;

use crate::digest::RecordDigest;
use crate::error::Error;
use crate::ledger::Anchor;
use crate::pipe::deletions::Late;
use crate::plan::TopicPartition;

/// What the ledger says about a partition that it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Source topic id at binding; `None` on brokers before 2.8.
    pub topic_id: Option<String>,
    /// Target topic id at binding.
    pub target_topic_id: Option<String>,
    /// Next source offset.
    pub next: i64,
    /// Last carried target offset + 1, or the target's log end at binding.
    pub target_next: i64,
    /// The last record carried.
    pub anchor: Option<Anchor>,
    /// Whether anything was carried yet.
    pub carried: bool,
    /// Before this time no deletion can have been missed, in milliseconds since 1970.
    pub caught_up_at: Option<i64>,
}

/// What the source shows at the anchor's offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtAnchor {
    /// There is no anchor, or it lies below the log start: nothing can be compared.
    NotReadable,
    /// The first record at or after the anchor's offset.
    Found {
        /// Its offset.
        offset: i64,
        /// Its digest.
        digest: RecordDigest,
    },
    /// No committed record from the anchor's offset to the end of the log.
    Nothing,
}

/// What the source cluster shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// Topic id now.
    pub topic_id: Option<String>,
    /// Log start offset.
    pub log_start: i64,
    /// High watermark.
    pub log_end: i64,
    /// Leader epoch of the high watermark, where told.
    pub epoch: Option<i32>,
    /// Whether compaction may have removed records.
    pub compacted: bool,
    /// `delete.retention.ms`, where it is compacted.
    pub delete_retention: Option<i64>,
    /// The record at the anchor.
    pub at_anchor: AtAnchor,
    /// First committed record of the offsets that were passed over: from behind the anchor (or from where
    /// the copy was to begin) up to the position there was none.
    pub in_passed: Option<i64>,
}

/// What the target cluster shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// Topic id now.
    pub topic_id: Option<String>,
    /// Log start offset.
    pub log_start: i64,
    /// High watermark.
    pub log_end: i64,
    /// First committed record at or after the ledger's `target_next`.
    pub visible_after: Option<i64>,
}

/// A partition as ledger, source and target show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// On the source.
    pub source: TopicPartition,
    /// On the target.
    pub target: TopicPartition,
    /// What the ledger knows; `None` before its binding.
    pub known: Option<Known>,
    /// What the source shows; `None` where the topic is gone.
    pub source_facts: Option<SourceFacts>,
    /// What the target shows; `None` where the topic is still to be created.
    pub target_facts: Option<TargetFacts>,
    /// The open fence's offset, when there is one.
    pub fence: Option<i64>,
    /// Whether the plan accepts gaps (`on_gap = "record"`).
    pub accept_gaps: bool,
    /// When it was looked, in milliseconds since 1970.
    pub now: i64,
}

/// What a partition may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is to be bound: the ledger does not know it, and its target is empty.
    Bind,
    /// It goes on at the ledger's position.
    Go,
    /// It goes on at `to`; the source offsets from the position up to there are recorded as gone.
    Gap {
        /// The log start.
        to: i64,
    },
}

/// Why a partition must not be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Records on the target, and no position in the ledger.
    TargetNotEmpty { log_start: i64, log_end: i64 },
    /// The target topic is gone.
    TargetTopicGone,
    /// The target topic has another id than at binding.
    TargetCreatedAnew { was: String, is: String },
    /// The target's log ends below what the ledger says was written.
    TargetLostRecords { expected: i64, log_end: i64 },
    /// Committed records on the target that the ledger does not know.
    ForeignRecords { at: i64 },
    /// The source topic is gone.
    SourceTopicGone,
    /// The source is not the log that was copied so far.
    NotSameLog { why: String },
    /// Records were deleted on the source before they were copied.
    Expired { next: i64, log_start: i64 },
    /// Deletions on the source may have expired before they were read.
    DeletionsExpired(Late),
}

/// Decides what a partition may do.
pub fn judge(facts: &Facts) -> Result<Verdict, Refusal> {
    let Some(known) = &facts.known else { return judge_unbound(facts) };
    judge_target(facts, known)?;
    let source = facts.source_facts.as_ref().ok_or(Refusal::SourceTopicGone)?;
    judge_lineage(facts.fence, known, source)?;
    // Where gaps are accepted the lane records it, when it has read what is left.
    if !facts.accept_gaps
        && let Some(late) = judge_deletions(facts, known, source)
    {
        return Err(Refusal::DeletionsExpired(late));
    }
    if source.log_start > known.next {
        // On every busy topic the oldest segment expires between binding and first fetch.
        if known.carried && !facts.accept_gaps {
            return Err(Refusal::Expired { next: known.next, log_start: source.log_start });
        }
        return Ok(Verdict::Gap { to: source.log_start });
    }
    Ok(Verdict::Go)
}

/// The log end cannot be reached before now: what is too late now will be.
fn judge_deletions(facts: &Facts, known: &Known, source: &SourceFacts) -> Option<Late> {
    let end = facts.fence.map_or(source.log_end, |fence| fence.min(source.log_end));
    let unread = known.next < end;
    Late::judge(known.caught_up_at?, facts.now, source.delete_retention, unread)
}

fn judge_unbound(facts: &Facts) -> Result<Verdict, Refusal> {
    if facts.source_facts.is_none() {
        return Err(Refusal::SourceTopicGone);
    }
    match &facts.target_facts {
        Some(target) if target.log_start != target.log_end => {
            Err(Refusal::TargetNotEmpty { log_start: target.log_start, log_end: target.log_end })
        }
        _ => Ok(Verdict::Bind),
    }
}

fn judge_target(facts: &Facts, known: &Known) -> Result<(), Refusal> {
    let target = facts.target_facts.as_ref().ok_or(Refusal::TargetTopicGone)?;
    if let (Some(was), Some(is)) = (&known.target_topic_id, &target.topic_id)
        && was != is
    {
        return Err(Refusal::TargetCreatedAnew { was: was.clone(), is: is.clone() });
    }
    if target.log_end < known.target_next {
        return Err(Refusal::TargetLostRecords {
            expected: known.target_next,
            log_end: target.log_end,
        });
    }
    match target.visible_after {
        Some(at) => Err(Refusal::ForeignRecords { at }),
        None => Ok(()),
    }
}

fn judge_lineage(fence: Option<i64>, known: &Known, source: &SourceFacts) -> Result<(), Refusal> {
    let other = |why: String| Err(Refusal::NotSameLog { why });
    if let (Some(was), Some(is)) = (&known.topic_id, &source.topic_id)
        && was != is
    {
        return other(format!("its topic id was {was} and is {is}"));
    }
    if source.log_end < known.next {
        return other(format!(
            "its log ends at {}, below the position {}",
            source.log_end, known.next
        ));
    }
    if let Some(fence) = fence
        && source.log_end < fence
    {
        return other(format!("its log ends at {}, below the fence {fence}", source.log_end));
    }
    // Control and aborted records lay there, and none of them ever becomes a committed one.
    if let Some(offset) = source.in_passed {
        return other(passed_by(offset, known.next));
    }
    let Some(anchor) = &known.anchor else { return Ok(()) };
    if let (Some(was), Some(is)) = (anchor.epoch, source.epoch)
        && is < was
    {
        return other(format!("its leader epoch went from {was} back to {is}"));
    }
    match source.at_anchor {
        AtAnchor::NotReadable => Ok(()),
        AtAnchor::Found { offset, digest } if offset == anchor.offset => {
            if digest == anchor.digest {
                Ok(())
            } else {
                other(format!("the record at offset {offset} is not the one that was copied"))
            }
        }
        // Compaction removes records, also the anchor's; without it a log has no new holes.
        AtAnchor::Found { .. } | AtAnchor::Nothing if source.compacted => Ok(()),
        AtAnchor::Found { .. } | AtAnchor::Nothing => {
            other(format!("the last copied record, at offset {}, is not there", anchor.offset))
        }
    }
}

/// Why a log is another one: a committed record where there was none.
pub fn passed_by(offset: i64, position: i64) -> String {
    format!(
        "a record is at offset {offset}, where there was none when the position went on to {position}"
    )
}

impl Refusal {
    /// The refusal in words, with the way out.
    pub fn error(&self, source: &TopicPartition, target: &TopicPartition) -> Error {
        match self {
            Self::TargetNotEmpty { log_start, log_end } => Error::refused(
                "target-not-empty",
                format!(
                    "target `{target}` already holds offsets {log_start} to {log_end}, and the \
                     ledger has no position for it"
                ),
            )
            .hint(
                "copy into an empty topic: give it another name with `topics.rename`, or delete \
                 and recreate the target topic if nobody needs what it holds",
            ),
            Self::TargetTopicGone => Error::refused(
                "target-lost-records",
                format!(
                    "target topic `{}` is gone, but the ledger says it was written",
                    target.topic
                ),
            )
            .hint(
                "find out who deleted it; to copy it again from the start, use a new plan name (a \
                 new ledger) and empty target topics",
            ),
            Self::TargetCreatedAnew { was, is } => Error::refused(
                "target-lost-records",
                format!(
                    "target topic `{}` was deleted and created anew: its id was {was} and is {is}",
                    target.topic
                ),
            )
            .hint(
                "to copy it again from the start, use a new plan name (a new ledger) and empty \
                 target topics",
            ),
            Self::TargetLostRecords { expected, log_end } => Error::refused(
                "target-lost-records",
                format!(
                    "target `{target}` ends at offset {log_end}, but the ledger says that records \
                     up to {expected} were committed there"
                ),
            )
            .hint(
                "the target lost acknowledged records (unclean leader election, restored disk?); \
                 to copy again from the start, use a new plan name and empty target topics",
            ),
            Self::ForeignRecords { at } => Error::refused(
                "foreign-records",
                format!(
                    "target `{target}` holds a committed record at offset {at} that onceover did \
                     not write"
                ),
            )
            .hint(
                "find the producer that already writes to the target and stop it; copying on \
                 would mix its records with the source's order; to copy again without them, use a \
                 new plan name and empty target topics",
            ),
            Self::SourceTopicGone => Error::refused(
                "source-not-same-log",
                format!(
                    "source topic `{}` is gone, but the plan or the ledger needs it",
                    source.topic
                ),
            )
            .hint(
                "if it was deleted on purpose, take it out of the plan: out of `topics.include`, or \
                 with `topics.exclude` where a pattern matches it",
            ),
            Self::NotSameLog { why } => Error::refused(
                "source-not-same-log",
                format!("source `{source}` is not the log that was copied so far: {why}"),
            )
            .hint(
                "the topic was deleted and created anew, its log was truncated, or the bootstrap \
                 address leads to another cluster; copy it with a new plan name into a new topic",
            ),
            Self::Expired { next, log_start } => Error::refused(
                "source-expired",
                format!(
                    "source `{source}` now starts at offset {log_start}, but the next offset to \
                     copy is {next}: {} offsets were deleted before they were copied",
                    log_start - next
                ),
            )
            .hint(
                "raise `retention.ms` on the source while copying; `run.on_gap = \"record\"` \
                 accepts the gap and records it in the ledger",
            ),
            Self::DeletionsExpired(late) => Error::refused(
                "deletions-expired",
                format!(
                    "source `{source}` is compacted with `delete.retention.ms` of {}, and {} have \
                     passed since its copy began or was last complete: deletions may have expired \
                     unread, and their keys may stay on the target",
                    duration(late.retention_ms),
                    duration(late.away_ms)
                ),
            )
            .hint(
                "`run.on_gap = \"record\"` goes on, records it in the ledger, and makes the next \
                 proof a full one, which names the keys that stayed; `delete.retention.ms` on the \
                 source is to be raised before a long copy: raised now it brings nothing back",
            ),
        }
    }
}

/// Milliseconds in words.
fn duration(ms: i64) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_millis(ms.max(0).cast_unsigned()))
}

#[cfg(test)]
#[path = "refuse_tests.rs"]
mod tests;
