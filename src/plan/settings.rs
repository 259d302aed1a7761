//! A plan as the rest of onceover sees it: resolved, checked, defaults filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::naming::Naming;
use super::pattern::Pattern;
use super::secret::{Redactor, Secret};
use super::start::Start;
use crate::error::Side;

/// What to move from which cluster to which, and how. Made by [`Plan::load`].
#[derive(Debug, Clone)]
pub struct Plan {
    /// `[a-z0-9-]`, at most 64 characters.
    pub name: String,
    /// The old cluster.
    pub source: ClusterPlan,
    /// The new cluster.
    pub target: ClusterPlan,
    /// Which topics, and what becomes of them.
    pub topics: Topics,
    /// Where the plan's memory is kept on the target.
    pub ledger: LedgerPlan,
    /// How the copying runs.
    pub run: Run,
    /// Failed checks that somebody takes responsibility for.
    pub allow: Vec<Allow>,
    /// Answers by hand where a check can be carried out by nobody.
    pub assume: Vec<Assume>,
    /// How the copy is proved.
    pub reconcile: Reconcile,
    /// How differences are written.
    pub diff: Diff,
    /// Which consumer groups move.
    pub groups: Groups,
    /// Sets of topics that are cut over together.
    pub waves: Vec<Wave>,
    /// How the switch is made.
    pub cutover: Cutover,
    pub(super) redactor: Redactor,
}

/// One of the two clusters.
#[derive(Clone)]
pub struct ClusterPlan {
    /// Addresses, as librdkafka takes them. May have come from `${…}`: never show it unredacted.
    pub bootstrap: String,
    /// Properties of librdkafka, resolved; holds secrets. None that onceover sets itself is among them.
    pub properties: BTreeMap<String, String>,
    /// The cluster's schema registry.
    pub registry: Option<Registry>,
    /// The addresses as they may be shown: as written, `${…}` unresolved.
    pub(super) shown_bootstrap: String,
    /// The properties as they may be shown.
    pub(super) shown: BTreeMap<String, String>,
}

impl fmt::Debug for ClusterPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPlan")
            .field("bootstrap", &self.shown_bootstrap)
            .field("properties", &self.shown)
            .field("registry", &self.registry)
            .finish()
    }
}

/// A schema registry that speaks Confluent's protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// Base address; may hold a password.
    pub url: Secret,
    /// Name for basic authentication.
    pub username: Option<Secret>,
    /// Password for basic authentication.
    pub password: Option<Secret>,
    /// Bearer token.
    pub token: Option<Secret>,
    /// PEM file of the authority that signed its certificate.
    pub ca_location: Option<String>,
    /// The address as it may be shown.
    pub(super) shown_url: String,
}

/// Which topics are moved, and what becomes of them on the target.
#[derive(Debug, Clone)]
pub struct Topics {
    /// Names or patterns; each must match at least one topic.
    pub include: Vec<Pattern>,
    /// Names or patterns that are left out.
    pub exclude: Vec<Pattern>,
    /// Whether missing target topics are made.
    pub create: bool,
    /// Replication factor of topics that are made; `None`: the target's default.
    pub replication_factor: Option<i16>,
    /// The naming rule.
    pub rename: Naming,
    /// Target topics that others write to as well. Empty until that is supported.
    pub shared: Vec<String>,
    /// Where partitions begin, unless an override says otherwise.
    pub start: Start,
    /// Configs that are never copied and never compared.
    pub config_exclude: Vec<String>,
    /// Configs that target topics get whatever the source has.
    pub config_override: BTreeMap<String, String>,
    /// Exceptions; per field the first one that matches and has it decides.
    pub overrides: Vec<TopicOverride>,
}

/// An exception for some topics.
#[derive(Debug, Clone)]
pub struct TopicOverride {
    /// Source topics that it is for.
    pub topics: Vec<Pattern>,
    /// Where their partitions begin.
    pub start: Option<Start>,
    /// Their replication factor.
    pub replication_factor: Option<i16>,
    /// Configs that they get on the target, on top of `topics.config.override`.
    pub config: BTreeMap<String, String>,
}

