//! What a pass proves: partitions and ranges, from what both clusters and the ledger say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::claims::Ledger;
use super::look::{Look, SideLook, existing, holds_what_was_copied, offsets};
use super::part::{Part, Reach};
use crate::cluster::{Admin, At, TopicInfo};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::plan::{Plan, TopicPartition};
use crate::report::Board;

/// A topic of the proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Name on the source.
    pub source: Arc<str>,
    /// Name on the target.
    pub target: Arc<str>,
    /// Its id on the source, where brokers have ids.
    pub source_id: Option<String>,
    /// Its id on the target.
    pub target_id: Option<String>,
}

/// What a pass proves.
pub struct Scope {
    /// Sorted by source name: the index is that of [`KeyAt::topic`](super::key::KeyAt::topic).
    pub topics: Vec<Topic>,
    /// By topic and partition.
    pub parts: Vec<Part>,
    /// The ledger; `None` for an audit without one.
    pub ledger: Option<Ledger>,
    /// What is left out, in words.
    pub left_out: Vec<String>,
    /// When the source's offsets were asked for, in milliseconds since 1970.
    pub taken_at: i64,
}

impl Scope {
    /// The id of a part's topic on one side, where its brokers have ids.
    pub fn topic_id(&self, side: Side, part: &Part) -> Option<String> {
        self.topics[part.topic as usize].id(side).map(str::to_owned)
    }
}

