//! The ledger: whether it is there, and where copying will go on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::creates::Creates;
use super::side::Site;
use crate::check::facts::{Known, LedgerFacts};
use crate::ledger::LaneState;
use crate::pipe::clusters::Clusters;
use crate::pipe::preflight::new_lanes;
use crate::plan::{LaneCount, Plan, TopicPartition};

/// Where copying will go on, as the ledger knows it.
#[derive(Debug)]
pub struct Positions {
    /// Next source offset by source partition; empty where there is no ledger.
    next: Known<BTreeMap<TopicPartition, i64>>,
    /// Lanes of the ledger that is there.
    lanes: Option<u32>,
}

impl Positions {
    /// From lanes that were read already; none where there is no ledger.
    pub fn of(lanes: &[LaneState], exists: bool) -> Self {
        let states = lanes.iter().flat_map(|lane| &lane.partitions);
        Self {
            next: Known::Known(states.map(|(at, state)| (at.clone(), state.next)).collect()),
            lanes: exists.then(|| u32::try_from(lanes.len()).unwrap_or(u32::MAX)),
        }
    }

    /// The ledger is there.
    pub fn exists(&self) -> bool {
        self.lanes.is_some()
    }

    /// The next offset of a partition; none where it is not bound.
    pub fn next(&self, at: &TopicPartition) -> Known<Option<i64>> {
        match &self.next {
            Known::Known(next) => Known::Known(next.get(at).copied()),
            Known::Unknown(why) => Known::Unknown(why.clone()),
        }
    }

    /// Topics that are bound.
    pub fn topics(&self) -> BTreeSet<Arc<str>> {
        let known = self.next.ok().into_iter().flat_map(BTreeMap::keys);
        known.map(|at| at.topic.clone()).collect()
    }
}

/// Reads the positions from the ledger, if there is one.
pub fn read(plan: &Plan, clusters: &Clusters) -> Positions {
    let name = plan.ledger_topic();
    let unknown = |why: String, lanes| Positions { next: Known::Unknown(why), lanes };
    let topic = match clusters.target_admin.details(&[name]).map(|mut found| found.remove(name)) {
        Ok(Some(Ok(Some(topic)))) => topic,
        Ok(Some(Ok(None)) | None) => return Positions::of(&[], false),
        Ok(Some(Err(error))) | Err(error) => return unknown(error.what, None),
    };
    let count = u32::try_from(topic.partitions.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let read = || {
        let mut lanes = Vec::new();
        for number in 0..count {
            let ends = clusters.ledger.ends(number)?;
            lanes.push(clusters.ledger.lane(number, ends.last_stable)?);
        }
        Ok::<_, crate::error::Error>(lanes)
    };
    match read() {
        Ok(lanes) => Positions { lanes: Some(count), ..Positions::of(&lanes, true) },
        Err(error) => unknown(error.what, Some(count)),
    }
}

/// The ledger as the rules look at it.
pub fn facts(
    plan: &Plan,
    target: &Site,
    creates: &Creates,
    positions: &Positions,
    partitions: usize,
) -> LedgerFacts {
    let lanes = match (plan.run.lanes, positions.lanes) {
        (LaneCount::Auto, Some(lanes)) => lanes,
        _ => new_lanes(plan, partitions),
    };
    LedgerFacts {
        topic: match target.topics.get(plan.ledger_topic()) {
            Some(looked) => looked.facts.clone(),
            None => Known::unknown("it was not looked for"),
        },
        create: creates.of(plan.ledger_topic()),
        partitions_needed: lanes + 1,
    }
}
