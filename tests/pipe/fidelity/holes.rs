//! One record per transaction: a hole at every offset, and the ledger stays small all the same.

use serde_json::Value;

use super::{digest, source, target};
use crate::brokers::{Error, Numbered, Writing};
use crate::pipe::harness::Migration;

const RECORDS: u64 = 100_000;

#[test]
fn a_hundred_thousand_records_with_a_hole_after_each_take_less_than_a_tenth_of_a_byte_each_in_the_ledger()
-> Result<(), Error> {
    // A transaction of one record in each partition makes the same holes, 25 times as fast; and most
    // of it is waiting for markers, so four are written side by side.
    let partitions = 25;
    let topics: Vec<Numbered> =
        (0..4).map(|n| Numbered::new(&format!("holes-{n}"), partitions, RECORDS / 4)).collect();
    std::thread::scope(|scope| {
        let write = |numbered: &Numbered| {
            source().create_topic(&numbered.topic, partitions, &[])?;
            let quickly = [("retry.backoff.ms", "5"), ("retry.backoff.max.ms", "10")];
            let writing = Writing { per_transaction: 25, settings: &quickly, ..Writing::default() };
            source().produce_numbered(numbered, &writing)
        };
        let writers: Vec<_> =
            topics.iter().map(|numbered| scope.spawn(move || write(numbered))).collect();
        writers.into_iter().try_for_each(|one| one.join().expect("no panic").map(drop))
    })?;
    let ends = source().list_offsets("holes-0")?;
    assert!(ends.iter().all(|one| one.latest == 2 * 1000), "a hole at every offset: {ends:?}");

    let plan = "topics.include = ['/holes-.*/']\nrun.lanes = 1\nrun.commit_interval = \"10s\"";
    let migration = Migration::new("holes", plan);
    migration.run(&[]).expect(0);
    for numbered in &topics {
        assert_eq!(target().check_numbered(numbered)?, [""; 0]);
        assert_eq!(digest(source(), &numbered.topic)?, digest(target(), &numbered.topic)?);
    }

    let ledger = migration.verb("status", &["--ledger", "--json"]).expect(0).stdout;
    let entries = ledger
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect::<Vec<Value>>();
    let carries = entries.iter().filter(|entry| entry["kind"] == "carry");
    let parts = carries.flat_map(|carry| carry["partitions"].as_array().into_iter().flatten());
    let (mut carried, mut coded) = (0, 0);
    for part in parts {
        carried += part["written"].as_u64().expect("a count");
        coded += part["runs"].to_string().len() as u64;
    }
    assert_eq!(carried, RECORDS);
    assert!(coded < RECORDS / 10, "{coded} bytes of runs");
    // The rest counts partitions, not records: bindings, a few carries, one snapshot.
    let all = ledger.len() as u64;
    assert!(all < 2 * RECORDS, "{all} bytes, {} entries", entries.len());
    Ok(())
}
