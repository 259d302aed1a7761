//! What a program reads: CSV in the build folder, each file written anew by each run.

use super::aims::Judged;
use super::brokers::Error;
use super::growth::Start;
use super::latency::Delay;
use super::moving::Moved;
use super::recovery::Recovered;
use std::path::Path;

fn write(
    folder: &Path,
    name: &str,
    header: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<(), Error> {
    let file = folder.join(name);
    let failed =
        |error: csv::Error| Error::new(format!("cannot write {}: {error}", file.display()));
    let mut writer = csv::Writer::from_path(&file).map_err(failed)?;
    writer.write_record(header).map_err(failed)?;
    for row in rows {
        writer.write_record(row).map_err(failed)?;
    }
    writer.flush().map_err(|error| Error::io("write", &file, &error))
}

const MOVED: [&str; 14] = [
    "row",
    "contender",
    "round",
    "records",
    "bytes_per_record",
    "records_per_s",
    "records_per_s_from_start",
    "mb_per_s",
    "cpu_s_per_million",
    "cpu_s_per_million_from_start",
    "broker_cpu_s_per_million",
    "peak_mb",
    "ledger_bytes_per_record",
    "duplicates",
];

fn of_moved(one: &Moved) -> Vec<String> {
    let number =
        |number: f64| if number.is_finite() { format!("{number:.3}") } else { String::new() };
    vec![
        one.row.to_owned(),
        one.contender.name().to_owned(),
        one.round.to_string(),
        one.records.to_string(),
        one.bytes_per_record.to_string(),
        number(one.per_second),
        number(one.per_second_from_start),
        number(one.megabytes_per_second()),
        number(one.cpu),
        number(one.cpu_from_start),
        number(one.broker_cpu),
        number(one.peak_mb),
        number(one.ledger.unwrap_or(f64::NAN)),
        one.duplicates.to_string(),
    ]
}

pub fn moved(folder: &Path, moved: &[Moved]) -> Result<(), Error> {
    write(folder, "moved.csv", &MOVED, moved.iter().map(of_moved))
}

pub fn growth(folder: &Path, moved: &[(usize, Moved)]) -> Result<(), Error> {
    let header: Vec<&str> = ["partitions"].into_iter().chain(MOVED).collect();
    let row =
        |(partitions, one): &(usize, Moved)| [vec![partitions.to_string()], of_moved(one)].concat();
    write(folder, "growth.csv", &header, moved.iter().map(row))
}

pub fn starts(folder: &Path, starts: &[Start]) -> Result<(), Error> {
    let row = |one: &Start| {
        vec![
            one.ledger_bytes.to_string(),
            format!("{:.3}", one.seconds),
            format!("{:.3}", one.cpu_s),
        ]
    };
    write(folder, "starts.csv", &["ledger_bytes", "seconds", "cpu_s"], starts.iter().map(row))
}

pub fn delays(folder: &Path, delays: &[Delay]) -> Result<(), Error> {
    let header = ["contender", "records_per_s", "round", "records", "p50_ms", "p99_ms", "max_ms"];
    let row = |one: &Delay| {
        vec![
            one.contender.name().to_owned(),
            one.per_second.to_string(),
            one.round.to_string(),
            one.records.to_string(),
            format!("{:.3}", one.p50),
            format!("{:.3}", one.p99),
            format!("{:.3}", one.max),
        ]
    };
    write(folder, "latency.csv", &header, delays.iter().map(row))
}

pub fn recovered(folder: &Path, recovered: &[Recovered]) -> Result<(), Error> {
    let header = ["contender", "kill", "seconds_until_flow", "on_source", "on_target"];
    let rows = recovered.iter().flat_map(|one| {
        one.seconds.iter().enumerate().map(|(kill, seconds)| {
            vec![
                one.contender.name().to_owned(),
                (kill + 1).to_string(),
                format!("{seconds:.3}"),
                one.on_source.to_string(),
                one.on_target.to_string(),
            ]
        })
    });
    write(folder, "recovery.csv", &header, rows)
}

pub fn aims(folder: &Path, judged: &[Judged]) -> Result<(), Error> {
    let header = ["row", "measure", "onceover", "other", "times", "aim", "met"];
    let row = |one: &Judged| {
        vec![
            one.row.clone(),
            one.measure.to_owned(),
            format!("{:.3}", one.onceover),
            format!("{:.3}", one.other),
            format!("{:.3}", one.times),
            format!("{:.0}", one.aim),
            one.met().to_string(),
        ]
    };
    write(folder, "aims.csv", &header, judged.iter().map(row))
}
