//! Configs in effect: of a topic that is there, and of one that would be created. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::facts::{
    BrokerFacts, ClusterFacts, ConfigFacts, CreateFacts, Facts, Known, PairFacts, SetBy, TopicFacts,
};

/// Topic configs and the broker configs that they default to (Kafka:
/// `ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS`), the one that wins first, with its unit in
/// the topic config's.
const BROKER_DEFAULTS: &[(&str, &[(&str, i64)])] = &[
    ("cleanup.policy", &[("log.cleanup.policy", 1)]),
    ("compression.type", &[("compression.type", 1)]),
    ("delete.retention.ms", &[("log.cleaner.delete.retention.ms", 1)]),
    ("file.delete.delay.ms", &[("log.segment.delete.delay.ms", 1)]),
    ("flush.messages", &[("log.flush.interval.messages", 1)]),
    ("flush.ms", &[("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)]),
    ("index.interval.bytes", &[("log.index.interval.bytes", 1)]),
    ("max.compaction.lag.ms", &[("log.cleaner.max.compaction.lag.ms", 1)]),
    ("max.message.bytes", &[("message.max.bytes", 1)]),
    ("message.timestamp.after.max.ms", &[("log.message.timestamp.after.max.ms", 1)]),
    ("message.timestamp.before.max.ms", &[("log.message.timestamp.before.max.ms", 1)]),
    ("message.timestamp.difference.max.ms", &[("log.message.timestamp.difference.max.ms", 1)]),
    ("message.timestamp.type", &[("log.message.timestamp.type", 1)]),
    ("min.cleanable.dirty.ratio", &[("log.cleaner.min.cleanable.ratio", 1)]),
    ("min.compaction.lag.ms", &[("log.cleaner.min.compaction.lag.ms", 1)]),
    ("min.insync.replicas", &[("min.insync.replicas", 1)]),
    ("preallocate", &[("log.preallocate", 1)]),
    ("retention.bytes", &[("log.retention.bytes", 1)]),
    (
        "retention.ms",
        &[
            ("log.retention.ms", 1),
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", 3_600_000),
        ],
    ),
    ("segment.bytes", &[("log.segment.bytes", 1)]),
    ("segment.index.bytes", &[("log.index.size.max.bytes", 1)]),
    ("segment.jitter.ms", &[("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000)]),
    ("segment.ms", &[("log.roll.ms", 1), ("log.roll.hours", 3_600_000)]),
    ("unclean.leader.election.enable", &[("unclean.leader.election.enable", 1)]),
];

/// The target's side of a pair: as it is, or as it would be created.
#[derive(Debug, Clone, Copy)]
pub enum OnTarget<'f> {
    /// It is there.
    There(&'f TopicFacts),
    /// It would be created on this cluster.
    Planned(&'f CreateFacts, &'f ClusterFacts),
}

/// The target's side of a pair; `None` where it is not there and would not be created (the check
/// `missing-topic` says so, the others have nothing to say). The error says why it is not known.
pub fn on_target<'f>(
    facts: &'f Facts,
    pair: &'f PairFacts,
) -> Result<Option<OnTarget<'f>>, String> {
    match &pair.target {
        Known::Known(Some(topic)) => Ok(Some(OnTarget::There(topic))),
        Known::Known(None) => {
            Ok(pair.create.as_ref().map(|create| OnTarget::Planned(create, &facts.target)))
        }
        Known::Unknown(why) => Err(format!("target topic: {why}")),
    }
}

/// The source's value of a topic config; the error says why it is not known.
pub fn on_source<'f>(pair: &'f PairFacts, name: &str) -> Result<&'f str, String> {
    of_topic(&pair.source, name).map_err(|why| format!("source `{name}`: {why}"))
}

/// A number of the source's; the error says why it is not known.
pub fn number_on_source(pair: &PairFacts, name: &str) -> Result<i64, String> {
    number(on_source(pair, name)?).map_err(|why| format!("source `{name}`: {why}"))
}

fn of_topic<'f>(topic: &'f TopicFacts, name: &str) -> Result<&'f str, String> {
    let config = topic.configs.get()?.get(name).ok_or("the broker does not tell it")?;
    Ok(config.value.as_deref().ok_or("the broker hides it")?)
}

fn number(text: &str) -> Result<i64, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is no number"))
}

impl<'f> OnTarget<'f> {
    /// The value of a topic config in effect; the error says why it is not known.
    pub fn config(&self, name: &str) -> Result<String, String> {
        match self {
            Self::There(topic) => of_topic(topic, name).map(str::to_owned),
            Self::Planned(create, cluster) => match create.configs.get(name) {
                Some(value) => Ok(value.clone()),
                None => default_on(cluster, name),
            },
        }
        .map_err(|why| format!("target `{name}`: {why}"))
    }

    /// A number; the error says why it is not known.
    pub fn number(&self, name: &str) -> Result<i64, String> {
        number(&self.config(name)?).map_err(|why| format!("target `{name}`: {why}"))
    }

    /// How many partitions.
    pub fn partitions(&self) -> Result<usize, String> {
        match self {
            Self::There(topic) => topic.partitions.told("target partitions").map(Vec::len),
            Self::Planned(create, _) => Ok(usize::try_from(create.partitions).unwrap_or(0)),
        }
    }

