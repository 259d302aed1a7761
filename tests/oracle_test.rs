//! The oracle writes what it is told and sees what is there.

use crate::brokers::{Error, Isolation, Numbered, Oracle, Record, Writing, shared};
use std::time::Duration;

fn oracle() -> &'static Oracle {
    &shared::clusters().source_oracle
}

#[test]
fn records_are_read_as_they_were_written_byte_for_byte() -> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic(
        "oracle-bytes",
        2,
        &[("message.timestamp.after.max.ms", &i64::MAX.to_string())],
    )?;
    let written = [
        Record::in_partition(0).at(0),
        Record::in_partition(0).key("").value("").at(1).header("", "").null_header(""),
        Record::in_partition(0).key(b"\xff\x00").value(b"\xfe").at(1).header("h", b"\xff\xfe"),
        Record::in_partition(0).key("k").at(4_102_444_800_000).header("h", "1").header("h", "2"),
        Record::in_partition(1).value("v").at(i64::MAX),
    ];
    let offsets = oracle.produce("oracle-bytes", &written)?;
    assert_eq!(offsets, [0, 1, 2, 3, 0]);
    let stored = oracle.read("oracle-bytes", Isolation::ReadCommitted)?;
    assert!(stored.iter().all(|one| one.timestamp_type == "CreateTime"));
    assert_eq!(stored.iter().map(|one| one.offset).collect::<Vec<_>>(), offsets);
    let read: Vec<Record> = stored.into_iter().map(|one| one.record).collect();
    assert_eq!(read, written);
    Ok(())
}

#[test]
fn header_names_that_are_not_utf8_and_negative_timestamps_can_be_written_and_read()
-> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic("oracle-raw", 1, &[])?;
    let written = [
        Record::in_partition(0).key("k").at(-5).header(b"\xff\xfe", "v").null_header(b"\x80"),
        Record::in_partition(0).value(vec![7; 300]).at(200).header("h".repeat(200), ""),
    ];
    assert_eq!(oracle.produce_raw("oracle-raw", &written)?, [0, 1]);
    let stored = oracle.read("oracle-raw", Isolation::ReadUncommitted)?;
    let read: Vec<Record> = stored.into_iter().map(|one| one.record).collect();
    assert_eq!(read, written);
    let refused = oracle.produce("oracle-raw", &written[..1]).unwrap_err();
    assert!(refused.to_string().contains("produce_raw"), "{refused}");
    Ok(())
}

#[test]
fn transactions_commit_abort_and_stay_open() -> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic("oracle-tx", 1, &[])?;
    let record = |text: &str| [Record::in_partition(0).value(text).at(1)];
    let producer = oracle.transactional("oracle-tx", &[])?;
    for (text, commits) in [("committed", true), ("aborted", false)] {
        producer.begin()?;
        producer.produce("oracle-tx", &record(text))?;
        if commits {
            producer.send_offsets("oracle-tx-group", &[("oracle-tx", 0, 7)])?;
            producer.commit()?;
        } else {
            producer.abort()?;
        }
    }
    producer.begin()?;
    producer.produce("oracle-tx", &record("open"))?;
    producer.abandon();

    let offsets = oracle.list_offsets("oracle-tx")?[0];
    assert_eq!((offsets.earliest, offsets.stable, offsets.latest), (0, 4, 5));
    assert_eq!(oracle.open_transactions("oracle-tx", 0)?, [4]);
    assert_eq!(oracle.describe_transaction("oracle-tx")?.state, "Ongoing");
    assert_eq!(oracle.group_offsets("oracle-tx-group")?[0].offset, 7);
    let seen = |isolation| {
        let records = oracle.read("oracle-tx", isolation)?;
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
        Ok::<_, Error>(records.into_iter().map(|one| text(one.record.value)).collect::<Vec<_>>())
    };
    assert_eq!(seen(Isolation::ReadCommitted)?, ["committed"]);
    assert_eq!(seen(Isolation::ReadUncommitted)?, ["committed", "aborted", "open"]);

    oracle.fence("oracle-tx")?;
    assert_eq!(oracle.list_offsets("oracle-tx")?[0].stable, 6);
    assert_eq!(seen(Isolation::ReadCommitted)?, ["committed"]);
    Ok(())
}

