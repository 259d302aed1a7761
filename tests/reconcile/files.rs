//! The files of a proof, as an auditor's program reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Index;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::pipe::harness::{Finished, Migration};

/// A line of `diff.csv`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub topic: String,
    pub partition: i32,
    pub key: String,
    pub key_encoding: String,
    pub kind: String,
    pub detail: String,
    pub source_records: u64,
    pub target_records: u64,
    pub source_offset: Option<i64>,
    pub target_offset: Option<i64>,
    pub made_by: String,
}

/// A line of `partitions.csv`, by column.
#[derive(Debug, Clone)]
pub struct Partition(BTreeMap<String, String>);

impl Index<&str> for Partition {
    type Output = str;

    fn index(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column `{column}` in {self:?}"))
    }
}

impl Partition {
    /// A number in a column that is never empty.
    #[track_caller]
    pub fn number(&self, column: &str) -> u64 {
        self[column].parse().unwrap_or_else(|_| panic!("`{column}` of {self:?}"))
    }
}

/// All that a proof says.
#[derive(Debug)]
pub struct Proof {
    pub rows: Vec<Row>,
    pub partitions: Vec<Partition>,
    pub summary: Value,
}

impl Proof {
    /// Reads the folder of the plan's latest proof, whose files must be those of `SHA256SUMS`.
    #[track_caller]
    pub fn read(migration: &Migration) -> Proof {
        let folder = migration.proof();
        sums_hold(&folder);
        let diff = read(&folder, "diff.csv");
        let diff = diff.strip_prefix(b"\xef\xbb\xbf").expect("diff.csv begins with a BOM");
        let mut diff = csv::Reader::from_reader(diff);
        let mut partitions = csv::Reader::from_path(folder.join("partitions.csv")).expect("there");
        Proof {
            rows: diff.deserialize().map(|row| row.expect("a row of diff.csv")).collect(),
            partitions: partitions
                .deserialize()
                .map(|row| Partition(row.expect("a row of partitions.csv")))
                .collect(),
            summary: serde_json::from_slice(&read(&folder, "summary.json")).expect("JSON"),
        }
    }

    /// Proves, must end with `code`, and reads the files.
    #[track_caller]
    pub fn of(migration: &Migration, args: &[&str], code: i32) -> Proof {
        let args: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
        let said = migration.verb("reconcile", &args).expect(code);
        Proof::said(migration, &said)
    }

    /// Reads the files of a proof that has ended; what it said must be its summary.
    #[track_caller]
    pub fn said(migration: &Migration, said: &Finished) -> Proof {
        let proof = Proof::read(migration);
        let (said, written) = (said.json(), &proof.summary);
        for field in ["result", "pass", "mode", "differences", "exit"] {
            assert_eq!(said[field], written[field], "{field}");
        }
        assert_eq!(proof.rows.len() as u64, proof.number("/differences"));
        let differences = proof.partitions.iter().map(|at| at.number("differences"));
        assert_eq!(differences.sum::<u64>(), proof.number("/differences"));
        proof
    }

    /// Reads the files of the proof that a one-shot run has ended with.
    #[track_caller]
    pub fn said_by_run(migration: &Migration, said: &Finished) -> Proof {
        let proof = Proof::read(migration);
        assert_eq!(said.json()["proof"]["pass"], proof.summary["pass"]);
        proof
    }

    /// Ends the test unless all is proved: no row, every partition equal.
    #[track_caller]
    #[expect(clippy::wrong_self_convention, reason = "reads as a sentence")]
    pub fn is_clean(self) -> Proof {
        assert_eq!(self.rows, [], "{:#?}", self.partitions);
        assert_eq!(self.summary["result"], "proved", "{:#}", self.summary);
        assert!(!self.partitions.is_empty());
        for at in &self.partitions {
            assert_eq!(&at["verdict"], "equal", "{at:?}");
        }
        self
    }

    /// A number of the summary, by its JSON pointer.
    #[track_caller]
    pub fn number(&self, pointer: &str) -> u64 {
        let number = self.summary.pointer(pointer).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number `{pointer}` in {:#}", self.summary))
    }

    /// Sum of a column of all partitions.
    #[track_caller]
    pub fn sum(&self, column: &str) -> u64 {
        self.partitions.iter().map(|at| at.number(column)).sum()
    }

    /// How many the summary says were not proved because of something whose name holds `what`.
    pub fn not_proved(&self, what: &str) -> u64 {
        let all = self.summary["not_proved"].as_array().into_iter().flatten();
        all.filter(|one| one["what"].as_str().is_some_and(|text| text.contains(what)))
            .filter_map(|one| one["count"].as_u64())
            .sum()
    }
}

fn read(folder: &Path, file: &str) -> Vec<u8> {
    let path = folder.join(file);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn sums_hold(folder: &Path) {
    let sums = String::from_utf8(read(folder, "SHA256SUMS")).expect("text");
    assert!(sums.lines().count() >= 5, "{sums}");
    for line in sums.lines() {
        let (sum, file) = line.split_once("  ").expect("sum and name");
        let hex = Sha256::digest(read(folder, file)).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        assert_eq!(hex, sum, "{file}");
    }
}
