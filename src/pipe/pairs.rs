//! Topic pairs: selection, naming, the checks of a pair, and the topics to create.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};

use crate::check::facts::{ConfigFacts, SetBy};
use crate::check::{TopicShape, assumed_policy, compacted, compare, names, planned_configs};
use crate::cluster::{Admin, At, First, NewTopic, TopicConfig, TopicInfo};
use crate::error::{Error, Result, Side};
use crate::ledger::{Entry, decode};
use crate::pipe::checks;
use crate::pipe::clusters::Clusters;
use crate::pipe::deletions::DEFAULT_RETENTION_MS;
use crate::pipe::gather::Pair;
use crate::pipe::refuse::Refusal;
use crate::plan::{Plan, Selection, TopicPartition};

/// What a look at the topics of both sides found.
pub struct Pairs {
    /// Every partition, sorted by source.
    pub pairs: Vec<Pair>,
    /// Topics that the target lacks.
    pub to_create: Vec<NewTopic>,
    /// Worth saying, and no reason to stop.
    pub warnings: Vec<String>,
    /// Checks of pairs that failed.
    pub failures: Vec<Error>,
}

/// The topics that the plan moves.
pub struct Selected {
    /// With their names on the target.
    pub selection: Selection,
    /// All topics of the source, by name.
    pub sources: BTreeMap<String, TopicInfo>,
}

/// Selection and naming. A topic that the ledger knows and that the plan would select must be on the
/// source: a pattern does not miss what is gone. Ledgers of other plans are left out.
pub fn selected(
    plan: &Plan,
    clusters: &Clusters,
    in_ledger: &BTreeSet<Arc<str>>,
) -> Result<Selected> {
    let sources: BTreeMap<String, TopicInfo> =
        clusters.source_admin.topics()?.into_iter().map(|t| (t.name.clone(), t)).collect();
    let names = sources.keys().map(String::as_str);
    let names: Vec<&str> = names.chain(in_ledger.iter().map(AsRef::as_ref)).collect();
    let mut selection = plan.select(&names)?;
    let gone = selection.topics.iter().filter(|one| !sources.contains_key(&*one.source));
    together(
        gone.map(|one| {
            let at = |topic: &Arc<str>| TopicPartition::new(topic.clone(), 0);
            Refusal::SourceTopicGone.error(&at(&one.source), &at(&one.target))
        })
        .collect(),
    )?;
    let ledgers = ledgers_among(clusters, selection.topics.iter().map(|pair| &pair.source))?;
    if !ledgers.is_empty() {
        selection.topics.retain(|pair| !ledgers.contains(&pair.source));
        let names = ledgers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        selection.warnings.push(format!("left out: {names}, the ledger of another plan"));
    }
    Ok(Selected { selection, sources })
}