#[test]
fn numbered_records_are_checked_against_their_rule() -> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic("oracle-numbered", 3, &[])?;
    let numbered = Numbered {
        keys: 50,
        headers: 2,
        tombstone_every: 10,
        value_size: 200,
        seed: 7,
        ..Numbered::new("oracle-numbered", 3, 2000)
    };
    oracle.produce_numbered(&numbered, &Writing::default())?;
    assert_eq!(oracle.check_numbered(&numbered)?, [""; 0]);

    let more = oracle.check_numbered(&Numbered { count: 2002, ..numbered.clone() })?;
    assert_eq!(more, ["2 records are missing, the first of them is 2000"]);
    let other = oracle.check_numbered(&Numbered { seed: 8, ..numbered.clone() })?;
    assert!(other.iter().any(|one| one.ends_with("has another value")), "{other:?}");

    let again = Numbered { first: 1999, count: 1, ..numbered.clone() };
    oracle.produce_numbered(&again, &Writing::default())?;
    let twice = oracle.check_numbered(&numbered)?;
    assert!(
        twice[0].starts_with("record 1999 ") && twice[0].ends_with("was there before"),
        "{twice:?}"
    );
    Ok(())
}

#[test]
fn transactions_of_one_record_for_each_partition_leave_a_hole_after_every_record()
-> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic("oracle-holes", 4, &[])?;
    let numbered = Numbered::new("oracle-holes", 4, 40);
    let writing = Writing { per_transaction: 4, abort_every: 5, ..Writing::default() };
    oracle.produce_numbered(&numbered, &writing)?;
    assert_eq!(oracle.check_numbered(&numbered)?, [""; 0]);
    // 10 committed and 2 aborted transactions, each of a record and a marker.
    assert!(oracle.list_offsets("oracle-holes")?.iter().all(|one| one.latest == 2 * 12));
    let records = oracle.read("oracle-holes", Isolation::ReadCommitted)?;
    let offsets: Vec<i64> = records.iter().take(5).map(|one| one.offset).collect();
    assert_eq!(offsets, [0, 2, 4, 6, 10]);
    let ids = oracle.ids("oracle-holes", Isolation::ReadCommitted)?;
    assert_eq!((ids[3][0].first, ids[3][0].step, ids[3][0].count), (3, 4, 10));
    Ok(())
}

#[test]
fn digests_differ_if_and_only_if_records_do() -> Result<(), Error> {
    let (source, target) = (oracle(), &shared::clusters().target_oracle);
    let records: Vec<Record> =
        (0..4).map(|i| Record::in_partition(0).key("k").value(i.to_string()).at(i)).collect();
    let write = |oracle: &Oracle, topic: &str, records: &[Record]| {
        oracle.create_topic(topic, 2, &[])?;
        oracle.produce(topic, records)?;
        oracle.digest(topic, Isolation::ReadCommitted)
    };
    let written = write(source, "oracle-digest", &records)?;
    assert_eq!((written[0].count, written[1].count), (4, 0));
    assert_eq!(written, write(target, "oracle-digest", &records)?);

    let mut swapped = records.clone();
    swapped.swap(1, 2);
    let mut later = records.clone();
    later[3].timestamp = Some(9);
    let mut tombstone = records.clone();
    tombstone[0].value = None;
    let mut empty = records.clone();
    empty[0].value = Some(Vec::new());
    for (n, other) in [swapped, later, tombstone, empty].iter().enumerate() {
        let digest = write(target, &format!("oracle-digest-{n}"), other)?;
        assert_ne!(digest[0].sha256, written[0].sha256, "{other:?}");
        assert_eq!(digest[1], written[1]);
    }
    Ok(())
}

