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

/// The header then lies behind offsets that no reader sees; a start from a snapshot looked for it at offset
/// 0, and called the ledger damaged for ever after.
#[test]
fn a_first_transaction_that_was_aborted_does_not_damage_the_ledger() {
    passes(&[
        Action::Append { partition: 0, count: 3 },
        Action::Start { tail: false },
        Action::Plan(Fault::OffsetsFail),
        Action::Run(Who::Owner, 20),
    ]);
}

/// A late request for group offsets has arrived behind its commit, and the worker is gone.
const LATE_OFFSETS: [Action; 6] = [
    Action::Append { partition: 0, count: 3 },
    Action::Start { tail: true },
    Action::Run(Who::Owner, 23),
    Action::Plan(Fault::OffsetsSlow),
    Action::Run(Who::Owner, 60),
    Action::Release,
];

/// Brokers that do not verify take it, and no marker ends it; the next start waited for it until it gave up.
#[test]
fn group_offsets_that_came_too_late_hold_nobody_up() {
    for verifies in [true, false] {
        let actions = [&LATE_OFFSETS[..], &[Action::Kill(Who::Owner)]].concat();
        let seen = play(verifies, &actions).unwrap_or_else(|why| panic!("{verifies}: {why}"));
        assert_eq!(seen.contains_key("open group offsets were judged"), !verifies);
    }
}

/// Open or not: what is committed is judged.
#[test]
fn a_group_ahead_of_the_ledger_is_refused_while_its_offsets_are_open_too() {
    for verifies in [true, false] {
        let actions = [Action::Kill(Who::Owner), Action::SetGroupAhead];
        let why = play(verifies, &[&LATE_OFFSETS[..], &actions].concat()).unwrap_err();
        assert!(why.contains("ledger-behind-group"), "{why}");
    }
}

/// It ended the lane, and with it the run, where every other question is asked again.
#[test]
fn group_offsets_that_cannot_be_read_for_a_while_end_no_lane() {
    for before in 0..12 {
        passes(&[
            Action::Append { partition: 0, count: 3 },
            Action::Start { tail: false },
            Action::Run(Who::Owner, before),
            Action::Plan(Fault::AskFails),
            Action::Run(Who::Owner, 20),
        ]);
    }
}

/// Its ledger is an old one, the target a new one: it took the new owner's records for foreign ones, and the
/// refusal ended the run on all workers.
#[test]
fn a_worker_that_was_overtaken_while_it_began_refuses_nothing() {
    for before in 1..20 {
        passes(&[
            Action::Append { partition: 0, count: 3 },
            Action::Start { tail: false },
            Action::Run(Who::Owner, before),
            Action::TakeOver { tail: false },
            Action::Run(Who::Owner, 60),
            Action::Run(Who::Zombie, 60),
        ]);
    }
}

/// Failures of other kinds before it counted, and the process ended as taken over (exit 6).
#[test]
fn a_worker_in_trouble_that_is_fenced_once_is_not_taken_over() {
    passes(&[
        Action::Append { partition: 0, count: 4 },
        Action::Start { tail: false },
        Action::Plan(Fault::FenceFails),
        Action::Plan(Fault::FenceFails),
        Action::Plan(Fault::FenceFails),
        Action::Plan(Fault::FenceFails),
        Action::Plan(Fault::CommitTooLate),
        Action::Run(Who::Owner, 400),
    ]);
}
