//! The catalogue: every check with its name, why there is one, and what to do about it.
//! `docs/checks.md` says more of each, and a test holds the two together.

use super::facts::PairFacts;
use super::rules::{self, Look};
use super::verdict::Verdicts;

/// What a rule looks at.
#[derive(Clone, Copy)]
pub enum Rule {
    /// A topic on both sides.
    Pair(fn(&Look<'_>, &PairFacts) -> Verdicts),
    /// Everything.
    Whole(fn(&Look<'_>) -> Verdicts),
}

/// A check.
pub struct Check {
    /// Its stable name, as the plan and `--json` have it.
    pub name: &'static str,
    /// What it is there for, in one line.
    pub why: &'static str,
    /// What to do, where a verdict has nothing better.
    pub hint: &'static str,
    /// What it does.
    pub rules: &'static [Rule],
}

/// Names of all checks, as constants that cannot be misspelt.
pub mod names {
    pub const SAME_CLUSTER: &str = "same-cluster";
    pub const BROKER_VERSION: &str = "broker-version";
    pub const RIGHTS: &str = "rights";
    pub const CLOCKS: &str = "clocks";
    pub const DISK_ROOM: &str = "disk-room";
    pub const TRANSACTION_TIMEOUT: &str = "transaction-timeout";
    pub const TRANSACTION_LOG: &str = "transaction-log";
    pub const OFFSETS_TOPIC: &str = "offsets-topic";
    pub const OFFSETS_RETENTION: &str = "offsets-retention";
    pub const LEDGER_TOPIC: &str = "ledger-topic";
    pub const SELECTION: &str = "selection";
    pub const MISSING_TOPIC: &str = "missing-topic";
    pub const CREATE_TOPIC: &str = "create-topic";
    pub const NAME_COLLISION: &str = "name-collision";
    pub const RESERVED_NAME: &str = "reserved-name";
    pub const PARTITIONS: &str = "partitions";
    pub const CLEANUP_POLICY: &str = "cleanup-policy";
    pub const TARGET_EMPTY: &str = "target-empty";
    pub const LEADERS: &str = "leaders";
    pub const MIN_INSYNC: &str = "min-insync";
    pub const MESSAGE_SIZE: &str = "message-size";
    pub const COMPRESSION: &str = "compression";
    pub const TIMESTAMP_TYPE: &str = "timestamp-type";
    pub const TIMESTAMP_BOUNDS: &str = "timestamp-bounds";
    pub const RETENTION: &str = "retention";
    pub const RETENTION_BYTES: &str = "retention-bytes";
    pub const RETENTION_RACE: &str = "retention-race";
    pub const DELETE_RETENTION: &str = "delete-retention";
    pub const COMPACTION_LAG: &str = "compaction-lag";
    pub const SEGMENTS: &str = "segments";
    pub const TIERED_STORAGE: &str = "tiered-storage";
    pub const CONFIGS: &str = "configs";
    pub const DEFAULTS: &str = "defaults";
    pub const KEY_PARTITIONER: &str = "key-partitioner";
    pub const KEY_SPREAD: &str = "key-spread";
    pub const SCHEMA_IDS: &str = "schema-ids";
    pub const OPEN_TRANSACTIONS: &str = "open-transactions";
    pub const ACLS: &str = "acls";
    pub const GROUPS: &str = "groups";
    pub const REFUSALS: &str = "refusals";
}

/// Checks that must know: where they are `unknown`, a run refuses, and `[[assume]]` can answer by hand.
pub const ASSUMABLE: [&str; 3] = [names::PARTITIONS, names::CLEANUP_POLICY, names::TARGET_EMPTY];

/// All checks, in the order in which they are told.
pub static CATALOGUE: &[Check] = &[
    Check {
        name: names::SAME_CLUSTER,
        why: "a cluster that is copied onto itself grows until it is full",
        hint: "check `source.bootstrap` and `target.bootstrap`",
        rules: &[rules::SAME_CLUSTER],
    },
    Check {
        name: names::BROKER_VERSION,
        why: "older brokers lack what safety rests on",
        hint: "see docs/checks.md for what is missing; upgrade the brokers where it matters",
        rules: &[rules::VERSIONS],
    },
    Check {
        name: names::RIGHTS,
        why: "a right that is missing ends a run in its middle",
        hint: "grant it, or `onceover check PLAN --print-resources sh` prints the commands for all",
        rules: &[rules::RIGHTS],
    },
    Check {
        name: names::CLOCKS,
        why: "retention and timestamps are judged by several clocks",
        hint: "let NTP set the clocks of brokers and of this machine",
        rules: &[rules::CLOCKS],
    },
    Check {
        name: names::DISK_ROOM,
        why: "a full disk takes the target's brokers down, not only the copy",
        hint: "look at the target's disks; `compression.type` in `[target.properties]` makes the copy smaller",
        rules: &[rules::ROOM],
    },
    Check {
        name: names::TRANSACTION_TIMEOUT,
        why: "a broker refuses producers whose time-out is longer than it allows",
        hint: "raise `transaction.max.timeout.ms` on the target's brokers to 60000 or more",
        rules: &[rules::TIMEOUT],
    },
    Check {
        name: names::TRANSACTION_LOG,
        why: "no transaction can be begun or committed without `__transaction_state`",
        hint: "set `transaction.state.log.replication.factor` and `transaction.state.log.min.isr` on the \
               target's brokers to what they can keep; a topic that exists is changed by itself",
        rules: &[rules::TRANSACTION_LOG],
    },
    Check {
        name: names::OFFSETS_TOPIC,
        why: "workers share the lanes through a group, and groups live in `__consumer_offsets`",
        hint: "set `offsets.topic.replication.factor` on the target's brokers to what they can keep; a \
               topic that exists is changed by itself",
        rules: &[rules::OFFSETS_TOPIC],
    },
    Check {
        name: names::OFFSETS_RETENTION,
        why: "offsets of a group without members expire, and its consumers begin anew or at the end",
        hint: "raise `offsets.retention.minutes` on the target's brokers until all groups have moved",
        rules: &[rules::OFFSETS_RETENTION],
    },
    Check {
        name: names::LEDGER_TOPIC,
        why: "the ledger is the migration's memory: it must neither forget nor refuse a write",
        hint: "set the ledger's topic up as docs/plan.md says",
        rules: &[rules::LEDGER],
    },
    Check {
        name: names::SELECTION,
        why: "a pattern that matches nothing is usually misspelt",
        hint: "correct the plan, or leave the entry out",
        rules: &[rules::SELECTION],
    },
    Check {
        name: names::MISSING_TOPIC,
        why: "records need a topic to go to",
        hint: "create it first (`--print-resources` prints how), or set `topics.create = true`",
        rules: &[rules::MISSING],
    },
    Check {
        name: names::CREATE_TOPIC,
        why: "services refuse configs that the source had, and a run would fail after it has begun",
        hint: "leave a config out with `topics.config.exclude`, change it with `topics.config.override`, \
               or set `topics.replication_factor`",
        rules: &[rules::CREATE],
    },
    Check {
        name: names::NAME_COLLISION,
        why: "two topics cannot share a name, nor names that differ only in `.` and `_`",
        hint: "give each a name of its own in `topics.rename`",
        rules: &[rules::COLLISION],
    },
    Check {
        name: names::RESERVED_NAME,
        why: "other tools keep their state in topics, for one cluster",
        hint: "leave it out with `topics.exclude`, unless you know that its owner expects the copy",
        rules: &[rules::RESERVED],
    },
    Check {
        name: names::PARTITIONS,
        why: "with another count keys change their partition and lose their order",
        hint: "partition counts must be equal; where nobody can tell, `[[assume]]` answers by hand",
        rules: &[rules::PARTITIONS],
    },
    Check {
        name: names::CLEANUP_POLICY,
        why: "compaction removes records that a deleting topic keeps, and the other way round",
        hint: "set the target topic's `cleanup.policy` to the source's; where nobody can tell, `[[assume]]` \
               answers by hand",
        rules: &[rules::POLICY],
    },
    Check {
        name: names::TARGET_EMPTY,
        why: "records of others in a target topic can never be told from lost or doubled copies",
        hint: "copy into another topic with `topics.rename`, or empty this one if nobody needs what it \
               holds; where nobody can tell, `[[assume]]` answers by hand",
        rules: &[rules::EMPTY],
    },
    Check {
        name: names::LEADERS,
        why: "a partition without a leader can be neither read nor written",
        hint: "bring the brokers back that hold its replicas",
        rules: &[rules::LEADERS],
    },
    Check {
        name: names::MIN_INSYNC,
        why: "with more in-sync replicas wanted than there are, every write is refused",
        hint: "lower `min.insync.replicas` on the target's topic, or give it more replicas \
               (`topics.replication_factor` where it is created)",
        rules: &[rules::MIN_INSYNC],
    },
    Check {
        name: names::MESSAGE_SIZE,
        why: "one record that is too large stops its lane in the middle of the night",
        hint: "raise `max.message.bytes` on the target's topic to the source's; `compression.type` in \
               `[target.properties]` makes batches smaller",
        rules: &[rules::SIZE],
    },
    Check {
        name: names::COMPRESSION,
        why: "a compressed source that arrives uncompressed takes several times its room",
        hint: "set `compression.type` in `[target.properties]`, or on the target's topic",
        rules: &[rules::COMPRESSION],
    },
    Check {
        name: names::TIMESTAMP_TYPE,
        why: "with `LogAppendTime` the target overwrites every timestamp with the time of the copy",
        hint: "set `message.timestamp.type=CreateTime` on the target's topic, at least while it is copied \
               to; or allow it for topics whose times nobody needs",
        rules: &[rules::KIND],
    },
    Check {
        name: names::TIMESTAMP_BOUNDS,
        why: "brokers refuse records that are older or newer than their bounds, and old data is old",
        hint: "lift the bound on the target's topic until the copy is done, for example \
               `topics.config.override = { \"message.timestamp.before.max.ms\" = \"9223372036854775807\" }`",
        rules: &[rules::BOUNDS],
    },
    Check {
        name: names::RETENTION,
        why: "retention goes by the records' own timestamps: a shorter one deletes old copies at once",
        hint: "raise `retention.ms` on the target's topic to the source's (`topics.config.override` where it is \
               created), at least until the cutover",
        rules: &[rules::RETENTION],
    },
    Check {
        name: names::RETENTION_BYTES,
        why: "a partition above `retention.bytes` loses its oldest records while the newest arrive",
        hint: "raise `retention.bytes` on the target's topic; uncompressed copies are larger than what the \
               source's disk shows",
        rules: &[rules::RETENTION_BYTES],
    },
    Check {
        name: names::RETENTION_RACE,
        why: "what the source deletes before the copy reaches it is lost",
        hint: "raise the source topic's retention until the copy is done, make the copy faster (more \
               workers, `run.max_rate`), or accept gaps with `run.on_gap = \"record\"`; `--rate` gives the rate",
        rules: &[rules::RACE],
    },
    Check {
        name: names::DELETE_RETENTION,
        why: "a deletion that expires before it is copied leaves its key on the target for ever",
        hint: "raise `delete.retention.ms` on the source's topic before the copy; `--rate` gives the rate",
        rules: &[rules::DELETE_RETENTION],
    },
    Check {
        name: names::COMPACTION_LAG,
        why: "consumers that rely on a lag see fewer versions of a key without it",
        hint: "set it on the target's topic if somebody relies on it",
        rules: &[rules::LAG],
    },
    Check {
        name: names::SEGMENTS,
        why: "retention and compaction work on whole segments",
        hint: "set it on the target's topic if its size or age matters",
        rules: &[rules::SEGMENTS],
    },
    Check {
        name: names::TIERED_STORAGE,
        why: "what lay in a cheap tier must fit on the target's disks",
        hint: "enable it on the target's topic, or see that its disks have the room",
        rules: &[rules::TIERED],
    },
    Check {
        name: names::CONFIGS,
        why: "a config that somebody has set has a reason",
        hint: "set it on the target's topic, or leave it out with `topics.config.exclude`",
        rules: &[rules::EXPLICIT],
    },
    Check {
        name: names::DEFAULTS,
        why: "a topic that sets nothing changes its ways with its cluster",
        hint: "set what matters on the target's topic, or in `topics.config.override`",
        rules: &[rules::DEFAULTS],
    },
    Check {
        name: names::KEY_PARTITIONER,
        why: "producers that change their client library put keys into other partitions, and order is lost",
        hint: "let the producers keep their `partitioner` (librdkafka: `murmur2_random` for Java's, \
               `consistent_random` for its own default) when they move",
        rules: &[rules::PARTITIONER],
    },
    Check {
        name: names::KEY_SPREAD,
        why: "a key in several partitions has no order as a whole, before the migration and after",
        hint: "several kinds of producers, or a partition count that was raised: find out before the \
               cutover is blamed for it",
        rules: &[rules::SCATTERED],
    },
    Check {
        name: names::SCHEMA_IDS,
        why: "an id that means another schema on the target kills every consumer after a perfect copy",
        hint: "import the schemas with their ids (the registry's IMPORT mode), or point the consumers at the \
               old registry; `[source.registry]` and `[target.registry]` let it be checked",
        rules: &[rules::SCHEMAS],
    },
    Check {
        name: names::OPEN_TRANSACTIONS,
        why: "an open transaction keeps all that lies behind it from being read",
        hint: "end the transaction, or raise `run.open_transaction_wait`",
        rules: &[rules::OPEN],
    },
    Check {
        name: names::ACLS,
        why: "producers and consumers that may not do on the target what they did on the source fail at the \
              cutover",
        hint: "grant it on the target: `onceover check PLAN --print-resources sh` prints the commands, \
               `--out DIR` writes acls.csv",
        rules: &[rules::ACLS_OF_TOPICS, rules::ACLS_OF_GROUPS],
    },
    Check {
        name: names::GROUPS,
        why: "who reads the topics must move too",
        hint: "wait until the group is stable, or stop its members",
        rules: &[rules::GROUPS],
    },
    Check {
        name: names::REFUSALS,
        why: "what a run would be refused for is better known before the window than in it",
        hint: "see docs/runbook.md for the refusal of this name",
        rules: &[rules::REFUSALS],
    },
];

/// The check of a name.
pub fn check(name: &str) -> Option<&'static Check> {
    CATALOGUE.iter().find(|check| check.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_checks_that_must_know_exist() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        assert!(ASSUMABLE.iter().all(|name| check(name).is_some()));
    }

    #[test]
    fn the_docs_have_a_section_for_each_check_and_for_nothing_else() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checks.md");
        let docs = std::fs::read_to_string(path).unwrap();
        let sections =
            docs.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
        let sections: Vec<_> = sections.collect();
        let names: Vec<_> = CATALOGUE.iter().map(|check| check.name).collect();
        assert_eq!(sections, names);
    }
}
