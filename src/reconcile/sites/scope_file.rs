//! `scope.json`: what one side has read, exactly enough for the other side to read the same. Holds no key
//! and no secret.

use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::digest::SequenceDigest;
use crate::error::{Error, Result, Side};
use crate::plan::Plan;
use crate::reconcile::keying::Keying;
use crate::reconcile::policy::Policy;
use crate::report::audit::folder::{Folder, SCOPE};
use crate::report::audit::local::local_error;
use crate::report::audit::writer::Written;

/// Version of the file's form, and of what buckets and digests mean.
pub const SCHEMA: u32 = 1;

/// Beginnings of the plan's fields that decide what is compared with what. Addresses, credentials and pace
/// may differ from site to site.
const COMMON: [&str; 5] =
    ["name", "topics.", "ledger.topic", "reconcile.keys", "reconcile.ignore_headers"];

/// Of these, what a topic is created with: the copy's affair.
const COPY_ALONE: [&str; 3] = ["topics.create", "topics.replication_factor", "topics.config."];

/// One side's pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeFile {
    /// [`SCHEMA`].
    pub schema: u32,
    /// onceover's version.
    pub version: String,
    /// Which side was read.
    #[serde(with = "side_word")]
    pub side: Side,
    /// Id of this pass.
    pub pass: String,
    /// The pass that took the ranges from the ledger; `None` without a ledger.
    pub ranges_of: Option<String>,
    /// The plan's name.
    pub plan: String,
    /// The plan's hash.
    pub plan_hash: String,
    /// Hash of those fields that must be the same at both sites.
    pub plan_common: String,
    /// Where keys are hashed, a number that tells two secrets apart; else `None`.
    pub hashed: Option<String>,
    /// Headers left out.
    pub ignored_headers: Vec<String>,
    /// Buckets per partition, besides the one of records without a key.
    pub buckets: u16,
    /// Hash of the `buckets-differing.csv` to which reading was limited.
    pub only: Option<String>,
    /// When offsets were asked for, in milliseconds since 1970.
    pub taken_at: i64,
    /// Cluster id of the source, as read or as bound in the ledger.
    pub source_cluster: Option<String>,
    /// Cluster id of the target.
    pub target_cluster: Option<String>,
    /// By source name.
    pub topics: Vec<ScopeTopic>,
    /// By source topic and partition.
    pub partitions: Vec<ScopePartition>,
}

/// A topic; ids are those of the ledger, or of the cluster that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeTopic {
    /// Name on the source.
    pub source: String,
    /// Name on the target.
    pub target: String,
    /// Its id on the source.
    pub source_id: Option<String>,
    /// Its id on the target.
    pub target_id: Option<String>,
}

impl ScopeTopic {
    /// Its name on one side, and its id there.
    pub fn of(&self, side: Side) -> (&str, Option<&str>) {
        match side {
            Side::Source => (&self.source, self.source_id.as_deref()),
            Side::Target => (&self.target, self.target_id.as_deref()),
        }
    }
}

/// A partition. What is not known to the side that was read is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopePartition {
    /// Name of the source topic.
    pub topic: String,
    /// Number on both sides.
    pub partition: i32,
    /// `cleanup.policy`; of two different ones, the one that claims less.
    #[serde(with = "policy_word")]
    pub policy: Policy,
    /// Whether the target keeps timestamps.
    pub timestamps_kept: bool,
    /// First source offset in scope.
    pub start: Option<i64>,
    /// Source offset at which the scope ends.
    pub position: Option<i64>,
    /// First source offset that is compared: what lies before it is gone on a side that was read.
    pub compared_from: Option<i64>,
    /// First target offset in scope.
    pub target_from: Option<i64>,
    /// Target offset at which the scope ends.
    pub target_to: Option<i64>,
    /// What the ledger counts.
    pub ledger: Option<LedgerCounts>,
    /// What was read on this side.
    pub read: ReadCounts,
}

