//! Entries of version 1 as files: what was once written is read for ever, and written the same way.
//!
//! One file per kind with all its fields, one with as few as it can have. A file is never changed;
//! a new format version gets files of its own, and these stay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::*;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::plan::TopicPartition;

const AT: i64 = 1_700_000_000_123;

fn text(text: &str) -> String {
    text.to_owned()
}

fn anchor() -> Anchor {
    Anchor {
        offset: 1080,
        epoch: Some(4),
        digest: RecordDigest(0x5d47_5438_6552_aa77_2259_e937_dbd5_13ff),
        timestamp: Some(AT),
    }
}

fn digest(count: u64) -> SequenceDigest {
    SequenceDigest { count, a: 0x06a9_21de_c639_fd0c, b: 0x1a02_dcd1_5874_7285 }
}

fn header(partition_role: Role) -> Entry {
    Entry::Header(Header {
        plan: text("orders-eu"),
        generation: 1,
        lanes: 8,
        source_cluster: text("Old-4L6g3nShT-eMCtK--X86sw"),
        target_cluster: text("New-9dQeYzRkSnKm0jJxwVbT2A"),
        partition_role,
        tool: text("0.1.0"),
        created: AT,
    })
}

fn bind(full: bool) -> Entry {
    let partition = BindPartition {
        topic: "payments.card".into(),
        partition: 11,
        topic_id: full.then(|| text("q5-Uq2SxQ0mZ3Yw1pL7dXA")),
        target_topic: "pay.card".into(),
        target_topic_id: full.then(|| text("bM1oX0sTQkyc3Jm8N6wZ5g")),
        start: 1000,
        target_start: 0,
        found: Found::Empty,
    };
    let adopted = BindPartition {
        partition: 12,
        target_start: 17,
        found: Found::Adopted,
        ..partition.clone()
    };
    Entry::Bind(Bind {
        worker: text("mover-1"),
        epoch: 3,
        naming: text(if full { "/payments\\.(.*)/ → pay.$1" } else { "same" }),
        start: text("earliest"),
        partitions: if full { vec![partition, adopted] } else { vec![partition] },
    })
}

fn carry(full: bool) -> Entry {
    let mut runs = Runs::default();
    (1000..1040).zip(5000..).for_each(|(source, target)| runs.push(source, target));
    (1041..1081).zip(5040..).for_each(|(source, target)| runs.push(source, target));
    let records = CarryPartition {
        topic: "payments.card".into(),
        partition: 11,
        first: 1000,
        next: 1083,
        runs,
        read: 83,
        written: 80,
        filtered: 2,
        dead: 1,
        bytes: 40_960,
        digest: digest(80),
        anchor: Some(anchor()),
        untimed: 5,
    };
    let only_the_position = CarryPartition {
        first: 7,
        next: 9,
        partition: 12,
        runs: Runs::default(),
        read: 0,
        written: 0,
        filtered: 0,
        dead: 0,
        bytes: 0,
        digest: SequenceDigest::EMPTY,
        anchor: None,
        untimed: 0,
        ..records.clone()
    };
    Entry::Carry(Carry {
        seq: 17,
        part: 1,
        parts: if full { 2 } else { 1 },
        worker: text("mover-1"),
        epoch: 3,
        snapshot: full.then_some(4096),
        at: AT,
        partitions: if full { vec![records, only_the_position] } else { vec![only_the_position] },
    })
}

fn gap() -> Entry {
    Entry::Gap(Gap {
        topic: "payments.card".into(),
        partition: 11,
        from: 1083,
        to: 2000,
        reason: text("the source's log start has passed the position"),
        at: AT,
    })
}

