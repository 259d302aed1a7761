//! Metadata of one cluster, asked once.

use std::collections::{BTreeMap, BTreeSet};

use super::scope_file::ScopeTopic;
use crate::cluster::{At, TopicConfig, TopicInfo};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::OneSide;
use crate::plan::TopicPartition;
use crate::reconcile::look::{existing, offsets};
use crate::reconcile::policy::Policy;

/// Metadata of one side's topics.
pub(super) struct Look {
    side: Side,
    topics: BTreeMap<String, Option<TopicInfo>>,
    configs: BTreeMap<String, Vec<TopicConfig>>,
    starts: BTreeMap<TopicPartition, i64>,
    ends: BTreeMap<TopicPartition, i64>,
}

impl Look {
    pub fn at(at: &OneSide, partitions: &[TopicPartition]) -> Result<Self> {
        let there = existing(&at.admin, partitions)?;
        let ends = offsets(&at.admin, &there, At::LastStable)?;
        Self::with_ends(at, partitions, ends)
    }

    pub fn with_ends(
        at: &OneSide,
        partitions: &[TopicPartition],
        ends: BTreeMap<TopicPartition, i64>,
    ) -> Result<Self> {
        let names: BTreeSet<&str> = partitions.iter().map(|at| &*at.topic).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let topics = at.admin.describe(&names)?;
        let has = |name: &&str| topics.get(*name).is_some_and(Option::is_some);
        let there: Vec<&str> = names.into_iter().filter(has).collect();
        let asked: Vec<TopicPartition> = ends.keys().cloned().collect();
        Ok(Self {
            side: at.side,
            configs: at.admin.configs(&there)?,
            starts: offsets(&at.admin, &asked, At::LogStart)?,
            topics,
            ends,
        })
    }

    pub fn config(&self, topic: &str, name: &str) -> Option<&str> {
        let configs = self.configs.get(topic)?;
        configs.iter().find(|config| config.name == name)?.value.as_deref()
    }

    pub fn policy(&self, topic: &str) -> Policy {
        Policy::of(self.config(topic, "cleanup.policy").unwrap_or(""))
    }

    pub fn timestamps_kept(&self, topic: &str) -> bool {
        self.side == Side::Source
            || self.config(topic, "message.timestamp.type") != Some("LogAppendTime")
    }

    pub fn id(&self, topic: &str) -> Option<&str> {
        self.topics.get(topic)?.as_ref()?.id.as_deref()
    }

    pub fn start(&self, at: &TopicPartition) -> i64 {
        self.starts.get(at).copied().unwrap_or(0)
    }

    pub fn end(&self, at: &TopicPartition) -> i64 {
        self.ends.get(at).copied().unwrap_or(0)
    }

    pub fn same_topic(&self, topic: &str, then: Option<&str>) -> Result<()> {
        match (then, self.id(topic)) {
            (Some(then), now) if now != Some(then) => {
                Err(created_anew(self.side, topic, then, now.unwrap_or("none")))
            }
            _ => Ok(()),
        }
    }
}

fn created_anew(side: Side, topic: &str, then: &str, now: &str) -> Error {
    let what =
        format!("{side} `{topic}` is not the topic that was copied: its id is {now}, not {then}");
    Error::refused("topic-created-anew", what)
        .hint("`--no-ledger` on both sides compares what they hold now, whoever copied it")
}

/// Refuses where a topic of this side is not the one any more that was read.
pub(super) fn still_the_same(at: &OneSide, topics: &[ScopeTopic]) -> Result<()> {
    let of = |topic: &ScopeTopic| match at.side {
        Side::Source => (topic.source.clone(), topic.source_id.clone()),
        Side::Target => (topic.target.clone(), topic.target_id.clone()),
    };
    let ours: Vec<(String, Option<String>)> = topics.iter().map(of).collect();
    let names: BTreeSet<&str> = ours.iter().map(|(name, _)| &**name).collect();
    let now = at.admin.describe(&names.into_iter().collect::<Vec<_>>())?;
    for (name, then) in &ours {
        let id = now.get(name).and_then(Option::as_ref).and_then(|topic| topic.id.as_deref());
        if let Some(then) = then
            && id != Some(then)
        {
            return Err(created_anew(at.side, name, then, id.unwrap_or("none")));
        }
    }
    Ok(())
}
