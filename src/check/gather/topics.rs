//! Topics of one cluster: partitions, configs, offsets, ages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::check::facts::{ConfigFacts, Known, PartitionFacts, SetBy, TopicFacts};
use crate::cluster::{
    Admin, At, ClusterError, ConfigSource, First, Isolation, LogReader, TopicConfig, TopicDetail,
};
use crate::error::Side;
use crate::pipe::clusters::Clusters;
use crate::plan::{Plan, Selection, TopicPartition};

use super::Depth;

/// Kafka's own topics that the rules ask for.
pub const TRANSACTION_LOG: &str = "__transaction_state";
/// The other one.
pub const OFFSETS: &str = "__consumer_offsets";

/// Names of the topics that are looked at on each side.
pub struct Names {
    /// The plan's.
    pub source: Vec<Arc<str>>,
    /// The plan's, the ledger, and Kafka's own.
    pub target: Vec<Arc<str>>,
}

impl Names {
    /// Those of a plan.
    pub fn of(plan: &Plan, selection: &Selection) -> Self {
        let source = selection.topics.iter().map(|pair| pair.source.clone()).collect();
        let mut target: BTreeSet<Arc<str>> =
            selection.topics.iter().map(|pair| pair.target.clone()).collect();
        for own in [plan.ledger_topic(), TRANSACTION_LOG, OFFSETS] {
            target.insert(Arc::from(own));
        }
        Self { source, target: target.into_iter().collect() }
    }
}

/// A topic that was looked for.
#[derive(Debug)]
pub struct Looked {
    /// What it is like; `None`: it is not there.
    pub facts: Known<Option<TopicFacts>>,
    /// What we may do with it, as numbers of the protocol; none where nobody tells.
    pub authorized: Option<BTreeSet<i32>>,
    /// We may not even see it.
    pub denied: bool,
}

/// Looks for topics.
pub fn look(
    clusters: &Clusters,
    side: Side,
    names: &[Arc<str>],
    depth: Depth,
) -> BTreeMap<Arc<str>, Looked> {
    let admin = clusters.admin(side);
    let plain: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let details = match admin.details(&plain) {
        Ok(details) => details,
        Err(error) => return nothing(names, &error),
    };
    let there: Vec<&str> = plain
        .iter()
        .copied()
        .filter(|name| matches!(details.get(*name), Some(Ok(Some(_)))))
        .collect();
    let mut configs = configs(admin, &there);
    let offsets = Offsets::ask(clusters, side, &details, depth);
    let mut one = |name: &Arc<str>| {
        let Some(found) = details.get(&**name) else {
            return Looked {
                facts: Known::unknown("the cluster did not tell"),
                authorized: None,
                denied: false,
            };
        };
        let (facts, authorized, denied) = match found {
            Err(error) => (Known::unknown(error.what.clone()), None, error.is_denied()),
            Ok(None) => (Known::Known(None), None, false),
            Ok(Some(detail)) => {
                let partitions = (0..).zip(&detail.partitions).map(|(number, partition)| {
                    let at = TopicPartition::new(name.clone(), number);
                    PartitionFacts {
                        number,
                        leader: partition.leader,
                        replicas: partition.replicas.clone(),
                        isr: partition.in_sync.clone(),
                        log_start: offset(&offsets.log_start, &at),
                        log_end: offset(&offsets.log_end, &at),
                        last_stable: offset(&offsets.last_stable, &at),
                        oldest_ms: time(&offsets.oldest, &at),
                        newest_ms: time(&offsets.newest, &at),
                        open_since_ms: time(&offsets.open_since, &at),
                    }
                });
                let facts = TopicFacts {
                    name: name.clone(),
                    partitions: Known::Known(partitions.collect()),
                    configs: configs
                        .remove(&**name)
                        .unwrap_or_else(|| Known::unknown("the cluster did not tell")),
                    sample: Known::unknown(NO_SAMPLE),
                };
                (Known::Known(Some(facts)), detail.authorized.clone(), false)
            }
        };
        Looked { facts, authorized, denied }
    };
    names.iter().map(|name| (name.clone(), one(name))).collect()
}

const NO_SAMPLE: &str = "no record of it was looked at";

fn nothing(names: &[Arc<str>], error: &ClusterError) -> BTreeMap<Arc<str>, Looked> {
    let looked = |name: &Arc<str>| {
        let facts = Known::unknown(error.what.clone());
        (name.clone(), Looked { facts, authorized: None, denied: error.is_denied() })
    };
    names.iter().map(looked).collect()
}

type Configs = BTreeMap<String, ConfigFacts>;

fn configs(admin: &Admin, names: &[&str]) -> BTreeMap<String, Known<Configs>> {
    match admin.configs_each(names) {
        Ok(found) => {
            let facts = |found: Result<Vec<TopicConfig>, ClusterError>| match found {
                Ok(configs) => Known::Known(configs.into_iter().map(config).collect()),
                Err(error) => Known::unknown(error.what),
            };
            found.into_iter().map(|(name, found)| (name, facts(found))).collect()
        }
        Err(error) => {
            names.iter().map(|name| ((*name).into(), Known::unknown(&error.what))).collect()
        }
    }
}

fn config(config: TopicConfig) -> (String, ConfigFacts) {
    let set_by = match config.source {
        ConfigSource::Topic => SetBy::Topic,
        ConfigSource::Cluster | ConfigSource::Other => SetBy::Cluster,
        ConfigSource::Default => SetBy::Default,
    };
    let facts = ConfigFacts { value: config.value, set_by, sensitive: config.sensitive };
    (config.name, facts)
}

