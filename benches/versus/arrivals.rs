//! When records arrive on the target, by its log ends: the same for every contender.

use super::brokers::{Error, Oracle};
use super::numbers::rate;
use super::stage::number;
use serde_json::json;
use std::time::{Duration, Instant};

/// For a contender that hangs.
const PATIENCE: Duration = Duration::from_secs(400);
/// Log ends that stand still for so long, with enough behind them, are the end. Longer than any
/// contender waits between two transactions.
const STILL_MS: u64 = 2000;

/// Sums over all partitions of the target topics. Markers of transactions have offsets too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    pub ms: u64,
    /// High watermarks: what is in the log.
    pub latest: u64,
    /// Last stable offsets: what a read_committed consumer may read.
    pub stable: u64,
}

pub fn ends(oracle: &Oracle, topics: &[String], partitions: usize) -> Result<Ends, Error> {
    let answer = oracle.call("ends", json!({"topics": topics, "partitions": partitions}))?;
    Ok(Ends {
        ms: number(&answer, "ms"),
        latest: number(&answer, "latest"),
        stable: number(&answer, "stable"),
    })
}

/// How often log ends are asked for: less often if that is work.
pub fn pause(all_partitions: usize) -> Duration {
    Duration::from_millis(u64::try_from(all_partitions / 4).unwrap_or(0).clamp(20, 250))
}

/// From the first record in a log to the last one that is visible.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub first: Ends,
    pub last: Ends,
}

impl Arrival {
    pub fn per_second(&self, records: u64) -> f64 {
        rate(records, self.first.latest, self.first.ms, self.last.ms)
    }
}

/// Looks until all records are there. `still_runs` is asked too: a contender may end with an error.
pub fn follow(
    oracle: &Oracle,
    topics: &[String],
    partitions: usize,
    records: u64,
    mut still_runs: impl FnMut() -> Result<bool, Error>,
) -> Result<Arrival, Error> {
    let began = Instant::now();
    let (mut first, mut last) = (None, Ends::default());
    while began.elapsed() < PATIENCE {
        let runs = still_runs()?;
        let now = ends(oracle, topics, partitions)?;
        if now.latest > 0 && first.is_none() {
            first = Some(now);
        }
        if now.stable > last.stable {
            last = now;
        }
        let all = last.stable >= records && now.stable == now.latest;
        if let (true, Some(first)) = (all && (!runs || now.ms > last.ms + STILL_MS), first) {
            return Ok(Arrival { first, last });
        }
        if !runs && !all {
            return Err(Error::new(format!(
                "a contender ended with {} of {records} records visible",
                now.stable
            )));
        }
        std::thread::sleep(pause(topics.len() * partitions));
    }
    Err(Error::new(format!("{} of {records} records are visible in time", last.stable)))
}
