//! What both clusters say of topics and partitions: one round of questions each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::part::Part;
use super::policy::Policy;
use super::scope::Topic;
use crate::cluster::{Admin, At, ClusterError, TopicConfig, TopicInfo};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::pipe::shared::now_ms;
use crate::plan::TopicPartition;

/// Offsets by partition.
pub(super) type Offsets = BTreeMap<TopicPartition, i64>;

/// Refuses where a topic is not the one any more that the proof began with.
pub(super) fn still_the_same(clusters: &Clusters, topics: &[Topic]) -> Result<()> {
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
pub(super) fn offsets(admin: &Admin, partitions: &[TopicPartition], at: At) -> Result<Offsets> {
    let answers = admin.offsets(partitions, at)?;
    let answers: Result<Offsets, ClusterError> =
        answers.into_iter().map(|(at, answer)| Ok((at, answer?.offset))).collect();
    Ok(answers?)
}

/// Those of the partitions that the cluster has.
pub(super) fn existing(
    admin: &Admin,
    partitions: &[TopicPartition],
) -> Result<Vec<TopicPartition>> {
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
pub(super) struct Look {
    pub(super) topics: Vec<Topic>,
    source_configs: BTreeMap<String, Vec<TopicConfig>>,
    target_configs: BTreeMap<String, Vec<TopicConfig>>,
    pub(super) source_starts: Offsets,
    pub(super) target_starts: Offsets,
    pub(super) source_ends: Offsets,
    pub(super) target_ends: Offsets,
    pub(super) taken_at: i64,
}

impl Look {
    pub(super) fn at(
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

    pub(super) fn index(&self, source: &TopicPartition) -> u32 {
        let at = self.topics.partition_point(|topic| topic.source < source.topic);
        u32::try_from(at).expect("a cluster has fewer than 2^32 topics")
    }

    pub(super) fn same_topic(
        &self,
        side: Side,
        at: &TopicPartition,
        bound: Option<&str>,
    ) -> Result<()> {
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
    pub(super) fn policy(&self, source: &TopicPartition, target: &TopicPartition) -> Policy {
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

    pub(super) fn timestamps_kept(&self, target: &TopicPartition) -> bool {
        let kind = Self::config(&self.target_configs, &target.topic, "message.timestamp.type");
        kind != Some("LogAppendTime")
    }

    pub(super) fn target_end(&self, target: &TopicPartition) -> i64 {
        self.target_ends.get(target).copied().unwrap_or(0)
    }

    pub(super) fn log_starts(&self, part: &Part) -> (i64, i64) {
        let of = |starts: &Offsets, at| starts.get(at).copied().unwrap_or(0);
        (of(&self.source_starts, &part.source), of(&self.target_starts, &part.target))
    }
}
