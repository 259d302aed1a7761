//! The table of what was seen.

use std::path::Path;
use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};

use super::case::{Case, Place};

/// What a case came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How it is known that the fault struck.
    pub struck: String,
    /// Exit codes of the workers, in the order of their ends.
    pub end: String,
    /// Carries that were committed before the fault and after it.
    pub carries: (usize, usize),
    /// Records committed on the source.
    pub issued: u64,
    /// Records that a `read_committed` consumer finds on the target.
    pub found: u64,
    /// What is wrong. Empty: nothing.
    pub wrong: Vec<String>,
}

impl Outcome {
    /// Of a case that did not come to its end.
    pub fn broken(why: &str) -> Outcome {
        Outcome { wrong: vec![why.to_owned()], ..Outcome::default() }
    }
}

/// A line of the table.
#[derive(Debug)]
pub struct Row {
    pub case: Case,
    pub outcome: Outcome,
    pub seconds: f64,
}

impl Row {
    pub fn order(&self) -> (Place, usize, String) {
        let at = super::POINTS.iter().position(|point| point.name == self.case.point.name);
        (self.case.point.place, at.unwrap_or_default(), self.case.fault.to_string())
    }

    /// Case and reason, if it failed.
    pub fn failure(&self) -> Option<String> {
        let wrong = &self.outcome.wrong;
        (!wrong.is_empty()).then(|| format!("{}: {}", self.case, wrong.join("; ")))
    }

    fn cells(&self) -> [String; 10] {
        let Outcome { struck, end, carries, issued, found, wrong } = &self.outcome;
        let verdict = if wrong.is_empty() { "once, in order" } else { "FAILED" };
        [
            self.case.point_name(),
            self.case.fault.to_string(),
            struck.clone(),
            end.clone(),
            carries.0.to_string(),
            carries.1.to_string(),
            issued.to_string(),
            found.to_string(),
            format!("{:.1}", self.seconds),
            verdict.to_owned(),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "point",
    "fault",
    "struck",
    "exit codes",
    "carries before",
    "after",
    "issued",
    "found",
    "seconds",
    "verdict",
];

/// The table as text; also written, as text and as CSV, into the build folder.
pub fn write(rows: &[Row], took: Duration) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(COLUMNS);
    for row in rows {
        table.add_row(row.cells());
    }
    let failed = rows.iter().filter(|row| row.failure().is_some()).count();
    let text =
        format!("{table}\n{} cases, {failed} failed, {:.0} s", rows.len(), took.as_secs_f64());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("fault-points.txt"), &text).expect("the build folder takes files");
    let mut csv = csv::Writer::from_path(folder.join("fault-points.csv")).expect("as above");
    csv.write_record(COLUMNS).expect("as above");
    for row in rows {
        csv.write_record(row.cells()).expect("as above");
    }
    csv.flush().expect("as above");
    text
}