/// Selection, naming, and the checks of topic pairs.
pub fn topic_pairs(
    plan: &Plan,
    clusters: &Clusters,
    in_ledger: &BTreeSet<Arc<str>>,
) -> Result<Pairs> {
    let Selected { selection, sources } = selected(plan, clusters, in_ledger)?;
    let targets: BTreeMap<String, TopicInfo> =
        clusters.target_admin.topics()?.into_iter().map(|t| (t.name.clone(), t)).collect();
    let selected = &selection.topics;
    let on_source: Vec<&str> = selected.iter().map(|s| &*s.source).collect();
    let source_configs = configs_told(&clusters.source_admin, &on_source)?;
    let there: Vec<&str> =
        selected.iter().map(|s| &*s.target).filter(|name| targets.contains_key(*name)).collect();
    let target_configs = configs_told(&clusters.target_admin, &there)?;

    let mut failures = Vec::new();
    let mut warnings = selection.warnings;
    let (mut pairs, mut to_create) = (Vec::new(), Vec::new());
    for one in selected {
        let configs_of_source = of_topic(&source_configs, Side::Source, &one.source);
        let source = shape(&one.source, &sources[&*one.source], &configs_of_source);
        match targets.get(&*one.target) {
            Some(info) => {
                let configs = of_topic(&target_configs, Side::Target, &one.target);
                let found = compare(plan, &source, &shape(&one.target, info, &configs));
                failures.extend(found.iter().map(checks::error));
                let kind =
                    configs.as_ref().ok().and_then(|all| told(all, "message.timestamp.type"));
                warnings.extend(lost_timestamps(&one.target, kind));
            }
            None if plan.topics.create => {
                match new_topic(plan, &one.target, &source, &configs_of_source) {
                    Ok(new) => {
                        let mut kind = new.configs.iter();
                        let kind = kind.find(|(name, _)| name == "message.timestamp.type");
                        let kind = kind.map(|(_, value)| value.as_str());
                        warnings.extend(lost_timestamps(&one.target, kind));
                        to_create.push(new);
                    }
                    Err(why) => failures.push(
                        missing(&one.target, &format!(", and nobody knows what to create: {why}"))
                            .hint("create it first"),
                    ),
                }
            }
            None => failures.push(
                missing(&one.target, "").hint("create it first, or set `topics.create = true`"),
            ),
        }
        let count = i32::try_from(source.partitions).unwrap_or(i32::MAX);
        // What neither the source nor the plan tells is among the failures above.
        let policy = source.cleanup_policy;
        let policy = policy.or_else(|why| assumed_policy(plan, &one.source, why).ok_or(()));
        let compacted = policy.is_ok_and(|policy| compacted(&policy));
        let delete_retention =
            compacted.then(|| delete_retention(configs_of_source.as_deref().unwrap_or_default()));
        pairs.extend((0..count).map(|number| Pair {
            source: TopicPartition::new(one.source.clone(), number),
            target: TopicPartition::new(one.target.clone(), number),
            compacted,
            delete_retention,
        }));
    }
    pairs.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(Pairs { pairs, to_create, warnings, failures })
}

/// What cannot be kept is said before the run.
fn lost_timestamps(target: &str, timestamp_type: Option<&str>) -> Option<String> {
    (timestamp_type == Some("LogAppendTime")).then(|| {
        format!(
            "target `{target}` has `message.timestamp.type=LogAppendTime`: every record gets the time of \
             the copy instead of its own timestamp"
        )
    })
}

fn missing(topic: &str, more: &str) -> Error {
    Error::check(names::MISSING_TOPIC, format!("target has no topic `{topic}`{more}"))
}

/// The configs of a topic, or why we may not see them.
type Configs = std::result::Result<Vec<TopicConfig>, String>;

fn configs_told(admin: &Admin, topics: &[&str]) -> Result<BTreeMap<String, Configs>> {
    let mut told = BTreeMap::new();
    for (name, found) in admin.configs_each(topics)? {
        let configs = match found {
            Ok(configs) => Ok(configs),
            Err(error) if error.is_denied() => Err(error.what),
            Err(error) => return Err(error.into()),
        };
        told.insert(name, configs);
    }
    Ok(told)
}

fn of_topic(all: &BTreeMap<String, Configs>, side: Side, topic: &str) -> Configs {
    let configs = all.get(topic).cloned().unwrap_or_else(|| Err("nobody told".to_owned()));
    configs.map_err(|why| format!("{side} configs: {why}"))
}

fn told<'c>(configs: &'c [TopicConfig], name: &str) -> Option<&'c str> {
    configs.iter().find(|config| config.name == name)?.value.as_deref()
}

fn shape(name: &Arc<str>, info: &TopicInfo, configs: &Configs) -> TopicShape {
    let policy = |configs: &Vec<TopicConfig>| match told(configs, "cleanup.policy") {
        Some(policy) => Ok(policy.to_owned()),
        None => Err("`cleanup.policy` is not told".to_owned()),
    };
    TopicShape {
        name: Arc::clone(name),
        partitions: info.partitions,
        cleanup_policy: configs.as_ref().map_err(Clone::clone).and_then(policy),
    }
}

