//! Slow links: a run completes in its usual steps, no transaction runs into its time-out, and no producer is
//! made anew, since no request is ever sent twice.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::case::{Case, renewals};
use super::line::Line;
use crate::brokers::{Error, Numbered};

struct Link {
    round_trip: Duration,
    megabytes: u32,
}

impl Link {
    fn new(milliseconds: u64, megabytes: u32) -> Link {
        Link { round_trip: Duration::from_millis(milliseconds), megabytes }
    }

    fn on(&self, line: &Line) {
        line.round_trip(self.round_trip);
        line.bandwidth(self.megabytes * 1_000_000);
    }
}

/// Copies so many records of 400 bytes in three lanes.
fn copies(name: &str, records: u64, source: Option<Link>, target: &Link) -> Result<(), Error> {
    let numbered = Numbered { value_size: 400, ..Numbered::new(name, 6, records) };
    let plan = "run.lanes = 3\nrun.max_rate = \"1MiB/s\"\nrun.commit_bytes = \"256KiB\"\n";
    let case = Case::new(numbered, plan)?;
    target.on(&case.target);
    if let Some(source) = &source {
        source.on(&case.source);
    }
    let done = case.migration.run(&["--no-reconcile", "--json"]).expect(0);
    case.is_complete()?;
    let carried = case.target.bytes.load(Relaxed);
    assert!(carried > records * 400, "the records went through the proxy: {carried} bytes");
    let summary = done.json();
    println!("{name}: {summary}");
    // Several in each lane, so that a producer that is made anew after each would be seen.
    assert!(summary["transactions"].as_u64() >= Some(6), "{summary}");
    assert_eq!(renewals(&summary), 0, "no connection broke:\n{}", done.stderr);
    assert!(!done.stderr.contains("interrupted"), "{}", done.stderr);
    Ok(())
}

#[test]
fn a_target_behind_one_megabyte_per_second_and_100_ms() -> Result<(), Error> {
    copies("slow-megabyte", 20_000, None, &Link::new(100, 1))
}

#[test]
fn a_target_300_ms_away() -> Result<(), Error> {
    copies("slow-far", 20_000, None, &Link::new(300, 100))
}

#[test]
fn both_sides_behind_one_megabyte_per_second_and_300_ms() -> Result<(), Error> {
    copies("slow-both", 10_000, Some(Link::new(300, 1)), &Link::new(300, 1))
}
