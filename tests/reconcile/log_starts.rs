//! A log start that has moved on one side, with a ledger. `delete-records` moves it as retention does.

use super::copied::Copied;
use crate::brokers::{Error, Numbered, Oracle, Record};

const RECORDS: u64 = 2_000;

/// A copied topic of which the first offsets of partition 0 are then deleted on one side.
struct Moved {
    copied: Copied,
    /// Column of what is gone on that side, and that of the other one.
    columns: [&'static str; 2],
    deleted: u64,
}

fn moved(name: &str, policy: &str, on_source: bool, before: i64) -> Result<Moved, Error> {
    // Nothing but the deletion is to take records: on the target, markers of this day stand behind
    // records of long ago, which begins new segments.
    let configs = [("cleanup.policy", policy), ("min.compaction.lag.ms", "9223372036854775807")];
    let copied = Copied::empty(name, 2, &configs, "run.lanes = 1")?;
    copied.numbered(&Numbered { keys: 200, ..Numbered::new(name, 2, RECORDS) })?;
    copied.run();
    let (side, records): (&Oracle, _) = match on_source {
        true => (&copied.source, copied.on_source(0)?),
        false => (&copied.target, copied.on_target(0)?),
    };
    let gone = |offset: i64| before < 0 || offset < before;
    let deleted = records.iter().filter(|(offset, _)| gone(*offset)).count() as u64;
    side.delete_records(name, 0, before)?;
    let columns = match on_source {
        true => ["expired_source", "expired_target"],
        false => ["expired_target", "expired_source"],
    };
    Ok(Moved { copied, columns, deleted })
}

impl Moved {
    /// All else is proved, and the counts say what is not.
    #[track_caller]
    fn is_proved(&self) {
        assert!(self.deleted > 300, "{}", self.deleted);
        let proof = self.copied.prove(&["--full"], 0).is_clean();
        let [here, there] = self.columns;
        assert_eq!((proof.sum(here), proof.sum(there)), (self.deleted, 0));
        assert_eq!(proof.not_proved("expired"), self.deleted);
        let compared = RECORDS - self.deleted;
        let sums = [proof.sum("source_records"), proof.sum("target_records")];
        assert_eq!(sums, [compared; 2]);
    }

    /// One record of another writer in each partition is found, of a key that is compared and of one
    /// whose copies do not count any more.
    fn faults_are_found(&self, kind: &str) -> Result<(), Error> {
        let copied = &self.copied;
        let key = |records: Vec<(i64, Record)>, last: bool| {
            let mut of = records.into_iter().filter_map(|(_, record)| record.key);
            if last { of.next_back() } else { of.next() }.expect("records with keys")
        };
        let keys = [key(copied.on_source(0)?, true), key(copied.on_target(1)?, false)];
        let foreign = |partition: i32, key: &[u8]| {
            Record::in_partition(partition).key(key).value("foreign").at(1)
        };
        let offsets = copied.spoil(&[foreign(0, &keys[0]), foreign(1, &keys[1])])?;
        let proof = copied.prove(&["--full"], 1);
        let mut found: Vec<_> = proof
            .rows
            .iter()
            .map(|row| (row.partition, &*row.kind, row.target_offset, &*row.made_by))
            .collect();
        found.sort_unstable();
        let row = |partition: i32, n: usize| (partition, kind, Some(offsets[n]), "later writer");
        assert_eq!(found, [row(0, 0), row(1, 1)], "{:#?}", proof.rows);
        Ok(())
    }
}

#[test]
fn records_deleted_on_the_source_are_expired_there_and_the_rest_is_proved() -> Result<(), Error> {
    let moved = moved("expired-source", "delete", true, 400)?;
    moved.is_proved();
    moved.faults_are_found("extra")
}

#[test]
fn records_deleted_on_the_target_are_expired_there_and_the_rest_is_proved() -> Result<(), Error> {
    let moved = moved("expired-target", "delete", false, 400)?;
    moved.is_proved();
    moved.faults_are_found("extra")
}

#[test]
fn old_records_of_a_compacted_topic_deleted_on_the_source_are_expired() -> Result<(), Error> {
    let moved = moved("expired-source-both", "compact,delete", true, 400)?;
    moved.is_proved();
    moved.faults_are_found("changed")
}

#[test]
fn old_records_of_a_compacted_topic_deleted_on_the_target_are_expired() -> Result<(), Error> {
    let moved = moved("expired-target-both", "compact,delete", false, 400)?;
    moved.is_proved();
    moved.faults_are_found("changed")
}

#[test]
fn a_partition_of_which_nothing_is_left_is_not_proved_and_says_so() -> Result<(), Error> {
    let moved = moved("expired-whole", "delete", false, -1)?;
    // The originals are still there.
    let proof = moved.copied.prove(&["--full"], 1);
    assert_eq!((&proof.summary["result"], proof.rows.len()), (&"not-proved".into(), 0));
    let verdicts: Vec<&str> = proof.partitions.iter().map(|at| &at["verdict"]).collect();
    assert_eq!(verdicts, ["not proved", "equal"]);
    assert_eq!(proof.sum("expired_target"), moved.deleted);
    assert_eq!(proof.not_proved("nothing to compare"), 1);
    // Nor does a pass that goes on behind the clean one at the run's end forget it.
    let proof = moved.copied.prove(&[], 1);
    assert_eq!(
        (&proof.summary["result"], &proof.summary["mode"]),
        (&"not-proved".into(), &"full".into())
    );
    Ok(())
}