#[test]
fn topics_are_created_changed_described_and_deleted() -> Result<(), Error> {
    let oracle = oracle();
    let id = oracle.create_topic("oracle-topic", 1, &[("retention.ms", "1000000")])?;
    oracle.set_topic_config("oracle-topic", &[("max.message.bytes", "2000")])?;
    oracle.unset_topic_config("oracle-topic", &["retention.ms"])?;
    oracle.add_partitions("oracle-topic", 3)?;
    let topic = oracle.describe_topic("oracle-topic")?;
    assert_eq!((&topic.id, topic.partitions, topic.replication), (&id, 3, 1));
    let configs: Vec<_> = topic.configs.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(configs, [("max.message.bytes", "2000")]);

    oracle.produce("oracle-topic", &[Record::in_partition(2), Record::in_partition(2)])?;
    assert_eq!(oracle.delete_records("oracle-topic", 2, 1)?, 1);
    assert_eq!(oracle.list_offsets("oracle-topic")?[2].earliest, 1);
    assert_eq!(oracle.read("oracle-topic", Isolation::ReadCommitted)?.len(), 1);

    oracle.delete_topic("oracle-topic")?;
    assert!(!oracle.list_topics()?.contains(&"oracle-topic".to_owned()));
    assert_ne!(oracle.create_topic("oracle-topic", 1, &[])?, id);
    Ok(())
}

#[test]
fn group_offsets_are_set_read_and_deleted() -> Result<(), Error> {
    let oracle = oracle();
    oracle.create_topic("oracle-group", 2, &[])?;
    let set = [("oracle-group", 0, 3), ("oracle-group", 1, 4)];
    oracle.alter_group_offsets("oracle-group", &set)?;
    assert_eq!(oracle.list_groups()?["oracle-group"], "Empty");
    oracle.delete_group_offsets("oracle-group", &[("oracle-group", 0)])?;
    let offsets = oracle.group_offsets("oracle-group")?;
    assert_eq!(offsets.len(), 1);
    assert_eq!((offsets[0].partition, offsets[0].offset), (1, 4));
    oracle.delete_group("oracle-group")?;
    assert!(!oracle.list_groups()?.contains_key("oracle-group"));
    Ok(())
}

#[test]
fn a_snapshot_changes_with_the_cluster_and_not_by_reading_it() -> Result<(), Error> {
    // Other tests change the shared clusters, so this one looks at its own topic and group.
    let oracle = oracle();
    oracle.create_topic("oracle-snapshot", 1, &[("retention.ms", "1000000")])?;
    oracle.alter_group_offsets("oracle-snapshot", &[("oracle-snapshot", 0, 0)])?;
    let mine = || {
        let all = oracle.snapshot()?;
        let part = |of: &str| all[of]["oracle-snapshot"].clone();
        Ok::<_, Error>((part("topics"), part("offsets"), part("groups")))
    };
    let before = mine()?;
    assert!(before.0["configs"]["retention.ms"] == "1000000" && before.2[0]["offset"] == 0);
    oracle.read("oracle-snapshot", Isolation::ReadCommitted)?;
    oracle.digest("oracle-snapshot", Isolation::ReadUncommitted)?;
    assert_eq!(mine()?, before);

    oracle.produce("oracle-snapshot", &[Record::in_partition(0)])?;
    assert_ne!(mine()?.1, before.1);
    oracle.set_topic_config("oracle-snapshot", &[("retention.ms", "2000000")])?;
    assert_ne!(mine()?.0, before.0);
    oracle.alter_group_offsets("oracle-snapshot", &[("oracle-snapshot", 0, 1)])?;
    assert_ne!(mine()?.2, before.2);
    Ok(())
}

#[test]
fn an_error_names_the_operation_and_kafkas_exception() {
    let refused = oracle().describe_topic("oracle-never-created").unwrap_err().to_string();
    assert!(refused.contains("describe_topic"), "{refused}");
    assert!(refused.contains("UnknownTopicOrPartitionException"), "{refused}");
    let unreachable = Oracle::start("127.0.0.1:1").unwrap();
    let refused = unreachable.within(Duration::from_millis(100)).list_topics().unwrap_err();
    assert!(refused.to_string().contains("TimeoutException"), "{refused}");
}
