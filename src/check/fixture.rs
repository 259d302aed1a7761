//! Facts for tests: two healthy clusters, and one topic that is the same on both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::*;
use super::{Finding, judge};
use crate::error::Side;
use crate::plan::Plan;
use crate::plan::tests::plan_with;

/// The time of the facts: 2026-01-01.
pub const NOW: i64 = 1_767_225_600_000;
/// A day in milliseconds.
pub const DAY: i64 = 86_400_000;

/// What Kafka's brokers tell, as far as the rules ask.
pub const BROKER: &[(&str, &str)] = &[
    ("message.max.bytes", "1048588"),
    ("replica.fetch.max.bytes", "1048576"),
    ("log.cleanup.policy", "delete"),
    ("compression.type", "producer"),
    ("log.retention.hours", "168"),
    ("log.retention.bytes", "-1"),
    ("log.message.timestamp.type", "CreateTime"),
    ("log.message.timestamp.before.max.ms", "9223372036854775807"),
    ("log.message.timestamp.after.max.ms", "3600000"),
    ("log.cleaner.delete.retention.ms", "86400000"),
    ("log.cleaner.min.compaction.lag.ms", "0"),
    ("log.cleaner.max.compaction.lag.ms", "9223372036854775807"),
    ("log.segment.bytes", "1073741824"),
    ("log.roll.hours", "168"),
    ("min.insync.replicas", "2"),
    ("default.replication.factor", "3"),
    ("unclean.leader.election.enable", "false"),
    ("transaction.max.timeout.ms", "900000"),
    ("transaction.state.log.replication.factor", "3"),
    ("transaction.state.log.min.isr", "2"),
    ("offsets.topic.replication.factor", "3"),
    ("offsets.retention.minutes", "10080"),
];

/// Topic configs that go with [`BROKER`].
pub const TOPIC: &[(&str, &str)] = &[
    ("cleanup.policy", "delete"),
    ("compression.type", "producer"),
    ("max.message.bytes", "1048588"),
    ("message.timestamp.type", "CreateTime"),
    ("message.timestamp.before.max.ms", "9223372036854775807"),
    ("message.timestamp.after.max.ms", "3600000"),
    ("retention.ms", "604800000"),
    ("retention.bytes", "-1"),
    ("delete.retention.ms", "86400000"),
    ("min.compaction.lag.ms", "0"),
    ("max.compaction.lag.ms", "9223372036854775807"),
    ("segment.bytes", "1073741824"),
    ("segment.ms", "604800000"),
    ("min.insync.replicas", "2"),
    ("unclean.leader.election.enable", "false"),
];

pub fn broker(id: i32, configs: &[(&str, &str)]) -> BrokerFacts {
    let configs = configs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    BrokerFacts { id, configs: Known::Known(configs) }
}

fn cluster(side: Side) -> ClusterFacts {
    let internal = |name| Known::Known(Some(topic(name, 2, 0)));
    ClusterFacts {
        side,
        id: Known::Known(format!("{side}-id")),
        brokers: (1..=3).map(|id| broker(id, BROKER)).collect(),
        version: Known::Known(VersionFacts { major: 4, minor: 1, from: "test".into() }),
        topics: BTreeSet::from(["orders".to_owned()]),
        transaction_log: internal("__transaction_state"),
        offsets_topic: internal("__consumer_offsets"),
        clock_ahead_ms: Known::Known(0),
        disks: Known::Known(vec![DiskFacts { usable: 1 << 40 }]),
        principal: Known::Known("User:onceover".into()),
        rights: vec![read_orders()],
        acls: Known::Known(Acls::NoAuthorizer),
    }
}

fn read_orders() -> RightFacts {
    let resource = Resource { kind: ResourceKind::Topic, name: "orders".into(), prefixed: false };
    let right = Right { resource, operation: Operation::Read };
    RightFacts { right, granted: Known::Known(true) }
}

/// A topic with its records, the oldest a day old.
pub fn topic(name: &str, partitions: i32, records: i64) -> TopicFacts {
    let some = |time: i64| Known::Known((records > 0).then_some(time));
    let partitions = (0..partitions).map(|number| PartitionFacts {
        number,
        leader: Some(1),
        replicas: vec![1, 2, 3],
        isr: vec![1, 2, 3],
        log_start: Known::Known(0),
        log_end: Known::Known(records),
        last_stable: Known::Known(records),
        oldest_ms: some(NOW - DAY),
        newest_ms: some(NOW),
        open_since_ms: Known::Known(None),
    });
    TopicFacts {
        name: name.into(),
        partitions: Known::Known(partitions.collect()),
        configs: Known::Known(BTreeMap::new()),
        sample: Known::Known(Sample::default()),
    }
    .with(TOPIC)
}