/// What the ledger says of a partition up to `position`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerCounts {
    /// Records that a transform left out.
    pub filtered: u64,
    /// Source offsets that were gone before they could be copied.
    pub gaps: u64,
    /// Records with timestamp 0, which cannot be kept.
    pub untimed: u64,
    /// Digest of what was copied.
    pub digest: SequenceDigest,
}

/// What was read of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCounts {
    /// Log start offset.
    pub log_start: i64,
    /// Records that are compared.
    pub records: u64,
    /// Those of them whose value is null.
    pub tombstones: u64,
    /// Their digest, in order.
    pub digest: SequenceDigest,
    /// Records that are not, because the other side no longer holds theirs.
    pub expired: u64,
    /// Records that no run names.
    pub foreign: u64,
    /// Aborted copies.
    pub aborted_copies: u64,
}

impl ScopeFile {
    /// Reads one.
    ///
    /// # Errors
    /// It cannot be read, or is none of this version.
    pub fn load(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|error| local_error("read", path, &error))?;
        Self::parse(&text).map_err(|why| {
            Error::usage(format!("`{}` is no scope that can be used: {why}", path.display())).hint(
                "it must be the unchanged `scope.json` of `reconcile --side`, of this version",
            )
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let scope: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let at = |partition: &ScopePartition| (partition.topic.clone(), partition.partition);
        let sorted = scope.partitions.is_sorted_by(|a, b| at(a) < at(b))
            && scope.topics.is_sorted_by(|a, b| a.source < b.source);
        match scope.schema {
            SCHEMA if !sorted => Err("its partitions are not sorted".into()),
            SCHEMA if scope.buckets != super::buckets::BUCKETS => {
                Err(format!("it has {} buckets", scope.buckets))
            }
            SCHEMA => Ok(scope),
            schema => Err(format!("its schema is {schema}, not {SCHEMA}")),
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("numbers and text become JSON");
        json + "\n"
    }

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Folder) -> Result<Written> {
        let mut file = folder.file(SCOPE)?;
        file.write_all(self.text().as_bytes()).map_err(|error| file.told(&error))?;
        file.finish()
    }

    /// Whether this site's plan and secret are those that made it.
    ///
    /// # Errors
    /// The first that is not.
    pub fn made_with(&self, plan: &Plan, keying: &Keying) -> Result<()> {
        if self.plan_common != plan_common(plan) {
            let what = format!("the scope was made with another plan (`{}`)", self.plan);
            return Err(Error::usage(what).hint(
                "name, topics, ledger, `reconcile.keys` and `reconcile.ignore_headers` must be the same at both \
                 sites",
            ));
        }
        if self.hashed != keying.check() {
            return Err(other_secret());
        }
        Ok(())
    }

    /// Its partition.
    pub fn partition(&self, topic: &str, partition: i32) -> Option<&ScopePartition> {
        let at = self
            .partitions
            .binary_search_by(|one| (&*one.topic, one.partition).cmp(&(topic, partition)));
        at.ok().map(|at| &self.partitions[at])
    }
}

/// Keyed digests under different secrets never compare.
pub(super) fn other_secret() -> Error {
    Error::usage("the sides name keys with different secrets")
        .hint("`reconcile.secret` must be the same at both sites; read one side again")
}

/// Hash of what must be the same in both sites' plans.
pub fn plan_common(plan: &Plan) -> String {
    let within = |path: &str, names: &[&str]| names.iter().any(|name| path.starts_with(name));
    let mut text = String::new();
    for field in plan.fields() {
        if within(&field.path, &COMMON) && !within(&field.path, &COPY_ALONE) {
            text += &format!("{}={}\n", field.path, serde_json::Value::from(field.value));
        }
    }
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

mod side_word {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::error::Side;

    pub fn serialize<S: Serializer>(side: &Side, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(side)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Side, D::Error> {
        match String::deserialize(from)?.as_str() {
            "source" => Ok(Side::Source),
            "target" => Ok(Side::Target),
            other => Err(D::Error::custom(format!("`{other}` is no side"))),
        }
    }
}

mod policy_word {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::reconcile::policy::Policy;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(policy.text())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
        Ok(Policy::of(&String::deserialize(from)?))
    }
}

#[cfg(test)]
pub(super) mod tests;
