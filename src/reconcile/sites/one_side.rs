//! Partitions and ranges of one side: from the ledger, from the other side's scope, or whole logs. Asks
//! one cluster alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::scope_file::{LedgerCounts, ScopeFile, ScopePartition, ScopeTopic};
use super::whole::whole_logs;
use crate::cluster::At;
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::OneSide;
use crate::pipe::shared::now_ms;
use crate::plan::{Plan, TopicPartition};
use crate::reconcile::claims::Ledger;
use crate::reconcile::look::{SideLook, existing, holds_what_was_copied, offsets};
use crate::reconcile::part::{Part, Reach};
use crate::report::Board;

/// What one side is to read.
pub(super) struct OneScope {
    /// By source name.
    pub topics: Vec<ScopeTopic>,
    /// By topic and partition. The reach of the other side is what is known of it.
    pub parts: Vec<Part>,
    /// By part.
    pub counts: Vec<Option<LedgerCounts>>,
    /// Whether the ledger gave the ranges.
    pub by_ledger: bool,
    /// Whether the ranges of source and target are known.
    pub known: [bool; 2],
    /// Cluster ids of source and target.
    pub clusters: [Option<String>; 2],
    /// When offsets were asked for, in milliseconds since 1970.
    pub taken_at: i64,
    /// What is left out, in words.
    pub left_out: Vec<String>,
}

/// Looks at the one cluster. Writes nothing.
pub(super) fn one_scope(
    plan: &Plan,
    at: &OneSide,
    given: Option<&ScopeFile>,
    no_ledger: bool,
    board: &Board,
) -> Result<OneScope> {
    if let Some(given) = given {
        let cluster = match at.side {
            Side::Source => &given.source_cluster,
            Side::Target => &given.target_cluster,
        };
        same_cluster(at, cluster.as_deref())?;
    }
    let by_ledger = match (given, at.side) {
        (Some(given), _) if no_ledger && given.ranges_of.is_some() => {
            let what = "the scope has the ranges of a ledger, and `--no-ledger` wants whole logs";
            return Err(Error::usage(what).hint(format!("made by pass {}", given.pass)));
        }
        (Some(given), _) => given.ranges_of.is_some(),
        (None, Side::Source) => false,
        (None, Side::Target) => {
            let name = plan.ledger_topic();
            !no_ledger && at.admin.describe(&[name])?.get(name).is_some_and(Option::is_some)
        }
    };
    match (by_ledger, at.side, given) {
        (true, Side::Source, Some(given)) => source_by_scope(at, given),
        (true, ..) => target_by_ledger(plan, at, given, board),
        (false, ..) => whole_logs(plan, at, given),
    }
}

fn same_cluster(at: &OneSide, expected: Option<&str>) -> Result<()> {
    let side = at.side;
    match expected {
        Some(expected) if expected != at.id => Err(Error::refused(
            "another-cluster",
            format!(
                "{side} cluster at `{}` is {}, not {expected}",
                at.connection.bootstrap(),
                at.id
            ),
        )
        .hint("is it the plan's, and the scope that of this migration?")),
        _ => Ok(()),
    }
}

/// Beside the source: exactly what the ledger claims, as the target's side has written it down.
fn source_by_scope(at: &OneSide, given: &ScopeFile) -> Result<OneScope> {
    let source = |one: &ScopePartition| TopicPartition::new(&*one.topic, one.partition);
    let all: Vec<TopicPartition> = given.partitions.iter().map(source).collect();
    let looked = SideLook::at(at.side, &at.admin, &all)?;
    for topic in &given.topics {
        looked.same_topic(&topic.source, topic.source_id.as_deref())?;
    }
    let mut parts = Vec::new();
    for (one, source) in given.partitions.iter().zip(all) {
        let (Some(from), Some(to)) = (one.start, one.position) else {
            return Err(Error::usage(format!("the scope has no source range of `{source}`")));
        };
        let end = looked.end(&source);
        holds_what_was_copied(&source, end, to)?;
        let (topic, target_topic) = topic_of(&given.topics, &one.topic)?;
        let policy = one.policy.combined(looked.policy(&one.topic));
        let mut part = Part {
            topic,
            target: TopicPartition::new(target_topic, one.partition),
            policy,
            timestamps_kept: one.timestamps_kept,
            source_reach: Reach {
                log_start: 0,
                from,
                common: one.compared_from.unwrap_or(from),
                to,
                // A newer record of a key says that an older one may be gone.
                until: if policy.compacts() { end } else { to },
            },
            target_reach: known_reach(one.target_from, one.target_to),
            ledger: None,
            proved_before: None,
            source,
        };
        part.start_at(looked.start(&part.source), 0);
        parts.push(part);
    }
    Ok(OneScope {
        topics: given.topics.clone(),
        counts: given.partitions.iter().map(|one| one.ledger).collect(),
        parts,
        by_ledger: true,
        known: [true, true],
        clusters: [Some(at.id.clone()), given.target_cluster.clone()],
        taken_at: now_ms(),
        left_out: Vec::new(),
    })
}

pub(super) fn known_reach(from: Option<i64>, to: Option<i64>) -> Reach {
    let (from, to) = (from.unwrap_or(0), to.unwrap_or(0));
    Reach { log_start: 0, from, common: from, to, until: to }
}

