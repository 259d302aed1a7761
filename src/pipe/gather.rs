//! Gathers the facts that [`refuse::judge`](super::refuse::judge) decides on. No rules here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{At, ClusterError, First};
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::ledger::PartitionState;
use crate::pipe::ask::Ask;
use crate::pipe::refuse::{AtAnchor, Facts, Known, SourceFacts, TargetFacts};
use crate::pipe::shared::now_ms;
use crate::plan::TopicPartition;

/// A source partition and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// On the source.
    pub source: TopicPartition,
    /// On the target: the same partition number.
    pub target: TopicPartition,
    /// Whether the source topic's `cleanup.policy` holds `compact`.
    pub compacted: bool,
    /// The source topic's `delete.retention.ms` in effect, where it is compacted.
    pub delete_retention: Option<i64>,
}

/// What to look at.
pub struct Question<'a> {
    /// The partitions.
    pub pairs: &'a [Pair],
    /// What the ledger knows of them, by source partition.
    pub known: &'a BTreeMap<TopicPartition, PartitionState>,
    /// The open fence's offset of a source partition.
    pub fence: &'a dyn Fn(&TopicPartition) -> Option<i64>,
    /// `on_gap = "record"`.
    pub accept_gaps: bool,
    /// Whether the ledger is known to be complete: only then can a record on the target be foreign.
    pub settled: bool,
}

type Offsets = BTreeMap<TopicPartition, i64>;

/// Looks at all partitions on both sides: a handful of requests, however many partitions.
pub fn gather(clusters: &dyn Ask, question: &Question<'_>) -> Result<Vec<Facts>, ClusterError> {
    let sources: Vec<_> = question.pairs.iter().map(|pair| pair.source.clone()).collect();
    let targets: Vec<_> = question.pairs.iter().map(|pair| pair.target.clone()).collect();
    let bound = |pair: &&Pair| question.known.contains_key(&pair.source);
    let bound: Vec<&Pair> = question.pairs.iter().filter(bound).collect();
    let bound_sources = bound.iter().map(|pair| &*pair.source.topic).collect();
    let bound_targets = bound.iter().map(|pair| &*pair.target.topic).collect();
    let source = Look::at(clusters, Side::Source, &sources, &bound_sources)?;
    let target = Look::at(clusters, Side::Target, &targets, &bound_targets)?;
    let anchors = read_anchors(clusters, question, &source)?;
    let passed = read_passed(clusters, question, &source)?;
    let foreign = read_foreign(clusters, question, &target)?;
    let now = now_ms();
    let facts = question.pairs.iter().map(|pair| Facts {
        source: pair.source.clone(),
        target: pair.target.clone(),
        known: question.known.get(&pair.source).map(known),
        source_facts: source.facts(&pair.source).map(|seen| SourceFacts {
            topic_id: seen.topic_id,
            log_start: seen.log_start,
            log_end: seen.log_end,
            epoch: seen.epoch,
            compacted: pair.compacted,
            delete_retention: pair.delete_retention,
            at_anchor: anchors.get(&pair.source).copied().unwrap_or(AtAnchor::NotReadable),
            in_passed: passed.get(&pair.source).copied(),
        }),
        target_facts: target.facts(&pair.target).map(|seen| TargetFacts {
            topic_id: seen.topic_id,
            log_start: seen.log_start,
            log_end: seen.log_end,
            visible_after: foreign.get(&pair.target).copied(),
        }),
        fence: (question.fence)(&pair.source),
        accept_gaps: question.accept_gaps,
        now,
    });
    Ok(facts.collect())
}

fn known(state: &PartitionState) -> Known {
    Known {
        topic_id: state.topic_id.clone(),
        target_topic_id: state.target_topic_id.clone(),
        next: state.next,
        target_next: state.target_next,
        anchor: state.anchor,
        carried: state.carried(),
        caught_up_at: state.caught_up_at,
    }
}

/// Behind the last record carried and the last recorded gap; all offsets from here to the position held
/// no record.
pub fn passed_from(state: &PartitionState) -> i64 {
    let carried = state.anchor.as_ref().map_or(state.start, |anchor| anchor.offset + 1);
    state.gaps.last().map_or(carried, |gap| gap.to.max(carried))
}

/// Metadata and offsets of many partitions of one cluster.
struct Look {
    ids: BTreeMap<Arc<str>, Option<String>>,
    log_start: Offsets,
    log_end: BTreeMap<TopicPartition, (i64, Option<i32>)>,
}

struct Seen {
    topic_id: Option<String>,
    log_start: i64,
    log_end: i64,
    epoch: Option<i32>,
}

