//! The catalogue: every check with its name, what it does, and what to do about it.
//! `docs/checks.md` says why there is each, and a test holds the two together.

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
        hint: "check `source.bootstrap` and `target.bootstrap`",
        rules: &[rules::SAME_CLUSTER],
    },
    Check {
        name: names::BROKER_VERSION,
        hint: "see docs/checks.md for what is missing; upgrade the brokers where it matters",
        rules: &[rules::VERSIONS],
    },
    Check {
        name: names::RIGHTS,
        hint: "grant it, or `onceover check PLAN --print-resources sh` prints the commands for all",
        rules: &[rules::RIGHTS],
    },
    Check {
        name: names::CLOCKS,
        hint: "let NTP set the clocks of brokers and of this machine",
        rules: &[rules::CLOCKS],
    },
    Check {
        name: names::DISK_ROOM,
        hint: "look at the target's disks; `compression.type` in `[target.properties]` makes the copy smaller",
        rules: &[rules::ROOM],
    },
    Check {
        name: names::TRANSACTION_TIMEOUT,
        hint: "raise `transaction.max.timeout.ms` on the target's brokers to 60000 or more",
        rules: &[rules::TIMEOUT],
    },
    Check {
        name: names::TRANSACTION_LOG,
        hint: "set `transaction.state.log.replication.factor` and `transaction.state.log.min.isr` on the \
               target's brokers to what they can keep; a topic that exists is changed by itself",
        rules: &[rules::TRANSACTION_LOG],
    },
    Check {
        name: names::OFFSETS_TOPIC,
        hint: "set `offsets.topic.replication.factor` on the target's brokers to what they can keep; a \
               topic that exists is changed by itself",
        rules: &[rules::OFFSETS_TOPIC],
    },
    Check {
        name: names::OFFSETS_RETENTION,
        hint: "raise `offsets.retention.minutes` on the target's brokers until all groups have moved",
        rules: &[rules::OFFSETS_RETENTION],
    },
    Check {
        name: names::LEDGER_TOPIC,
        hint: "set the ledger's topic up as docs/plan.md says",
        rules: &[rules::LEDGER],
    },
    Check {
        name: names::SELECTION,
        hint: "correct the plan, or leave the entry out",
        rules: &[rules::SELECTION],
    },
    Check {
        name: names::MISSING_TOPIC,
        hint: "create it first (`--print-resources` prints how), or set `topics.create = true`",
        rules: &[rules::MISSING],
    },
    Check {
        name: names::CREATE_TOPIC,
        hint: "leave a config out with `topics.config.exclude`, change it with `topics.config.override`, \
               or set `topics.replication_factor`",
        rules: &[rules::CREATE],
    },
    Check {
        name: names::NAME_COLLISION,
        hint: "give each a name of its own in `topics.rename`",
        rules: &[rules::COLLISION],
    },
    Check {
        name: names::RESERVED_NAME,
        hint: "leave it out with `topics.exclude`, unless you know that its owner expects the copy",
        rules: &[rules::RESERVED],
    },
    Check {
        name: names::PARTITIONS,
        hint: "partition counts must be equal; where nobody can tell, `[[assume]]` answers by hand",
        rules: &[rules::PARTITIONS],
    },
    Check {
        name: names::CLEANUP_POLICY,
        hint: "set the target topic's `cleanup.policy` to the source's; where nobody can tell, `[[assume]]` \
               answers by hand",
        rules: &[rules::POLICY],
    },
    Check {
        name: names::TARGET_EMPTY,
        hint: "copy into another topic with `topics.rename`, or empty this one if nobody needs what it \
               holds; where nobody can tell, `[[assume]]` answers by hand",
        rules: &[rules::EMPTY],
    },
    Check {
        name: names::LEADERS,
        hint: "bring the brokers back that hold its replicas",
        rules: &[rules::LEADERS],
    },
    Check {
        name: names::MIN_INSYNC,
        hint: "lower `min.insync.replicas` on the target's topic, or give it more replicas \
               (`topics.replication_factor` where it is created)",
        rules: &[rules::MIN_INSYNC],
    },
    Check {
        name: names::MESSAGE_SIZE,
        hint: "raise `max.message.bytes` on the target's topic to the source's; `compression.type` in \
               `[target.properties]` makes batches smaller",
        rules: &[rules::SIZE],
    },
    Check {
        name: names::COMPRESSION,
        hint: "set `compression.type` in `[target.properties]`, or on the target's topic",
        rules: &[rules::COMPRESSION],
    },
    Check {
        name: names::TIMESTAMP_TYPE,
        hint: "set `message.timestamp.type=CreateTime` on the target's topic, at least while it is copied \
               to; or allow it for topics whose times nobody needs",
        rules: &[rules::KIND],
    },
    Check {
        name: names::TIMESTAMP_BOUNDS,
        hint: "lift the bound on the target's topic until the copy is done, for example \
               `topics.config.override = { \"message.timestamp.before.max.ms\" = \"9223372036854775807\" }`",
        rules: &[rules::BOUNDS],
    },
    Check {
        name: names::RETENTION,
        hint: "raise `retention.ms` on the target's topic to the source's (`topics.config.override` where it is \
               created), at least until the cutover",
        rules: &[rules::RETENTION],
    },
    Check {
        name: names::RETENTION_BYTES,
        hint: "raise `retention.bytes` on the target's topic; uncompressed copies are larger than what the \
               source's disk shows",
        rules: &[rules::RETENTION_BYTES],
    },
    Check {
        name: names::RETENTION_RACE,
        hint: "raise the source topic's retention until the copy is done, make the copy faster (more \
               workers, `run.max_rate`), or accept gaps with `run.on_gap = \"record\"`; `--rate` gives the rate",
        rules: &[rules::RACE],
    },
    Check {
        name: names::DELETE_RETENTION,
        hint: "raise `delete.retention.ms` on the source's topic before the copy; `--rate` gives the rate",
        rules: &[rules::DELETE_RETENTION],
    },
    Check {
        name: names::COMPACTION_LAG,
        hint: "set it on the target's topic if somebody relies on it",
        rules: &[rules::LAG],
    },
    Check {
        name: names::SEGMENTS,
        hint: "set it on the target's topic if its size or age matters",
        rules: &[rules::SEGMENTS],
    },
    Check {
        name: names::TIERED_STORAGE,
        hint: "enable it on the target's topic, or see that its disks have the room",
        rules: &[rules::TIERED],
    },
    Check {
        name: names::CONFIGS,
        hint: "set it on the target's topic, or leave it out with `topics.config.exclude`",
        rules: &[rules::EXPLICIT],
    },
    Check {
        name: names::DEFAULTS,
        hint: "set what matters on the target's topic, or in `topics.config.override`",
        rules: &[rules::DEFAULTS],
    },
    Check {
        name: names::KEY_PARTITIONER,
        hint: "let the producers keep their `partitioner` (librdkafka: `murmur2_random` for Java's, \
               `consistent_random` for its own default) when they move",
        rules: &[rules::PARTITIONER],
    },
    Check {
        name: names::KEY_SPREAD,
        hint: "several kinds of producers, or a partition count that was raised: find out before the \
               cutover is blamed for it",
        rules: &[rules::SCATTERED],
    },
    Check {
        name: names::SCHEMA_IDS,
        hint: "import the schemas with their ids (the registry's IMPORT mode), or point the consumers at the \
               old registry; `[source.registry]` and `[target.registry]` let it be checked",
        rules: &[rules::SCHEMAS],
    },
    Check {
        name: names::OPEN_TRANSACTIONS,
        hint: "end the transaction, or raise `run.open_transaction_wait`",
        rules: &[rules::OPEN],
    },
    Check {
        name: names::ACLS,
        hint: "grant it on the target: `onceover check PLAN --print-resources sh` prints the commands, \
               `--out DIR` writes acls.csv",
        rules: &[rules::ACLS_OF_TOPICS, rules::ACLS_OF_GROUPS],
    },
    Check {
        name: names::GROUPS,
        hint: "wait until the group is stable, or stop its members",
        rules: &[rules::GROUPS],
    },
    Check {
        name: names::REFUSALS,
        hint: "see docs/runbook.md for the refusal of this name",
        rules: &[rules::REFUSALS],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_checks_that_must_know_exist() {
        let names: BTreeSet<_> = CATALOGUE.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CATALOGUE.len());
        assert!(ASSUMABLE.iter().all(|name| names.contains(name)));
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
