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
pub mod race;
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
pub use retention::expires;
pub use schemas::{framed, rows as schema_rows};

use std::cell::OnceCell;

use super::facts::Facts;
use super::verdict::Verdict;
use crate::plan::{Assume, Plan};
use race::CopyTime;

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
pub struct Look<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The facts.
    pub facts: &'a Facts,
    copy_time: OnceCell<Result<CopyTime, String>>,
}

impl<'a> Look<'a> {
    /// A look at these.
    pub fn new(plan: &'a Plan, facts: &'a Facts) -> Self {
        Self { plan, facts, copy_time: OnceCell::new() }
    }

    /// How long the whole copy takes; the error says why nobody knows.
    pub fn copy_time(&self) -> Result<CopyTime, String> {
        self.copy_time.get_or_init(|| race::copy_time(self.plan, self.facts)).clone()
    }
}

/// The plan's answer by hand for a check of a source topic, where `why` something is not known: what `read`
/// makes of its value, or what is wrong with that (`is no number`). The error is the verdict without.
pub fn answered<'p, T>(
    plan: &'p Plan,
    check: &str,
    topic: &str,
    why: String,
    read: impl FnOnce(Option<&str>) -> Result<T, &'static str>,
) -> Result<(T, &'p Assume), Verdict> {
    let for_this = |one: &&Assume| {
        one.check == check && one.topics.iter().any(|pattern| pattern.matches(topic))
    };
    let Some(assume) = plan.assume.iter().find(for_this) else {
        return Err(Verdict::unknown(why));
    };
    match read(assume.value.as_deref()) {
        Ok(value) => Ok((value, assume)),
        Err(wrong) => Err(Verdict::unknown(format!("{why}; and `assume.value` {wrong}"))),
    }
}

/// What a check compares on both sides, with the plan's answer in the place of what is not known.
pub fn both<'p, T: Clone>(
    plan: &'p Plan,
    check: &str,
    topic: &str,
    source: Result<T, String>,
    target: Result<T, String>,
    read: impl FnOnce(Option<&str>) -> Result<T, &'static str>,
) -> Result<(T, T, Option<&'p Assume>), Verdict> {
    let why = match (&source, &target) {
        (Ok(_), Ok(_)) => None,
        (Err(why), Ok(_)) | (Ok(_), Err(why)) => Some(why.clone()),
        (Err(why), Err(and)) => Some(format!("{why}; {and}")),
    };
    let answer = why.map(|why| answered(plan, check, topic, why, read)).transpose()?;
    let or_assumed = |side: Result<T, String>| match (side, &answer) {
        (Err(_), Some((value, _))) => Ok(value.clone()),
        (side, _) => side,
    };
    Ok((or_assumed(source)?, or_assumed(target)?, answer.map(|(_, assume)| assume)))
}
