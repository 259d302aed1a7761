//! What the target lacks, as it would be made; and what the target says to that, without making it.

use std::collections::BTreeMap;

use super::ledger::Positions;
use super::side::Site;
use crate::check::facts::{CreateFacts, Known};
use crate::cluster::{Class, ClusterError, Created, NewTopic};
use crate::pipe::clusters::Clusters;
use crate::pipe::pairs::new_topic_from;
use crate::pipe::preflight::{ledger_topic, new_lanes};
use crate::plan::{Plan, Selection};

/// Topics that would be made, by their names on the target.
#[derive(Debug, Default)]
pub struct Creates {
    topics: BTreeMap<String, CreateFacts>,
    denied: BTreeMap<String, bool>,
}

impl Creates {
    /// Nothing was asked: a run that goes on makes only what came new.
    pub fn not_asked() -> Self {
        Self::default()
    }

    /// What would be made under this name.
    pub fn of(&self, name: &str) -> Option<CreateFacts> {
        self.topics.get(name).cloned()
    }

    /// Whether we may make it; none where that was not asked, or the answer does not tell.
    pub fn may(&self, name: &str) -> Option<bool> {
        self.denied.get(name).map(|denied| !denied)
    }
}

/// Asks the target about everything that it lacks.
pub fn ask(
    plan: &Plan,
    clusters: &Clusters,
    selection: &Selection,
    source: &Site,
    target: &Site,
    positions: &Positions,
) -> Creates {
    let mut creates = Creates::default();
    let missing = |name: &str| {
        let looked = target.topics.get(name);
        // One that we may not see may be missing as well; the target's answer tells.
        looked.is_some_and(|looked| looked.denied || matches!(looked.facts, Known::Known(None)))
    };
    if plan.topics.create {
        for pair in &selection.topics {
            let Some(topic) = source.topic(&pair.source).filter(|_| missing(&pair.target)) else {
                continue;
            };
            if let (Ok(partitions), Ok(configs)) = (topic.partitions.get(), topic.configs.get()) {
                let new =
                    new_topic_from(plan, &pair.source, &pair.target, partitions.len(), configs);
                creates.ask(clusters, &new);
            }
        }
    }
    if plan.ledger.create && !positions.exists() && missing(plan.ledger_topic()) {
        let partitions: usize = selection
            .topics
            .iter()
            .filter_map(|pair| Some(source.topic(&pair.source)?.partitions.ok()?.len()))
            .sum();
        creates.ask(clusters, &ledger_topic(plan, new_lanes(plan, partitions)));
    }
    creates
}

impl Creates {
    fn ask(&mut self, clusters: &Clusters, new: &NewTopic) {
        let said = clusters.target_admin.create_topic(new, true);
        match &said {
            Ok(Created::Made) => {
                self.denied.insert(new.name.clone(), false);
            }
            Err(error) if error.is_denied() => {
                self.denied.insert(new.name.clone(), true);
            }
            _ => {}
        }
        let facts = CreateFacts {
            partitions: new.partitions,
            replication_factor: new.replication_factor,
            configs: new.configs.iter().cloned().collect(),
            verdict: verdict(said),
        };
        self.topics.insert(new.name.clone(), facts);
    }
}

fn verdict(said: Result<Created, ClusterError>) -> Known<Result<(), String>> {
    match said {
        Ok(_) => Known::Known(Ok(())),
        // It says nothing about what would be made: the right to make it is a check of its own.
        Err(error) if error.is_denied() || error.class == Class::Retriable => {
            Known::unknown(error.what)
        }
        Err(error) => Known::Known(Err(error.what)),
    }
}
