//! Throughput, CPU, memory and ledger: one row of records after the other, contenders in turns.

use super::arrivals::follow;
use super::brokers::Error;
use super::contenders::{Contender, Tuned, prepare};
use super::numbers::as_f64;
use super::process::Watch;
use super::rows::{self, Row};
use super::stage::{Stage, count, create, delete, now_ms};
use super::table::shown;
use super::{files, limit, table};

/// What one contender did with the records of a row, once.
#[derive(Clone, Debug)]
pub struct Moved {
    pub row: &'static str,
    pub contender: Contender,
    pub round: usize,
    pub records: u64,
    pub bytes_per_record: usize,
    /// From the first record in a target log to the last one visible there.
    pub per_second: f64,
    /// The same from the start of the process on.
    pub per_second_from_start: f64,
    /// CPU seconds of the contender per million records, from the first arrival to the last.
    pub cpu: f64,
    pub cpu_from_start: f64,
    /// Of both brokers together, from the first arrival to the last.
    pub broker_cpu: f64,
    pub peak_mb: f64,
    /// Bytes on the target for the contender's own book-keeping: ledger, or offsets and offset syncs.
    pub ledger: Option<f64>,
    /// More than were on the source; fewer are an error.
    pub duplicates: u64,
}

/// All rows that are selected; medians are for those who ask.
pub fn measure(stage: &Stage) -> Result<Vec<Moved>, Error> {
    let mut all = Vec::new();
    for row in rows::all().iter().filter(|row| stage.options.selects(row.name)) {
        let records = stage.options.scaled(row.records);
        println!("\n{}: {records} records, {}", row.name, row.what);
        stage.fill(row, records)?;
        let mut moved = Vec::new();
        for round in 1..=stage.options.rounds(row.rounds) {
            for contender in stage.options.contenders.iter().copied() {
                moved.extend(attempt(stage, row, records, contender, round)?);
            }
        }
        stage.empty(row)?;
        table::moved(&moved);
        all.extend(moved);
        files::moved(&stage.files, &all)?; // after every row, so that a run that is broken off leaves them
    }
    Ok(all)
}

/// None: the contender cannot do this row.
pub fn attempt(
    stage: &Stage,
    row: &Row,
    records: u64,
    contender: Contender,
    round: usize,
) -> Result<Option<Moved>, Error> {
    if contender == Contender::Limit {
        return limit::attempt(stage, row, records, round);
    }
    let copy = contender.copy_name(row.name, round);
    let topics: Vec<String> = row.topic_names().iter().map(|t| format!("{copy}.{t}")).collect();
    create(&stage.target_oracle, &topics, row.partitions)?;
    let began = now_ms();
    let mut running = prepare(stage, contender, row, &copy, Tuned::Throughput)?.start()?;
    let brokers = [stage.source.pid(1), stage.target.pid(1)];
    let watch = Watch::start(running.pid(), brokers.into_iter().flatten().collect());
    let runs = || running.still_runs();
    let arrived = follow(&stage.target_oracle, &topics, row.partitions, records, runs);
    let usage = watch.stop();
    drop(running.kill());
    let arrived = arrived.map_err(|error| Error::new(format!("{}: {error}", contender.name())))?;
    let there = count(&stage.target_oracle, &topics, row.partitions)?;
    if there < records {
        let name = contender.name();
        return Err(Error::new(format!("{name}: {there} of {records} records are on the target")));
    }
    let kept = kept_bytes(stage, &copy, row)?;
    delete(&stage.target_oracle, &copy)?;
    let (first, last) = (arrived.first.ms, arrived.last.ms);
    let millions = as_f64(records) / 1e6;
    let of_rate = as_f64(records.saturating_sub(arrived.first.latest)) / 1e6;
    let moved = Moved {
        row: row.name,
        contender,
        round,
        records,
        bytes_per_record: row.bytes_per_record(),
        per_second: arrived.per_second(records),
        per_second_from_start: as_f64(records) * 1000.0 / as_f64(last.saturating_sub(began).max(1)),
        cpu: usage.cpu(first, last) / of_rate.max(1e-6),
        cpu_from_start: usage.cpu(0, last) / millions,
        broker_cpu: usage.broker_cpu(first, last) / of_rate.max(1e-6),
        peak_mb: as_f64(usage.peak_kb) * 1024.0 / 1e6,
        ledger: Some(as_f64(kept) / as_f64(records)),
        duplicates: there - records,
    };
    println!("  {}", moved.line());
    Ok(Some(moved))
}

/// What is named after the copy but is no copy: the ledger, or what MirrorMaker 2 keeps on the target.
pub fn kept_bytes(stage: &Stage, copy: &str, row: &Row) -> Result<u64, Error> {
    let copies = stage.bytes(&format!("{copy}.{}-", row.name))?;
    Ok(stage.bytes(copy)?.saturating_sub(copies))
}

impl Moved {
    pub fn line(&self) -> String {
        format!(
            "round {}  {:<17} {:>9} records/s  {:>5} CPU s/M  {:>5} MB  (from start {}/s, {} CPU s/M)",
            self.round,
            self.contender.name(),
            shown(self.per_second),
            shown(self.cpu),
            shown(self.peak_mb),
            shown(self.per_second_from_start),
            shown(self.cpu_from_start),
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "a record's size")]
    pub fn megabytes_per_second(&self) -> f64 {
        self.per_second * self.bytes_per_record as f64 / 1e6
    }
}
