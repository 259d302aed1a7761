//! Compaction that has run on one side only: no false alarm, and what others have spoilt is found.

use super::copied::Copied;
use super::files::{Proof, Row};
use crate::brokers::{Error, Isolation, Oracle, Record};
use crate::pipe::harness::eventually;

const START: i64 = 1_700_000_000_000;
const DAY: i64 = 86_400_000;
const KEYS: i64 = 40;

/// Compacts, as soon as there is something to compact and a newer segment.
pub const NOW: [(&str, &str); 4] = [
    ("cleanup.policy", "compact"),
    ("segment.ms", "60000"),
    ("min.cleanable.dirty.ratio", "0.0001"),
    ("delete.retention.ms", "0"),
];
/// The lag of a log that is not compacted.
pub const NEVER: (&str, &str) = ("min.compaction.lag.ms", "9223372036854775807");
pub const AT_ONCE: (&str, &str) = ("min.compaction.lag.ms", "0");

fn record(key: &str, at: i64) -> Record {
    Record::in_partition(0).key(key).at(START + at)
}

/// 25 records of each key; every eighth key ends in a tombstone.
fn records() -> Vec<Record> {
    let record = |n: i64| {
        let key = n % KEYS;
        let record = record(&format!("key-{key:02}"), n).header("n", n.to_string());
        if key % 8 == 7 && n >= 24 * KEYS { record } else { record.value(format!("value {n}")) }
    };
    (0..25 * KEYS).map(record).collect()
}

/// Copied, and not compacted anywhere yet.
fn copied(name: &str) -> Result<Copied, Error> {
    let configs: Vec<_> = NOW.into_iter().chain([NEVER]).collect();
    // With tombstones that go at once, every copy is too late for some.
    let copied = Copied::empty(name, 1, &configs, "run.on_gap = \"record\"")?;
    copied.write(&records())?;
    copied.run();
    Ok(copied)
}

/// Begins a new segment on both sides, so that the one before may be compacted.
fn next_day(copied: &Copied, day: i64) -> Result<(), Error> {
    copied.write(&[record("day", day * DAY).value(day.to_string())])?;
    copied.migration.run(&["--no-reconcile"]).expect(0);
    Ok(())
}

/// Records with a value, and tombstones.
pub fn left(oracle: &Oracle, topic: &str) -> Result<(usize, usize), Error> {
    let all = oracle.read(topic, Isolation::ReadCommitted)?;
    let tombstones = all.iter().filter(|stored| stored.record.value.is_none()).count();
    Ok((all.len() - tombstones, tombstones))
}

/// Lets one side compact until only the last record of each key is left, and no tombstone.
fn compact(copied: &Copied, oracle: &Oracle) -> Result<(), Error> {
    oracle.set_topic_config(&copied.name, &[AT_ONCE])?;
    next_day(copied, 1)?;
    let [live, ended] = [KEYS - KEYS / 8, KEYS / 8].map(|n| usize::try_from(n).expect("small"));
    eventually("the log is compacted", || {
        left(oracle, &copied.name).is_ok_and(|(values, _)| values == live + 1)
    });
    assert!(left(oracle, &copied.name)?.1 <= ended);
    // Tombstones go with the next cleaning, which needs something to clean.
    let mut day = 1;
    eventually("the tombstones are gone", || {
        day += 1;
        next_day(copied, day).expect("copied");
        left(oracle, &copied.name).is_ok_and(|(_, tombstones)| tombstones == 0)
    });
    Ok(())
}

/// Proves everything, and then again with faults of another writer in a key of each sort.
fn is_proved_and_faults_are_found(copied: &Copied, compacted: &str) -> Result<(), Error> {
    let proof = copied.prove(&["--full"], 0).is_clean();
    for unproved in ["superseded", "expired_source", "expired_target"] {
        assert_eq!(proof.sum(unproved), 0, "{unproved}");
    }
    let (few, all) = match compacted {
        "source" => ("source_records", "target_records"),
        _ => ("target_records", "source_records"),
    };
    assert!(proof.sum(few) < 100, "{:?}", proof.partitions);
    assert!(proof.sum(all) > 1000, "{:?}", proof.partitions);
    spoil(copied)
}

fn spoil(copied: &Copied) -> Result<(), Error> {
    let later = |key: &str| record(key, 1_000 * DAY);
    let offsets = copied.spoil(&[
        later("key-03").value("changed"),
        later("key-07").value("revived"),
        later("key-11"),
        later("key-99").value("new"),
    ])?;
    let proof: Proof = copied.prove(&["--full"], 1);
    let found: Vec<(&str, &str, Option<i64>, &str)> = proof
        .rows
        .iter()
        .map(|Row { key, kind, target_offset, made_by, .. }| {
            (&**key, &**kind, *target_offset, &**made_by)
        })
        .collect();
    let row = |key, kind, n: usize| (key, kind, Some(offsets[n]), "later writer");
    let expected = [
        row("key-03", "changed", 0),
        row("key-07", "extra", 1),
        row("key-11", "missing", 2),
        row("key-99", "extra", 3),
    ];
    assert_eq!(found, expected, "{:#?}", proof.rows);
    Ok(())
}

#[test]
fn compaction_and_removed_tombstones_on_the_target_only_are_no_difference() -> Result<(), Error> {
    let copied = copied("cleaned-target")?;
    compact(&copied, &copied.target)?;
    is_proved_and_faults_are_found(&copied, "target")
}

#[test]
fn compaction_and_removed_tombstones_on_the_source_only_are_no_difference() -> Result<(), Error> {
    let copied = copied("cleaned-source")?;
    compact(&copied, &copied.source)?;
    is_proved_and_faults_are_found(&copied, "source")
}

#[test]
fn a_key_with_a_newer_record_that_is_not_copied_is_superseded_and_judged_by_the_next_pass()
-> Result<(), Error> {
    let copied = copied("cleaned-newer")?;
    let newer = |key: &str, at: i64| record(key, at).value("newer");
    copied.write(&[newer("key-01", DAY), newer("key-02", DAY), record("key-04", DAY)])?;
    let superseded = |proof: &Proof| [proof.sum("superseded"), proof.not_proved("newer record")];
    assert_eq!(superseded(&copied.prove(&["--full"], 0).is_clean()), [3, 3]);
    // Their copied records are then gone on the source, before the newer ones are copied.
    copied.source.set_topic_config("cleaned-newer", &[AT_ONCE])?;
    copied.write(&[newer("day", 2 * DAY)])?;
    eventually("the log is compacted", || {
        left(&copied.source, "cleaned-newer").is_ok_and(|(values, _)| values < 50)
    });
    // The key `day`, which has newer records alone, is not in what is proved.
    assert_eq!(superseded(&copied.prove(&["--full"], 0).is_clean()), [3, 3]);
    assert_eq!(superseded(&copied.run()), [0, 0]);
    spoil(&copied)
}