/// The ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPlan {
    /// Its topic on the target.
    pub topic: String,
    /// Starts the names of group, transactional ids and (by default) ledger.
    pub prefix: String,
    /// Whether it is made when it is missing.
    pub create: bool,
    /// Its replication factor when it is made; `None`: the target's default.
    pub replication_factor: Option<i16>,
}

/// How the copying runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How many lanes a new ledger gets.
    pub lanes: LaneCount,
    /// The longest that a record waits for its commit under load.
    pub commit_interval: Duration,
    /// Bytes of records after which a batch is committed.
    pub commit_bytes: u64,
    /// Commits per second and lane.
    pub max_transactions_per_second: u32,
    /// Bytes per second for the whole plan, reading and writing each; a worker takes its lanes' share.
    pub max_rate: Option<u64>,
    /// Bytes of buffers per process, shared by its lanes.
    pub memory: u64,
    /// Whether source offsets are committed under the target's topic names.
    pub positions: bool,
    /// What to do about records that were gone before they could be read.
    pub on_gap: OnGap,
    /// What to do about a record that cannot be written.
    pub on_error: OnError,
    /// How long an open source transaction below the fence is waited for.
    pub open_transaction_wait: Duration,
}

/// How many lanes a new ledger gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneCount {
    /// [`auto_lanes`](super::auto_lanes) when the ledger is made.
    Auto,
    /// This many; an existing ledger must have as many.
    Fixed(u32),
}

/// What to do about records that were gone before they could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnGap {
    /// Refuse.
    Stop,
    /// Write a `gap` entry and go on.
    Record,
}

/// What to do about a record that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// Stop the pipe.
    Stop,
    /// Put it into `dlq-<topic>`, in the same transaction. No plan with it loads until it is supported.
    DeadLetter,
}

/// A failed check that somebody takes responsibility for.
#[derive(Debug, Clone)]
pub struct Allow {
    /// The check's name.
    pub check: String,
    /// The topics that it may fail for.
    pub topics: Vec<Pattern>,
    /// Why; goes into the ledger.
    pub reason: String,
}

/// An answer by hand, where a check cannot be carried out.
#[derive(Debug, Clone)]
pub struct Assume {
    /// The check's name.
    pub check: String,
    /// The topics that it is about.
    pub topics: Vec<Pattern>,
    /// What the check would have found, where it finds a value.
    pub value: Option<String>,
    /// How that is known; goes into the ledger.
    pub reason: String,
}

/// How the copy is proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconcile {
    /// Bytes of memory; beyond it sorted runs go to disk.
    pub memory: u64,
    /// How often a tail proves what it has copied; `None`: not while tailing.
    pub every: Option<Duration>,
    /// How keys are written into files.
    pub keys: Keys,
    /// The key of the HMAC for hashed keys.
    pub secret: Option<Secret>,
    /// Headers that are left out of the comparison.
    pub ignore_headers: Vec<String>,
}

/// How keys are written into files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// As they are.
    Plain,
    /// As HMAC-SHA-256.
    Hashed,
}

/// How differences are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// Rows of `diff.csv`; the summary has the total.
    pub max_rows: u64,
}

/// Which consumer groups move.
#[derive(Debug, Clone)]
pub struct Groups {
    /// Names or patterns.
    pub include: Vec<Pattern>,
    /// Names or patterns that are left out.
    pub exclude: Vec<Pattern>,
}

/// A set of topics that is cut over together.
#[derive(Debug, Clone)]
pub struct Wave {
    /// `[a-z0-9-]`.
    pub name: String,
    /// Source topics.
    pub topics: Vec<Pattern>,
}

/// How the switch is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cutover {
    /// How long the source's log ends must have stood still.
    pub quiet: Duration,
}

/// Replication-throttle lists name brokers of one cluster: never copied, never compared.
const THROTTLING: [&str; 2] =
    ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];

impl Plan {
    /// The consumer group on the target whose members share the lanes: `onceover-<plan>`.
    pub fn group(&self) -> String {
        format!("{}{}", self.ledger.prefix, self.name)
    }

