//! The rules, one family a file. Each looks at the facts and the plan, and says what it found; none of
//! them stops another.

mod acls;
mod cluster;
mod compaction;
mod configs;
mod create;
mod groups;
mod keys;
mod names;
mod open;
pub mod partitions;
pub mod policy;
mod race;
mod refusals;
mod replicas;
mod retention;
mod rights;
mod room;
mod schemas;
mod size;
mod tiered;
mod timestamps;
mod transactions;

pub use acls::{MissingAcl, missing as missing_acls};
pub use race::{Ending, Race};
pub use schemas::{SchemaRow, framed, rows as schema_rows};

use super::facts::{Facts, PairFacts};
use crate::plan::{Assume, Plan};

pub(super) use self::{
    acls::{GROUPS as ACLS_OF_GROUPS, TOPICS as ACLS_OF_TOPICS},
    cluster::{CLOCKS, SAME_CLUSTER, VERSIONS},
    compaction::{DELETE_RETENTION, LAG, SEGMENTS},
    configs::{DEFAULTS, EXPLICIT},
    create::{CREATE, EMPTY, LEDGER, MISSING},
    groups::GROUPS,
    keys::{PARTITIONER, SCATTERED},
    names::{COLLISION, RESERVED, SELECTION},
    open::OPEN,
    partitions::PARTITIONS,
    policy::POLICY,
    race::RACE,
    refusals::REFUSALS,
    replicas::{LEADERS, MIN_INSYNC},
    retention::{BYTES as RETENTION_BYTES, TIME as RETENTION},
    rights::RIGHTS,
    room::ROOM,
    schemas::SCHEMAS,
    size::{COMPRESSION, SIZE},
    tiered::TIERED,
    timestamps::{BOUNDS, KIND},
    transactions::{OFFSETS_RETENTION, OFFSETS_TOPIC, TIMEOUT, TRANSACTION_LOG},
};

/// What every rule may look at.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The facts.
    pub facts: &'a Facts,
}

impl<'a> Look<'a> {
    /// The plan's answer by hand for a check of a topic.
    pub fn assumed(&self, check: &str, pair: &PairFacts) -> Option<&'a Assume> {
        assumed(self.plan, check, &pair.source.name)
    }
}

/// The plan's answer by hand for a check of a topic.
pub fn assumed<'p>(plan: &'p Plan, check: &str, topic: &str) -> Option<&'p Assume> {
    plan.assume
        .iter()
        .find(|one| one.check == check && one.topics.iter().any(|pattern| pattern.matches(topic)))
}
