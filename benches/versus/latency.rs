//! How long a record is on its way, from the moment it was due to be written to the source until a
//! read_committed consumer of the target has it.

use super::brokers::Error;
use super::contenders::{Contender, Tuned, prepare};
use super::files;
use super::numbers::as_f64;
use super::rows::{self, Row};
use super::stage::{Stage, create, delete, number};
use super::table;
use serde_json::json;

const RATES: [u64; 2] = [1_000, 10_000];
const PARTITIONS: usize = 6;

/// Milliseconds.
#[derive(Clone, Debug)]
pub struct Delay {
    pub contender: Contender,
    pub per_second: u64,
    pub round: usize,
    pub records: u64,
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

pub fn measure(stage: &Stage) -> Result<Vec<Delay>, Error> {
    if !stage.options.selects("latency") {
        return Ok(Vec::new());
    }
    println!("\nlatency: 500 B, {PARTITIONS} partitions, a read_committed consumer");
    let mut all = Vec::new();
    let rates = if stage.options.quick { &RATES[..1] } else { &RATES[..] };
    for per_second in rates.iter().copied() {
        for round in 1..=stage.options.rounds(1) {
            for contender in stage.options.contenders.iter().copied() {
                let delay = attempt(stage, contender, per_second, round)?;
                println!(
                    "  {per_second}/s round {round}  {:<17} p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
                    contender.name(),
                    delay.p50,
                    delay.p99,
                    delay.max
                );
                all.push(delay);
                files::delays(&stage.files, &all)?;
            }
        }
    }
    table::delays(&all);
    Ok(all)
}

fn row() -> Row {
    Row { name: "latency", partitions: PARTITIONS, ..rows::all().swap_remove(0) }
}

/// For the limit the consumer reads the source itself.
fn attempt(
    stage: &Stage,
    contender: Contender,
    per_second: u64,
    round: usize,
) -> Result<Delay, Error> {
    let row = row();
    let topics = row.topic_names();
    create(&stage.source_oracle, &topics, PARTITIONS)?;
    let copy = contender.copy_name(&format!("latency{per_second}"), round);
    let copied = format!("{copy}.{}", topics[0]);
    let (running, target, copied) = if contender == Contender::Limit {
        (None, stage.source.bootstrap(), topics[0].clone())
    } else {
        create(&stage.target_oracle, std::slice::from_ref(&copied), PARTITIONS)?;
        let running = prepare(stage, contender, &row, &copy, Tuned::Latency)?.start()?;
        (Some(running), stage.target.bootstrap(), copied)
    };
    let answer = stage.source_oracle.call(
        "latency",
        json!({
            "topic": topics[0],
            "partitions": PARTITIONS,
            "target": target,
            "copy": copied,
            "per_second": per_second,
            "value_size": 500,
            "warm_up": if stage.options.quick { 2 } else { 8 },
            "seconds": if stage.options.quick { 2 } else { 10 },
        }),
    );
    if let Some(running) = running {
        drop(running.kill());
    }
    let answer = answer?;
    delete(&stage.source_oracle, &format!("{}-", row.name))?;
    delete(&stage.target_oracle, &copy)?;
    let ms = |field| as_f64(number(&answer, field)) / 1000.0;
    Ok(Delay {
        contender,
        per_second,
        round,
        records: number(&answer, "records"),
        p50: ms("p50_us"),
        p99: ms("p99_us"),
        max: ms("max_us"),
    })
}
