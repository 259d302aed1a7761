//! Whether what was set as an aim is reached: ratios of medians, onceover against MirrorMaker 2 with
//! exactly once on the same data in the same run, and two absolute numbers.

use super::contenders::Contender;
use super::latency::Delay;
use super::moving::Moved;
use super::numbers::median;
use super::recovery::Recovered;
use super::rows;

/// Of the row `b512`: records per second, and CPU seconds per million.
const RATE: f64 = 350_000.0;
const CPU: f64 = 3.0;

/// One line of the last table.
#[derive(Clone, Debug)]
pub struct Judged {
    pub row: String,
    pub measure: &'static str,
    pub onceover: f64,
    /// What it is compared with: MirrorMaker 2, or a number.
    pub other: f64,
    /// Onceover's share: more than 1 is better.
    pub times: f64,
    pub aim: f64,
}

impl Judged {
    pub fn met(&self) -> bool {
        self.times >= self.aim
    }

    /// Where more is better.
    fn more(row: &str, measure: &'static str, onceover: f64, other: f64, aim: f64) -> Judged {
        let times = onceover / other;
        Judged { row: row.to_owned(), measure, onceover, other, times, aim }
    }

    /// Where less is better.
    fn less(row: &str, measure: &'static str, onceover: f64, other: f64, aim: f64) -> Judged {
        let times = other / onceover;
        Judged { row: row.to_owned(), measure, onceover, other, times, aim }
    }
}

/// Only what was measured for both.
pub fn judge(moved: &[Moved], delays: &[Delay], recovered: &[Recovered]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for row in rows::all() {
        judged.extend(judge_row(moved, row.name, row.aim));
    }
    judged.extend(judge_delays(delays));
    judged.extend(judge_recovery(recovered));
    judged.retain(|one| one.times.is_finite());
    judged
}

fn judge_row(moved: &[Moved], row: &'static str, aim: f64) -> Vec<Judged> {
    let of = |contender: Contender, number: fn(&Moved) -> f64| {
        let these = moved.iter().filter(|one| one.row == row && one.contender == contender);
        median(these.map(number))
    };
    let (ours, theirs) = (Contender::Onceover, Contender::MirrorExactlyOnce);
    let (rate, cpu, memory) = (|m: &Moved| m.per_second, |m: &Moved| m.cpu, |m: &Moved| m.peak_mb);
    let mut judged = vec![
        Judged::more(row, "records/s", of(ours, rate), of(theirs, rate), aim),
        Judged::less(row, "CPU s per million", of(ours, cpu), of(theirs, cpu), 7.0),
        Judged::less(row, "peak memory, MB", of(ours, memory), of(theirs, memory), 5.0),
    ];
    if row == "b512" {
        let from_start = |m: &Moved| m.cpu_from_start;
        judged.insert(0, Judged::more(row, "records/s, absolute", of(ours, rate), RATE, 1.0));
        let used = of(ours, from_start);
        judged.insert(1, Judged::less(row, "CPU s per million, absolute", used, CPU, 1.0));
    }
    judged
}

fn judge_delays(delays: &[Delay]) -> Vec<Judged> {
    let mut rates: Vec<u64> = delays.iter().map(|one| one.per_second).collect();
    rates.dedup();
    let p99 = |contender: Contender, rate: u64| {
        let these = delays.iter().filter(|one| one.contender == contender);
        median(these.filter(|one| one.per_second == rate).map(|one| one.p99))
    };
    let judge = |rate: u64| {
        let row = format!("latency, {rate}/s");
        let theirs = p99(Contender::MirrorExactlyOnce, rate);
        Judged::less(&row, "p99, ms", p99(Contender::Onceover, rate), theirs, 3.0)
    };
    rates.into_iter().map(judge).collect()
}

fn judge_recovery(recovered: &[Recovered]) -> Option<Judged> {
    let of = |contender: Contender| {
        let one = recovered.iter().find(|one| one.contender == contender)?;
        Some(median(one.seconds.iter().copied()))
    };
    let (ours, theirs) = (of(Contender::Onceover)?, of(Contender::MirrorExactlyOnce)?);
    Some(Judged::less("recovery", "s until records flow", ours, theirs, 10.0))
}