fn snapshot(full: bool) -> Entry {
    let bare = PartitionState {
        topic_id: None,
        target_topic: "pay.card".into(),
        target_topic_id: None,
        start: 1000,
        target_start: 0,
        found: Found::Empty,
        next: 1000,
        target_next: 0,
        anchor: None,
        records: 0,
        read: 0,
        filtered: 0,
        dead: 0,
        bytes: 0,
        untimed: 0,
        digest: SequenceDigest::EMPTY,
        gaps: vec![],
        caught_up_at: None,
    };
    let moved = PartitionState {
        topic_id: Some(text("q5-Uq2SxQ0mZ3Yw1pL7dXA")),
        target_topic_id: Some(text("bM1oX0sTQkyc3Jm8N6wZ5g")),
        target_start: 17,
        found: Found::Adopted,
        next: 2000,
        target_next: 5080,
        anchor: Some(anchor()),
        records: 80,
        read: 83,
        filtered: 2,
        dead: 1,
        bytes: 40_960,
        untimed: 5,
        digest: digest(80),
        gaps: vec![GapRange { from: 1083, to: 2000, reason: text("expired"), at: AT }],
        caught_up_at: Some(AT),
        ..bare.clone()
    };
    let partition =
        |partition, state| SnapshotPartition { topic: "payments.card".into(), partition, state };
    Entry::Snapshot(Snapshot {
        seq: if full { 17 } else { 0 },
        part: 1,
        parts: 1,
        worker: text("mover-1"),
        epoch: 3,
        at: AT,
        naming: full.then(|| text("same")),
        start: full.then(|| text("earliest")),
        phases: if full { vec![phase_change()] } else { vec![] },
        partitions: if full { vec![partition(11, moved), partition(12, bare)] } else { vec![] },
    })
}

fn phase_change() -> PhaseChange {
    PhaseChange { wave: text("billing"), phase: Phase::GroupsTranslated, at: AT }
}

fn fence(full: bool) -> Entry {
    let marks = [("events", 0, 4), ("orders", 0, 0), ("orders", 2, 1083)];
    let marks = marks.map(|(topic, partition, mark)| (TopicPartition::new(topic, partition), mark));
    Entry::Fence(Fence::new(
        "mover-1-1700000000123",
        AT,
        "mover-1",
        marks.into_iter().skip(if full { 0 } else { 3 }),
    ))
}

fn done() -> Entry {
    Entry::Done(Done {
        fence: text("mover-1-1700000000123"),
        at: AT,
        worker: text("mover-2"),
        records: 2_000_000,
        bytes: 1_024_000_000,
    })
}

fn verified(full: bool) -> Entry {
    let side = |next| ProvedSide {
        next,
        topic_id: full.then(|| text("q5-Uq2SxQ0mZ3Yw1pL7dXA")),
        epoch: full.then_some(4),
        anchor: full.then(anchor),
    };
    Entry::Verified(Verified {
        pass: text("mover-1-1700000000123"),
        at: AT,
        worker: text("mover-1"),
        plan: text("2f0a2e0bfd4885eb1b1f2bbce3a52f49"),
        partitions: vec![VerifiedPartition {
            topic: "payments.card".into(),
            partition: 11,
            from: 1000,
            records: 80,
            differences: 0,
            digest: full.then(|| digest(80)),
            source: side(1083),
            target: side(5080),
        }],
    })
}

fn plan(full: bool) -> Entry {
    let change = |field, before: Option<&str>, after: Option<&str>| Change {
        field: text(field),
        before: before.map(text),
        after: after.map(text),
    };
    let changes = vec![
        change("run.max_rate", Some("50MiB/s"), Some("80MiB/s")),
        change("topics.exclude", None, Some("[\"payments.tmp\"]")),
        change("cutover.quiet", Some("2m"), None),
    ];
    Entry::Plan(PlanChange {
        at: AT,
        changes: if full { changes } else { vec![] },
        hash: text("2f0a2e0bfd4885eb1b1f2bbce3a52f49"),
    })
}

fn overridden(full: bool) -> Entry {
    Entry::Override(Override {
        what: text("foreign-records"),
        topics: if full { vec![text("orders"), text("payments.card")] } else { vec![] },
        reason: text("test records of the new cluster's owners, agreed in OPS-17"),
        at: AT,
    })
}

fn refused() -> Entry {
    Entry::Refused(Refused {
        word: text("source-not-the-same-log"),
        what: text("the source's log end of `orders-0` is 400, below the position 1083"),
        at: AT,
        worker: text("mover-1"),
    })
}

fn paused(full: bool) -> Entry {
    Entry::Paused(Paused {
        paused: full,
        topics: if full { vec![text("orders")] } else { vec![] },
        reason: full.then(|| text("maintenance of the new cluster")),
        at: AT,
    })
}

