//! Without a ledger: whole logs of one side, by the plan's names or those of the other side's scope.

use std::collections::BTreeMap;

use super::one_side::{OneScope, known_reach};
use super::scope_file::{ScopeFile, ScopeTopic};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::OneSide;
use crate::pipe::shared::now_ms;
use crate::plan::{Plan, TopicPartition};
use crate::reconcile::look::SideLook;
use crate::reconcile::part::{Part, Reach};

/// Without a ledger: whole logs, from their start to their last stable offset, or as `given` has it.
pub(super) fn whole_logs(plan: &Plan, at: &OneSide, given: Option<&ScopeFile>) -> Result<OneScope> {
    let side = at.side;
    let all = at.admin.topics()?;
    let (mut topics, left_out) = match given {
        Some(given) => (given.topics.clone(), Vec::new()),
        None => selected(plan, side, &all.iter().map(|topic| &*topic.name).collect::<Vec<_>>())?,
    };
    let on = |topic: &ScopeTopic| topic.of(side).0.to_owned();
    let counts: BTreeMap<&str, usize> =
        all.iter().map(|topic| (&*topic.name, topic.partitions)).collect();
    let number = |topic: &ScopeTopic| {
        i32::try_from(counts.get(&*on(topic)).copied().unwrap_or(0)).unwrap_or(i32::MAX)
    };
    let partitions: Vec<TopicPartition> = topics
        .iter()
        .flat_map(|topic| (0..number(topic)).map(|n| TopicPartition::new(on(topic), n)))
        .collect();
    let looked = SideLook::at(side, &at.admin, &partitions)?;
    let mut parts = Vec::new();
    for (index, topic) in (0u32..).zip(&topics) {
        let name = on(topic);
        let known =
            given.and_then(|given| given.partitions.iter().find(|one| one.topic == topic.source));
        let policy =
            known.map_or(looked.policy(&name), |known| known.policy.combined(looked.policy(&name)));
        let kept = match side {
            Side::Target => looked.timestamps_kept(&name),
            Side::Source => known.is_none_or(|known| known.timestamps_kept),
        };
        for n in 0..number(topic) {
            let here = TopicPartition::new(name.clone(), n);
            let one = given.and_then(|given| given.partition(&topic.source, n));
            let ranges = one.map_or([(None, None); 2], |one| {
                [(one.start, one.position), (one.target_from, one.target_to)]
            });
            let end = looked.end(&here);
            let (from, to) = ranges[side as usize];
            let from = from.unwrap_or_else(|| looked.start(&here));
            let to = to.unwrap_or(end).max(from);
            let until = if policy.compacts() { end.max(to) } else { to };
            let log_start = looked.start(&here);
            let common = from.max(log_start);
            let ours = Reach { log_start, from, common, to, until };
            let theirs = |of: (Option<i64>, Option<i64>)| known_reach(of.0, of.1);
            let [source_reach, target_reach] = match side {
                Side::Source => [ours, theirs(ranges[1])],
                Side::Target => [theirs(ranges[0]), ours],
            };
            parts.push(Part {
                topic: index,
                source: TopicPartition::new(&*topic.source, n),
                target: TopicPartition::new(&*topic.target, n),
                policy,
                timestamps_kept: kept,
                source_reach,
                target_reach,
                ledger: None,
                proved_before: None,
            });
        }
    }
    for topic in &mut topics {
        let id = looked.id(&on(topic)).map(str::to_owned);
        match side {
            Side::Source => topic.source_id = id,
            Side::Target => topic.target_id = id,
        }
    }
    let mut known = [false; 2];
    let mut clusters = [None, None];
    if let Some(given) = given {
        clusters = [given.source_cluster.clone(), given.target_cluster.clone()];
        known = [
            given.partitions.iter().any(|one| one.position.is_some()),
            given.partitions.iter().any(|one| one.target_to.is_some()),
        ];
    }
    known[side as usize] = true;
    clusters[side as usize] = Some(at.id.clone());
    let counts = vec![None; parts.len()];
    let taken_at = now_ms();
    Ok(OneScope { topics, parts, counts, by_ledger: false, known, clusters, taken_at, left_out })
}

/// Topics by the plan alone; sorted by source name.
fn selected(plan: &Plan, side: Side, all: &[&str]) -> Result<(Vec<ScopeTopic>, Vec<String>)> {
    if side == Side::Target && !plan.topics.rename.is_identity() {
        let what = "the target's names do not tell the source's: the plan renames topics";
        return Err(Error::usage(what).hint(
            "read the source first, then the target with `--scope` and the source's `scope.json`",
        ));
    }
    let selection = plan.select(all).map_err(|error| match side {
        Side::Source => error,
        Side::Target => Error::usage(format!("by the target's topics alone: {}", error.what)).hint(
            "read the source first, then the target with `--scope` and the source's `scope.json`",
        ),
    })?;
    let topic = |pair: &crate::plan::TopicPair| ScopeTopic {
        source: pair.source.to_string(),
        target: pair.target.to_string(),
        source_id: None,
        target_id: None,
    };
    let mut topics: Vec<ScopeTopic> = selection.topics.iter().map(topic).collect();
    topics.sort_by(|a, b| a.source.cmp(&b.source));
    Ok((topics, selection.warnings))
}
