//! Refusals about the target's topics.

use super::harness::eventually;
use super::refusals::{Case, foreign};
use crate::brokers::Error;

#[test]
fn a_target_with_records_and_no_ledger_is_refused_and_an_empty_one_is_taken() -> Result<(), Error> {
    let case = Case::empty("refuse-not-empty")?;
    case.produce(100)?;
    case.target.create_topic(&case.name, 2, &[])?;
    case.target.produce(&case.name, &[foreign()])?;
    let words = case.refused("target-not-empty")?;
    words.say(&["target `refuse-not-empty-1`", "0 to 1"], "delete and recreate the target topic");
    assert!(case.holdings(&case.target)?.groups.is_empty());

    case.target.delete_topic(&case.name)?;
    case.target.create_topic(&case.name, 2, &[])?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_refused_run_creates_no_topic_that_others_of_its_plan_miss() -> Result<(), Error> {
    let case = Case::empty("refuse-no-create")?;
    case.source.create_topic("refuse-no-create.b", 1, &[])?;
    case.migration.rewrite("topics.include = ['/refuse-no-create.*/']");
    case.target.create_topic(&case.name, 2, &[])?;
    case.target.produce(&case.name, &[foreign()])?;
    case.refused("target-not-empty")?;
    assert_eq!(case.holdings(&case.target)?.topics.len(), 1);
    Ok(())
}

#[test]
fn a_target_whose_old_records_are_all_deleted_is_empty() -> Result<(), Error> {
    let case = Case::empty("refuse-emptied")?;
    case.produce(100)?;
    case.target.create_topic(&case.name, 2, &[])?;
    case.target.produce(&case.name, &[foreign(), foreign()])?;
    case.target.delete_records(&case.name, 1, -1)?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn foreign_records_between_two_runs_are_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-foreign")?;
    case.produce(100)?;
    let offsets = case.target.produce(&case.name, &[foreign()])?;
    let words = case.refused("foreign-records")?;
    let at = format!("offset {}", offsets[0]);
    words.say(&["target `refuse-foreign-1`", &at, "onceover did not write"], "stop it");
    let refused = case.entries("refused");
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0]["word"], "foreign-records");
    Ok(())
}

#[test]
fn a_committed_foreign_transaction_is_refused() -> Result<(), Error> {
    let case = Case::copied("refuse-foreign-tx")?;
    let producer = case.target.transactional("refuse-foreign-tx-app", &[])?;
    producer.begin()?;
    producer.produce(&case.name, &[foreign()])?;
    producer.commit()?;
    case.refused("foreign-records")?.say(&["target `refuse-foreign-tx-1`"], "new plan name");
    Ok(())
}

#[test]
fn an_aborted_foreign_transaction_is_no_reason_to_stop() -> Result<(), Error> {
    let case = Case::copied("refuse-foreign-abort")?;
    let producer = case.target.transactional("refuse-foreign-abort-app", &[])?;
    producer.begin()?;
    producer.produce(&case.name, &[foreign()])?;
    producer.abort()?;
    case.produce(100)?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn an_open_foreign_transaction_is_waited_for_and_refused_once_committed() -> Result<(), Error> {
    let case = Case::copied("refuse-foreign-open")?;
    let producer = case.target.transactional("refuse-foreign-open-app", &[])?;
    producer.begin()?;
    producer.produce(&case.name, &[foreign()])?;
    case.produce(100)?;
    let run = case.migration.start(&["--json"]);
    let control = || {
        let ends = case.target.list_offsets(&case.migration.ledger()).unwrap_or_default();
        ends.last().map_or(0, |control| control.latest)
    };
    // The second run's fence is taken: its lanes look at the target.
    let before = control();
    eventually("the second fence", || control() > before);
    producer.commit()?;
    let finished = run.finish().expect(5);
    assert_eq!(finished.error_kind(), "foreign-records");
    Ok(())
}

#[test]
fn a_target_topic_that_was_created_anew_is_refused_whether_empty_or_filled() -> Result<(), Error> {
    let case = Case::copied("refuse-anew")?;
    let was = case.target.describe_topic(&case.name)?.id;
    case.target.delete_topic(&case.name)?;
    let words = case.refused("target-lost-records")?;
    words.say(&["target topic `refuse-anew` is gone"], "new plan name");

    let is = case.target.create_topic(&case.name, 2, &[])?;
    let words = case.refused("target-lost-records")?;
    words.say(&["created anew", &was, &is], "new plan name");

    // As many records as before do not make it the old topic.
    let records: Vec<_> = (0..400).map(|_| foreign()).collect();
    case.target.produce(&case.name, &records)?;
    case.refused("target-lost-records")?.say(&["created anew"], "new plan name");
    Ok(())
}

#[test]
fn a_target_topic_that_was_created_anew_can_be_copied_under_a_new_plan_name() -> Result<(), Error> {
    let mut case = Case::copied("refuse-new-name")?;
    case.target.delete_topic(&case.name)?;
    case.refused("target-lost-records")?;
    case.migration = super::harness::Migration::new(
        "refuse-new-name-2",
        "topics.include = [\"refuse-new-name\"]",
    );
    case.goes_on()?;
    Ok(())
}

#[test]
fn target_records_that_expired_after_they_were_copied_do_not_stop_the_copy() -> Result<(), Error> {
    let case = Case::copied("refuse-target-expiry")?;
    case.target.delete_records(&case.name, 0, -1)?;
    case.target.delete_records(&case.name, 1, 7)?;
    case.produce(100)?;
    case.migration.run(&[]).expect(0);
    let ends = case.target.list_offsets(&case.name)?;
    let left = case.target.digest(&case.name, crate::brokers::Isolation::ReadCommitted)?;
    assert_eq!(left[0].count, 50, "{ends:?}");
    assert_eq!(left[1].count, 150 - 7, "{ends:?}");
    Ok(())
}
