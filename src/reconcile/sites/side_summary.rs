//! What one side's pass came to, for a program and for a person.

use std::time::Duration;

use serde_json::{Value, json};

use super::scope_file::ScopeFile;
use crate::error::Side;
use crate::report::audit::Written;
use crate::report::numbers::{byte_rate, bytes, counted, elapsed, rate, time};
use crate::report::out::SCHEMA;

/// What one side's pass came to. It proves nothing by itself.
#[derive(Debug, Clone)]
pub struct SideSummary {
    pub(super) scope: ScopeFile,
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) finished: i64,
    pub(super) elapsed: Duration,
    pub(super) left_out: Vec<String>,
    pub(super) files: Vec<Written>,
    pub(super) folder: String,
}

impl SideSummary {
    /// What a program reads, and `summary.json`.
    pub fn to_json(&self) -> Value {
        let scope = &self.scope;
        json!({
            "schema": SCHEMA,
            "result": "side-read",
            "proved": false,
            "exit": 0,
            "version": scope.version,
            "side": scope.side.to_string(),
            "plan": scope.plan,
            "plan_hash": scope.plan_hash,
            "pass": scope.pass,
            "ranges_of": scope.ranges_of,
            "ledger": scope.ranges_of.is_some(),
            "keys": if scope.hashed.is_some() { "hashed" } else { "plain" },
            "some_buckets": scope.only.is_some(),
            "ends_taken": time(scope.taken_at),
            "ends_taken_ms": scope.taken_at,
            "finished": time(self.finished),
            "finished_ms": self.finished,
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "records_read": self.records,
            "bytes_read": self.bytes,
            "records_compared": self.compared(),
            "partitions": scope.partitions.len(),
            "left_out": self.left_out,
            "folder": self.folder,
            "files": self.files.iter().map(|file| json!({
                "name": file.name,
                "bytes": file.bytes,
                "sha256": file.sha256,
            })).collect::<Vec<_>>(),
        })
    }

    fn compared(&self) -> u64 {
        self.scope.partitions.iter().map(|one| one.read.records).sum()
    }

    /// What a person reads.
    #[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
    pub fn render_text(&self) -> String {
        let (scope, side) = (&self.scope, self.scope.side);
        let other = if side == Side::Source { Side::Target } else { Side::Source };
        let seconds = self.elapsed.as_secs_f64().max(1e-3);
        let what = if scope.only.is_some() { "chosen buckets" } else { "whole scope" };
        let next = match (side, scope.only.is_some()) {
            (Side::Target, false) => format!(
                "take `{0}/scope.json` to the other site, then: onceover reconcile PLAN --side source --scope \
                 {0}/scope.json --out …",
                self.folder
            ),
            _ => format!("then, with the {other}'s folder: onceover diff {} …", self.folder),
        };
        format!(
            "{}: {side} read ({what}): {} of {} to be compared; this proves nothing yet\n\n  pass      {}\n  \
             read      {}, {} in {}: {} records/s, {}\n  files in `{}`: {}\n\n{next}\n",
            scope.plan,
            counted(self.compared(), "record"),
            counted(scope.partitions.len() as u64, "partition"),
            scope.pass,
            counted(self.records, "record"),
            bytes(self.bytes),
            elapsed(self.elapsed),
            rate(self.records as f64 / seconds),
            byte_rate(self.bytes as f64 / seconds),
            self.folder,
            self.files.iter().map(|file| file.name).collect::<Vec<_>>().join(", "),
        )
    }
}
