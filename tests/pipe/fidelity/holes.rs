//! One record per transaction: a hole after every offset, and the ledger stays small all the same.

use serde_json::Value;

use super::{digest, source, target};
use crate::brokers::{Error, Numbered, Writing};
use crate::pipe::harness::Migration;

const RECORDS: u64 = 100_000;

#[test]
fn a_hundred_thousand_transactions_of_one_record_take_less_than_a_byte_each_in_the_ledger()
-> Result<(), Error> {
    // A transaction of one record in each partition makes the same holes, 50 times as fast.
    let partitions = 50;
    let numbered = Numbered::new("holes", partitions, RECORDS);
    source().create_topic("holes", partitions, &[])?;
    // The next transaction is turned away until the markers of the last one are written.
    let quickly = [("retry.backoff.ms", "2"), ("retry.backoff.max.ms", "10"), ("linger.ms", "0")];
    let writing = Writing { per_transaction: 50, settings: &quickly, ..Writing::default() };
    source().produce_numbered(&numbered, &writing)?;
    let ends = source().list_offsets("holes")?;
    assert!(ends.iter().all(|one| one.latest == 2 * 2000), "a hole at every offset: {ends:?}");

    let plan = "topics.include = [\"holes\"]\nrun.lanes = 1\nrun.commit_interval = \"10s\"";
    let migration = Migration::new("holes", plan);
    migration.run(&[]).expect(0);
    assert_eq!(target().check_numbered(&numbered)?, [""; 0]);
    assert_eq!(digest(source(), "holes")?, digest(target(), "holes")?);

    let ledger = migration.verb("status", &["--ledger", "--json"]).expect(0).stdout;
    let entries: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let carries: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "carry").collect();
    let carried: u64 = carries
        .iter()
        .flat_map(|carry| carry["partitions"].as_array().into_iter().flatten())
        .map(|part| part["written"].as_u64().expect("a count"))
        .sum();
    assert_eq!(carried, RECORDS);
    let bytes = ledger.len() as u64;
    assert!(bytes < RECORDS, "{bytes} bytes, {} entries:\n{ledger:.4000}", entries.len());
    Ok(())
}
