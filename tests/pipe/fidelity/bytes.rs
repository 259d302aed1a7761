//! Odd records of every kind, in many topics that one plan with one lane moves. The plan is run
//! twice: in between more of the same is written, so that every kind is also the first record after
//! a position that was taken up again.

use std::sync::OnceLock;

use serde_json::Value;

use super::{assert_same, records, source, target, text};
use crate::brokers::{Error, Isolation, Record};
use crate::pipe::harness::{Migration, eventually};

const DAY: i64 = 86_400_000;
const NOW: i64 = 1_700_000_000_000;

/// What the two runs said: the first as JSON, the second as text.
struct Moved {
    json: Value,
    text: String,
}

/// Moves everything once for all tests of this file.
fn moved() -> &'static Moved {
    static MOVED: OnceLock<Result<Moved, Error>> = OnceLock::new();
    MOVED.get_or_init(move_all).as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn move_all() -> Result<Moved, Error> {
    let any_time = [("message.timestamp.after.max.ms", "9223372036854775807")];
    source().create_topic("fidelity-nulls", 2, &[])?;
    source().create_topic("fidelity-headers", 1, &[])?;
    source().create_topic("fidelity-times", 2, &any_time)?;
    source().create_topic("fidelity-zero", 1, &[])?;
    source().create_topic("fidelity-append", 1, &[("message.timestamp.type", "LogAppendTime")])?;
    source().create_topic("fidelity-tx", 2, &[])?;
    source().create_topic("fidelity-aborted", 1, &[])?;
    source().create_topic("fidelity-empty", 3, &[])?;
    write_compacted()?;
    let migration = Migration::new(
        "fidelity",
        "run.lanes = 1\n[topics]\ninclude = ['/fidelity-[a-z]+/']\n\
         [[topics.override]]\ntopics = [\"fidelity-compacted\"]\n\
         config = { \"min.compaction.lag.ms\" = \"9223372036854775807\" }\n\
         [[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['fidelity-append']\nreason = 'r'",
    );
    write_all(0)?;
    let first = migration.run(&["--json"]);
    write_all(1)?;
    let second = migration.run(&["-q"]);
    for run in [&first, &second] {
        if run.code != Some(0) {
            return Err(Error::new(format!("a run failed: {run:?}")));
        }
    }
    Ok(Moved { json: first.json(), text: second.stdout })
}

fn write_all(round: i64) -> Result<(), Error> {
    let raw = |topic, records: Vec<Record>| source().produce_raw(topic, &records);
    raw("fidelity-nulls", nulls())?;
    source().produce("fidelity-headers", &headers())?;
    raw("fidelity-headers", raw_headers())?;
    raw("fidelity-times", times())?;
    raw("fidelity-zero", zero())?;
    source().produce("fidelity-append", &headers())?;
    write_transactions(round)
}

/// Every pair of a null, an empty, and a not-UTF-8 key and value; partition 1 holds tombstones only.
fn nulls() -> Vec<Record> {
    let odd: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"\xff\xfe\x00\x80"), Some(b"plain")];
    let pairs = odd.iter().flat_map(|key| odd.iter().map(move |value| (key, value)));
    let mut records: Vec<Record> = pairs
        .map(|(key, value)| Record {
            key: key.map(<[u8]>::to_vec),
            value: value.map(<[u8]>::to_vec),
            ..Record::in_partition(0).at(NOW)
        })
        .collect();
    let tombstone = |n: u8| Record::in_partition(1).key([n, 0xff]).at(NOW + i64::from(n));
    records.extend((0..20).map(tombstone));
    records
}

/// What Kafka's producer takes.
fn headers() -> Vec<Record> {
    let many = (0..500).fold(text("many"), |record, n| {
        let name = format!("header-{}", n % 170);
        if n % 7 == 0 { record.null_header(name) } else { record.header(name, n.to_string()) }
    });
    vec![
        text("none"),
        text("duplicates").header("a", "1").header("b", "2").header("a", "3").header("a", "3"),
        text("null and empty").null_header("null").header("empty", "").null_header(""),
        text("empty names").header("", "").header("", "x").header("", "x"),
        text("unicode").header("größe", "5 µm").header("名", "前"),
        text("value").header("bytes", b"\xff\x00\xfe\r\n"),
        many,
        text("long").header("n".repeat(3000), "v".repeat(20_000)),
        Record::in_partition(0).header("alone", "no key, no value").at(NOW),
    ]
}

fn raw_headers() -> Vec<Record> {
    vec![
        text("names").header(b"\xff\xfe", b"\xfd").null_header(b"\x80").header(b"\xc3", ""),
        text("nul").header(b"a\0b", "1").header(b"a", "2").header(b"\0", "3").header(b"", "4"),
        text("none"),
    ]
}

