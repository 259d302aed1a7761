//! A plan whose clients come through both proxies, and the topic that it copies.

use std::sync::Arc;

use serde_json::Value;

use super::line::Line;
use super::proxies;
use crate::brokers::{Error, Numbered, Writing, shared};
use crate::pipe::harness::{Migration, Process, rate};

pub struct Case {
    pub migration: Migration,
    pub numbered: Numbered,
    /// All connections of its workers to the source, and to the target.
    pub source: Arc<Line>,
    pub target: Arc<Line>,
}

impl Case {
    /// One lane, one partition; copying takes about so many seconds, in small transactions.
    pub fn one_lane(name: &str, records: u64, seconds: u64) -> Result<Case, Error> {
        let rate = rate(records, seconds);
        let rest =
            format!("run.lanes = 1\nrun.max_rate = \"{rate}\"\nrun.commit_bytes = \"64KiB\"\n");
        Case::new(Numbered::new(name, 1, records), &rest)
    }

    /// Of the topic's name; `rest` is TOML.
    pub fn new(numbered: Numbered, rest: &str) -> Result<Case, Error> {
        let name = numbered.topic.clone();
        let clusters = shared::clusters();
        clusters.source_oracle.create_topic(&name, numbered.partitions, &[])?;
        // A transaction takes whole batches of the source.
        let small = Writing { settings: &[("batch.size", "16384")], ..Writing::default() };
        clusters.source_oracle.produce_numbered(&numbered, &small)?;
        let (source, target) = (&proxies().source, &proxies().target);
        let rest = format!("topics.include = [\"{name}\"]\n{rest}");
        let migration = Migration::between(&name, source.bootstrap(), target.bootstrap(), &rest);
        let prefix = migration.group();
        let (source, target) = (source.line(&prefix), target.line(&prefix));
        Ok(Case { migration, numbered, source, target })
    }

    pub fn start(&self) -> Process {
        self.migration.start(&["--worker", "w1", "--json"])
    }

    /// Of the only lane.
    pub fn transactional_id(&self) -> String {
        format!("{}-0", self.migration.group())
    }

    /// How many committed records the target holds.
    pub fn arrived(&self) -> i64 {
        // There is no topic at first.
        let target = &shared::clusters().target_oracle;
        let offsets = target.list_offsets(&self.numbered.topic).unwrap_or_default();
        offsets.iter().map(|at| at.stable).sum()
    }

    /// Every record is on the target once, in order, and nothing else.
    #[track_caller]
    pub fn is_complete(&self) -> Result<(), Error> {
        let differences = shared::clusters().target_oracle.check_numbered(&self.numbered)?;
        assert!(differences.is_empty(), "{differences:#?}");
        Ok(())
    }

    /// Where the group stands in the ledger's only lane, and the number of its last carry.
    pub fn group_and_ledger(&self) -> Result<(Option<i64>, Option<i64>), Error> {
        let offsets = shared::clusters().target_oracle.group_offsets(&self.migration.group())?;
        let ledger = self.migration.ledger();
        let group = offsets.iter().find(|at| at.topic == ledger && at.partition == 0);
        let printed = self.migration.verb("status", &["--ledger", "--json"]).expect(0);
        let lines = printed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let carries = lines.filter(|entry: &Value| entry["kind"] == "carry");
        Ok((group.map(|at| at.offset), carries.filter_map(|carry| carry["seq"].as_i64()).max()))
    }
}

/// How many producers a finished worker has made anew.
pub fn renewals(summary: &Value) -> u64 {
    summary["renewals"].as_u64().expect("a summary tells its renewals")
}
