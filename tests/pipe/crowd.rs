//! A numbered topic and a plan that copies it slowly enough for something to happen meanwhile.

use std::collections::BTreeSet;

use serde_json::Value;

use super::harness::{Migration, Process, eventually, rate};
use crate::brokers::{Error, Numbered, Oracle, Writing, shared};

pub const PARTITIONS: usize = 6;

pub struct Crowd {
    pub migration: Migration,
    pub numbered: Numbered,
    target: Oracle,
}

impl Crowd {
    /// Between the shared clusters; copying takes about so many seconds, whoever copies.
    pub fn new(name: &str, records: u64, seconds: u64) -> Result<Crowd, Error> {
        let clusters = shared::clusters();
        let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
        let oracles = (&clusters.source_oracle, clusters.target_oracle.clone());
        Crowd::between(name, (&source, &target), oracles, records, seconds)
    }

    pub fn between(
        name: &str,
        (source, target): (&str, &str),
        (source_oracle, target_oracle): (&Oracle, Oracle),
        records: u64,
        seconds: u64,
    ) -> Result<Crowd, Error> {
        source_oracle.create_topic(name, PARTITIONS, &[])?;
        let numbered = Numbered::new(name, PARTITIONS, records);
        source_oracle.produce_numbered(&numbered, &Writing::default())?;
        let rate = rate(records, seconds);
        let rest =
            format!("topics.include = [\"{name}\"]\nrun.lanes = 6\nrun.max_rate = \"{rate}\"\n");
        let migration = Migration::between(name, source, target, &rest);
        Ok(Crowd { migration, numbered, target: target_oracle })
    }

    pub fn worker(&self, name: &str) -> Process {
        self.migration.start(&["--worker", name, "--json"])
    }

    /// Offsets that the target's partitions have taken so far; `committed`: below the last stable one.
    pub fn arrived(&self, committed: bool) -> i64 {
        // There is no topic at first.
        let offsets = self.target.list_offsets(&self.numbered.topic).unwrap_or_default();
        offsets.iter().map(|at| if committed { at.stable } else { at.latest }).sum()
    }

    /// Waits until a part of the records is there.
    #[track_caller]
    pub fn await_arrival(&self, part: f64) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a part")]
        let wanted = (self.numbered.count as f64 * part) as i64;
        eventually("a part of the records arrives", || self.arrived(true) >= wanted);
    }

    /// `onceover status`, and that something is copied, and something is not.
    #[track_caller]
    pub fn in_mid_run(&self) -> Value {
        let status = self.migration.status();
        assert_eq!(status["stage"], "copying", "{status}");
        let positions = || {
            let partitions = status["partitions"].as_array().into_iter().flatten();
            partitions.map(|one| (one["position"].as_i64().unwrap_or(0), &one["fence"]))
        };
        assert!(positions().any(|(position, _)| position > 0), "{status}");
        assert!(positions().any(|(position, fence)| Some(position) < fence.as_i64()), "{status}");
        status
    }

    /// Waits until the last writers of the lanes are these.
    #[track_caller]
    pub fn await_writers(&self, wanted: &[&str]) {
        let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        eventually("the lanes' last writers change", || {
            writers(&self.migration.status()) == wanted
        });
    }

    /// Everything is on the target exactly once, in order, in its place, and nothing else; and the worker
    /// that called the fence done has proved it. All workers have ended.
    #[track_caller]
    pub fn is_complete(&self) -> Result<(), Error> {
        let differences = self.target.check_numbered(&self.numbered)?;
        assert!(differences.is_empty(), "{differences:#?}");
        let status = self.migration.status();
        assert_eq!((&status["stage"], &status["lag"]), (&"proved".into(), &0.into()), "{status}");
        assert_eq!(status["records"], self.numbered.count, "{status}");
        Ok(())
    }

    /// Every carry of the ledger, as it stands there.
    pub fn carries(&self) -> Vec<Value> {
        let printed = self.migration.verb("status", &["--ledger", "--json"]).expect(0);
        let lines = printed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.filter(|entry: &Value| entry["kind"] == "carry").collect()
    }
}

/// Who wrote last into each lane.
pub fn writers(status: &Value) -> BTreeSet<String> {
    let lanes = status["lanes"].as_array().into_iter().flatten();
    lanes.filter_map(|lane| lane["worker"].as_str().map(str::to_owned)).collect()
}

/// The epochs of the lanes.
pub fn epochs(status: &Value) -> Vec<u64> {
    let lanes = status["lanes"].as_array().into_iter().flatten();
    lanes.map(|lane| lane["epoch"].as_u64().unwrap_or(0)).collect()
}