fn topic_of(topics: &[ScopeTopic], name: &str) -> Result<(u32, Arc<str>)> {
    let found = topics.binary_search_by(|topic| (*topic.source).cmp(name));
    let at = found.map_err(|_| Error::usage(format!("the scope lacks the topic `{name}`")))?;
    let index = u32::try_from(at).expect("a cluster has fewer than 2^32 topics");
    Ok((index, Arc::from(&*topics[at].target)))
}

/// Beside the target: what the ledger claims now, or what it claimed when `given` was made.
fn target_by_ledger(
    plan: &Plan,
    at: &OneSide,
    given: Option<&ScopeFile>,
    board: &Board,
) -> Result<OneScope> {
    let name = plan.ledger_topic();
    let Some(topic) = at.admin.describe(&[name])?.remove(name).flatten() else {
        return Err(Error::usage(format!("target has no ledger topic `{name}`"))
            .hint("the scope was made by a ledger: is it of this target?"));
    };
    let reader = at.ledger(plan)?;
    // As for both sides: what was visible before the ledger was read is in the ledger, or foreign.
    let mut ledger = Ledger::new(topic.partitions);
    ledger.catch_up(&reader, board)?;
    let targets: Vec<TopicPartition> = ledger.pairs().map(|(_, target)| target).collect();
    let ends = offsets(&at.admin, &existing(&at.admin, &targets)?, At::LastStable)?;
    ledger.catch_up(&reader, board)?;
    let bound = ledger.cluster_ids().map(|(source, target)| (source.to_owned(), target.to_owned()));
    same_cluster(at, bound.as_ref().map(|(_, target)| &**target))?;
    let targets: Vec<TopicPartition> = ledger.pairs().map(|(_, target)| target).collect();
    let taken_at = now_ms();
    let looked = SideLook::with_ends(at.side, &at.admin, &targets, ends)?;

    let claims = ledger.take_claims();
    let mut topics: BTreeMap<String, ScopeTopic> = BTreeMap::new();
    for (source, claim) in &claims {
        let target = claim.state.target_topic.to_string();
        looked.same_topic(&target, claim.state.target_topic_id.as_deref())?;
        topics.entry(source.topic.to_string()).or_insert_with(|| ScopeTopic {
            source: source.topic.to_string(),
            source_id: claim.state.topic_id.clone(),
            target_id: looked.id(&target).map(str::to_owned),
            target,
        });
    }
    let topics: Vec<ScopeTopic> = match given {
        // What was bound since is not in that scope.
        Some(given) => given.topics.clone(),
        None => topics.into_values().collect(),
    };
    let mut parts = Vec::new();
    let mut counts = Vec::new();
    for (source, claim) in claims {
        let state = &claim.state;
        let one = given.map(|given| given.partition(&source.topic, source.partition));
        if one == Some(None) {
            continue;
        }
        let one = one.flatten();
        if let Some(one) = one
            && (one.start != Some(state.start) || one.position > Some(state.next))
        {
            let what = format!("the ledger does not claim what the scope says of `{source}`");
            return Err(
                Error::usage(what).hint("was the ledger made anew since? Begin without `--scope`")
            );
        }
        let (index, target_topic) = topic_of(&topics, &source.topic)?;
        let target = TopicPartition::new(target_topic, source.partition);
        let policy = looked.policy(&target.topic);
        let policy = one.map_or(policy, |one| one.policy.combined(policy));
        let end = looked.end(&target).max(state.target_next);
        let to = one.and_then(|one| one.target_to).unwrap_or(end);
        let position = one.and_then(|one| one.position).unwrap_or(state.next);
        let mut part = Part {
            topic: index,
            policy,
            timestamps_kept: looked.timestamps_kept(&target.topic),
            source_reach: Reach {
                log_start: 0,
                from: state.start,
                common: one.and_then(|one| one.compared_from).unwrap_or(state.start),
                to: position,
                until: position,
            },
            target_reach: Reach {
                log_start: 0,
                from: state.target_start,
                common: state.target_start,
                to,
                until: if policy.compacts() { end.max(to) } else { to },
            },
            source,
            target,
            proved_before: None,
            ledger: None,
        };
        counts.push(one.map_or_else(
            || {
                let gaps = state.skipped();
                let (filtered, untimed, digest) = (state.filtered, state.untimed, state.digest);
                Some(LedgerCounts { filtered, gaps: gaps.cast_unsigned(), untimed, digest })
            },
            |one| one.ledger,
        ));
        part.ledger = Some(claim);
        part.start_at(0, looked.start(&part.target));
        parts.push(part);
    }
    if given.is_some_and(|given| given.partitions.len() != parts.len()) {
        let what = "the ledger lacks partitions that the scope names";
        return Err(Error::usage(what).hint("is the scope of this plan on this target?"));
    }
    Ok(OneScope {
        topics,
        parts,
        counts,
        by_ledger: true,
        known: [true, true],
        clusters: [bound.map(|(source, _)| source), Some(at.id.clone())],
        taken_at,
        left_out: Vec::new(),
    })
}
