//! Names, sizes, races and information: each check of a topic once as it should not be, once as it should.

use onceover::check::Severity::{Fail, Info, Pass, Unknown, Warn};
use onceover::check::gather::Options;
use onceover::check::names;

use super::{checked_between_the_shared, checked_with};
use crate::brokers::{Error, Record, shared};
use crate::pipe::harness::Migration;

const HOUR: i64 = 3_600_000;

fn hour_ago() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_millis()).expect("a time") - HOUR
}

/// What the two topics of a pair are made with: source, then target.
type Configs<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);

#[test]
fn topics_that_are_not_as_they_should_be_are_told_by_name() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    let two_hours = [("retention.ms", "7200000")];
    let deletions = [("cleanup.policy", "compact"), ("delete.retention.ms", "60000")];
    let pairs: [(&str, Configs<'_>); 7] = [
        ("check-more.equal", (&[], &[])),
        ("check-more.codec", (&[("compression.type", "gzip")], &[])),
        ("check-more.bytes", (&[], &[("retention.bytes", "1000")])),
        ("check-more.race", (&two_hours, &two_hours)),
        ("check-more.deletions", (&deletions, &deletions)),
        ("check-more.lag", (&[("min.compaction.lag.ms", "9"), ("segment.ms", "99999999")], &[])),
        ("check-more.app-changelog", (&[], &[])),
    ];
    for (name, (of_source, of_target)) in pairs {
        source.create_topic(name, 1, of_source)?;
        target.create_topic(name, 1, of_target)?;
        let record = |n: i32| Record::in_partition(0).key(format!("{n}")).value([b'v'; 1_000]);
        let records: Vec<_> = (0..100).map(|n| record(n).at(hour_ago())).collect();
        source.produce(name, &records)?;
    }
    source.create_topic("check-more.beside", 1, &[])?;
    target.create_topic("check-more_beside", 1, &[])?;

    let rest = "topics.include = ['/check-more\\..*/']\n[[check.allow]]\ncheck = 'configs'\n\
                topics = ['check-more.nobody']\nreason = 'misspelt'";
    // 700 kB at one byte a second: eight days.
    let slowly = Options { rate: Some(1), ..Options::default() };
    let checked = checked_with(&Migration::new("check-more", rest).plan, slowly);
    let told = [
        (names::COMPRESSION, "check-more.codec", Warn),
        (names::RETENTION_BYTES, "check-more.bytes", Fail),
        (names::RETENTION_RACE, "check-more.race", Fail),
        (names::DELETE_RETENTION, "check-more.deletions", Fail),
        (names::COMPACTION_LAG, "check-more.lag", Info),
        (names::SEGMENTS, "check-more.lag", Info),
        (names::RESERVED_NAME, "check-more.app-changelog", Warn),
        (names::NAME_COLLISION, "check-more.beside", Fail),
    ];
    for (check, topic, severity) in told {
        checked.is(check, topic, severity);
    }
    for check in [
        names::RETENTION_BYTES,
        names::RETENTION_RACE,
        names::DELETE_RETENTION,
        names::RESERVED_NAME,
        names::NAME_COLLISION,
        names::TIERED_STORAGE,
        names::DEFAULTS,
    ] {
        checked.is(check, "check-more.equal", Pass);
    }
    checked.is_whole(names::SELECTION, Warn);
    // Nothing tells these as yet.
    checked.is_whole(names::CLOCKS, Unknown);
    checked.is_whole(names::DISK_ROOM, Unknown);
    Ok(())
}

#[test]
fn a_ledger_that_would_forget_fails_and_one_that_does_not_passes() -> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic("check-ledger", 1, &[])?;
    let migration = Migration::new("check-ledger", "topics.include = ['check-ledger']");
    let ledger = migration.ledger();
    let keeps = [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];
    clusters.target_oracle.create_topic(&ledger, 3, &keeps)?;
    super::checked(&migration.plan).is_whole(names::LEDGER_TOPIC, Pass);
    clusters.target_oracle.set_topic_config(&ledger, &[("retention.ms", "3600000")])?;
    super::checked(&migration.plan).is_whole(names::LEDGER_TOPIC, Fail);
    Ok(())
}

#[test]
fn a_plan_whose_names_are_all_right_has_nothing_to_say_of_them() -> Result<(), Error> {
    shared::clusters().source_oracle.create_topic("check-names", 1, &[])?;
    let checked = checked_between_the_shared("check-names", "topics.include = ['check-names']");
    checked.is_whole(names::SELECTION, Pass);
    checked.is(names::NAME_COLLISION, "check-names", Pass);
    Ok(())
}
