//! What changes about topics while a tail goes on: new topics that the plan selects, new partitions, another
//! `cleanup.policy`. The tail commits, looks at both clusters again as at its start, and goes on, or ends
//! with the check that no longer holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::check::{TopicShape, compacted, compare};
use crate::cluster::{Admin, ClusterError, TopicInfo};
use crate::error::Result;
use crate::pipe::gather::Pair;
use crate::pipe::pairs::selected;
use crate::pipe::shared::Shared;
use crate::plan::Plan;

/// A topic of the scope, as it was when the tail began.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    target: Arc<str>,
    partitions: usize,
    compacted: bool,
}

fn known(pairs: &[Pair]) -> BTreeMap<Arc<str>, Known> {
    let mut topics = BTreeMap::new();
    for pair in pairs {
        let known = topics.entry(pair.source.topic.clone()).or_insert_with(|| Known {
            target: pair.target.topic.clone(),
            partitions: 0,
            compacted: pair.compacted,
        });
        known.partitions += 1;
    }
    topics
}

/// The first topic with more partitions than it had. One that lost partitions was created anew, which
/// its id tells.
fn grown(
    known: &BTreeMap<Arc<str>, Known>,
    now: &BTreeMap<String, Option<TopicInfo>>,
) -> Option<String> {
    known.iter().find_map(|(topic, was)| {
        let is = now.get(&**topic)?.as_ref()?.partitions;
        let was = was.partitions;
        (is > was).then(|| format!("source topic `{topic}` has {is} partitions, it had {was}"))
    })
}

/// The first topic whose policy does not fit any more: between the sides, unless the plan allows that, or
/// with what the lanes were begun with.
fn policy(
    plan: &Plan,
    known: &BTreeMap<Arc<str>, Known>,
    of: impl Fn(bool, &str) -> Option<String>,
) -> Option<String> {
    known.iter().find_map(|(topic, was)| {
        let (source, target) = (of(true, topic)?, of(false, &was.target)?);
        let shape = |name: &Arc<str>, policy: &str| TopicShape {
            name: Arc::clone(name),
            partitions: was.partitions,
            cleanup_policy: Ok(policy.to_owned()),
        };
        let differs = compare(plan, &shape(topic, &source), &shape(&was.target, &target));
        let changed = compacted(&source) != was.compacted;
        (changed || !differs.is_empty()).then(|| {
            format!(
                "`cleanup.policy` is `{source}` on source `{topic}`, `{target}` on target `{}`",
                was.target
            )
        })
    })
}

/// Looks for changes, round after round.
pub struct Changes {
    known: BTreeMap<Arc<str>, Known>,
    /// Names that the plan's patterns match and that are not copied all the same: ledgers of other plans.
    left_out: BTreeSet<String>,
}

impl Changes {
    /// From what the tail began with.
    pub fn since(shared: &Shared) -> Self {
        Self { known: known(&shared.scope.pairs), left_out: BTreeSet::new() }
    }

    /// What has changed about topics and partitions, in words; one request to the source.
    pub fn topics(&mut self, shared: &Shared) -> Result<Option<String>> {
        let now: BTreeMap<String, Option<TopicInfo>> = shared
            .clusters
            .source_admin
            .topics()?
            .into_iter()
            .map(|topic| (topic.name.clone(), Some(topic)))
            .collect();
        if let Some(grown) = grown(&self.known, &now) {
            return Ok(Some(grown));
        }
        let names: Vec<&str> = now.keys().map(String::as_str).collect();
        // An entry that matches nothing any more is the lanes' affair: its topic is gone.
        let Ok(selection) = shared.plan.select(&names) else { return Ok(None) };
        let new = |name: &str| !self.known.contains_key(name) && !self.left_out.contains(name);
        let Some(new) = selection.topics.iter().find(|one| new(&one.source)) else {
            return Ok(None);
        };
        // The full look knows a ledger of another plan by its first record.
        let really = selected(&shared.plan, &shared.clusters, &BTreeSet::new())?;
        if really.selection.target_of(&new.source).is_some() {
            return Ok(Some(format!("source topic `{}` is new", new.source)));
        }
        self.left_out.insert(new.source.to_string());
        Ok(None)
    }

