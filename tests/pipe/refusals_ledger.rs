//! Refusals about the ledger itself.

use super::refusals::{Case, foreign};
use crate::brokers::{Error, Record};

#[test]
fn a_deleted_ledger_is_not_begun_anew_over_copied_records() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-gone")?;
    case.target.delete_topic(&case.migration.ledger())?;
    let words = case.refused("target-not-empty")?;
    words.say(&["the ledger has no position"], "copy into an empty topic");
    assert!(!case.target.list_topics()?.contains(&case.migration.ledger()));
    Ok(())
}

#[test]
fn a_foreign_record_in_a_lane_of_the_ledger_is_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-lane")?;
    case.produce(100)?;
    let ledger = case.migration.ledger();
    let offsets = case.target.produce(&ledger, &[foreign()])?;
    let words = case.refused("ledger-damaged")?;
    let at = format!("offset {}", offsets[0]);
    words.say(&["ledger `onceover-refuse-ledger-lane-ledger-1`", &at], "status PLAN --ledger");
    let shown = case.migration.verb("status", &["--ledger"]).expect(0);
    assert!(shown.stdout.contains("somebody else"), "{}", shown.stdout);
    Ok(())
}

#[test]
fn a_foreign_record_in_the_control_partition_is_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-control")?;
    let ledger = case.migration.ledger();
    let control = case.target.describe_topic(&ledger)?.partitions - 1;
    let control = i32::try_from(control).expect("a small number");
    case.target.produce(&ledger, &[Record::in_partition(control).key("k")])?;
    case.refused("ledger-damaged")?.say(&["cannot be read at offset"], "new plan name");
    Ok(())
}

#[test]
fn a_ledger_that_may_expire_fails_the_check_until_it_is_set_right() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-retention")?;
    let ledger = case.migration.ledger();
    case.produce(100)?;
    case.target.set_topic_config(&ledger, &[("retention.ms", "604800000")])?;
    let words = case.does_not_run(7, "ledger-topic", &[])?;
    words.say(
        &["ledger topic `onceover-refuse-ledger-retention-ledger`", "`retention.ms=604800000`"],
        "--alter --topic onceover-refuse-ledger-retention-ledger --add-config retention.ms=-1",
    );
    case.target.set_topic_config(&ledger, &[("retention.ms", "-1")])?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_ledger_that_lost_its_beginning_is_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-cut")?;
    case.target.delete_records(&case.migration.ledger(), 0, 1)?;
    let words = case.refused("ledger-damaged")?;
    words.say(&["ledger `onceover-refuse-ledger-cut-ledger-0`", "offset 1"], "cannot be trusted");
    Ok(())
}

#[test]
fn a_ledger_with_more_partitions_than_lanes_is_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-ledger-grown")?;
    let ledger = case.migration.ledger();
    let partitions = case.target.describe_topic(&ledger)?.partitions;
    case.target.add_partitions(&ledger, partitions + 1)?;
    case.refused("ledger-damaged")?;
    Ok(())
}
