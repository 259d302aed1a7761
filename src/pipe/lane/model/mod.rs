//! The lane's rules, apart from Kafka: the real lane over two clusters that are a small exact model,
//! driven by random plays, judged by a reference machine after every action.
//!
//! ```text
//!   actions ─▶ play ──▶ stage: one clock, one lane moves at a time ──▶ reference: judged
//!                         │                                              after every action
//!              real Lane ─┴─ engine, ask, clock (the seam) ─▶ log, target
//! ```
//!
//! - [`log`]: a partition with data, control and aborted records. [`target`]: coordinator, group, late
//!   requests. [`stage`]: turns, time and planned faults. [`consumer`], [`producer`], [`ask`]: the seam.
//! - [`action`]: what can happen. [`play`]: makes it happen, with [`writers`] and [`wiring`]. [`judge`]: how lanes may end.
//!   [`reference`]: what must be true of target, ledger and group.
//!
//! `ONCEOVER_PLAYS=20000 cargo test --lib -- lane::model --ignored` plays longer, with another seed each
//! time.

mod action;
mod ask;
mod consumer;
mod judge;
mod log;
mod named;
mod play;
mod producer;
mod reference;
mod stage;
mod target;
mod wiring;
mod writers;

use std::collections::BTreeMap;
use std::sync::Mutex;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use self::action::Action;
use self::stage::Fault;

/// Plays of the run that everybody makes.
const PLAYS: u32 = 400;

type Seen = BTreeMap<String, u64>;

/// Random plays; returns what has happened in them.
fn plays(cases: u32, rng: Option<TestRng>) -> Result<Seen, String> {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = match rng {
        Some(rng) => TestRunner::new_with_rng(config, rng),
        None => TestRunner::new(config),
    };
    let seen = Mutex::new(Seen::new());
    let result = runner.run(&action::play(), |(verifies, actions)| {
        let happened = play::play(verifies, &actions).map_err(TestCaseError::fail)?;
        let mut seen = seen.lock().expect("no panic holds it");
        for (what, count) in happened {
            *seen.entry(what).or_default() += count;
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(seen.into_inner().expect("no panic holds it")),
        Err(TestError::Fail(why, (verifies, actions))) => {
            Err(shrunk(&why.to_string(), verifies, &actions))
        }
        Err(other) => Err(other.to_string()),
    }
}

fn shrunk(why: &str, verifies: bool, actions: &[Action]) -> String {
    let lines: Vec<String> = actions.iter().map(|action| format!("    {action:?},")).collect();
    format!("{why}\nshrunk to (verifies: {verifies}):\n{}", lines.join("\n"))
}

/// What must have happened in a run, for it to prove anything.
fn must_have_happened() -> impl Iterator<Item = String> {
    let actions = [
        "Append",
        "Transact",
        "End",
        "Batch",
        "Run",
        "Plan",
        "Kill",
        "Start",
        "TakeOver",
        "Finish",
        "Abort",
        "Tell",
        "Expire",
        "Freeze",
        "Release",
        "Mark",
        "LoseGroup",
        "SetGroupBack",
    ];
    let effects = [
        "Owner runs",
        "Zombie runs",
        "tails",
        "runs to a fence",
        "commits",
        "aborts",
        "source commits",
        "source aborts",
        "kills",
        "kills in a transaction",
        "a second worker took the lane",
        "a worker that lost its membership raised the epoch",
        "the group refused a worker that lost its membership",
        "a producer was told that it is fenced",
        "a transaction timed out",
        "late requests arrived",
        "group offsets lost",
        "a group offset set back",
        "told to Finish",
        "told to Abort",
        "finished",
        "released",
        "dropped",
        "failed: for good",
    ];
    let faults = Fault::ALL.iter().map(|fault| format!("{fault:?}"));
    actions.into_iter().chain(effects).map(str::to_owned).chain(faults)
}

#[test]
fn whatever_happens_every_record_is_there_once_and_in_order() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let seen = plays(PLAYS, Some(rng)).unwrap_or_else(|why| panic!("{why}"));
    for what in must_have_happened() {
        assert!(seen.contains_key(&what), "`{what}` has not happened: {seen:#?}");
    }
}

#[test]
#[ignore = "as long as ONCEOVER_PLAYS says, with a new seed"]
fn whatever_happens_for_long_every_record_is_there_once_and_in_order() {
    let cases = std::env::var("ONCEOVER_PLAYS").ok().and_then(|cases| cases.parse().ok());
    let seen = plays(cases.unwrap_or(5000), None).unwrap_or_else(|why| panic!("{why}"));
    println!("{seen:#?}");
}