impl Topic {
    /// Its name on one side.
    pub fn name(&self, side: Side) -> &str {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Its id on one side.
    pub fn id(&self, side: Side) -> Option<&str> {
        match side {
            Side::Source => self.source_id.as_deref(),
            Side::Target => self.target_id.as_deref(),
        }
    }
}

/// Looks at both clusters. Writes nothing.
pub fn scope(plan: &Plan, clusters: &Clusters, no_ledger: bool, board: &Board) -> Result<Scope> {
    clusters.are_two()?;
    let name = plan.ledger_topic();
    let ledger = clusters.target_admin.describe(&[name])?.remove(name).flatten();
    if let Some(topic) = ledger.filter(|_| !no_ledger)
        && let Some(scope) = with_ledger(plan, clusters, &topic, board)?
    {
        return Ok(scope);
    }
    if !no_ledger {
        // No ledger, or one of a run that ended before it copied anything.
        tracing::warn!(
            "this plan has copied nothing to this target: whole logs are compared, as with --no-ledger"
        );
    }
    without_ledger(plan, clusters)
}

/// Refuses where the ledger is of other clusters.
fn same_clusters(clusters: &Clusters, ledger: &Ledger) -> Result<()> {
    let now = (&*clusters.source_id, &*clusters.target_id);
    let Some(bound) = ledger.cluster_ids().filter(|bound| *bound != now) else { return Ok(()) };
    let what = format!(
        "the ledger is of source cluster {} and target cluster {}, but these are {} and {}",
        bound.0, bound.1, now.0, now.1
    );
    Err(Error::refused("another-cluster", what)
        .hint("look at both `bootstrap`s; was a cluster made anew under its old address?"))
}

/// Refuses where a target partition is gone.
fn still_there(clusters: &Clusters, targets: &[TopicPartition]) -> Result<()> {
    let there = existing(&clusters.target_admin, targets)?;
    let Some(gone) = targets.iter().find(|at| !there.contains(at)) else { return Ok(()) };
    let what = format!("target `{gone}` is gone, so the copy cannot be proved");
    Err(Error::refused("target-lost-records", what).hint("a new plan name copies everything anew"))
}

/// `None` where the ledger has bound no partition.
fn with_ledger(
    plan: &Plan,
    clusters: &Clusters,
    topic: &TopicInfo,
    board: &Board,
) -> Result<Option<Scope>> {
    // What was visible on the target before the ledger was read is in the ledger, or foreign. Which
    // partitions those are only the ledger tells: so it is read, and then once more to its new end.
    let mut ledger = Ledger::new(topic.partitions);
    ledger.catch_up(&clusters.ledger, board)?;
    if ledger.pairs().next().is_none() {
        return Ok(None);
    }
    same_clusters(clusters, &ledger)?;
    let selected = select(plan, clusters, ledger.pairs().collect())?;
    let targets: Vec<TopicPartition> =
        selected.pairs.iter().map(|(_, target)| target.clone()).collect();
    still_there(clusters, &targets)?;
    let ends = offsets(&clusters.target_admin, &targets, At::LastStable)?;
    ledger.catch_up(&clusters.ledger, board)?;
    let looked = Look::at(clusters, &selected.pairs, ends)?;
    let mut parts = Vec::new();
    let mut claims = ledger.take_claims();
    for (source, target) in selected.pairs {
        let claim = claims.remove(&source).expect("a pair of the ledger");
        let state = &claim.state;
        looked.source.same_topic(&source.topic, state.topic_id.as_deref())?;
        looked.target.same_topic(&target.topic, state.target_topic_id.as_deref())?;
        let source_end = looked.source.end(&source);
        holds_what_was_copied(&source, source_end, state.next)?;
        let policy = looked.policy(&source, &target);
        // A newer record of a key says that an older one may be gone.
        let source_until = if policy.compacts() { source_end } else { state.next };
        let target_to = looked.target.end(&target).max(state.target_next);
        let mut part = Part {
            topic: looked.index(&source),
            policy,
            timestamps_kept: looked.target.timestamps_kept(&target.topic),
            source_reach: Reach {
                log_start: 0,
                from: state.start,
                common: state.start,
                to: state.next,
                until: source_until,
            },
            target_reach: Reach {
                log_start: 0,
                from: state.target_start,
                common: state.target_start,
                to: target_to,
                until: target_to,
            },
            source,
            target,
            ledger: Some(claim),
            proved_before: None,
        };
        part.start_at(looked.source.start(&part.source), looked.target.start(&part.target));
        parts.push(part);
    }
    Ok(Some(looked.scope(parts, Some(ledger), selected.left_out)))
}

/// What of the ledger the plan still asks for.
struct Selected {
    pairs: Vec<(TopicPartition, TopicPartition)>,
    left_out: Vec<String>,
}

/// Leaves out, and says so, what the plan no longer asks for and what nothing was copied of yet.
fn select(
    plan: &Plan,
    clusters: &Clusters,
    bound: Vec<(TopicPartition, TopicPartition)>,
) -> Result<Selected> {
    let on_source: BTreeMap<String, usize> = clusters
        .source_admin
        .topics()?
        .into_iter()
        .map(|topic| (topic.name, topic.partitions))
        .collect();
    let copied: BTreeSet<&str> = bound.iter().map(|(source, _)| &*source.topic).collect();
    let names: Vec<&str> =
        on_source.keys().map(String::as_str).chain(copied.iter().copied()).collect();
    let asked = plan.select(&names)?;
    let asks = |name: &str| asked.topics.iter().any(|pair| *pair.source == *name);
    if let Some(gone) = copied.iter().find(|name| asks(name) && !on_source.contains_key(**name)) {
        let what = format!("source topic `{gone}` is gone, so its copy cannot be proved");
        return Err(Error::refused("source-not-same-log", what)
            .hint("`topics.exclude` takes it out of the plan, and out of the proof"));
    }
    let earlier = copied.iter().filter(|name| !asks(name));
    let mut left_out: Vec<String> = earlier
        .map(|name| format!("topic `{name}`: copied earlier, but no longer in the plan"))
        .collect();
    let fresh = asked.topics.iter().filter(|pair| !copied.contains(&*pair.source));
    left_out
        .extend(fresh.map(|pair| format!("topic `{}`: nothing of it was copied yet", pair.source)));
    for (name, partitions) in on_source.iter().filter(|(name, _)| copied.contains(name.as_str())) {
        let bound = bound.iter().filter(|(source, _)| *source.topic == **name).count();
        if asks(name) && bound < *partitions {
            let fresh = partitions - bound;
            left_out.push(format!("topic `{name}`: {fresh} of its partitions were never copied"));
        }
    }
    let pairs = bound.iter().filter(|(source, _)| asks(&source.topic)).cloned().collect();
    Ok(Selected { pairs, left_out })
}

fn without_ledger(plan: &Plan, clusters: &Clusters) -> Result<Scope> {
    let count = |admin: &Admin| -> Result<BTreeMap<String, usize>> {
        Ok(admin.topics()?.into_iter().map(|topic| (topic.name, topic.partitions)).collect())
    };
    let on_source = count(&clusters.source_admin)?;
    let on_target = count(&clusters.target_admin)?;
    let names: Vec<&str> = on_source.keys().map(String::as_str).collect();
    let selection = plan.select(&names)?;
    let mut pairs = Vec::new();
    for pair in &selection.topics {
        let there = on_source.get(&*pair.source).copied().unwrap_or(0);
        let here = on_target.get(&*pair.target).copied().unwrap_or(0);
        let most = i32::try_from(there.max(here)).unwrap_or(i32::MAX);
        pairs.extend((0..most).map(|number| {
            (
                TopicPartition::new(pair.source.clone(), number),
                TopicPartition::new(pair.target.clone(), number),
            )
        }));
    }
    // The target's ends first: what is copied meanwhile is then not taken for extra.
    let targets: Vec<TopicPartition> = pairs.iter().map(|(_, target)| target.clone()).collect();
    let there = existing(&clusters.target_admin, &targets)?;
    let ends = offsets(&clusters.target_admin, &there, At::LastStable)?;
    // And the source's log ends before its last stable offsets: what is written in between is not hidden.
    let sources: Vec<TopicPartition> = pairs.iter().map(|(source, _)| source.clone()).collect();
    let there = existing(&clusters.source_admin, &sources)?;
    let log_ends = offsets(&clusters.source_admin, &there, At::LogEnd)?;
    let looked = Look::at(clusters, &pairs, ends)?;
    let mut parts = Vec::new();
    for (source, target) in pairs {
        let reach = |side: &SideLook, at| match (side.starts.get(at), side.ends.get(at)) {
            (Some(&from), Some(&to)) => {
                Reach { log_start: from, from, common: from, to, until: to.max(from) }
            }
            _ => Reach::NOTHING,
        };
        parts.push(Part {
            topic: looked.index(&source),
            policy: looked.policy(&source, &target),
            timestamps_kept: looked.target.timestamps_kept(&target.topic),
            source_reach: reach(&looked.source, &source),
            target_reach: reach(&looked.target, &target),
            source,
            target,
            ledger: None,
            proved_before: None,
        });
    }
    let mut left_out = selection.warnings;
    left_out.extend(hidden(&log_ends, &looked.source.ends));
    Ok(looked.scope(parts, None, left_out))
}

/// Partitions of the source of which an open transaction hides the end: their log end lay behind what is
/// the last stable offset later.
fn hidden(
    log_ends: &BTreeMap<TopicPartition, i64>,
    stable: &BTreeMap<TopicPartition, i64>,
) -> Vec<String> {
    let behind =
        stable.iter().filter(|(at, stable)| log_ends.get(at).is_some_and(|end| end > *stable));
    let said = |(at, stable): (&TopicPartition, &i64)| {
        format!("source `{at}` behind offset {stable}, where a transaction is open")
    };
    behind.map(said).collect()
}

impl Look {
    fn scope(self, mut parts: Vec<Part>, ledger: Option<Ledger>, left_out: Vec<String>) -> Scope {
        parts.sort_by_key(|part| (part.topic, part.source.partition));
        Scope { topics: self.topics, parts, ledger, left_out, taken_at: self.taken_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_open_transaction_hides_is_told_and_what_came_meanwhile_is_not() {
        let ends = |all: &[i64]| -> BTreeMap<TopicPartition, i64> {
            (0..).zip(all).map(|(n, end)| (TopicPartition::new("orders", n), *end)).collect()
        };
        let said = hidden(&ends(&[10, 10, 10]), &ends(&[10, 7, 12, 3]));
        assert_eq!(said, ["source `orders-1` behind offset 7, where a transaction is open"]);
    }
}
