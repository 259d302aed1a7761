//! What grows with what, for onceover alone: cost with the number of records, memory with the number of
//! partitions, and the time that a start takes with the age of the ledger.

use super::brokers::Error;
use super::contenders::{Contender, Prepared, Running, Tuned, prepare};
use super::moving::{Moved, attempt, kept_bytes};
use super::numbers::as_f64;
use super::rows::{self, Row};
use super::stage::{Stage, create, delete, now_ms};
use super::{files, table};
use serde_json::json;

const RECORDS: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const PARTITIONS: [usize; 3] = [10, 100, 1000];
/// Runs between two looks at the time that a start takes.
const AGES: [u64; 4] = [0, 1, 3, 9];
/// A lane's batch is so small that its backlog becomes many entries.
const SMALL_BATCHES: &str =
    "run.commit_bytes = \"64KiB\"\nrun.max_transactions_per_second = 1000\n";

/// One start of a plan whose copy is complete already, from the process's start to its end.
#[derive(Clone, Debug)]
pub struct Start {
    pub ledger_bytes: u64,
    pub seconds: f64,
    pub cpu_s: f64,
}

pub fn measure(stage: &Stage) -> Result<(), Error> {
    if !stage.options.selects("growth") {
        return Ok(());
    }
    println!("\ngrowth: onceover, 100 B");
    let mut moved = Vec::new();
    for records in RECORDS {
        let row = Row { name: "grow", value: 90, ..rows::all().swap_remove(0) };
        moved.extend(alone(stage, &row, stage.options.scaled(records))?);
    }
    for partitions in PARTITIONS {
        let row = Row { name: "grow", value: 90, partitions, ..rows::all().swap_remove(0) };
        moved.extend(alone(stage, &row, stage.options.scaled(1_000_000))?);
    }
    let partitions = RECORDS.map(|_| 6).into_iter().chain(PARTITIONS);
    let moved: Vec<(usize, Moved)> = partitions.zip(moved).collect();
    table::growth(&moved);
    let starts = starts(stage)?;
    table::starts(&starts);
    files::growth(&stage.files, &moved)?;
    files::starts(&stage.files, &starts)
}

fn alone(stage: &Stage, row: &Row, records: u64) -> Result<Option<Moved>, Error> {
    stage.fill(row, records)?;
    let moved = attempt(stage, row, records, Contender::Onceover, 1);
    stage.empty(row)?;
    moved
}

fn starts(stage: &Stage) -> Result<Vec<Start>, Error> {
    let row = Row { name: "age", value: 90, ..rows::all().swap_remove(0) };
    let copy = Contender::Onceover.copy_name(row.name, 1);
    let topics: Vec<String> = row.topic_names().iter().map(|t| format!("{copy}.{t}")).collect();
    create(&stage.target_oracle, &topics, row.partitions)?;
    stage.fill(&row, 1)?;
    let prepared = prepare(stage, Contender::Onceover, &row, &copy, Tuned::Throughput)?;
    if let Prepared::Onceover { plan, .. } = &prepared {
        let text = std::fs::read_to_string(plan).map_err(|e| Error::io("read", plan, &e))?;
        let text = text + SMALL_BATCHES;
        std::fs::write(plan, text).map_err(|e| Error::io("write", plan, &e))?;
    }
    let run = || -> Result<(f64, f64), Error> {
        let began = now_ms();
        let cpu_before = children_cpu();
        let mut running = prepared.clone().start()?;
        ended(&mut running)?;
        let seconds = as_f64(now_ms() - began) / 1000.0;
        Ok((seconds, children_cpu() - cpu_before))
    };
    run()?;
    let (mut all, mut filled) = (Vec::new(), 0);
    let ages = if stage.options.quick { &AGES[..2] } else { &AGES[..] };
    for age in ages.iter().copied() {
        for _ in filled..age {
            let fields = json!({
                "topics": row.topic_names(),
                "partitions": row.partitions,
                "count": stage.options.scaled(600_000),
                "value_size": row.value,
                "keys": 0,
                "headers": 0,
                "settings": {},
            });
            stage.source_oracle.call("fill", fields)?;
            run()?;
        }
        filled = age;
        let (seconds, cpu_s) = run()?;
        let ledger_bytes = kept_bytes(stage, &copy, &row)?;
        println!("  ledger of {ledger_bytes} B: a start with nothing to do takes {seconds:.2} s");
        all.push(Start { ledger_bytes, seconds, cpu_s });
    }
    stage.empty(&row)?;
    delete(&stage.target_oracle, &copy)?;
    Ok(all)
}

fn ended(running: &mut Running) -> Result<(), Error> {
    while running.still_runs()? {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Ok(())
}

/// Of children that have ended: onceover alone ends while this measures.
fn children_cpu() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
    let micros = usage.map_or(0, |usage| {
        usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
    });
    as_f64(u64::try_from(micros).unwrap_or(0)) / 1e6
}
