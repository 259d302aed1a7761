//! Each check of a topic pair fails on a pair that was made to differ, and passes on one that is equal.

use onceover::check::Severity::{Fail, Info, Pass, Warn};
use onceover::check::names;

use super::checked_between_the_shared;
use crate::brokers::{Error, Record, shared};

const DAY: i64 = 86_400_000;

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_millis()).expect("a time")
}

/// What the two topics of a pair are made with: source, then target.
type Configs<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);

#[test]
fn pairs_that_differ_fail_by_name_and_equal_ones_pass() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    let pairs: [(&str, Configs<'_>); 8] = [
        ("check-pair-equal", (&[], &[])),
        ("check-pair-policy", (&[("cleanup.policy", "compact")], &[])),
        ("check-pair-size", (&[], &[("max.message.bytes", "1000")])),
        ("check-pair-time", (&[], &[("message.timestamp.type", "LogAppendTime")])),
        ("check-pair-bounds", (&[], &[("message.timestamp.before.max.ms", "3600000")])),
        ("check-pair-retention", (&[], &[("retention.ms", "3600000")])),
        ("check-pair-insync", (&[], &[("min.insync.replicas", "2")])),
        ("check-pair-config", (&[("segment.bytes", "2000000")], &[("flush.messages", "7")])),
    ];
    for (name, (of_source, of_target)) in pairs {
        source.create_topic(name, 1, of_source)?;
        target.create_topic(name, 1, of_target)?;
        let old = |key: &str| Record::in_partition(0).key(key).value("v").at(now() - 30 * DAY);
        source.produce(name, &[old("a"), old("b")])?;
    }
    source.create_topic("check-pair-count", 3, &[])?;
    target.create_topic("check-pair-count", 2, &[])?;
    source.create_topic("check-pair-full", 1, &[])?;
    target.create_topic("check-pair-full", 1, &[])?;
    target.produce("check-pair-full", &[Record::in_partition(0).value("theirs")])?;
    source.create_topic("check-pair-missing", 1, &[])?;

    let plan = "topics.include = ['/check-pair-.*/']\ntopics.create = false";
    let checked = checked_between_the_shared("check-pair", plan);
    let fails = [
        (names::PARTITIONS, "check-pair-count"),
        (names::CLEANUP_POLICY, "check-pair-policy"),
        (names::MESSAGE_SIZE, "check-pair-size"),
        (names::TIMESTAMP_TYPE, "check-pair-time"),
        (names::TIMESTAMP_BOUNDS, "check-pair-bounds"),
        (names::RETENTION, "check-pair-retention"),
        (names::MIN_INSYNC, "check-pair-insync"),
        (names::TARGET_EMPTY, "check-pair-full"),
        (names::MISSING_TOPIC, "check-pair-missing"),
    ];
    for (check, topic) in fails {
        checked.is(check, topic, Fail);
        checked.is(check, "check-pair-equal", Pass);
    }
    checked.is(names::CONFIGS, "check-pair-config", Warn);
    checked.is(names::LEADERS, "check-pair-equal", Pass);
    checked.is_whole(names::SAME_CLUSTER, Pass);
    checked.is_whole(names::TRANSACTION_TIMEOUT, Pass);
    Ok(())
}

#[test]
fn what_would_be_created_is_shown_and_what_the_target_refuses_fails() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    for name in ["check-create-good", "check-create-bad"] {
        source.create_topic(name, 1, &[("retention.ms", "604800000")])?;
    }
    let plan = "topics.include = ['/check-create-.*/']\n[[topics.override]]\n\
                topics = ['check-create-bad']\nreplication_factor = 3";
    let checked = checked_between_the_shared("check-create", plan);
    checked.is(names::CREATE_TOPIC, "check-create-good", Info);
    checked.is(names::CREATE_TOPIC, "check-create-bad", Fail);
    let (_, reason) = checked.says(names::CREATE_TOPIC, Some("check-create-good"));
    assert!(reason.contains("retention.ms=604800000"), "{reason}");
    let there = shared::clusters().target_oracle.list_topics()?;
    assert!(!there.iter().any(|name| name.contains("check-create")), "nothing is made: {there:?}");
    Ok(())
}

#[test]
fn a_cluster_beside_itself_fails() -> Result<(), Error> {
    let (cluster, name) = (&shared::clusters().source, "check-same");
    shared::clusters().source_oracle.create_topic(name, 1, &[])?;
    let rest = format!("topics.include = ['{name}']");
    let (from, to) = (cluster.bootstrap(), cluster.bootstrap());
    let migration = crate::pipe::harness::Migration::between(name, &from, &to, &rest);
    super::checked(&migration.plan).is_whole(names::SAME_CLUSTER, Fail);
    Ok(())
}
