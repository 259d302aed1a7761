//! A copy of numbered records with faults, made without onceover: what a proof without a ledger must say
//! of it, counted from the rule that both sides were made by.

use std::collections::BTreeMap;

use super::files::{Proof, Row};
use crate::brokers::{Error, Fault, Numbered, Writing, shared};
use crate::pipe::harness::Migration;

/// Partition and offset.
type Place = (i32, i64);

/// A topic of numbered records, and its copy with faults.
pub struct Tampered {
    pub numbered: Numbered,
    pub migration: Migration,
    /// By partition: record numbers, at their offsets.
    source: Vec<Vec<u64>>,
    /// By partition: how many records.
    target: Vec<u64>,
    /// What was written instead of a tampered record.
    written: BTreeMap<u64, Vec<Place>>,
    /// By record number, where it was written by the rule.
    untouched: BTreeMap<u64, Place>,
}

impl Tampered {
    /// Makes both sides. Nothing but the faults is not by the rule.
    pub fn make(
        numbered: Numbered,
        configs: &[(&str, &str)],
        faults: &[(u64, Fault)],
    ) -> Result<Tampered, Error> {
        let clusters = shared::clusters();
        let (topic, partitions) = (&*numbered.topic, numbered.partitions);
        clusters.source_oracle.create_topic(topic, partitions, configs)?;
        clusters.target_oracle.create_topic(topic, partitions, configs)?;
        let faulty = Writing { faults, ..Writing::default() };
        let right = Writing::default();
        std::thread::scope(|scope| {
            let side = scope
                .spawn(|| clusters.source_oracle.produce_numbered(&numbered, &right).map(drop));
            clusters.target_oracle.produce_numbered(&numbered, &faulty)?;
            side.join().expect("writing does not panic")
        })?;
        let plan = format!("topics.include = [\"{topic}\"]\nreconcile.memory = \"64MiB\"");
        let migration = Migration::new(topic, &plan);
        Ok(Tampered::place(numbered, migration, faults))
    }

    /// Where everything lies: without transactions there is no hole.
    fn place(numbered: Numbered, migration: Migration, faults: &[(u64, Fault)]) -> Tampered {
        let faults: BTreeMap<u64, Fault> = faults.iter().copied().collect();
        let mut source = vec![Vec::new(); numbered.partitions];
        let mut target = vec![0; numbered.partitions];
        let (mut written, mut untouched) = (BTreeMap::new(), BTreeMap::new());
        for id in numbered.first..numbered.first + numbered.count {
            let at = numbered.partition_of(id);
            source[at].push(id);
            let fault = faults.get(&id);
            let (to, count) = match fault {
                Some(Fault::Drop) => (at, 0),
                Some(Fault::Double | Fault::Insert | Fault::Stranger) => (at, 2),
                Some(Fault::Move) => ((at + 1) % numbered.partitions, 1),
                _ => (at, 1),
            };
            let place = |offset: u64| (number(to), number(offset));
            let places: Vec<Place> = (target[to]..target[to] + count).map(place).collect();
            target[to] += count;
            if fault.is_some() {
                written.insert(id, places);
            } else {
                untouched.insert(id, places[0]);
            }
        }
        Tampered { numbered, migration, source, target, written, untouched }
    }

    /// Numbers of a key's records.
    pub fn of_key(&self, key: u64) -> Vec<u64> {
        of_key(&self.numbered, key)
    }

    /// Proves without a ledger, and ends with exit 1.
    #[track_caller]
    pub fn prove(&self) -> Proof {
        Proof::of(&self.migration, &[], 1)
    }

    /// Its offset on the source.
    pub fn on_source(&self, id: u64) -> i64 {
        let records = &self.source[self.numbered.partition_of(id)];
        number(records.binary_search(&id).expect("it is there"))
    }

    /// Offset on the target of the `nth` record that was written in its place.
    pub fn on_target(&self, id: u64, nth: usize) -> i64 {
        self.written.get(&id).map_or_else(|| self.untouched[&id].1, |places| places[nth].1)
    }

    /// Records of a partition, on both sides.
    pub fn records(&self, partition: usize) -> (u64, u64) {
        (self.source[partition].len() as u64, self.target[partition])
    }

    /// The row about the key of this record, with one of this kind, and as many records on both sides.
    pub fn row(&self, id: u64, kind: &str) -> Row {
        let key = self.numbered.key_number(id);
        let records = key.map_or(0, |key| self.of_key(key).len() as u64);
        Row {
            topic: self.numbered.topic.clone(),
            partition: number(self.numbered.partition_of(id)),
            key: key.map_or_else(String::new, |key| format!("key-{key}")),
            key_encoding: key.map_or("none", |_| "text").to_owned(),
            kind: kind.to_owned(),
            detail: format!("1 {kind}"),
            source_records: records,
            target_records: records,
            source_offset: Some(self.on_source(id)),
            target_offset: None,
            made_by: String::new(),
        }
    }
}

/// Numbers of a key's records, in order.
pub fn of_key(numbered: &Numbered, key: u64) -> Vec<u64> {
    let all = numbered.first..numbered.first + numbered.count;
    all.filter(|id| numbered.key_number(*id) == Some(key)).collect()
}

fn number<T>(n: impl TryInto<T>) -> T {
    n.try_into().unwrap_or_else(|_| panic!("a small number"))
}

/// As they come in `diff.csv`.
pub fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| (&a.key, a.partition).cmp(&(&b.key, b.partition)));
    rows
}
