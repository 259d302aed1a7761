//! Two kills in a run: how long nothing comes after each, and what is on the target in the end.

use super::arrivals::{ends, follow, pause};
use super::brokers::Error;
use super::contenders::{Contender, Running, Tuned, prepare};
use super::numbers::as_f64;
use super::rows::{self, Row};
use super::stage::{Stage, count, create, delete, now_ms, number};
use super::{files, table};
use serde_json::json;
use std::time::{Duration, Instant};

/// What the killed process had sent is in the log by then; its successor is started after it, for every
/// contender alike, and it counts.
const SETTLE: Duration = Duration::from_millis(100);
/// With fewer everything may be visible at the second kill, and no record is left to be waited for.
const FEWEST: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Debug)]
pub struct Recovered {
    pub contender: Contender,
    /// From each SIGKILL until a read_committed consumer has a record that it did not have before.
    pub seconds: Vec<f64>,
    pub on_source: u64,
    pub on_target: u64,
}

pub fn measure(stage: &Stage) -> Result<Vec<Recovered>, Error> {
    if !stage.options.selects("recovery") {
        return Ok(Vec::new());
    }
    let row = Row { name: "recovery", ..rows::all().swap_remove(0) };
    let records = stage.options.scaled(row.records).max(FEWEST);
    println!("\nrecovery: {records} records, {}, SIGKILL at 30 % and at 60 %", row.what);
    stage.fill(&row, records)?;
    let mut all = Vec::new();
    for contender in stage.options.contenders.iter().copied() {
        // That one waits for a minute after each kill.
        let slow = stage.options.quick && contender == Contender::MirrorExactlyOnce;
        if contender != Contender::Limit && !slow {
            let recovered = attempt(stage, &row, records, contender)?;
            println!(
                "  {:<17} {:.1?} s until records flow, {} on the target",
                contender.name(),
                recovered.seconds,
                recovered.on_target
            );
            all.push(recovered);
        }
    }
    stage.empty(&row)?;
    table::recovered(&all);
    files::recovered(&stage.files, &all)?;
    Ok(all)
}

fn attempt(
    stage: &Stage,
    row: &Row,
    records: u64,
    contender: Contender,
) -> Result<Recovered, Error> {
    let copy = contender.copy_name(row.name, 1);
    let topics: Vec<String> = row.topic_names().iter().map(|t| format!("{copy}.{t}")).collect();
    create(&stage.target_oracle, &topics, row.partitions)?;
    let mut running = prepare(stage, contender, row, &copy, Tuned::Throughput)?.start()?;
    let mut seconds = Vec::new();
    for kill_at in [records * 3 / 10, records * 6 / 10] {
        wait_for(stage, &topics, row.partitions, kill_at, &mut running)?;
        let killed_at = now_ms();
        let prepared = running.kill();
        std::thread::sleep(SETTLE);
        let (started, visible) = std::thread::scope(|scope| {
            let fields = json!({"topics": topics, "partitions": row.partitions});
            let next = scope.spawn(|| stage.target_oracle.call("next_visible", fields));
            let started = prepared.start();
            let panicked = || Err(Error::new("the wait for a record panicked"));
            (started, next.join().unwrap_or_else(|_| panicked()))
        });
        running = started?;
        let visible = visible?;
        seconds.push(as_f64(number(&visible, "ms").saturating_sub(killed_at)) / 1000.0);
    }
    follow(&stage.target_oracle, &topics, row.partitions, records, || running.still_runs())?;
    drop(running.kill());
    let on_target = count(&stage.target_oracle, &topics, row.partitions)?;
    delete(&stage.target_oracle, &copy)?;
    Ok(Recovered { contender, seconds, on_source: records, on_target })
}

fn wait_for(
    stage: &Stage,
    topics: &[String],
    partitions: usize,
    records: u64,
    running: &mut Running,
) -> Result<(), Error> {
    let began = Instant::now();
    while ends(&stage.target_oracle, topics, partitions)?.stable < records {
        if !running.still_runs()? {
            return Err(Error::new(
                "a contender was done before it was killed: more records are needed",
            ));
        }
        if began.elapsed() > PATIENCE {
            return Err(Error::new("a contender does not get on"));
        }
        std::thread::sleep(pause(topics.len() * partitions));
    }
    Ok(())
}