fn times() -> Vec<Record> {
    let at =
        |partition, time: i64| Record::in_partition(partition).value(time.to_string()).at(time);
    let mut records: Vec<Record> = [
        NOW,
        NOW,
        NOW - 1,
        NOW - 365 * DAY,
        1,
        -5,
        -62_135_596_800_000, // the year 1
        NOW + 36_500 * DAY,
        4_102_444_800_000,
        NOW,
    ]
    .map(|time| at(0, time))
    .into();
    records.extend([i64::MAX, -1, 2, i64::MAX - 1, i64::MAX].map(|time| at(1, time)));
    records
}

fn zero() -> Vec<Record> {
    vec![
        text("before"),
        Record::in_partition(0).key("k").value("at zero").header("h", "1").null_header("h").at(0),
        Record::in_partition(0).key("k").at(0),
        text("after"),
    ]
}

/// Committed and aborted records, one after another and side by side; both partitions end in a
/// control record.
fn write_transactions(round: i64) -> Result<(), Error> {
    let in_both = |text: &str| {
        [0, 1].map(|p| Record::in_partition(p).key("k").value(text).at(NOW).header("h", text))
    };
    let one = source().transactional(&format!("fidelity-one-{round}"), &[])?;
    let two = source().transactional(&format!("fidelity-two-{round}"), &[])?;
    for n in 0..4 {
        one.begin()?;
        two.begin()?;
        one.produce("fidelity-tx", &in_both(&format!("one {n}")))?;
        two.produce("fidelity-tx", &in_both(&format!("two {n}")))?;
        source().produce("fidelity-tx", &in_both(&format!("none {n}")))?;
        one.produce("fidelity-tx", &in_both(&format!("one again {n}")))?;
        if n % 2 == 0 {
            one.commit()?
        } else {
            one.abort()?
        }
        if n < 2 {
            two.commit()?
        } else {
            two.abort()?
        }
        one.begin()?;
        one.produce("fidelity-aborted", &in_both("nobody sees this")[..1])?;
        one.abort()?;
    }
    Ok(())
}

/// 40 keys, 25 records each, a tombstone now and then; waits until compaction has left the last one
/// of each key, and holes.
fn write_compacted() -> Result<(), Error> {
    let configs = [
        ("cleanup.policy", "compact"),
        ("segment.ms", "60000"),
        ("min.cleanable.dirty.ratio", "0.0001"),
    ];
    source().create_topic("fidelity-compacted", 1, &configs)?;
    let record = |n: i64| {
        let record = Record::in_partition(0).key(format!("key-{}", n * n % 41)).at(NOW + n);
        if n % 11 == 0 { record } else { record.value(n.to_string()).header("n", n.to_string()) }
    };
    let written: Vec<Record> = (0..1000).map(record).collect();
    source().produce("fidelity-compacted", &written)?;
    // A record of the next day begins a new segment, so that the first one may be compacted.
    let last = Record::in_partition(0).key("key-0").value("last").at(NOW + DAY);
    source().produce("fidelity-compacted", &[last])?;
    let keys = (0..1000).map(|n| n * n % 41).collect::<std::collections::BTreeSet<i64>>().len();
    eventually("the source topic is compacted", || {
        records(source(), "fidelity-compacted").is_ok_and(|left| left.len() == keys + 1)
    });
    Ok(())
}

#[test]
fn null_empty_and_not_utf8_keys_and_values_and_tombstones_arrive_as_they_are() -> Result<(), Error>
{
    moved();
    assert_eq!(assert_same("fidelity-nulls")?, 2 * 36);
    Ok(())
}

#[test]
fn headers_keep_their_names_order_duplicates_nulls_and_number() -> Result<(), Error> {
    moved();
    assert_eq!(assert_same("fidelity-headers")?, 2 * 12);
    Ok(())
}

#[test]
fn timestamps_of_any_age_and_order_are_kept() -> Result<(), Error> {
    moved();
    assert_eq!(assert_same("fidelity-times")?, 2 * 15);
    Ok(())
}

