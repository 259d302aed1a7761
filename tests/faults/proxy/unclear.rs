//! Commits of which the worker cannot know whether they happened: the answer is lost, or the request.
//! Both end in one copy, whether the worker lives on or dies at this moment.

use super::case::{Case, renewals};
use super::rule::{Fate, When};
use crate::brokers::Error;

/// The first one commits the lane's bindings.
const IN_MID_RUN: usize = 2;

fn a_worker_goes_on(name: &str, fate: Fate) -> Result<(), Error> {
    let case = Case::one_lane(name, 12_000, 4)?;
    let when = When::ends(&case.transactional_id(), true).nth(IN_MID_RUN);
    let lost = case.target.plan(when, fate);
    let done = case.start().finish().expect(0).json();
    assert!(lost.has_happened());
    case.is_complete()?;
    assert_eq!(renewals(&done), 1, "{done}");
    Ok(())
}

fn a_worker_dies(name: &str, fate: Fate) -> Result<(), Error> {
    let case = Case::one_lane(name, 12_000, 4)?;
    let id = case.transactional_id();
    let lost = case.target.plan(When::ends(&id, true).nth(IN_MID_RUN), fate);
    // Its second try does not get through.
    let again = case.target.plan(When::ends(&id, true).after(&lost), Fate::Stopped);
    let worker = case.start();
    lost.wait();
    again.wait();
    worker.kill();
    again.lose();
    case.start().finish().expect(0);
    case.is_complete()
}

/// Until the call fails, with the transaction's time-out.
fn nobody_answers(name: &str, fate: Fate) -> Result<(), Error> {
    let case = Case::one_lane(name, 12_000, 4)?;
    let commit = || When::ends(&case.transactional_id(), true);
    let lost = case.target.plan(commit().nth(IN_MID_RUN), fate);
    let others = case.target.plan(commit().after(&lost).always(), Fate::Lost);
    let mut worker = case.start();
    worker.wait_for("lane interrupted");
    others.stop();
    let done = worker.finish().expect(0).json();
    assert!(lost.has_happened() && others.has_happened());
    case.is_complete()?;
    assert_eq!(renewals(&done), 1, "{done}");
    Ok(())
}

#[test]
#[ignore = "takes a transaction's time-out: 60 s"]
fn a_commit_that_happened_and_is_never_answered_ends_in_one_copy() -> Result<(), Error> {
    nobody_answers("unclear-silence", Fate::Unanswered)
}

#[test]
#[ignore = "takes a transaction's time-out: 60 s"]
fn a_commit_that_never_arrives_ends_in_one_copy() -> Result<(), Error> {
    nobody_answers("unclear-never", Fate::Lost)
}

#[test]
fn a_commit_whose_answer_is_lost_ends_in_one_copy() -> Result<(), Error> {
    a_worker_goes_on("unclear-answer", Fate::Unanswered)
}

#[test]
fn a_commit_that_is_lost_itself_ends_in_one_copy() -> Result<(), Error> {
    a_worker_goes_on("unclear-request", Fate::Lost)
}

#[test]
fn a_worker_that_dies_without_the_answer_to_a_commit_that_happened_leaves_one_copy()
-> Result<(), Error> {
    a_worker_dies("unclear-answer-killed", Fate::Unanswered)
}

#[test]
fn a_worker_that_dies_after_a_commit_that_never_arrived_leaves_one_copy() -> Result<(), Error> {
    a_worker_dies("unclear-request-killed", Fate::Lost)
}
