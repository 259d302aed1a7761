//! Plays that were found, or thought of, with a name each.

use super::action::{Action, Who};
use super::play::play;
use super::stage::Fault;

fn passes(actions: &[Action]) {
    for verifies in [true, false] {
        play(verifies, actions).unwrap_or_else(|why| panic!("verifies {verifies}: {why}"));
    }
}

#[test]
fn without_faults_a_lane_reaches_its_fence() {
    passes(&[Action::Append { partition: 0, count: 3 }, Action::Start { tail: false }]);
}

#[test]
fn a_commit_whose_answer_is_lost_is_there_once() {
    for fault in [Fault::CommitLost, Fault::CommitUnanswered, Fault::CommitHeld] {
        passes(&[
            Action::Append { partition: 0, count: 3 },
            Action::Start { tail: true },
            Action::Run(Who::Owner, 40),
            Action::Plan(fault),
            Action::Run(Who::Owner, 60),
        ]);
    }
}
