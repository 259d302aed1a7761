//! The same late requests into a run: each of them meets an epoch that has risen meanwhile.
//!
//! A late request is released at the worst moment: a lane's records are in their partition, and the carry that
//! tells of them is not yet in the ledger (a commit, an abort), or its offsets are sent and not committed.

use super::case::{Case, renewals};
use super::rule::{Fate, When};
use super::wire::{ADD_PARTITIONS_TO_TXN, PRODUCE, TXN_OFFSET_COMMIT};
use crate::brokers::Error;

/// `INVALID_PRODUCER_EPOCH`, `INVALID_TXN_STATE`, `PRODUCER_FENCED`.
const REFUSALS: [i16; 3] = [47, 48, 90];

impl Case {
    /// Before the carry of a transaction that begins afterwards reaches the ledger.
    fn before_a_carry(&self) -> When {
        let first = When::request(ADD_PARTITIONS_TO_TXN).of(&self.transactional_id());
        first.of(&self.migration.ledger())
    }
}

#[test]
fn a_late_commit_shows_nothing_of_a_transaction_that_dies_with_its_worker() -> Result<(), Error> {
    let case = Case::one_lane("late-commit", 12_000, 4)?;
    // The first one commits the lane's bindings.
    let commit = When::ends(&case.transactional_id(), true).nth(2);
    let held = case.target.plan(commit, Fate::Held);
    let worst = case.target.plan(case.before_a_carry().after(&held), Fate::Stopped);
    let worker = case.start();
    worst.wait();
    let answer = held.release();
    worker.kill();
    worst.lose();
    case.start().finish().expect(0);
    case.is_complete()?;
    assert!(REFUSALS.contains(&answer), "the broker refuses the late commit: {answer}");
    Ok(())
}

#[test]
fn a_late_commit_leaves_a_transaction_that_goes_on_alone() -> Result<(), Error> {
    let case = Case::one_lane("late-commit-on", 12_000, 4)?;
    let commit = When::ends(&case.transactional_id(), true).nth(2);
    let held = case.target.plan(commit, Fate::Held);
    let worst = case.target.plan(case.before_a_carry().after(&held), Fate::Stopped);
    let worker = case.start();
    worst.wait();
    let before = case.arrived();
    let answer = held.release();
    assert_eq!(case.arrived(), before, "nothing of the open transaction is visible");
    worst.go_on();
    let done = worker.finish().expect(0).json();
    case.is_complete()?;
    assert!(REFUSALS.contains(&answer), "the broker refuses the late commit: {answer}");
    assert_eq!(renewals(&done), 1, "{done}");
    Ok(())
}

/// A lane aborts only where it ends, so that its successor is whom a late abort would meet.
#[test]
fn a_late_abort_of_a_worker_that_was_taken_over_loses_nothing_of_its_successor() -> Result<(), Error>
{
    let case = Case::one_lane("late-abort", 12_000, 4)?;
    let id = case.transactional_id();
    let records = When::request(PRODUCE).of(&id).of(&case.numbered.topic).nth(3);
    let open = case.target.plan(records, Fate::Stopped);
    let held = case.target.plan(When::ends(&id, false), Fate::Held);
    let worst = case.target.plan(case.before_a_carry().after(&held), Fate::Stopped);
    let first = case.start();
    open.wait();
    let second = case.start();
    held.wait();
    open.lose();
    first.finish().expect(6);
    worst.wait();
    let answer = held.release();
    worst.go_on();
    second.finish().expect(0);
    case.is_complete()?;
    assert!(REFUSALS.contains(&answer), "the broker refuses the late abort: {answer}");
    Ok(())
}

#[test]
fn late_offsets_do_not_set_the_groups_position_back() -> Result<(), Error> {
    let case = Case::one_lane("late-offsets", 12_000, 4)?;
    let id = case.transactional_id();
    let offsets = When::request(TXN_OFFSET_COMMIT).of(&id).nth(2);
    let held = case.target.plan(offsets, Fate::Held);
    // The first commit behind them is their own transaction's.
    let worst = case.target.plan(When::ends(&id, true).after(&held).nth(2), Fate::Stopped);
    let next = case.target.plan(case.before_a_carry().after(&worst), Fate::Stopped);
    let worker = case.start();
    worst.wait();
    let answer = held.release();
    worst.go_on();
    next.wait();
    let (group, carries) = case.group_and_ledger()?;
    next.go_on();
    let done = worker.finish().expect(0).json();
    case.is_complete()?;
    assert_eq!(group, carries, "the group stands where the ledger does");
    assert!(REFUSALS.contains(&answer), "the broker refuses the late offsets: {answer}");
    assert_eq!(renewals(&done), 1, "{done}");
    Ok(())
}
