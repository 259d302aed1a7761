//! Everything that the rules look at, as plain data: no client, no clock, no plan. `gather` fills it in,
//! the rules judge it.
//!
//! What could not be found out is [`Known::Unknown`] with its reason, never a default: a rule that misses
//! a fact says `unknown`, not `pass`. Times are milliseconds since 1970, sizes are bytes.

mod access;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use access::{Acl, Acls, Operation, Resource, ResourceKind, Right, RightFacts};

use crate::error::Side;

/// A fact, or why it is not known: one line for a person, without a full stop (`no Describe right on the
/// cluster`, `the client library has no request for it`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known<T> {
    /// The fact.
    Known(T),
    /// Why it is not known.
    Unknown(String),
}

/// Both clusters and what lies between them.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The old cluster.
    pub source: ClusterFacts,
    /// The new cluster.
    pub target: ClusterFacts,
    /// The plan's topics, by their names on the source.
    pub pairs: Vec<PairFacts>,
    /// What the selection of topics found worth saying (`plan::Selection::warnings`).
    pub selection_warnings: Vec<String>,
    /// The plan's ledger on the target.
    pub ledger: LedgerFacts,
    /// Consumer groups of the source, those that the plan excludes left out.
    pub groups: Known<Vec<GroupFacts>>,
    /// Per schema id that the samples hold: what both registries say. Unknown where the plan names no
    /// registries or one does not answer at all.
    pub schemas: Known<BTreeMap<i32, SchemaFacts>>,
    /// What a run would be refused for (design, section 6), several in one; `None`: nothing.
    pub refusals: Known<Option<RefusalFacts>>,
    /// When the facts were gathered, by this machine's clock.
    pub now_ms: i64,
    /// How fast the copy will go.
    pub rate: Known<Rate>,
}

/// One cluster.
#[derive(Debug, Clone)]
pub struct ClusterFacts {
    /// Which one it is in the plan.
    pub side: Side,
    /// Its cluster id.
    pub id: Known<String>,
    /// The brokers that are alive: those that the metadata lists.
    pub brokers: Vec<BrokerFacts>,
    /// The oldest version that its brokers may have.
    pub version: Known<VersionFacts>,
    /// Names of all topics that we may see there.
    pub topics: BTreeSet<String>,
    /// `__transaction_state`; `None`: not made yet. Asked on the target alone.
    pub transaction_log: Known<Option<TopicFacts>>,
    /// `__consumer_offsets`; `None`: not made yet. Asked on the target alone.
    pub offsets_topic: Known<Option<TopicFacts>>,
    /// The cluster's clock less ours.
    pub clock_ahead_ms: Known<i64>,
    /// Room on the brokers' disks.
    pub disks: Known<Vec<DiskFacts>>,
    /// Who we are there, as ACLs write it (`User:onceover`).
    pub principal: Known<String>,
    /// What we need there (`rights::needed`), and whether we have it.
    pub rights: Vec<RightFacts>,
    /// All ACLs.
    pub acls: Known<Acls>,
}

/// A broker that is alive.
#[derive(Debug, Clone)]
pub struct BrokerFacts {
    /// `node.id`.
    pub id: i32,
    /// Its configs in effect by name, those without a value left out (`message.max.bytes`, `log.*`,
    /// `transaction.*`, `offsets.*`, …).
    pub configs: Known<BTreeMap<String, String>>,
}

/// A version of Kafka, at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFacts {
    /// `4` of 4.1.
    pub major: u32,
    /// `1` of 4.1.
    pub minor: u32,
    /// Where that is known from (``feature `metadata.version` ``, `` `inter.broker.protocol.version` ``).
    pub from: String,
}

/// Disks of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFacts {
    /// Bytes that may still be written.
    pub usable: u64,
}

/// A topic as one cluster shows it.
#[derive(Debug, Clone)]
pub struct TopicFacts {
    /// Its name there.
    pub name: Arc<str>,
    /// Its partitions, by number.
    pub partitions: Known<Vec<PartitionFacts>>,
    /// Its configs in effect, by name; all that the broker tells, the inherited ones too.
    pub configs: Known<BTreeMap<String, ConfigFacts>>,
    /// What a look at some of its records found. Asked on the source alone.
    pub sample: Known<Sample>,
}

/// A partition as one cluster shows it.
#[derive(Debug, Clone)]
pub struct PartitionFacts {
    /// Its number.
    pub number: i32,
    /// Who leads it; `None`: nobody.
    pub leader: Option<i32>,
    /// Brokers that should hold it.
    pub replicas: Vec<i32>,
    /// Brokers that hold all of it.
    pub isr: Vec<i32>,
    /// Log start offset.
    pub log_start: Known<i64>,
    /// High watermark (`read_uncommitted`).
    pub log_end: Known<i64>,
    /// Last stable offset.
    pub last_stable: Known<i64>,
    /// Timestamp of the first record at or after the log start; `None`: there is none.
    pub oldest_ms: Known<Option<i64>>,
    /// Largest timestamp; `None`: there is no record.
    pub newest_ms: Known<Option<i64>>,
    /// Timestamp of the first record at or after the last stable offset, where that is below the high
    /// watermark: roughly when the transaction that holds it back was begun.
    pub open_since_ms: Known<Option<i64>>,
}

