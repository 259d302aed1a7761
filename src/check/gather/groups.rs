//! Consumer groups of the source that the plan moves, and what they read.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check::facts::{GroupFacts, Known};
use crate::cluster::{Admin, ClusterError};
use crate::pipe::clusters::Clusters;
use crate::plan::{Plan, Selection};

/// Looks at the groups.
pub fn look(plan: &Plan, clusters: &Clusters, selection: &Selection) -> Known<Vec<GroupFacts>> {
    match ask(plan, clusters, selection) {
        Ok(groups) => Known::Known(groups),
        Err(error) => Known::unknown(error.what),
    }
}

fn ask(
    plan: &Plan,
    clusters: &Clusters,
    selection: &Selection,
) -> Result<Vec<GroupFacts>, ClusterError> {
    // A client of its own: only one with a group id may ask for group offsets.
    let admin = Admin::connect_for(&clusters.source, &plan.group())?;
    let ours: BTreeSet<&str> = selection.topics.iter().map(|pair| &*pair.source).collect();
    let moved = |name: &String| {
        let matches = |patterns: &[crate::plan::Pattern]| patterns.iter().any(|p| p.matches(name));
        matches(&plan.groups.include) && !matches(&plan.groups.exclude)
    };
    let names: Vec<String> = admin.groups()?.into_iter().filter(moved).collect();
    let plain: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut described = admin.describe_groups(&plain)?;
    let mut offsets = admin.groups_partitions(&plain);
    let groups = names.iter().map(|name| {
        let (state, members) = match described.remove(name) {
            Some(Ok(group)) => {
                (Known::Known(group.state.to_owned()), Known::Known(group.members.len()))
            }
            Some(Err(error)) => (Known::unknown(&error.what), Known::unknown(&error.what)),
            None => (Known::unknown("nobody told"), Known::unknown("nobody told")),
        };
        let topics = match offsets.remove(name) {
            Some(Ok(partitions)) => {
                let topics = partitions.into_iter().map(|at| at.topic);
                let topics: BTreeSet<Arc<str>> =
                    topics.filter(|topic| ours.contains(&**topic)).collect();
                Known::Known(topics)
            }
            Some(Err(error)) => Known::unknown(error.what),
            None => Known::unknown("nobody told"),
        };
        GroupFacts { name: name.clone(), state, members, topics }
    });
    Ok(groups.collect())
}
