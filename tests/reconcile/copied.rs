//! A topic that onceover copies, so that there is a ledger, and that others may spoil.

use super::files::{Proof, Row};
use crate::brokers::{Error, Isolation, Numbered, Oracle, Record, Writing, shared};
use crate::pipe::harness::{Migration, Process, eventually};

/// A topic of the same name on both sides, and a plan for it.
pub struct Copied {
    pub name: String,
    pub migration: Migration,
    pub source: Oracle,
    pub target: Oracle,
}

impl Copied {
    /// An empty topic on the source; `rest` is TOML of the plan.
    pub fn empty(
        name: &str,
        partitions: usize,
        configs: &[(&str, &str)],
        rest: &str,
    ) -> Result<Copied, Error> {
        let clusters = shared::clusters();
        let (source, target) = (clusters.source_oracle.clone(), clusters.target_oracle.clone());
        source.create_topic(name, partitions, configs)?;
        let plan = format!("topics.include = [\"{name}\"]\n{rest}");
        let migration = Migration::new(name, &plan);
        Ok(Copied { name: name.to_owned(), migration, source, target })
    }

    /// Writes to the source by the rule.
    pub fn numbered(&self, numbered: &Numbered) -> Result<(), Error> {
        self.source.produce_numbered(numbered, &Writing::default()).map(drop)
    }

    /// Writes records to the source.
    pub fn write(&self, records: &[Record]) -> Result<Vec<i64>, Error> {
        self.source.produce(&self.name, records)
    }

    /// Another writer's records on the target.
    pub fn spoil(&self, records: &[Record]) -> Result<Vec<i64>, Error> {
        self.target.produce(&self.name, records)
    }

    /// Copies what is there, which ends in a clean proof.
    #[track_caller]
    pub fn run(&self) -> Proof {
        let said = self.migration.run(&["--json"]).expect(0);
        assert_eq!(said.json()["result"], "proved", "{}", said.stdout);
        Proof::said_by_run(&self.migration, &said).is_clean()
    }

    /// Proves, and ends with `code`.
    #[track_caller]
    pub fn prove(&self, args: &[&str], code: i32) -> Proof {
        Proof::of(&self.migration, args, code)
    }

    /// Copies on until stopped.
    pub fn tail(&self) -> Process {
        self.migration.start(&["--tail", "--json"])
    }

    /// The offsets of what a consumer of the target sees in a partition.
    pub fn on_target(&self, partition: i32) -> Result<Vec<(i64, Record)>, Error> {
        seen(&self.target, &self.name, partition)
    }

    /// The same of the source.
    pub fn on_source(&self, partition: i32) -> Result<Vec<(i64, Record)>, Error> {
        seen(&self.source, &self.name, partition)
    }

    /// Waits until the target has so many records.
    #[track_caller]
    pub fn await_records(&self, count: u64) {
        eventually(&format!("{count} records on the target"), || {
            let digests = self.target.digest(&self.name, Isolation::ReadCommitted);
            // There is no topic at first.
            digests.is_ok_and(|all| all.iter().map(|one| one.count).sum::<u64>() == count)
        });
    }

    /// A row of this topic about a key that is text; the caller sets what is special.
    pub fn row(&self, partition: i32, key: &str, kind: &str) -> Row {
        Row {
            topic: self.name.clone(),
            partition,
            key: key.to_owned(),
            key_encoding: "text".to_owned(),
            kind: kind.to_owned(),
            detail: format!("1 {kind}"),
            source_records: 0,
            target_records: 0,
            source_offset: None,
            target_offset: None,
            made_by: "later writer".to_owned(),
        }
    }
}

fn seen(oracle: &Oracle, topic: &str, partition: i32) -> Result<Vec<(i64, Record)>, Error> {
    let all = oracle.read(topic, Isolation::ReadCommitted)?;
    let of = all.into_iter().filter(|stored| stored.record.partition == partition);
    Ok(of.map(|stored| (stored.offset, stored.record)).collect())
}