/// Every kind by the name of its file: with all fields, and with as few as it can have.
fn samples() -> BTreeMap<&'static str, Entry> {
    let phase = || Entry::Phase(phase_change());
    BTreeMap::from([
        ("header", header(Role::Lane(7))),
        ("header-minimal", header(Role::Control)),
        ("bind", bind(true)),
        ("bind-minimal", bind(false)),
        ("carry", carry(true)),
        ("carry-minimal", carry(false)),
        ("gap", gap()),
        ("gap-minimal", gap()),
        ("snapshot", snapshot(true)),
        ("snapshot-minimal", snapshot(false)),
        ("phase", phase()),
        ("phase-minimal", phase()),
        ("fence", fence(true)),
        ("fence-minimal", fence(false)),
        ("done", done()),
        ("done-minimal", done()),
        ("verified", verified(true)),
        ("verified-minimal", verified(false)),
        ("plan", plan(true)),
        ("plan-minimal", plan(false)),
        ("override", overridden(true)),
        ("override-minimal", overridden(false)),
        ("refused", refused()),
        ("refused-minimal", refused()),
        ("paused", paused(true)),
        ("paused-minimal", paused(false)),
    ])
}

/// All files by their name without the extension.
fn files() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/golden/v1");
    let files = std::fs::read_dir(&folder).expect("the folder of golden files");
    files
        .map(|file| {
            let path = file.expect("a file").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            (name.to_owned(), std::fs::read(&path).expect("its text"))
        })
        .collect()
}

#[test]
fn every_entry_that_was_once_written_is_read_and_written_the_same_way() {
    for (name, file) in files() {
        let line =
            file.strip_suffix(b"\n").unwrap_or_else(|| panic!("{name} ends without a line end"));
        let entry = decode(line).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            String::from_utf8_lossy(&encode(&entry)),
            String::from_utf8_lossy(line),
            "{name}"
        );
    }
}

#[test]
fn the_files_hold_what_they_are_meant_to() {
    let files = files();
    for (name, entry) in samples() {
        let Some(file) = files.get(name) else {
            panic!(
                "golden/v1/{name}.json is missing: {}",
                String::from_utf8_lossy(&encode(&entry))
            );
        };
        assert_eq!(decode(file).as_ref(), Ok(&entry), "{name}");
    }
}

#[test]
fn no_kind_is_without_its_files() {
    let stems: BTreeSet<String> = samples()
        .values()
        .flat_map(|entry| [text(entry.kind()), format!("{}-minimal", entry.kind())])
        .collect();
    assert_eq!(stems.len(), 2 * 13, "a kind without a sample");
    assert_eq!(files().into_keys().collect::<BTreeSet<_>>(), stems);
}

#[test]
fn a_field_that_is_missing_or_unknown_is_an_error() {
    for (name, entry) in samples() {
        let line = encode(&entry);
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&line).expect("an object");
        let read = |fields: &serde_json::Map<String, serde_json::Value>| {
            decode(&serde_json::to_vec(fields).expect("json"))
        };
        let mut more = fields.clone();
        more.insert("mood".to_owned(), "good".into());
        assert!(matches!(read(&more), Err(DecodeError::Malformed(_))), "{name}");
        if name.ends_with("-minimal") {
            for field in fields.keys() {
                let mut fewer = fields.clone();
                fewer.remove(field);
                assert!(read(&fewer).is_err(), "{name} without {field}");
            }
        }
    }
}

#[test]
fn versions_and_kinds_of_the_future_are_told_apart_from_noise() {
    let read = |text: &str| decode(text.as_bytes());
    assert_eq!(read(r#"{"v":2,"kind":"song","x":1}"#), Err(DecodeError::NewerVersion(2)));
    assert_eq!(read(r#"{"v":1,"kind":"song"}"#), Err(DecodeError::UnknownKind(text("song"))));
    for noise in
        ["", "null", "[]", "{}", "hello", r#"{"v":0,"kind":"gap"}"#, r#"{"v":"1","kind":"gap"}"#]
    {
        assert!(matches!(read(noise), Err(DecodeError::Malformed(_))), "{noise}");
    }
}
