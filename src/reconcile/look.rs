//! What the clusters say of topics and partitions: one round of questions each.

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
    let topics = admin.describe(&names(partitions))?;
    let has = |at: &&TopicPartition| {
        let topic = topics.get(&*at.topic).and_then(Option::as_ref);
        topic.is_some_and(|topic| usize::try_from(at.partition).is_ok_and(|p| p < topic.partitions))
    };
    Ok(partitions.iter().filter(has).cloned().collect())
}

/// The partitions of one side that the cluster still has.
pub(super) fn there(admin: &Admin, side: Side, parts: &[Part]) -> Result<Vec<TopicPartition>> {
    let all: Vec<TopicPartition> = parts.iter().map(|part| part.at(side).clone()).collect();
    existing(admin, &all)
}

/// Offsets of one side's partitions, as far as the cluster still has them.
pub(super) fn offsets_of(admin: &Admin, side: Side, parts: &[Part], at: At) -> Result<Offsets> {
    offsets(admin, &there(admin, side, parts)?, at)
}

fn names(partitions: &[TopicPartition]) -> Vec<&str> {
    let names: BTreeSet<&str> = partitions.iter().map(|at| &*at.topic).collect();
    names.into_iter().collect()
}

/// Refuses where one of the topics (name, and id as it was) is another one by now.
pub(super) fn still_the_same<'t>(
    side: Side,
    admin: &Admin,
    topics: impl Iterator<Item = (&'t str, Option<&'t str>)>,
) -> Result<()> {
    let then: BTreeMap<&str, Option<&str>> = topics.collect();
    let now = admin.describe(&then.keys().copied().collect::<Vec<_>>())?;
    then.into_iter().try_for_each(|(topic, then)| same_topic(side, topic, then, &now))
}

fn same_topic(
    side: Side,
    topic: &str,
    then: Option<&str>,
    now: &BTreeMap<String, Option<TopicInfo>>,
) -> Result<()> {
    let now = now.get(topic).and_then(Option::as_ref).and_then(|topic| topic.id.as_deref());
    let Some(then) = then.filter(|then| now != Some(then)) else { return Ok(()) };
    let now = now.unwrap_or("none");
    let what =
        format!("{side} `{topic}` is not the topic that was copied: its id is {now}, not {then}");
    Err(Error::refused("topic-created-anew", what)
        .hint("`--no-ledger` compares what both sides hold now, whoever copied it"))
}

/// Refuses a source that ends before what was copied of it.
pub(super) fn holds_what_was_copied(
    source: &TopicPartition,
    end: i64,
    position: i64,
) -> Result<()> {
    if end >= position {
        return Ok(());
    }
    let what = format!(
        "source `{source}` ends at offset {end}, but the ledger has copied it up to {position}"
    );
    Err(Error::refused("source-not-same-log", what).hint(
        "the source has lost records, or is not the cluster that was copied; `--no-ledger` compares \
         what both sides hold now",
    ))
}

/// Metadata of one side's topics.
pub(super) struct SideLook {
    side: Side,
    topics: BTreeMap<String, Option<TopicInfo>>,
    configs: BTreeMap<String, Vec<TopicConfig>>,
    /// Log start offsets of the partitions that are there.
    pub starts: Offsets,
    /// Last stable offsets of the same.
    pub ends: Offsets,
}

impl SideLook {
    /// Of these partitions, as far as they are there.
    pub fn at(side: Side, admin: &Admin, partitions: &[TopicPartition]) -> Result<Self> {
        let ends = offsets(admin, &existing(admin, partitions)?, At::LastStable)?;
        Self::with_ends(side, admin, partitions, ends)
    }

    /// The same, with ends that were asked for before.
    pub fn with_ends(
        side: Side,
        admin: &Admin,
        partitions: &[TopicPartition],
        ends: Offsets,
    ) -> Result<Self> {
        let names = names(partitions);
        let topics = admin.describe(&names)?;
        let has = |name: &&str| topics.get(*name).is_some_and(Option::is_some);
        let configs = admin.configs(&names.into_iter().filter(has).collect::<Vec<_>>())?;
        let there: Vec<TopicPartition> = ends.keys().cloned().collect();
        let starts = offsets(admin, &there, At::LogStart)?;
        Ok(Self { side, topics, configs, starts, ends })
    }

    fn config(&self, topic: &str, name: &str) -> Option<&str> {
        let configs = self.configs.get(topic)?;
        configs.iter().find(|config| config.name == name)?.value.as_deref()
    }

    /// The topic's policy.
    pub fn policy(&self, topic: &str) -> Policy {
        Policy::of(self.config(topic, "cleanup.policy").unwrap_or(""))
    }

    /// Whether timestamps of this side can be those of the other one: a target may overwrite them.
    pub fn timestamps_kept(&self, topic: &str) -> bool {
        self.side == Side::Source
            || self.config(topic, "message.timestamp.type") != Some("LogAppendTime")
    }

    /// The topic's id, where brokers have ids.
    pub fn id(&self, topic: &str) -> Option<&str> {
        self.topics.get(topic)?.as_ref()?.id.as_deref()
    }

    /// Log start offset; 0 for a partition that is not there.
    pub fn start(&self, at: &TopicPartition) -> i64 {
        self.starts.get(at).copied().unwrap_or(0)
    }

    /// Last stable offset; 0 for a partition that is not there.
    pub fn end(&self, at: &TopicPartition) -> i64 {
        self.ends.get(at).copied().unwrap_or(0)
    }

    /// Refuses where the topic has another id than `then`.
    pub fn same_topic(&self, topic: &str, then: Option<&str>) -> Result<()> {
        same_topic(self.side, topic, then, &self.topics)
    }
}

/// Metadata of both sides.
pub(super) struct Look {
    /// Sorted by source name.
    pub topics: Vec<Topic>,
    pub source: SideLook,
    pub target: SideLook,
    /// When the source's ends were asked for, in milliseconds since 1970.
    pub taken_at: i64,
}

impl Look {
    /// Of these pairs; the target's ends were asked for before.
    pub fn at(
        clusters: &Clusters,
        pairs: &[(TopicPartition, TopicPartition)],
        target_ends: Offsets,
    ) -> Result<Self> {
        let (sources, targets): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
        let taken_at = now_ms();
        let source = SideLook::at(Side::Source, &clusters.source_admin, &sources)?;
        let target =
            SideLook::with_ends(Side::Target, &clusters.target_admin, &targets, target_ends)?;
        let names: BTreeMap<Arc<str>, Arc<str>> =
            pairs.iter().map(|(s, t)| (s.topic.clone(), t.topic.clone())).collect();
        let topic = |(s, t): (Arc<str>, Arc<str>)| Topic {
            source_id: source.id(&s).map(str::to_owned),
            target_id: target.id(&t).map(str::to_owned),
            source: s,
            target: t,
        };
        Ok(Self { topics: names.into_iter().map(topic).collect(), source, target, taken_at })
    }

    /// A source topic's index.
    pub fn index(&self, source: &TopicPartition) -> u32 {
        let at = self.topics.partition_point(|topic| topic.source < source.topic);
        u32::try_from(at).expect("a cluster has fewer than 2^32 topics")
    }

    /// What counts in a pair.
    pub fn policy(&self, source: &TopicPartition, target: &TopicPartition) -> Policy {
        self.source.policy(&source.topic).combined(self.target.policy(&target.topic))
    }
}
