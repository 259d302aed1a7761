//! The group's offsets beside the ledger: behind it they are written anew, ahead of it they stop a
//! run.

use std::collections::BTreeMap;

use super::harness::eventually;
use super::refusals::Case;
use crate::brokers::Error;

/// Waits until the group has no member: only then may others change it.
fn empty(case: &Case) {
    let group = case.migration.group();
    eventually("the group is empty", || {
        let groups = case.target.list_groups().unwrap_or_default();
        groups.get(&group).is_some_and(|state| state == "Empty")
    });
}

/// Topic and partition to offset, as the group has them.
fn committed(case: &Case) -> Result<BTreeMap<(String, i32), i64>, Error> {
    let offsets = case.target.group_offsets(&case.migration.group())?;
    Ok(offsets.into_iter().map(|one| ((one.topic, one.partition), one.offset)).collect())
}

/// Goes on with a warning, and afterwards the group says what the ledger says.
fn goes_on_and_rewrites(case: &Case) -> Result<(), Error> {
    let warned = "group offsets are missing or behind the ledger";
    // One record for one partition: the other one's position is to come back as well.
    case.source.produce(&case.name, &[super::refusals::foreign()])?;
    let finished = case.goes_on()?;
    assert!(finished.stderr.contains(warned), "{}", finished.stderr);
    let offsets = committed(case)?;
    for (partition, source) in (0..).zip(case.source.list_offsets(&case.name)?) {
        assert_eq!(offsets.get(&(case.name.clone(), partition)), Some(&source.latest));
    }
    let finished = case.goes_on()?;
    assert!(!finished.stderr.contains(warned), "{}", finished.stderr);
    Ok(())
}

#[test]
fn a_lost_group_is_written_anew_from_the_ledger() -> Result<(), Error> {
    let case = one_lane("refuse-group-lost")?;
    case.target.delete_group(&case.migration.group())?;
    goes_on_and_rewrites(&case)
}

#[test]
fn lost_positions_are_written_anew_from_the_ledger() -> Result<(), Error> {
    let case = one_lane("refuse-position-lost")?;
    let group = case.migration.group();
    case.target.delete_group_offsets(&group, &[(&case.name, 0), (&case.name, 1)])?;
    goes_on_and_rewrites(&case)
}

#[test]
fn offsets_that_were_set_back_do_not_copy_anything_twice() -> Result<(), Error> {
    let case = one_lane("refuse-group-behind")?;
    let ledger = case.migration.ledger();
    let back = [(case.name.as_str(), 0, 0), (case.name.as_str(), 1, 3), (ledger.as_str(), 0, 0)];
    case.target.alter_group_offsets(&case.migration.group(), &back)?;
    goes_on_and_rewrites(&case)
}

#[test]
fn a_group_that_knows_more_carries_than_the_ledger_stops_the_run() -> Result<(), Error> {
    let case = one_lane("refuse-group-ahead")?;
    let (group, ledger) = (case.migration.group(), case.migration.ledger());
    case.produce(100)?;
    case.target.alter_group_offsets(&group, &[(&ledger, 0, 99)])?;
    let words = case.refused("ledger-behind-group")?;
    let what = ["the ledger lost entries", "`onceover-refuse-group-ahead`", "carry 99"];
    words.say(&what, "--delete --group onceover-refuse-group-ahead");

    // As the hint says.
    case.target.delete_group(&group)?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_position_ahead_of_the_ledger_stops_the_run() -> Result<(), Error> {
    let case = one_lane("refuse-position-ahead")?;
    case.produce(100)?;
    let group = case.migration.group();
    case.target.alter_group_offsets(&group, &[(&case.name, 1, 101)])?;
    let words = case.refused("ledger-behind-group")?;
    words.say(&["position 101", "the ledger has 100"], "the ledger is the truth");
    case.target.delete_group(&group)?;
    case.goes_on()?;
    Ok(())
}

/// One lane, so that one transaction touches all.
fn one_lane(name: &str) -> Result<Case, Error> {
    let case = Case::empty(name)?;
    case.rewrite("run.lanes = 1");
    case.produce(200)?;
    case.goes_on()?;
    empty(&case);
    Ok(case)
}
