//! A log start that has moved on one side, without a ledger: the beginnings are found by their records.

use super::files::Row;
use super::tampered::{Tampered, of_key, sorted};
use crate::brokers::{Error, Fault, Numbered, shared};

/// Deletes the first offsets of partition 0 on one side. Of two faults behind that, one in each
/// partition, and one before it, the two are found.
fn deleted(topic: &str, on_source: bool, before: i64) -> Result<(), Error> {
    let clusters = shared::clusters();
    let numbered = Numbered { keys: 2_000, ..Numbered::new(topic, 2, 20_000) };
    let in_partition = |partition: usize, from: u64| {
        let mut ids = (from..).filter(|id| numbered.partition_of(*id) == partition);
        ids.next().expect("every partition has records")
    };
    let [forgotten, dropped] = [in_partition(0, 100), in_partition(0, 15_000)];
    let changed = in_partition(1, 10);
    let key = |id: u64| numbered.key_number(id);
    assert!(key(forgotten) != key(dropped));
    let faults = [(forgotten, Fault::Value), (dropped, Fault::Drop), (changed, Fault::Timestamp)];
    let copy = Tampered::make(numbered.clone(), &[], &faults)?;
    assert!(copy.on_source(forgotten) < before && copy.on_source(dropped) > before);
    let oracle = if on_source { &clusters.source_oracle } else { &clusters.target_oracle };
    oracle.delete_records(topic, 0, before)?;

    let left = of_key(&numbered, key(dropped).expect("keyed"));
    let left = left.into_iter().filter(|id| copy.on_source(*id) >= before).count() as u64;
    let expected = sorted(vec![
        Row { source_records: left, target_records: left - 1, ..copy.row(dropped, "missing") },
        Row {
            detail: "1 changed (timestamp)".into(),
            target_offset: Some(copy.on_target(changed, 0)),
            ..copy.row(changed, "changed")
        },
    ]);
    let proof = copy.prove();
    assert_eq!(proof.rows, expected);
    let [here, there] = match on_source {
        true => ["expired_source", "expired_target"],
        false => ["expired_target", "expired_source"],
    };
    let expired = u64::try_from(before).expect("an offset");
    assert_eq!((proof.sum(here), proof.sum(there)), (expired, 0));
    assert_eq!(proof.not_proved("expired"), expired);
    Ok(())
}

#[test]
fn some_records_deleted_on_the_source_hide_no_loss_behind_them() -> Result<(), Error> {
    deleted("beginning-source", true, 300)
}

#[test]
fn some_records_deleted_on_the_target_hide_no_loss_behind_them() -> Result<(), Error> {
    deleted("beginning-target", false, 300)
}

#[test]
fn many_records_deleted_on_the_source_hide_no_loss_behind_them() -> Result<(), Error> {
    deleted("beginning-source-far", true, 5_000)
}

#[test]
fn many_records_deleted_on_the_target_hide_no_loss_behind_them() -> Result<(), Error> {
    deleted("beginning-target-far", false, 5_000)
}