    /// Replicas of the partition that has the fewest.
    pub fn replicas(&self) -> Result<usize, String> {
        match self {
            Self::There(topic) => {
                let partitions = topic.partitions.told("target partitions")?;
                Ok(partitions.iter().map(|one| one.replicas.len()).min().unwrap_or(0))
            }
            Self::Planned(create, cluster) => match create.replication_factor {
                Some(factor) => Ok(usize::try_from(factor).unwrap_or(0)),
                None => cluster
                    .number("default.replication.factor")
                    .map(|factor| usize::try_from(factor).unwrap_or(0)),
            },
        }
    }

    /// Whether the target tells configs at all, so that one that is not among them is not known there.
    pub fn tells_configs(&self) -> bool {
        match self {
            Self::There(topic) => topic.configs.ok().is_some(),
            Self::Planned(..) => true,
        }
    }

    /// Its topic configs in effect, as far as the target tells; planned ones count as set by the topic.
    pub fn configs(&self) -> Result<Cow<'f, BTreeMap<String, ConfigFacts>>, String> {
        match self {
            Self::There(topic) => topic.configs.told("target configs").map(Cow::Borrowed),
            Self::Planned(create, cluster) => {
                let inherited = BROKER_DEFAULTS.iter().filter_map(|(name, _)| {
                    let value = default_on(cluster, name).ok()?;
                    Some((*name, value, SetBy::Cluster))
                });
                let planned = create.configs.iter();
                let planned = planned.map(|(name, value)| (&**name, value.clone(), SetBy::Topic));
                let all = inherited.chain(planned).map(|(name, value, set_by)| {
                    let config = ConfigFacts { value: Some(value), set_by, sensitive: false };
                    (name.to_owned(), config)
                });
                Ok(Cow::Owned(all.collect()))
            }
        }
    }
}

/// What a topic config would be without being set, from the brokers' own configs.
fn default_on(cluster: &ClusterFacts, name: &str) -> Result<String, String> {
    let synonyms = BROKER_DEFAULTS.iter().find(|(topic, _)| *topic == name);
    let (_, synonyms) = synonyms.ok_or("the brokers have no default for it that is known here")?;
    let told = synonyms.iter().find_map(|(broker, unit)| {
        let value = cluster.config(broker).ok()?;
        Some(match (*unit, value.parse::<i64>()) {
            // −1 means for ever, in any unit.
            (unit, Ok(number)) if unit > 1 && number > 0 => {
                (number.saturating_mul(unit)).to_string()
            }
            _ => value,
        })
    });
    told.ok_or_else(|| match cluster.configs() {
        Err(why) => why,
        Ok(_) => "the brokers do not tell their default".to_owned(),
    })
}

impl ClusterFacts {
    /// Configs of the first broker that tells them; the error says why none does.
    pub fn configs(&self) -> Result<&BTreeMap<String, String>, String> {
        let told = self.brokers.iter().find_map(|broker| broker.configs.ok());
        told.ok_or_else(|| {
            let why = self.brokers.first().and_then(|broker| broker.configs.get().err());
            format!("{} broker configs: {}", self.side, why.unwrap_or("no broker is known"))
        })
    }

    /// A broker config; of numbers that differ between the brokers the smallest.
    pub fn config(&self, name: &str) -> Result<String, String> {
        self.configs()?;
        let values = || {
            self.brokers.iter().filter_map(|broker: &BrokerFacts| broker.configs.ok()?.get(name))
        };
        let smallest = values().filter_map(|value| value.parse::<i64>().ok()).min();
        smallest
            .map(|number| number.to_string())
            .or_else(|| values().next().cloned())
            .ok_or_else(|| format!("{} broker config `{name}` is not told", self.side))
    }

    /// A broker config that is a number.
    pub fn number(&self, name: &str) -> Result<i64, String> {
        let value = self.config(name)?;
        number(&value).map_err(|why| format!("{} broker config `{name}`: {why}", self.side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::{broker, create, facts, pair};

    #[test]
    fn a_planned_topic_has_its_configs_and_else_the_brokers_defaults_in_its_own_unit() {
        let mut facts = facts();
        facts.target.brokers = vec![broker(
            1,
            &[("log.retention.hours", "168"), ("log.roll.hours", "24"), ("log.roll.ms", "5")],
        )];
        let mut pair = pair("a", 1);
        pair.target = Known::Known(None);
        pair.create = Some(create(1, &[("segment.bytes", "7")]));
        let planned = on_target(&facts, &pair).unwrap().unwrap();
        assert_eq!(planned.number("retention.ms"), Ok(604_800_000));
        assert_eq!(planned.number("segment.ms"), Ok(5));
        assert_eq!(planned.number("segment.bytes"), Ok(7));
        assert!(planned.number("max.message.bytes").unwrap_err().contains("do not tell"));
    }

    #[test]
    fn of_brokers_that_differ_the_smallest_number_counts() {
        let mut facts = facts();
        facts.target.brokers = vec![
            broker(1, &[("message.max.bytes", "1000")]),
            broker(2, &[("message.max.bytes", "99")]),
        ];
        assert_eq!(facts.target.number("message.max.bytes"), Ok(99));
    }

    #[test]
    fn for_ever_is_for_ever_in_any_unit() {
        let mut facts = facts();
        facts.target.brokers = vec![broker(1, &[("log.retention.hours", "-1")])];
        assert_eq!(default_on(&facts.target, "retention.ms"), Ok("-1".to_owned()));
    }
}