/// `delete.retention.ms` in effect; Kafka's default where the brokers do not tell it.
fn delete_retention(configs: &[TopicConfig]) -> i64 {
    let told = told(configs, "delete.retention.ms").and_then(|value| value.parse().ok());
    told.unwrap_or(DEFAULT_RETENTION_MS)
}

/// The target topic that is made for a source topic; the error says what is not known of that.
fn new_topic(
    plan: &Plan,
    name: &str,
    source: &TopicShape,
    configs: &Configs,
) -> std::result::Result<NewTopic, String> {
    let policy = source.cleanup_policy.as_ref().map_err(Clone::clone)?;
    let configs = configs.as_ref().map_err(Clone::clone)?;
    let explicit = configs
        .iter()
        .filter(|config| config.explicit)
        .filter_map(|config| Some((config.name.clone(), config.value.clone()?)));
    Ok(made_like(plan, (&source.name, name), source.partitions, policy, explicit.collect()))
}

/// The target topic that is made for a source topic as the check sees it.
pub fn new_topic_from(
    plan: &Plan,
    source: &str,
    target: &str,
    partitions: usize,
    configs: &BTreeMap<String, ConfigFacts>,
) -> NewTopic {
    let value = |name: &str| configs.get(name).and_then(|config| config.value.clone());
    let policy = value("cleanup.policy").unwrap_or_else(|| "delete".into());
    let explicit = configs
        .iter()
        .filter(|(_, config)| config.set_by == SetBy::Topic)
        .filter_map(|(name, config)| Some((name.clone(), config.value.clone()?)));
    made_like(plan, (source, target), partitions, &policy, explicit.collect())
}

fn made_like(
    plan: &Plan,
    (source, name): (&str, &str),
    partitions: usize,
    policy: &str,
    explicit: BTreeMap<String, String>,
) -> NewTopic {
    let configs = planned_configs(plan, source, explicit, policy);
    NewTopic {
        name: name.to_owned(),
        partitions: i32::try_from(partitions).unwrap_or(i32::MAX),
        replication_factor: plan.replication_factor_for(source).map(i32::from),
        configs: configs.into_iter().collect(),
    }
}

/// Topics whose first record is a ledger's header: the ledger of a plan, whatever its name. It is
/// never mirrored.
fn ledgers_among<'a>(
    clusters: &Clusters,
    topics: impl Iterator<Item = &'a Arc<str>>,
) -> Result<BTreeSet<Arc<str>>> {
    let first: Vec<_> = topics.map(|topic| TopicPartition::new(topic.clone(), 0)).collect();
    let mut starts = Vec::new();
    for (at, answer) in clusters.source_admin.offsets(&first, At::LogStart)? {
        match answer {
            // A ledger's log begins at 0; a topic whose log does not is none.
            Ok(found) if found.offset == 0 => starts.push((at, found.offset)),
            Ok(_) => {}
            // What we may not read is not copied either; the check says which right is missing.
            Err(error) if error.is_denied() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut ledgers = BTreeSet::new();
    let mut log = clusters.source_log.lock().unwrap_or_else(PoisonError::into_inner);
    let read = log.first_at(&starts, &mut |index, first| {
        if let First::Record(record) = first
            && matches!(decode(record.value.unwrap_or_default()), Ok(Entry::Header(_)))
        {
            ledgers.insert(starts[index].0.topic.clone());
        }
    });
    match read {
        Err(error) if !error.is_denied() => return Err(error.into()),
        _ => {}
    }
    Ok(ledgers)
}

/// All failures as one error: the first decides the kind, the others are listed.
pub fn together(failures: Vec<Error>) -> Result<()> {
    /// More would scroll the first one off the screen.
    const SHOWN: usize = 10;
    let mut failures = failures.into_iter();
    let Some(mut first) = failures.next() else { return Ok(()) };
    let rest: Vec<String> = failures.map(|error| error.what).collect();
    for what in rest.iter().take(SHOWN) {
        first.what.push_str("\n  also: ");
        first.what.push_str(what);
    }
    if rest.len() > SHOWN {
        let _ = write!(first.what, "\n  and {} more", rest.len() - SHOWN);
    }
    Err(first)
}