impl TopicFacts {
    /// Sets configs that the topic has from its cluster.
    pub fn with(mut self, configs: &[(&str, &str)]) -> Self {
        self.set(configs, SetBy::Default);
        self
    }

    pub fn set(&mut self, configs: &[(&str, &str)], set_by: SetBy) {
        let Known::Known(all) = &mut self.configs else { panic!("no configs") };
        for (name, value) in configs {
            let config = ConfigFacts { value: Some((*value).into()), set_by, sensitive: false };
            all.insert((*name).into(), config);
        }
    }

    pub fn parts(&mut self) -> &mut Vec<PartitionFacts> {
        let Known::Known(parts) = &mut self.partitions else { panic!("no partitions") };
        parts
    }
}

impl PairFacts {
    /// Sets a config explicitly on one side.
    pub fn set(&mut self, side: Side, name: &str, value: &str) {
        self.side(side).set(&[(name, value)], SetBy::Topic);
    }

    pub fn side(&mut self, side: Side) -> &mut TopicFacts {
        match (side, &mut self.target) {
            (Side::Source, _) => &mut self.source,
            (Side::Target, Known::Known(Some(target))) => target,
            (Side::Target, _) => panic!("no target"),
        }
    }
}

/// 1,000 records of 1,000 bytes a partition on the source, an empty topic on the target.
pub fn pair(name: &str, partitions: i32) -> PairFacts {
    let copy = (0..partitions).map(|partition| CopyFacts {
        partition,
        bound: Known::Known(false),
        from: Known::Known(0),
        from_ms: Known::Known(Some(NOW - DAY)),
        bytes: Known::Known(1_000_000),
    });
    PairFacts {
        source: topic(name, partitions, 1_000),
        target_name: Arc::from(name),
        target: Known::Known(Some(topic(name, partitions, 0))),
        create: None,
        copy: copy.collect(),
    }
}

pub fn create(partitions: i32, configs: &[(&str, &str)]) -> CreateFacts {
    CreateFacts {
        partitions,
        replication_factor: None,
        configs: configs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        verdict: Known::Known(Ok(())),
    }
}

/// Two healthy clusters and the topic `orders`.
pub fn facts() -> Facts {
    Facts {
        source: cluster(Side::Source),
        target: cluster(Side::Target),
        pairs: vec![pair("orders", 6)],
        selection_warnings: Vec::new(),
        ledger: LedgerFacts {
            topic: Known::Known(None),
            create: Some(create(9, &[])),
            partitions_needed: 9,
        },
        groups: Known::Known(Vec::new()),
        refusals: Known::Known(None),
        schemas: Known::unknown("the plan names no registries"),
        now_ms: NOW,
        rate: Known::Known(Rate { bytes_per_second: 1e7 }),
    }
}

/// A plan of the topic `orders`, with something added.
pub fn plan(rest: &str) -> Plan {
    plan_with(&format!("topics.include = ['/.*/']\n{rest}"))
}

/// What a check finds under a plan without anything special, the worst first.
pub fn judged(facts: &Facts, check: &str) -> Vec<Finding> {
    judged_with(&plan(""), facts, check)
}

/// What a check finds, the worst first.
pub fn judged_with(plan: &Plan, facts: &Facts, check: &str) -> Vec<Finding> {
    let mut found = judge(plan, facts);
    found.retain(|finding| finding.check == check);
    found.sort_by_key(|finding| finding.severity);
    found
}

/// Makes every fact unknown.
pub fn forget(facts: &mut Facts) {
    fn nothing<T>() -> Known<T> {
        Known::unknown("forgotten")
    }
    for cluster in [&mut facts.source, &mut facts.target] {
        cluster.id = nothing();
        cluster.version = nothing();
        cluster.transaction_log = nothing();
        cluster.offsets_topic = nothing();
        cluster.clock_ahead_ms = nothing();
        cluster.disks = nothing();
        cluster.principal = nothing();
        cluster.acls = nothing();
        cluster.rights.iter_mut().for_each(|right| right.granted = nothing());
        for broker in &mut cluster.brokers {
            broker.configs = nothing();
        }
    }
    for pair in &mut facts.pairs {
        pair.source.partitions = nothing();
        pair.source.configs = nothing();
        pair.source.sample = nothing();
        pair.target = nothing();
        for copy in &mut pair.copy {
            copy.bound = nothing();
            copy.from = nothing();
            copy.from_ms = nothing();
            copy.bytes = nothing();
        }
    }
    facts.ledger.topic = nothing();
    facts.groups = nothing();
    facts.schemas = nothing();
    facts.refusals = nothing();
    facts.rate = nothing();
}