impl Look {
    /// `bound`: topics that were there before.
    fn at(
        clusters: &dyn Ask,
        side: Side,
        partitions: &[TopicPartition],
        bound: &BTreeSet<&str>,
    ) -> Result<Self, ClusterError> {
        let names: BTreeSet<Arc<str>> = partitions.iter().map(|at| at.topic.clone()).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut ids = BTreeMap::new();
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        let mut described = clusters.describe(side, &names)?;
        let missing =
            described.iter().filter(|(name, info)| info.is_none() && bound.contains(&***name));
        let missing: Vec<String> = missing.map(|(name, _)| name.clone()).collect();
        if !missing.is_empty() {
            let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
            described.extend(clusters.describe_known(side, &missing)?);
        }
        for (name, info) in described {
            if let Some(info) = info {
                counts.insert(Arc::from(name.as_str()), info.partitions);
                ids.insert(Arc::from(name), info.id);
            }
        }
        let exists = |at: &&TopicPartition| {
            counts
                .get(&at.topic)
                .is_some_and(|n| usize::try_from(at.partition).is_ok_and(|p| p < *n))
        };
        let there: Vec<TopicPartition> = partitions.iter().filter(exists).cloned().collect();
        let mut log_start = Offsets::new();
        for (at, answer) in clusters.offsets(side, &there, At::LogStart)? {
            log_start.insert(at, answer?.offset);
        }
        let mut log_end = BTreeMap::new();
        for (at, answer) in clusters.offsets(side, &there, At::LogEnd)? {
            let answer = answer?;
            log_end.insert(at, (answer.offset, answer.leader_epoch));
        }
        Ok(Self { ids, log_start, log_end })
    }

    fn facts(&self, at: &TopicPartition) -> Option<Seen> {
        let (log_end, epoch) = *self.log_end.get(at)?;
        Some(Seen {
            topic_id: self.ids.get(&at.topic)?.clone(),
            log_start: *self.log_start.get(at)?,
            log_end,
            epoch,
        })
    }
}

fn read_anchors(
    clusters: &dyn Ask,
    question: &Question<'_>,
    source: &Look,
) -> Result<BTreeMap<TopicPartition, AtAnchor>, ClusterError> {
    let wanted: Vec<(TopicPartition, i64)> = question
        .pairs
        .iter()
        .filter_map(|pair| {
            let anchor = question.known.get(&pair.source)?.anchor.as_ref()?;
            let seen = source.facts(&pair.source)?;
            let readable = seen.log_start <= anchor.offset && anchor.offset < seen.log_end;
            readable.then(|| (pair.source.clone(), anchor.offset))
        })
        .collect();
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let mut scratch = Vec::new();
    clusters.first_at(Side::Source, &wanted, &mut |at, record| {
        let seen = match record {
            First::Record(record) => AtAnchor::Found {
                offset: record.offset,
                digest: RecordDigest::of(record, true, &mut scratch),
            },
            First::None { .. } => AtAnchor::Nothing,
            // Deleted since the log start was asked for.
            First::Lost { .. } => AtAnchor::NotReadable,
        };
        found.insert(wanted[at].0.clone(), seen);
    })?;
    Ok(found)
}

/// The first committed record of the offsets that were passed over, by source partition.
fn read_passed(
    clusters: &dyn Ask,
    question: &Question<'_>,
    source: &Look,
) -> Result<Offsets, ClusterError> {
    let mut until = Vec::new();
    let mut wanted = Vec::new();
    for pair in question.pairs {
        let (Some(state), Some(seen)) =
            (question.known.get(&pair.source), source.facts(&pair.source))
        else {
            continue;
        };
        let from = passed_from(state).max(seen.log_start);
        let to = state.next.min(seen.log_end);
        if from < to {
            wanted.push((pair.source.clone(), from));
            until.push(to);
        }
    }
    let mut found = Offsets::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    clusters.first_at(Side::Source, &wanted, &mut |at, record| {
        if let First::Record(record) = record
            && record.offset < until[at]
        {
            found.insert(wanted[at].0.clone(), record.offset);
        }
    })?;
    Ok(found)
}

/// The first committed record behind what the ledger knows, by target partition.
fn read_foreign(
    clusters: &dyn Ask,
    question: &Question<'_>,
    target: &Look,
) -> Result<Offsets, ClusterError> {
    if !question.settled {
        return Ok(Offsets::new());
    }
    let wanted: Vec<(TopicPartition, i64)> = question
        .pairs
        .iter()
        .filter_map(|pair| {
            let from = question.known.get(&pair.source)?.target_next;
            let seen = target.facts(&pair.target)?;
            let from = from.max(seen.log_start);
            (from < seen.log_end).then(|| (pair.target.clone(), from))
        })
        .collect();
    let mut found = Offsets::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    clusters.first_at(Side::Target, &wanted, &mut |at, record| {
        if let First::Record(record) = record {
            found.insert(wanted[at].0.clone(), record.offset);
        }
    })?;
    Ok(found)
}
