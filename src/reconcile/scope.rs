//! What a pass proves: partitions and ranges, from what both clusters and the ledger say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::claims::Ledger;
use super::part::{Part, Reach};
use super::policy::Policy;
use crate::cluster::{Admin, At, ClusterError, TopicConfig, TopicInfo};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::pipe::shared::now_ms;
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

type Offsets = BTreeMap<TopicPartition, i64>;

/// Looks at both clusters. Writes nothing.
pub fn scope(plan: &Plan, clusters: &Clusters, no_ledger: bool, board: &Board) -> Result<Scope> {
    let name = plan.ledger_topic();
    let ledger = clusters.target_admin.describe(&[name])?.remove(name).flatten();
    match ledger.filter(|_| !no_ledger) {
        Some(topic) => with_ledger(clusters, &topic, board),
        None => without_ledger(plan, clusters),
    }
}

fn with_ledger(clusters: &Clusters, topic: &TopicInfo, board: &Board) -> Result<Scope> {
    // What was visible on the target before the ledger was read is in the ledger, or foreign. Which
    // partitions those are only the ledger tells: so it is read, and then once more to its new end.
    let mut ledger = Ledger::new(topic.partitions);
    ledger.catch_up(&clusters.ledger, board)?;
    let targets: Vec<TopicPartition> = ledger.pairs().map(|(_, target)| target).collect();
    let ends = offsets(&clusters.target_admin, &targets, At::LastStable)?;
    ledger.catch_up(&clusters.ledger, board)?;
    let looked = Look::at(clusters, ledger.pairs().collect(), ends)?;
    let mut parts = Vec::new();
    for (source, claim) in ledger.take_claims() {
        let target = TopicPartition::new(claim.state.target_topic.clone(), source.partition);
        let state = &claim.state;
        looked.same_topic(Side::Source, &source, state.topic_id.as_deref())?;
        looked.same_topic(Side::Target, &target, state.target_topic_id.as_deref())?;
        let source_end = looked.source_ends.get(&source).copied().unwrap_or(0);
        if source_end < state.next {
            let what = format!(
                "source `{source}` ends at offset {source_end}, but the ledger has copied it up to {}",
                state.next
            );
            return Err(Error::refused("source-not-same-log", what).hint(
                "the source has lost records; `--no-ledger` compares what both sides hold now",
            ));
        }
        let policy = looked.policy(&source, &target);
        // A newer record of a key says that an older one may be gone.
        let source_until = if policy.compacts() { source_end } else { state.next };
        let target_to = looked.target_end(&target).max(state.target_next);
        let mut part = Part {
            topic: looked.index(&source),
            policy,
            timestamps_kept: looked.timestamps_kept(&target),
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
        let starts = looked.log_starts(&part);
        part.start_at(starts.0, starts.1);
        parts.push(part);
    }
    Ok(looked.scope(parts, Some(ledger), Vec::new()))
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
    let looked = Look::at(clusters, pairs.clone(), ends)?;
    let mut parts = Vec::new();
    for (source, target) in pairs {
        let reach = |end: Option<i64>, start: Option<i64>| match (end, start) {
            (Some(to), Some(from)) => {
                Reach { log_start: from, from, common: from, to, until: to.max(from) }
            }
            _ => Reach::NOTHING,
        };
        let source_end = looked.source_ends.get(&source).copied();
        let target_end = looked.target_ends.get(&target).copied();
        parts.push(Part {
            topic: looked.index(&source),
            policy: looked.policy(&source, &target),
            timestamps_kept: looked.timestamps_kept(&target),
            source_reach: reach(source_end, looked.source_starts.get(&source).copied()),
            target_reach: reach(target_end, looked.target_starts.get(&target).copied()),
            source,
            target,
            ledger: None,
            proved_before: None,
        });
    }
    Ok(looked.scope(parts, None, selection.warnings))
}

/// Refuses where a topic is not the one any more that the proof began with.
pub fn still_the_same(clusters: &Clusters, topics: &[Topic]) -> Result<()> {
    for (side, admin) in
        [(Side::Source, &clusters.source_admin), (Side::Target, &clusters.target_admin)]
    {
        let names: BTreeSet<&str> = topics.iter().map(|topic| topic.name(side)).collect();
        let now = admin.describe(&names.into_iter().collect::<Vec<_>>())?;
        for topic in topics {
            let id =
                now.get(topic.name(side)).and_then(Option::as_ref).and_then(|t| t.id.as_deref());
            if let (Some(then), now) = (topic.id(side), id)
                && now != Some(then)
            {
                return Err(created_anew(side, topic.name(side), then, now.unwrap_or("none")));
            }
        }
    }
    Ok(())
}

fn created_anew(side: Side, topic: &str, then: &str, now: &str) -> Error {
    let what =
        format!("{side} `{topic}` is not the topic that was copied: its id is {now}, not {then}");
    Error::refused("topic-created-anew", what)
        .hint("`--no-ledger` compares what both sides hold now, whoever copied it")
}

/// Offsets of partitions that must all be there.
pub fn offsets(admin: &Admin, partitions: &[TopicPartition], at: At) -> Result<Offsets> {
    let answers = admin.offsets(partitions, at)?;
    let answers: Result<Offsets, ClusterError> =
        answers.into_iter().map(|(at, answer)| Ok((at, answer?.offset))).collect();
    Ok(answers?)
}

/// Those of the partitions that the cluster has.
pub fn existing(admin: &Admin, partitions: &[TopicPartition]) -> Result<Vec<TopicPartition>> {
    let names: BTreeSet<&str> = partitions.iter().map(|at| &*at.topic).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let topics = admin.describe(&names)?;
    let has = |at: &&TopicPartition| {
        let topic = topics.get(&*at.topic).and_then(Option::as_ref);
        topic.is_some_and(|topic| usize::try_from(at.partition).is_ok_and(|p| p < topic.partitions))
    };
    Ok(partitions.iter().filter(has).cloned().collect())
}

/// Metadata of both sides.
struct Look {
    topics: Vec<Topic>,
    source_configs: BTreeMap<String, Vec<TopicConfig>>,
    target_configs: BTreeMap<String, Vec<TopicConfig>>,
    source_starts: Offsets,
    target_starts: Offsets,
    source_ends: Offsets,
    target_ends: Offsets,
    taken_at: i64,
}

impl Look {
    fn at(
        clusters: &Clusters,
        pairs: Vec<(TopicPartition, TopicPartition)>,
        target_ends: Offsets,
    ) -> Result<Self> {
        let names: BTreeMap<Arc<str>, Arc<str>> =
            pairs.iter().map(|(s, t)| (s.topic.clone(), t.topic.clone())).collect();
        let source_names: Vec<&str> = names.keys().map(AsRef::as_ref).collect();
        let target_names: Vec<&str> =
            names.values().map(AsRef::as_ref).collect::<BTreeSet<_>>().into_iter().collect();
        let source = clusters.source_admin.describe(&source_names)?;
        let target = clusters.target_admin.describe(&target_names)?;
        let id = |topics: &BTreeMap<String, Option<TopicInfo>>, name: &str| {
            topics.get(name)?.as_ref()?.id.clone()
        };
        let topics = names.iter().map(|(s, t)| Topic {
            source: s.clone(),
            target: t.clone(),
            source_id: id(&source, s),
            target_id: id(&target, t),
        });
        let there: Vec<&str> = target_names
            .iter()
            .copied()
            .filter(|name| target.get(*name).is_some_and(Option::is_some))
            .collect();
        let sources: Vec<TopicPartition> = pairs.into_iter().map(|(source, _)| source).collect();
        let sources = existing(&clusters.source_admin, &sources)?;
        let taken_at = now_ms();
        let source_ends = offsets(&clusters.source_admin, &sources, At::LastStable)?;
        let targets: Vec<TopicPartition> = target_ends.keys().cloned().collect();
        Ok(Self {
            topics: topics.collect(),
            source_configs: clusters.source_admin.configs(&source_names)?,
            target_configs: clusters.target_admin.configs(&there)?,
            source_starts: offsets(&clusters.source_admin, &sources, At::LogStart)?,
            target_starts: offsets(&clusters.target_admin, &targets, At::LogStart)?,
            source_ends,
            target_ends,
            taken_at,
        })
    }

    fn index(&self, source: &TopicPartition) -> u32 {
        let at = self.topics.partition_point(|topic| topic.source < source.topic);
        u32::try_from(at).expect("a cluster has fewer than 2^32 topics")
    }

    fn same_topic(&self, side: Side, at: &TopicPartition, bound: Option<&str>) -> Result<()> {
        let now = self.topics.iter().find(|topic| *topic.name(side) == *at.topic);
        match (bound, now.and_then(|topic| topic.id(side))) {
            (Some(bound), Some(now)) if bound != now => {
                Err(created_anew(side, &at.topic, bound, now))
            }
            _ => Ok(()),
        }
    }

    fn config<'a>(
        configs: &'a BTreeMap<String, Vec<TopicConfig>>,
        topic: &str,
        name: &str,
    ) -> Option<&'a str> {
        configs.get(topic)?.iter().find(|config| config.name == name)?.value.as_deref()
    }

    /// The policies are equal where onceover has copied; of another tool's copy the one that claims less.
    fn policy(&self, source: &TopicPartition, target: &TopicPartition) -> Policy {
        let of = |configs, topic| {
            Policy::of(Self::config(configs, topic, "cleanup.policy").unwrap_or(""))
        };
        let policies =
            [of(&self.source_configs, &source.topic), of(&self.target_configs, &target.topic)];
        let compacts = policies.iter().any(|policy| policy.compacts());
        let both = policies[0] == policies[1];
        match (both, compacts) {
            (true, _) => policies[0],
            (false, true) => Policy::CompactDelete,
            (false, false) => Policy::Delete,
        }
    }

    fn timestamps_kept(&self, target: &TopicPartition) -> bool {
        let kind = Self::config(&self.target_configs, &target.topic, "message.timestamp.type");
        kind != Some("LogAppendTime")
    }

    fn target_end(&self, target: &TopicPartition) -> i64 {
        self.target_ends.get(target).copied().unwrap_or(0)
    }

    fn log_starts(&self, part: &Part) -> (i64, i64) {
        let of = |starts: &Offsets, at| starts.get(at).copied().unwrap_or(0);
        (of(&self.source_starts, &part.source), of(&self.target_starts, &part.target))
    }

    fn scope(self, mut parts: Vec<Part>, ledger: Option<Ledger>, left_out: Vec<String>) -> Scope {
        parts.sort_by_key(|part| (part.topic, part.source.partition));
        Scope { topics: self.topics, parts, ledger, left_out, taken_at: self.taken_at }
    }
}