#[test]
fn a_record_at_timestamp_zero_arrives_otherwise_as_it_is_and_is_named_in_the_summary()
-> Result<(), Error> {
    let Moved { json, text } = moved();
    let wanted = records(source(), "fidelity-zero")?;
    let mut found = records(target(), "fidelity-zero")?;
    for (wanted, found) in wanted.iter().zip(&mut found) {
        if wanted.timestamp == Some(0) {
            assert!(found.timestamp > Some(NOW), "the time of the copy: {found:?}");
            found.timestamp = Some(0);
        }
    }
    assert_eq!(found, wanted);

    assert_eq!(json["untimed"], 2);
    let topics = json["topics"].as_array().expect("topics");
    for topic in topics {
        let untimed = if topic["topic"] == "fidelity-zero" { 2 } else { 0 };
        assert_eq!(topic["untimed"], untimed, "{topic}");
    }
    let warning = "2 records had timestamp 0";
    let warned = json["warnings"].as_array().expect("warnings").iter().any(|one| {
        let one = one.as_str().unwrap_or_default();
        one.starts_with(warning) && one.ends_with("`fidelity-zero` (2)")
    });
    assert!(warned, "{json}");
    // Nothing but these two timestamps is left unproved.
    assert_eq!(json["result"], "proved", "{json}");
    let unproved = json["proof"]["not_proved"].as_array().expect("what is not proved");
    assert_eq!(unproved.len(), 1, "{json}");
    assert_eq!(unproved[0]["count"], 2, "{json}");
    let what = unproved[0]["what"].as_str().unwrap_or_default();
    assert!(what.starts_with("timestamps that could not be kept"), "{json}");
    assert!(text.contains(&format!("warning: {warning}")), "{text}");
    assert!(text.contains("`fidelity-zero` (2)"), "{text}");
    Ok(())
}

#[test]
fn a_topic_whose_broker_sets_the_timestamps_arrives_otherwise_as_it_is_and_is_warned_of()
-> Result<(), Error> {
    let Moved { json, text } = moved();
    let timeless = |oracle| {
        let records = records(oracle, "fidelity-append")?.into_iter();
        Ok::<_, Error>(records.map(|one| Record { timestamp: None, ..one }).collect::<Vec<_>>())
    };
    assert_eq!(timeless(target())?, timeless(source())?);
    for said in [json.to_string(), text.clone()] {
        assert!(said.contains("`fidelity-append` has `message.timestamp.type=LogApp"), "{said}");
    }
    Ok(())
}

#[test]
fn committed_records_of_transactions_arrive_and_aborted_ones_do_not() -> Result<(), Error> {
    moved();
    // Each round: 4 committed transactions of 8, `one` with two records in each partition.
    assert_eq!(assert_same("fidelity-tx")?, 2 * 2 * (2 * 2 + 2 + 4));
    let all = target().read("fidelity-tx", Isolation::ReadUncommitted)?;
    assert_eq!(all.len(), 2 * 2 * (2 * 2 + 2 + 4), "nothing aborted was copied either");
    Ok(())
}

#[test]
fn a_topic_of_aborted_records_and_one_without_records_are_there_and_empty_and_are_finished()
-> Result<(), Error> {
    let Moved { json, .. } = moved();
    for topic in ["fidelity-aborted", "fidelity-empty"] {
        assert_eq!(assert_same(topic)?, 0);
        let ends = target().list_offsets(topic)?;
        assert!(ends.iter().all(|one| one.latest == 0), "{topic}: {ends:?}");
    }
    assert_eq!(source().list_offsets("fidelity-aborted")?[0].latest, 16);
    for topic in json["topics"].as_array().expect("topics") {
        assert_eq!(topic["offsets_left"], 0, "{topic}");
    }
    Ok(())
}

#[test]
fn the_ledger_ends_at_the_source_log_end_also_behind_control_records() -> Result<(), Error> {
    moved();
    let migration = Migration::new("fidelity", "topics.include = ['/fidelity-[a-z]+/']");
    let status = migration.status();
    let topics = status["partitions"].as_array().expect("partitions");
    for (topic, partitions) in [("fidelity-tx", 2), ("fidelity-aborted", 1), ("fidelity-empty", 3)]
    {
        let ends = source().list_offsets(topic)?;
        for (number, end) in (0..partitions).zip(ends) {
            let at = topics.iter().find(|one| one["topic"] == topic && one["partition"] == number);
            let at = at.unwrap_or_else(|| panic!("{topic}-{number} in {status}"));
            assert_eq!(at["position"], end.latest, "{at}");
        }
    }
    Ok(())
}

#[test]
fn a_compacted_topic_with_holes_arrives_as_compaction_left_it() -> Result<(), Error> {
    moved();
    let count = assert_same("fidelity-compacted")?;
    let end = source().list_offsets("fidelity-compacted")?[0].latest;
    assert!(i64::try_from(count).is_ok_and(|count| count < end / 10), "{count} of {end}");
    let tombstones = records(target(), "fidelity-compacted")?;
    assert!(tombstones.iter().any(|one| one.value.is_none()));
    Ok(())
}