    /// What has changed about policies, in words; one request to each side.
    pub fn policies(&self, shared: &Shared) -> Result<Option<String>> {
        let (source, target) = (&shared.clusters.source_admin, &shared.clusters.target_admin);
        let sources: Vec<&str> = self.known.keys().map(AsRef::as_ref).collect();
        let targets: Vec<&str> = self.known.values().map(|known| &*known.target).collect();
        let (sources, targets) = (policies(source, &sources)?, policies(target, &targets)?);
        Ok(policy(&shared.plan, &self.known, |of_source, name| {
            if of_source { sources.get(name).cloned() } else { targets.get(name).cloned() }
        }))
    }
}

/// The `cleanup.policy` in effect of those topics that tell.
fn policies(admin: &Admin, names: &[&str]) -> Result<BTreeMap<String, String>, ClusterError> {
    let found = admin.configs_each(names)?.into_iter();
    let policy = |configs: Vec<crate::cluster::TopicConfig>| {
        configs.into_iter().find(|config| config.name == "cleanup.policy")?.value
    };
    Ok(found.filter_map(|(name, configs)| Some((name, policy(configs.ok()?)?))).collect())
}

/// Gives target topics the partitions that their source topics got while the tail went on: they were the
/// same before. An existing topic that differed from the start is never touched.
pub fn prepare(shared: &Shared) -> Result<()> {
    if !shared.plan.topics.create {
        return Ok(());
    }
    let known = known(&shared.scope.pairs);
    let sources: Vec<&str> = known.keys().map(AsRef::as_ref).collect();
    let targets: Vec<&str> = known.values().map(|known| &*known.target).collect();
    let sources = shared.clusters.source_admin.describe(&sources)?;
    let targets = shared.clusters.target_admin.describe(&targets)?;
    for (topic, was) in &known {
        let count = |of: &BTreeMap<String, Option<TopicInfo>>, name: &str| {
            Some(of.get(name)?.as_ref()?.partitions)
        };
        let (source, target) = (count(&sources, topic), count(&targets, &was.target));
        if let Some(total) = to_grow(was.partitions, source, target) {
            let target = &was.target;
            tracing::info!(%topic, %target, total, "the target gets the source's new partitions");
            shared.clusters.target_admin.grow_topic(target, total)?;
        }
    }
    Ok(())
}

/// The partitions that a target topic is to get: those of the source, if nothing but the source grew.
fn to_grow(was: usize, source: Option<usize>, target: Option<usize>) -> Option<usize> {
    source.filter(|source| *source > was && target == Some(was))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TopicPartition;
    use crate::plan::tests::plan_with;

    fn orders() -> BTreeMap<Arc<str>, Known> {
        let pair = |number| Pair {
            source: TopicPartition::new("orders", number),
            target: TopicPartition::new("new", number),
            compacted: false,
            delete_retention: None,
        };
        known(&[pair(0), pair(1)])
    }

    fn with(partitions: usize) -> BTreeMap<String, Option<TopicInfo>> {
        let info =
            TopicInfo { name: "orders".into(), partitions, replicas: 1, id: Some("x".into()) };
        BTreeMap::from([("orders".to_owned(), Some(info))])
    }

    #[test]
    fn a_topic_that_grew_is_named_with_both_counts() {
        assert_eq!(grown(&orders(), &with(2)), None);
        let said = grown(&orders(), &with(5)).expect("it grew");
        assert_eq!(said, "source topic `orders` has 5 partitions, it had 2");
    }

    #[test]
    fn a_target_grows_only_if_it_was_the_same_before() {
        assert_eq!(to_grow(2, Some(5), Some(2)), Some(5));
        assert_eq!(to_grow(2, Some(5), Some(5)), None, "somebody was quicker");
        assert_eq!(to_grow(2, Some(5), Some(3)), None, "somebody else does something else");
        assert_eq!(to_grow(2, Some(2), Some(2)), None);
        assert_eq!(to_grow(2, None, Some(2)), None);
    }

    #[test]
    fn a_policy_that_changed_on_one_side_is_found_and_one_that_is_allowed_is_not() {
        let policies = |source: &'static str, target: &'static str| {
            move |of_source: bool, _: &str| Some(if of_source { source } else { target }.to_owned())
        };
        let plan = plan_with("topics.include = ['orders']");
        let found = |source, target| policy(&plan, &orders(), policies(source, target));
        assert_eq!(found("delete", "delete"), None);
        assert!(found("delete", "compact").is_some());
        assert!(found("compact", "compact").is_some(), "the lanes were begun with `delete`");
        let plan = plan_with(
            "topics.include = ['orders']\n[[check.allow]]\ncheck = 'cleanup-policy'\n\
             topics = ['orders']\nreason = 'r'",
        );
        assert_eq!(policy(&plan, &orders(), policies("delete", "compact")), None);
    }
}
