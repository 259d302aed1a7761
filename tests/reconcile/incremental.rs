//! A pass reads only what came since an earlier clean one, and says so.

use nix::sys::signal::Signal;

use super::copied::Copied;
use super::files::{Proof, Row};
use crate::brokers::{Error, Numbered, Record};

fn numbered(name: &str, first: u64, count: u64) -> Numbered {
    Numbered { keys: 50, first, ..Numbered::new(name, 2, count) }
}

/// How it went, and records read on both sides.
fn read(proof: &Proof) -> (&str, [u64; 2]) {
    let mode = proof.summary["mode"].as_str().expect("a mode");
    (mode, ["/source/records_read", "/target/records_read"].map(|side| proof.number(side)))
}

#[test]
fn a_pass_after_a_clean_one_reads_only_what_is_new() -> Result<(), Error> {
    let copied = Copied::empty("proof-again", 2, &[], "")?;
    copied.numbered(&numbered("proof-again", 0, 1_000))?;
    let first = copied.run();
    assert_eq!(read(&first), ("full", [1_000; 2]));
    assert_eq!(first.summary["full_because"], "no earlier proof");

    let nothing_new = copied.prove(&[], 0).is_clean();
    assert_eq!(read(&nothing_new), ("incremental", [0; 2]));
    let ends = copied.source.list_offsets("proof-again")?;
    for (at, end) in nothing_new.partitions.iter().zip(ends) {
        assert_eq!(at["proved_before"], end.latest.to_string());
    }

    copied.numbered(&numbered("proof-again", 1_000, 70))?;
    copied.migration.run(&["--no-reconcile"]).expect(0);
    assert_eq!(read(&copied.prove(&[], 0).is_clean()), ("incremental", [70; 2]));

    let everything = copied.prove(&["--full"], 0).is_clean();
    assert_eq!(read(&everything), ("full", [1_070; 2]));
    assert_eq!(everything.summary["full_because"], "--full");
    Ok(())
}

#[test]
fn what_is_not_proved_is_read_again_by_the_next_pass() -> Result<(), Error> {
    let copied = Copied::empty("proof-until", 2, &[], "")?;
    copied.numbered(&numbered("proof-until", 0, 1_000))?;
    copied.run();
    copied.spoil(&[Record::in_partition(0).key("stranger").value("x").at(1)])?;
    let found = copied.prove(&[], 1);
    assert_eq!(read(&found), ("incremental", [0, 1]));
    // The partition that differs is read from its beginning, the other one is proved.
    let again = copied.prove(&[], 1);
    assert_eq!((again.rows.len(), &again.rows), (1, &found.rows));
    let whole = copied.on_source(0)?.len() as u64;
    assert_eq!(read(&again), ("full", [whole, whole + 1]));
    let because = again.summary["full_because"].as_str().unwrap_or_default();
    assert!(because.contains("the earlier pass found differences"), "{because}");
    Ok(())
}

#[test]
fn a_topic_that_was_created_anew_since_the_copy_is_refused() -> Result<(), Error> {
    let name = "proof-anew";
    let copied = Copied::empty(name, 2, &[], "")?;
    copied.numbered(&numbered(name, 0, 100))?;
    copied.run();
    for (oracle, side) in [(&copied.target, "target"), (&copied.source, "source")] {
        let was = oracle.describe_topic(name)?.id;
        oracle.delete_topic(name)?;
        let is = oracle.create_topic(name, 2, &[])?;
        let refused = copied.migration.verb("reconcile", &["--json"]).expect(5);
        assert_eq!(refused.error_kind(), "topic-created-anew");
        let message = refused.json()["error"]["message"].to_string();
        for word in [&format!("{side} `{name}`"), &was, &is] {
            assert!(message.contains(word), "no `{word}` in {message}");
        }
    }
    Ok(())
}

#[test]
fn a_tombstone_of_a_key_that_was_proved_before_is_proved_and_a_record_behind_it_found()
-> Result<(), Error> {
    let copied = Copied::empty("proof-tombstone", 1, &[("cleanup.policy", "compact")], "")?;
    let key = |key: &str, at: i64| Record::in_partition(0).key(key).at(1_700_000_000_000 + at);
    copied.write(&[key("a", 1).value("1"), key("b", 2).value("1"), key("c", 3).value("1")])?;
    copied.run();
    let news = [key("a", 4), key("b", 5).value("2"), key("d", 6).value("1"), key("d", 7)];
    let offsets = copied.write(&news)?;
    copied.migration.run(&["--no-reconcile"]).expect(0);
    let proof = copied.prove(&[], 0).is_clean();
    assert_eq!(read(&proof), ("incremental", [4; 2]));
    assert_eq!(proof.sum("source_tombstones"), 2);

    let revived = copied.spoil(&[key("a", 8).value("3"), key("b", 9)])?;
    copied.write(&[key("e", 10).value("1")])?;
    let proof = copied.prove(&[], 1);
    // Both keys are looked up from the beginning of their logs.
    let revived = [
        Row {
            detail: "1 extra (the source's last record is a tombstone)".into(),
            source_records: 2,
            target_records: 3,
            source_offset: Some(offsets[0]),
            target_offset: Some(revived[0]),
            ..copied.row(0, "a", "extra")
        },
        Row {
            detail: "1 missing (the target's last record is a tombstone)".into(),
            source_records: 2,
            target_records: 3,
            source_offset: Some(offsets[1]),
            target_offset: Some(revived[1]),
            ..copied.row(0, "b", "missing")
        },
    ];
    assert_eq!(proof.rows, revived);
    assert_eq!(proof.summary["mode"], "incremental");
    Ok(())
}

#[test]
fn what_a_tail_copies_is_proved_without_reading_the_rest_again() -> Result<(), Error> {
    let copied = Copied::empty("proof-tail", 2, &[], "")?;
    copied.numbered(&numbered("proof-tail", 0, 1_000))?;
    copied.run();
    let running = copied.tail();
    copied.numbered(&numbered("proof-tail", 1_000, 30))?;
    copied.await_records(1_030);
    let proof = copied.prove(&[], 0).is_clean();
    assert_eq!(read(&proof), ("incremental", [30; 2]));
    running.signal(Signal::SIGTERM);
    running.finish().expect(0);
    Ok(())
}