/// A config of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFacts {
    /// Value in effect; `None`: hidden or unset.
    pub value: Option<String>,
    /// Who set it.
    pub set_by: SetBy,
    /// The broker hides its value.
    pub sensitive: bool,
}

/// Who set a config (`ConfigSource` of the protocol).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// The topic itself: explicitly.
    Topic,
    /// The cluster: dynamically or in a broker's file.
    Cluster,
    /// Nobody: Kafka's default.
    Default,
}

/// What a look at some records of a topic found; made by `sample::Sampler`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// Records seen.
    pub records: u64,
    /// Bytes of their keys, values and headers.
    pub bytes: u64,
    /// The largest of them.
    pub largest: u64,
    /// Records with a key that is not empty.
    pub keyed: u64,
    /// … that lie where Java's murmur2 partitioner puts them.
    pub murmur2: u64,
    /// … that lie where librdkafka's CRC32 partitioner puts them.
    pub crc32: u64,
    /// Different keys among them.
    pub keys: u64,
    /// Keys that lie in more than one partition.
    pub scattered_keys: u64,
    /// One of these: its partitions (the key itself is nobody's business).
    pub scattered_in: Vec<i32>,
    /// Records whose key may begin with a schema id (a 0 byte and four bytes), by id.
    pub key_schemas: BTreeMap<i32, u64>,
    /// Records whose value may begin with a schema id, by id.
    pub value_schemas: BTreeMap<i32, u64>,
    /// Records with a value.
    pub values: u64,
}

/// A topic of the plan on both sides.
#[derive(Debug, Clone)]
pub struct PairFacts {
    /// On the source.
    pub source: TopicFacts,
    /// Its name on the target.
    pub target_name: Arc<str>,
    /// On the target; `None`: it is not there.
    pub target: Known<Option<TopicFacts>>,
    /// What would be created, where the target lacks it and `topics.create` is true.
    pub create: Option<CreateFacts>,
    /// Where copying will go on, by partition.
    pub copy: Vec<CopyFacts>,
}

/// Where the copy of a partition will go on.
#[derive(Debug, Clone)]
pub struct CopyFacts {
    /// Its number.
    pub partition: i32,
    /// The ledger knows it: what the target holds is ours.
    pub bound: Known<bool>,
    /// First source offset that is not copied: the ledger's position, else the plan's start.
    pub from: Known<i64>,
    /// Timestamp of the record there; `None`: there is none.
    pub from_ms: Known<Option<i64>>,
    /// Size of what is not copied, uncompressed; an estimate (average of the sample times offsets).
    pub bytes: Known<u64>,
}

/// A topic that would be created.
#[derive(Debug, Clone)]
pub struct CreateFacts {
    /// How many partitions.
    pub partitions: i32,
    /// Replicas of each; `None`: the target's default.
    pub replication_factor: Option<i32>,
    /// Configs, by name.
    pub configs: BTreeMap<String, String>,
    /// What the target says to it (`validate_only`); the error is the broker's text.
    pub verdict: Known<Result<(), String>>,
}

/// The plan's ledger.
#[derive(Debug, Clone)]
pub struct LedgerFacts {
    /// The topic on the target; `None`: not there.
    pub topic: Known<Option<TopicFacts>>,
    /// What would be created, where it is not there and `ledger.create` is true.
    pub create: Option<CreateFacts>,
    /// Partitions that it needs: its lanes and one.
    pub partitions_needed: u32,
}

/// What a run would be refused for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalFacts {
    /// The refusal's stable word.
    pub word: String,
    /// What happened.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A consumer group of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFacts {
    /// Its id.
    pub name: String,
    /// Its state, as the coordinator writes it (`Stable`, `Empty`, `Dead`, …).
    pub state: Known<String>,
    /// How many members.
    pub members: Known<usize>,
    /// Topics of the plan that it has committed offsets for.
    pub topics: Known<BTreeSet<Arc<str>>>,
}

/// A schema id, and what both registries say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFacts {
    /// On the source's registry; `None`: it has no such id.
    pub source: Known<Option<Schema>>,
    /// On the target's registry; `None`: it has no such id.
    pub target: Known<Option<Schema>>,
}

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// `AVRO`, `JSON`, `PROTOBUF`.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// What it refers to: `name subject version`.
    pub references: Vec<String>,
}

/// How fast the copy will go: as the user expects, else as the sample was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Bytes of records per second, all partitions together.
    pub bytes_per_second: f64,
}

impl<T> Known<T> {
    /// The fact, or the reason why there is none.
    pub fn get(&self) -> Result<&T, &str> {
        match self {
            Self::Known(fact) => Ok(fact),
            Self::Unknown(why) => Err(why),
        }
    }

    /// The fact, or what is not known (`source partitions`) and why.
    pub fn told(&self, what: &str) -> Result<&T, String> {
        self.get().map_err(|why| format!("{what}: {why}"))
    }

    /// The fact, if there is one.
    pub fn ok(&self) -> Option<&T> {
        self.get().ok()
    }

    /// Another fact that follows from it.
    pub fn map<U>(self, follows: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Self::Known(fact) => Known::Known(follows(fact)),
            Self::Unknown(why) => Known::Unknown(why),
        }
    }

    /// Not known, because of this.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Known<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(fact) => Self::Known(fact),
            Err(why) => Self::Unknown(why.to_string()),
        }
    }
}
