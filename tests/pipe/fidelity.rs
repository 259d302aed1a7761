//! What arrives is what was written: byte for byte, in order, judged by a reader that shares no code
//! with the pipe.

mod bytes;
mod codecs;
mod holes;
mod open_transactions;
mod shape;
mod sizes;
mod starts;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::brokers::oracle::Digest;
use crate::brokers::{Error, Isolation, Oracle, Record, shared};

fn source() -> &'static Oracle {
    &shared::clusters().source_oracle
}

fn target() -> &'static Oracle {
    &shared::clusters().target_oracle
}

/// The records that a read_committed consumer sees, by partition, in order.
fn records(oracle: &Oracle, topic: &str) -> Result<Vec<Record>, Error> {
    let stored = oracle.read(topic, Isolation::ReadCommitted)?;
    Ok(stored.into_iter().map(|one| one.record).collect())
}

fn digest(oracle: &Oracle, topic: &str) -> Result<Vec<Digest>, Error> {
    oracle.digest(topic, Isolation::ReadCommitted)
}

/// Compares a topic on both sides record by record; returns how many there are.
#[track_caller]
fn assert_same(topic: &str) -> Result<usize, Error> {
    assert_same_as(topic, topic)
}

#[track_caller]
fn assert_same_as(on_source: &str, on_target: &str) -> Result<usize, Error> {
    let wanted = records(source(), on_source)?;
    let found = records(target(), on_target)?;
    for (n, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
        assert_eq!(found, wanted, "record number {n} of `{on_target}`");
    }
    assert_eq!(found.len(), wanted.len(), "records of `{on_target}`");
    Ok(wanted.len())
}

fn text(value: impl AsRef<[u8]>) -> Record {
    Record::in_partition(0).value(value).at(1_700_000_000_000)
}

/// The parts of a cluster's snapshot that belong to a test: topics, offsets and groups whose names
/// hold `part`. Other tests change the rest meanwhile.
fn snapshot(oracle: &Oracle, part: &str) -> Result<BTreeMap<String, Value>, Error> {
    let all = oracle.snapshot()?;
    let mut mine = BTreeMap::new();
    for of in ["topics", "offsets", "groups"] {
        for (name, what) in all[of].as_object().into_iter().flatten() {
            if name.contains(part) {
                mine.insert(format!("{of} {name}"), what.clone());
            }
        }
    }
    Ok(mine)
}