    /// The transactional id of a lane, for ever: `onceover-<plan>-<lane>`.
    pub fn transactional_id(&self, lane: u32) -> String {
        format!("{}{}-{lane}", self.ledger.prefix, self.name)
    }

    /// The ledger's topic on the target.
    pub fn ledger_topic(&self) -> &str {
        &self.ledger.topic
    }

    /// The cluster of a side.
    pub fn cluster(&self, side: Side) -> &ClusterPlan {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Takes the plan's secrets out of any text that leaves the process.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Where a source topic's partitions begin when the ledger does not know them.
    pub fn start_for(&self, topic: &str) -> Start {
        self.overrides_of(topic).find_map(|over| over.start).unwrap_or(self.topics.start)
    }

    /// The replication factor that a source topic's copy is made with; `None`: the target's default.
    pub fn replication_factor_for(&self, topic: &str) -> Option<i16> {
        self.overrides_of(topic)
            .find_map(|over| over.replication_factor)
            .or(self.topics.replication_factor)
    }

    /// The configs that a source topic's copy is made with, from those explicitly set on the source:
    /// less `exclude` and the throttling lists, plus the overrides.
    pub fn config_for(
        &self,
        topic: &str,
        explicit: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut config: BTreeMap<_, _> = explicit
            .iter()
            .filter(|(name, _)| self.compares_config(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        config.extend(self.topics.config_override.clone());
        let overrides: Vec<_> = self.overrides_of(topic).collect();
        for over in overrides.into_iter().rev() {
            config.extend(over.config.clone());
        }
        config
    }

    /// Whether a topic config is copied and compared at all.
    pub fn compares_config(&self, name: &str) -> bool {
        !THROTTLING.contains(&name) && !self.topics.config_exclude.iter().any(|out| out == name)
    }

    fn overrides_of(&self, topic: &str) -> impl Iterator<Item = &TopicOverride> {
        self.topics
            .overrides
            .iter()
            .filter(move |over| over.topics.iter().any(|pattern| pattern.matches(topic)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan_with;

    #[test]
    fn names_on_the_target_follow_from_prefix_and_name() {
        let plan = plan_with("topics.include = ['a']");
        assert_eq!(plan.group(), "onceover-t");
        assert_eq!(plan.transactional_id(7), "onceover-t-7");
        assert_eq!(plan.ledger_topic(), "onceover-t-ledger");
        let plan = plan_with("topics.include = ['a']\nledger.prefix = 'acme.'");
        assert_eq!(plan.group(), "acme.t");
        assert_eq!(plan.transactional_id(0), "acme.t-0");
        assert_eq!(plan.ledger_topic(), "acme.t-ledger");
    }

    #[test]
    fn the_first_override_that_has_a_field_decides_on_it() {
        let plan = plan_with(
            "[topics]\ninclude = ['a']\nstart = 'latest'\nreplication_factor = 3\n\
             [topics.config]\nexclude = ['x']\noverride = { y = 'base', z = 'base' }\n\
             [[topics.override]]\ntopics = ['a']\nconfig = { y = 'first' }\n\
             [[topics.override]]\ntopics = ['/a|b/']\nstart = 'earliest'\nconfig = { y = 'second' }\n",
        );
        assert_eq!(plan.start_for("a"), Start::Earliest);
        assert_eq!(plan.start_for("c"), Start::Latest);
        assert_eq!(plan.replication_factor_for("a"), Some(3));
        let source = [("x", "1"), ("y", "1"), ("w", "1"), (THROTTLING[0], "1")];
        let source = source.map(|(name, value)| (name.to_string(), value.to_string())).into();
        let config = |topic| plan.config_for(topic, &source).into_iter().collect::<Vec<_>>();
        let pairs = |y: &str| {
            [("w", "1"), ("y", y), ("z", "base")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .to_vec()
        };
        assert_eq!(config("a"), pairs("first"));
        assert_eq!(config("b"), pairs("second"));
        assert_eq!(config("c"), pairs("base"));
    }
}
