//! `summary.json`, and the same as `--json`: the proof in short as a program reads it.

use std::io::Write as _;

use serde_json::{Map, Value, json};

use super::folder::{Folder, SUMMARY};
use super::summary::{Mode, Outcome, ProofSummary, SideRead};
use super::writer::Written;
use crate::error::Result;
use crate::report::numbers::time;
use crate::report::out::SCHEMA;

impl ProofSummary {
    /// What a program reads; fields are added, never changed, while `schema` is 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
    pub fn to_json(&self) -> Value {
        let (records, bytes) = self.rates();
        let kinds: Map<_, _> = self
            .differences
            .each()
            .map(|(kind, keys)| (kind.to_string(), Value::from(keys)))
            .collect();
        let (mode, reason) = match &self.mode {
            Mode::Full { reason } => ("full", Some(reason)),
            Mode::Incremental => ("incremental", None),
        };
        let side = |side: &SideRead, compared: u64| {
            json!({
                "cluster_id": side.cluster_id,
                "records_compared": compared,
                "records_read": side.records,
                "bytes_read": side.bytes,
            })
        };
        json!({
            "schema": SCHEMA,
            "result": self.outcome().word(),
            "proved": self.outcome() == Outcome::Proved,
            "exit": self.exit_code(),
            "version": self.tool_version,
            "plan": self.plan,
            "plan_hash": self.plan_hash,
            "pass": self.pass,
            "mode": mode,
            "full_because": reason,
            "ledger": self.ledger,
            "keys": if self.hashed { "hashed" } else { "plain" },
            "started": time(self.started),
            "started_ms": self.started,
            "ends_taken": time(self.ends_taken),
            "ends_taken_ms": self.ends_taken,
            "finished": time(self.finished),
            "finished_ms": self.finished,
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "source": side(&self.source, self.compared_source),
            "target": side(&self.target, self.compared_target),
            "records_per_second": records.round() as u64,
            "bytes_per_second": bytes.round() as u64,
            "topics": self.topics.iter().map(|topic| json!({
                "topic": topic.topic,
                "target": topic.target_topic,
                "source_id": topic.source_id,
                "target_id": topic.target_id,
                "partitions": topic.partitions,
            })).collect::<Vec<_>>(),
            "differences": self.differences.total(),
            "differences_by_kind": kinds,
            "differences_written": self.differences.rows,
            "partitions_not_proved": self.partitions_not_proved,
            "not_proved": self.gaps().map(|gap| json!({
                "count": gap.count,
                "what": gap.what,
            })).collect::<Vec<_>>(),
            "overrides": self.overrides.iter().map(|set_aside| json!({
                "what": set_aside.what,
                "reason": set_aside.reason,
            })).collect::<Vec<_>>(),
            "ignored_headers": self.ignored_headers,
            "folder": self.folder,
            "files": self.files.iter().map(|file| json!({
                "name": file.name,
                "bytes": file.bytes,
                "sha256": file.sha256,
            })).collect::<Vec<_>>(),
        })
    }
}

/// Writes `summary.json`; `summary` is [`ProofSummary::to_json`] without the plan's secrets
/// (`Screen::redact_json`).
///
/// # Errors
/// The file cannot be written.
pub fn write(folder: &Folder, summary: &Value) -> Result<Written> {
    let mut file = folder.file(SUMMARY)?;
    writeln!(file, "{summary:#}").map_err(|error| file.told(&error))?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::summary;
    use super::*;
    use crate::reconcile::difference::Kind;

    #[test]
    fn the_json_is_the_whole_summary() {
        let sum = "ab".repeat(32);
        assert_eq!(
            summary().to_json().to_string(),
            [
                r#"{"schema":1,"result":"proved","proved":true,"exit":0,"version":"0.1.0","#,
                r#""plan":"orders-eu","plan_hash":"p-1","pass":"r-1","mode":"full","#,
                r#""full_because":"no earlier proof","ledger":true,"keys":"plain","#,
                r#""started":"2026-03-01T02:00:00Z","started_ms":1772330400000,"#,
                r#""ends_taken":"2026-03-01T02:00:01Z","ends_taken_ms":1772330401000,"#,
                r#""finished":"2026-03-01T02:00:06Z","finished_ms":1772330406000,"#,
                r#""elapsed_ms":5000,"source":{"cluster_id":"old","records_compared":1000000,"#,
                r#""records_read":1000500,"bytes_read":128000000},"target":{"cluster_id":"new","#,
                r#""records_compared":1000000,"records_read":1000500,"bytes_read":128000000},"#,
                r#""records_per_second":400200,"bytes_per_second":51200000,"topics":["#,
                r#"{"topic":"a","target":"new.a","source_id":null,"target_id":"id-a","partitions":1},"#,
                r#"{"topic":"b","target":"new.b","source_id":null,"target_id":"id-b","partitions":2},"#,
                r#"{"topic":"c","target":"new.c","source_id":null,"target_id":"id-c","partitions":3}],"#,
                r#""differences":0,"differences_by_kind":{"missing":0,"changed":0,"moved":0,"#,
                r#""duplicated":0,"extra":0,"reordered":0},"differences_written":0,"#,
                r#""partitions_not_proved":0,"not_proved":[{"count":7,"what":"records with timestamp 0"}],"#,
                r#""overrides":[{"what":"retention","reason":"agreed"}],"ignored_headers":["mm2"],"#,
                &format!(
                    r#""folder":"proof","files":[{{"name":"diff.csv","bytes":120,"sha256":"{sum}"}}]}}"#
                ),
            ]
            .concat()
        );
    }

    #[test]
    fn every_kind_of_difference_has_its_count() {
        let mut summary = summary();
        summary.differences.add(Kind::Reordered);
        let json = summary.to_json();
        assert_eq!(json["differences_by_kind"]["reordered"], 1);
        assert_eq!((&json["differences"], &json["proved"]), (&1.into(), &false.into()));
    }

    #[test]
    fn the_file_is_the_json_for_people_to_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let json = summary().to_json();
        let written = write(&folder, &json).unwrap();
        folder.publish(&[written]).unwrap();
        let text = std::fs::read_to_string(home.path().join(SUMMARY)).unwrap();
        assert!(text.starts_with("{\n  \"schema\": 1,\n") && text.ends_with("\n}\n"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);
    }
}
