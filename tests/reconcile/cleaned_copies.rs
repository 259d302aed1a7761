//! Losses and changes in another tool's copy of a compacted topic are found whichever side was compacted.

use super::cleaning::{AT_ONCE, NEVER, NOW, left};
use super::tampered::{Tampered, of_key};
use crate::brokers::{Error, Fault, Numbered, Oracle, Record, shared};
use crate::pipe::harness::eventually;

const KEYS: u64 = 200;
const LATER: i64 = 1_700_000_000_000;

/// The first key from `from` on whose last two records are tombstones, or not, as `wanted`: the last one.
fn ending(numbered: &Numbered, from: u64, wanted: [bool; 2]) -> (u64, u64) {
    let ends = |key: &u64| {
        let [.., before, last] = of_key(numbered, *key)[..] else { return None };
        let are = [before, last].map(|id| numbered.is_tombstone(id));
        (are == wanted).then_some((*key, last))
    };
    (from..KEYS).find_map(|key| ends(&key)).expect("such a key")
}

/// Begins a new segment on both sides, again and again, until `side` holds each key once at most and no
/// tombstone.
fn compact(topic: &str, side: &Oracle) -> Result<(), Error> {
    let clusters = shared::clusters();
    side.set_topic_config(topic, &[AT_ONCE])?;
    let mut day = 0;
    eventually("the log is compacted", || {
        day += 1;
        let newer = Record::in_partition(0).key("day").value("new").at(LATER + day * 86_400_000);
        for oracle in [&clusters.source_oracle, &clusters.target_oracle] {
            oracle.produce(topic, std::slice::from_ref(&newer)).expect("written");
        }
        left(side, topic).is_ok_and(|(values, tombstones)| values < 220 && tombstones == 0)
    });
    Ok(())
}

fn faults_are_found(topic: &str, on_source: bool, of_dropped: &str) -> Result<(), Error> {
    let clusters = shared::clusters();
    let numbered = Numbered { keys: KEYS, tombstone_every: 10, ..Numbered::new(topic, 1, 4_000) };
    let live = [false, false];
    let dropped = ending(&numbered, 0, live);
    let changed = ending(&numbered, dropped.0 + 1, live);
    let revived = ending(&numbered, changed.0 + 1, [false, true]);
    let deleted = ending(&numbered, revived.0 + 1, [true, false]);
    let faults = [
        (dropped.1, Fault::Drop),
        (changed.1, Fault::Value),
        (revived.1, Fault::Drop),
        (deleted.1, Fault::Drop),
    ];
    let configs: Vec<_> = NOW.into_iter().chain([NEVER]).collect();
    let copy = Tampered::make(numbered, &configs, &faults)?;
    let side = if on_source { &clusters.source_oracle } else { &clusters.target_oracle };
    compact(topic, side)?;
    let proof = copy.prove();
    let (few, all) = match on_source {
        true => ("source_records", "target_records"),
        false => ("target_records", "source_records"),
    };
    assert!(proof.sum(few) < 230 && proof.sum(all) > 3_990, "{:?}", proof.partitions);
    let mut expected = [
        (format!("key-{}", dropped.0), of_dropped),
        (format!("key-{}", changed.0), "changed"),
        (format!("key-{}", revived.0), "extra"),
        (format!("key-{}", deleted.0), "missing"),
    ];
    expected.sort();
    let found: Vec<_> = proof.rows.iter().map(|row| (row.key.clone(), &*row.kind)).collect();
    assert_eq!(found, expected, "{:#?}", proof.rows);
    Ok(())
}

#[test]
fn faults_of_a_copy_are_found_when_the_target_alone_was_compacted() -> Result<(), Error> {
    faults_are_found("cleaned-copy-target", false, "missing")
}

#[test]
fn faults_of_a_copy_are_found_when_the_source_alone_was_compacted() -> Result<(), Error> {
    // The older record that the target ends with is not on the source any more, which would tell.
    faults_are_found("cleaned-copy-source", true, "changed")
}
