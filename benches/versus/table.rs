//! What a person reads.

use super::aims::Judged;
use super::contenders::Contender;
use super::growth::Start;
use super::latency::Delay;
use super::moving::Moved;
use super::numbers::median;
use super::recovery::Recovered;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header);
    table
}

fn show(mut table: Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("\n{table}");
}

/// Whole numbers with commas, small ones with what matters of them; `–` where there is none.
pub fn shown(number: f64) -> String {
    match number {
        none if !none.is_finite() => "–".to_owned(),
        large if large >= 1000.0 => {
            let digits = format!("{large:.0}");
            let mut text = String::new();
            for (n, digit) in digits.chars().enumerate() {
                if n > 0 && (digits.len() - n) % 3 == 0 {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
        middle if middle >= 100.0 => format!("{middle:.0}"),
        small if small >= 10.0 => format!("{small:.1}"),
        tiny => format!("{tiny:.2}"),
    }
}

/// Medians of a row, one line a contender; the ratio is to MirrorMaker 2 with exactly once.
pub fn moved(moved: &[Moved]) {
    let of = |contender: Contender, number: &dyn Fn(&Moved) -> f64| {
        median(moved.iter().filter(|one| one.contender == contender).map(number))
    };
    let mut table = table(&[
        "medians",
        "records/s",
        "times MM2 e.o.",
        "MB/s",
        "CPU s/M",
        "brokers' CPU s/M",
        "peak MB",
        "ledger B/record",
        "records/s from start",
    ]);
    let base = of(Contender::MirrorExactlyOnce, &|one| one.per_second);
    for contender in Contender::ALL {
        let rate = of(contender, &|one| one.per_second);
        if rate.is_nan() {
            continue;
        }
        table.add_row([
            contender.name().to_owned(),
            shown(rate),
            shown(rate / base),
            shown(of(contender, &Moved::megabytes_per_second)),
            shown(of(contender, &|one| one.cpu)),
            shown(of(contender, &|one| one.broker_cpu)),
            shown(of(contender, &|one| one.peak_mb)),
            shown(of(contender, &|one| one.ledger.unwrap_or(f64::NAN))),
            shown(of(contender, &|one| one.per_second_from_start)),
        ]);
    }
    show(table);
}

pub fn delays(delays: &[Delay]) {
    let mut table = table(&["latency, ms", "records/s", "p50", "p99", "max", "records"]);
    for delay in delays {
        table.add_row([
            delay.contender.name().to_owned(),
            delay.per_second.to_string(),
            format!("{:.1}", delay.p50),
            format!("{:.1}", delay.p99),
            format!("{:.1}", delay.max),
            delay.records.to_string(),
        ]);
    }
    show(table);
}

pub fn recovered(recovered: &[Recovered]) {
    let header =
        ["two SIGKILLs", "s until records flow", "again", "records on source", "on target"];
    let mut table = table(&header);
    for one in recovered {
        let seconds = |n: usize| one.seconds.get(n).map_or("–".to_owned(), |s| format!("{s:.1}"));
        table.add_row([
            one.contender.name().to_owned(),
            seconds(0),
            seconds(1),
            one.on_source.to_string(),
            one.on_target.to_string(),
        ]);
    }
    show(table);
}

pub fn growth(moved: &[(usize, Moved)]) {
    let header = ["records", "partitions", "records/s", "CPU s/M", "peak MB", "ledger B/record"];
    let mut table = table(&header);
    for (partitions, one) in moved {
        table.add_row([
            one.records.to_string(),
            partitions.to_string(),
            shown(one.per_second),
            shown(one.cpu),
            shown(one.peak_mb),
            shown(one.ledger.unwrap_or(f64::NAN)),
        ]);
    }
    show(table);
}

pub fn starts(starts: &[Start]) {
    let mut table = table(&["ledger, bytes", "a start with nothing to do, s", "CPU s"]);
    for start in starts {
        table.add_row([
            start.ledger_bytes.to_string(),
            format!("{:.2}", start.seconds),
            format!("{:.2}", start.cpu_s),
        ]);
    }
    show(table);
}

pub fn aims(judged: &[Judged]) {
    let header =
        ["row", "measure", "onceover", "MM2 e.o., or the aim", "times better", "aim", "met"];
    let mut table = table(&header);
    for one in judged {
        table.add_row([
            one.row.clone(),
            one.measure.to_owned(),
            shown(one.onceover),
            shown(one.other),
            format!("{:.1}", one.times),
            format!("{:.0}", one.aim),
            if one.met() { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    show(table);
}
