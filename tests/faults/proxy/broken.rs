//! Connections that are cut, refused, or stay open and say nothing, on either side in mid-run.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::case::Case;
use super::line::Line;
use crate::brokers::{Error, Numbered};
use crate::pipe::harness::{eventually, rate};

const RECORDS: u64 = 60_000;

fn case(name: &str, seconds: u64) -> Result<Case, Error> {
    let rate = rate(RECORDS, seconds);
    let rest = format!("run.lanes = 3\nrun.max_rate = \"{rate}\"\n");
    Case::new(Numbered::new(name, 6, RECORDS), &rest)
}

impl Case {
    /// Waits until something new is committed.
    #[track_caller]
    fn goes_on(&self) {
        let before = self.arrived();
        eventually("more records arrive", || self.arrived() > before);
    }

    /// Looked at past the proxy's faults: by the oracle.
    #[track_caller]
    fn is_in_mid_run(&self) {
        assert!(self.arrived() < i64::try_from(RECORDS).unwrap_or(0), "still copying");
    }
}

#[test]
fn connections_of_both_sides_are_cut_again_and_again() -> Result<(), Error> {
    let case = case("broken-cut", 12)?;
    let worker = case.start();
    for round in 0..4 {
        case.goes_on();
        case.is_in_mid_run();
        let (source, target) = (case.source.cut(), case.target.cut());
        println!("round {round}: cut {source} connections of the source, {target} of the target");
        // Each lane has at least one, and so have the membership and the admin clients.
        assert!(source >= 3 && target >= 3);
    }
    worker.finish().expect(0);
    case.is_complete()
}

/// For so long nothing is heard of one side: longer than any of its requests takes, shorter than a session.
const SILENCE: Duration = Duration::from_secs(4);

fn is_silent_for_a_while(case: &Case, line: &Line) {
    let swallowed = line.swallowed.load(Relaxed);
    line.half_open();
    eventually("something is swallowed", || line.swallowed.load(Relaxed) > swallowed);
    case.is_in_mid_run();
    std::thread::sleep(SILENCE); // the fault itself lasts that long
    assert!(line.heal() > 0, "connections were half-open");
}

#[test]
fn connections_of_either_side_are_half_open_for_seconds() -> Result<(), Error> {
    let case = case("broken-half-open", 12)?;
    let worker = case.start();
    case.goes_on();
    is_silent_for_a_while(&case, &case.target);
    case.goes_on();
    is_silent_for_a_while(&case, &case.source);
    worker.finish().expect(0);
    case.is_complete()
}

#[test]
fn a_target_that_hangs_up_on_everybody_for_a_while() -> Result<(), Error> {
    let case = case("broken-refused", 8)?;
    let worker = case.start();
    case.goes_on();
    case.target.refuse(true);
    assert!(case.target.cut() > 0);
    eventually("connections are refused", || case.target.refused.load(Relaxed) >= 10);
    case.is_in_mid_run();
    case.target.refuse(false);
    worker.finish().expect(0);
    case.is_complete()
}