/// Offsets by partition; what is not in it was not asked for.
type OffsetOf = BTreeMap<TopicPartition, Known<i64>>;
/// Timestamps by partition.
type TimeOf = BTreeMap<TopicPartition, Known<Option<i64>>>;

#[derive(Default)]
struct Offsets {
    log_start: OffsetOf,
    log_end: OffsetOf,
    last_stable: OffsetOf,
    oldest: TimeOf,
    newest: TimeOf,
    open_since: TimeOf,
}

fn offset(of: &OffsetOf, at: &TopicPartition) -> Known<i64> {
    of.get(at).cloned().unwrap_or_else(|| Known::unknown(NOBODY_LEADS))
}

fn time(of: &TimeOf, at: &TopicPartition) -> Known<Option<i64>> {
    of.get(at).cloned().unwrap_or_else(|| Known::unknown("not asked for"))
}

const NOBODY_LEADS: &str = "no broker leads the partition";
const READ: i32 = 3;

impl Offsets {
    /// Asks for what the rules need: of the source everything, of the target whether it is empty.
    fn ask(
        clusters: &Clusters,
        side: Side,
        details: &BTreeMap<String, Result<Option<TopicDetail>, ClusterError>>,
        depth: Depth,
    ) -> Self {
        let admin = clusters.admin(side);
        let (mut led, mut readable, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for (name, detail) in details {
            let Ok(Some(detail)) = detail else { continue };
            if detail.internal {
                continue;
            }
            let may_read = detail.authorized.as_ref().is_none_or(|may| may.contains(&READ));
            for (number, partition) in (0..).zip(&detail.partitions) {
                // One that nobody leads would be asked for until our patience ends.
                if partition.leader.is_some() {
                    let at = TopicPartition::new(name.as_str(), number);
                    if may_read { &mut readable } else { &mut unreadable }.push(at.clone());
                    led.push(at);
                }
            }
        }
        let mut asked = Self {
            log_start: ask(admin, &led, At::LogStart),
            log_end: ask(admin, &led, At::LogEnd),
            ..Self::default()
        };
        if side == Side::Target {
            return asked;
        }
        asked.last_stable = ask(admin, &led, At::LastStable);
        if depth == Depth::Again {
            return asked;
        }
        asked.newest = newest(admin, &led);
        asked.oldest = timestamps(clusters, side, Isolation::Committed, asked.from(&readable));
        for at in unreadable {
            asked.oldest.insert(at, Known::unknown("no right to read the topic"));
        }
        let held: Vec<(TopicPartition, i64)> = asked.held(&readable);
        asked.open_since = led.into_iter().map(|at| (at, Known::Known(None))).collect();
        asked.open_since.extend(timestamps(clusters, side, Isolation::Uncommitted, held));
        asked
    }

    fn from(&self, partitions: &[TopicPartition]) -> Vec<(TopicPartition, i64)> {
        let start = |at: &TopicPartition| Some((at.clone(), *self.log_start.get(at)?.ok()?));
        partitions.iter().filter_map(start).collect()
    }

    /// Partitions whose last stable offset an open transaction holds back.
    fn held(&self, partitions: &[TopicPartition]) -> Vec<(TopicPartition, i64)> {
        let held = |at: &TopicPartition| {
            let stable = *self.last_stable.get(at)?.ok()?;
            (stable < *self.log_end.get(at)?.ok()?).then(|| (at.clone(), stable))
        };
        partitions.iter().filter_map(held).collect()
    }
}

fn ask(admin: &Admin, partitions: &[TopicPartition], which: At) -> OffsetOf {
    if partitions.is_empty() {
        return OffsetOf::new();
    }
    match admin.offsets(partitions, which) {
        Ok(found) => {
            let facts = |found: Result<crate::cluster::OffsetAt, ClusterError>| match found {
                Ok(found) => Known::Known(found.offset),
                Err(error) => Known::unknown(error.what),
            };
            found.into_iter().map(|(at, found)| (at, facts(found))).collect()
        }
        Err(error) => {
            partitions.iter().map(|at| (at.clone(), Known::unknown(&error.what))).collect()
        }
    }
}

fn newest(admin: &Admin, partitions: &[TopicPartition]) -> TimeOf {
    let all = |why: &str| {
        partitions.iter().map(|at| (at.clone(), Known::unknown(why))).collect::<TimeOf>()
    };
    if partitions.is_empty() {
        return TimeOf::new();
    }
    match admin.newest(partitions) {
        Ok(None) => all("the brokers cannot tell it (before 3.0)"),
        Ok(Some(found)) => {
            let facts = |found: Result<Option<i64>, ClusterError>| match found {
                Ok(found) => Known::Known(found),
                Err(error) => Known::unknown(error.what),
            };
            found.into_iter().map(|(at, found)| (at, facts(found))).collect()
        }
        Err(error) => all(&error.what),
    }
}

/// The timestamps of the first records at or after these offsets.
pub fn timestamps(
    clusters: &Clusters,
    side: Side,
    isolation: Isolation,
    at: Vec<(TopicPartition, i64)>,
) -> TimeOf {
    let mut found = TimeOf::new();
    if at.is_empty() {
        return found;
    }
    let read = LogReader::open(clusters.connection(side), isolation).and_then(|mut log| {
        log.first_at(&at, &mut |index, first| {
            let time = match first {
                First::Record(record) => Known::Known(record.timestamp),
                First::None { .. } => Known::Known(None),
                First::Lost { reason } => Known::unknown(reason),
            };
            found.insert(at[index].0.clone(), time);
        })
    });
    if let Err(error) = read {
        for (at, _) in &at {
            found.entry(at.clone()).or_insert_with(|| Known::unknown(&error.what));
        }
    }
    found
}
