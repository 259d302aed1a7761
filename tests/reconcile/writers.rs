//! With a ledger: a clean copy is proved by three witnesses, and what others write to the target is found.

use nix::sys::signal::Signal;

use super::copied::Copied;
use super::files::{Proof, Row};
use crate::brokers::{Error, Numbered, Record};

const RECORDS: u64 = 2_000;

/// Keyed records in two partitions, copied.
fn copied(name: &str) -> Result<Copied, Error> {
    let copied = Copied::empty(name, 2, &[], "run.lanes = 1")?;
    copied.numbered(&keyed(name, 0))?;
    copied.run();
    Ok(copied)
}

fn keyed(name: &str, first: u64) -> Numbered {
    Numbered { keys: 50, tombstone_every: 20, first, ..Numbered::new(name, 2, RECORDS) }
}

#[test]
fn a_clean_copy_is_proved_by_source_target_and_ledger() -> Result<(), Error> {
    let copied = copied("proof-clean")?;
    let proof = copied.prove(&["--full"], 0).is_clean();
    assert_eq!(proof.partitions.len(), 2);
    for at in &proof.partitions {
        assert_eq!(at["source_digest"].len(), at["target_digest"].len());
        assert!(!at["source_digest"].is_empty(), "{at:?}");
        assert_eq!(at["source_digest"], at["target_digest"]);
        assert_eq!(at["source_digest"], at["ledger_digest"]);
        assert_eq!(at["start"], *"0");
    }
    let ends: Vec<String> =
        copied.source.list_offsets("proof-clean")?.iter().map(|at| at.latest.to_string()).collect();
    let fences: Vec<&str> = proof.partitions.iter().map(|at| &at["fence"]).collect();
    assert_eq!(fences, ends);
    assert_eq!((proof.sum("source_records"), proof.sum("target_records")), (RECORDS, RECORDS));
    assert_eq!(proof.sum("source_tombstones"), RECORDS / 20);
    assert_eq!(proof.number("/source/records_read"), RECORDS);
    Ok(())
}

#[test]
fn a_record_that_another_writer_adds_at_the_end_is_extra() -> Result<(), Error> {
    let copied = copied("proof-end")?;
    let offsets = copied.spoil(&[
        Record::in_partition(0).key("stranger").value("at the end"),
        Record::in_partition(1).key("key-1").value("of a key that there is").at(1),
    ])?;
    let of_key = |key: &Record| key.key.as_deref() == Some(b"key-1");
    let known = copied.on_source(1)?.iter().filter(|(_, record)| of_key(record)).count() as u64;
    assert!(known > 0, "the key is in that partition");
    let proof = copied.prove(&[], 1);
    let stranger = Row {
        target_records: 1,
        target_offset: Some(offsets[0]),
        ..copied.row(0, "stranger", "extra")
    };
    let more = Row { target_offset: Some(offsets[1]), ..copied.row(1, "key-1", "extra") };
    // This pass reads what is new alone, and there the source has nothing of the key.
    assert_eq!(proof.rows, [Row { target_records: 1, ..more.clone() }, stranger.clone()]);
    let full = copied.prove(&["--full"], 1);
    let more = Row { source_records: known, target_records: known + 1, ..more };
    assert_eq!(full.rows, [more, stranger]);
    assert_eq!(full.summary["result"], "different");
    for at in &full.partitions {
        assert_eq!((at.number("foreign"), &at["verdict"]), (1, "different"));
        assert_eq!(at["source_digest"], at["ledger_digest"], "the copy itself was right");
    }
    Ok(())
}

#[test]
fn records_that_another_writer_adds_between_copies_are_extra_or_doubles() -> Result<(), Error> {
    let copied = copied("proof-between")?;
    let (_, double) = copied.on_source(1)?.swap_remove(7);
    let key = String::from_utf8(double.key.clone().expect("a key")).expect("text");
    let running = copied.tail();
    // A record that it copies says that it has looked at the target, and runs.
    copied.write(&[Record::in_partition(0).key("first").value("now").at(1)])?;
    copied.await_records(RECORDS + 1);
    let extra = Record::in_partition(0).key("stranger").value("in the middle").at(1);
    let offsets = copied.spoil(&[extra, double.clone()])?;
    copied.numbered(&keyed("proof-between", 2 * RECORDS))?;
    copied.await_records(2 * RECORDS + 3);
    running.signal(Signal::SIGTERM);
    running.finish().expect(0);
    let behind = copied.on_target(1)?;
    assert!(behind.last().is_some_and(|(last, _)| *last > offsets[1] + 100), "later copies");

    let proof = copied.prove(&["--full"], 1);
    let on_source = copied.on_source(1)?;
    let of_key = on_source.iter().filter(|(_, record)| record.key == double.key);
    let original = on_source.iter().find(|(_, record)| *record == double).map(|(at, _)| *at);
    let known = of_key.count() as u64;
    let extra = Row {
        target_records: 1,
        target_offset: Some(offsets[0]),
        ..copied.row(0, "stranger", "extra")
    };
    let double = Row {
        source_records: known,
        target_records: known + 1,
        source_offset: original,
        target_offset: Some(offsets[1]),
        ..copied.row(1, &key, "duplicated")
    };
    assert_eq!(proof.rows, [double, extra], "by key");
    assert_eq!(proof.number("/differences_by_kind/extra"), 1);
    assert_eq!(proof.number("/differences_by_kind/duplicated"), 1);
    // A run has nothing to copy, but ends with the proof. What differed is read from the beginning again.
    let run = copied.migration.run(&["--json"]).expect(1);
    assert_eq!(run.json()["result"], "different");
    let news = Proof::read(&copied.migration);
    let kinds: Vec<&str> = news.rows.iter().map(|row| &*row.kind).collect();
    assert_eq!((&news.summary["mode"], kinds), (&"full".into(), vec!["duplicated", "extra"]));
    let because = news.summary["full_because"].as_str().unwrap_or_default();
    assert!(because.contains("the earlier pass found differences"), "{because}");
    let status = copied.migration.status();
    assert_eq!(
        (&status["stage"], &status["proof"]["different"]),
        (&"copied-not-proved".into(), &2.into()),
        "{status}"
    );
    Ok(())
}
