//! Topic pairs: selection, naming, the checks of a pair, and the topics to create.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};

use crate::check::facts::{ConfigFacts, SetBy};
use crate::check::{TopicShape, compacted, compare, planned_configs};
use crate::cluster::{At, First, NewTopic, TopicConfig, TopicInfo};
use crate::error::{Error, Result};
use crate::ledger::{Entry, decode};
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
    let source_configs = clusters.source_admin.configs(&on_source)?;
    let there: Vec<&str> =
        selected.iter().map(|s| &*s.target).filter(|name| targets.contains_key(*name)).collect();
    let target_configs = clusters.target_admin.configs(&there)?;

    let mut failures = Vec::new();
    let mut warnings = selection.warnings;
    let (mut pairs, mut to_create) = (Vec::new(), Vec::new());
    for one in selected {
        let configs_of_source = source_configs.get(&*one.source).map_or(&[][..], Vec::as_slice);
        let source = shape(&sources[&*one.source], configs_of_source);
        match targets.get(&*one.target) {
            Some(info) => {
                let configs = target_configs.get(&*one.target).map_or(&[][..], Vec::as_slice);
                failures.extend(compare(plan, &source, &shape(info, configs)));
                let kind = configs.iter().find(|c| c.name == "message.timestamp.type");
                warnings
                    .extend(lost_timestamps(&one.target, kind.and_then(|c| c.value.as_deref())));
            }
            None if plan.topics.create => {
                let new = new_topic(plan, &one.target, &source, configs_of_source);
                let kind = new.configs.iter().find(|(name, _)| name == "message.timestamp.type");
                warnings
                    .extend(lost_timestamps(&one.target, kind.map(|(_, value)| value.as_str())));
                to_create.push(new);
            }
            None => failures.push(
                Error::check("missing-topic", format!("target has no topic `{}`", one.target))
                    .hint("create it first, or set `topics.create = true`"),
            ),
        }
        let count = i32::try_from(source.partitions).unwrap_or(i32::MAX);
        let delete_retention =
            compacted(&source.cleanup_policy).then(|| delete_retention(configs_of_source));
        pairs.extend((0..count).map(|number| Pair {
            source: TopicPartition::new(one.source.clone(), number),
            target: TopicPartition::new(one.target.clone(), number),
            compacted: compacted(&source.cleanup_policy),
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

fn shape(info: &TopicInfo, configs: &[TopicConfig]) -> TopicShape {
    let policy = configs.iter().find(|config| config.name == "cleanup.policy");
    TopicShape {
        name: info.name.clone(),
        partitions: info.partitions,
        cleanup_policy: policy.and_then(|c| c.value.clone()).unwrap_or_else(|| "delete".into()),
    }
}

/// `delete.retention.ms` in effect; Kafka's default where the brokers do not tell it.
fn delete_retention(configs: &[TopicConfig]) -> i64 {
    let told = configs.iter().find(|config| config.name == "delete.retention.ms");
    told.and_then(|config| config.value.as_ref()?.parse().ok()).unwrap_or(DEFAULT_RETENTION_MS)
}

fn new_topic(plan: &Plan, name: &str, source: &TopicShape, configs: &[TopicConfig]) -> NewTopic {
    let explicit = configs
        .iter()
        .filter(|config| config.explicit)
        .filter_map(|config| Some((config.name.clone(), config.value.clone()?)));
    made_like(plan, name, source, explicit.collect())
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
    let shape = TopicShape {
        name: source.to_owned(),
        partitions,
        cleanup_policy: value("cleanup.policy").unwrap_or_else(|| "delete".into()),
    };
    let explicit = configs
        .iter()
        .filter(|(_, config)| config.set_by == SetBy::Topic)
        .filter_map(|(name, config)| Some((name.clone(), config.value.clone()?)));
    made_like(plan, target, &shape, explicit.collect())
}

fn made_like(
    plan: &Plan,
    name: &str,
    source: &TopicShape,
    explicit: BTreeMap<String, String>,
) -> NewTopic {
    let configs = planned_configs(plan, &source.name, explicit, &source.cleanup_policy);
    NewTopic {
        name: name.to_owned(),
        partitions: i32::try_from(source.partitions).unwrap_or(i32::MAX),
        replication_factor: plan.replication_factor_for(&source.name).map(i32::from),
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
