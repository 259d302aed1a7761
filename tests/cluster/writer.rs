//! What the writer writes is what the source holds, all of it or nothing, and only while it may.

use super::{SOON, next, poll_until, sole_member, source_reader, target};
use crate::brokers::{Error, Isolation, Record, Stored, shared};
use onceover::cluster::{
    Class, ClusterError, ControlWriter, Membership, SourceBatch, SourceReader, TransactionalWriter,
    WriterTuning,
};
use onceover::pipe::engine::{Batch, Polled, Source, StartAt, Taken, Target};
use onceover::plan::TopicPartition;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const TUNING: WriterTuning = WriterTuning {
    queue_bytes: 16 << 20,
    batch_bytes: 100_000,
    transaction_timeout: Duration::from_secs(60),
    one_by_one: false,
};

fn writer(plan: &str, member: &Arc<Membership>) -> TransactionalWriter {
    writer_with(plan, member, TUNING)
}

fn writer_with(plan: &str, member: &Arc<Membership>, tuning: WriterTuning) -> TransactionalWriter {
    TransactionalWriter::new(&target(), &format!("{plan}-0"), tuning, Arc::clone(member), 0)
}

/// Both topics, with `records` in the source's.
fn topics(topic: &str, configs: &[(&str, &str)], records: &[Record]) -> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic(topic, 1, configs)?;
    clusters.target_oracle.create_topic(topic, 1, configs)?;
    if !records.is_empty() {
        clusters.source_oracle.produce_raw(topic, records)?;
    }
    Ok(())
}

fn some(count: i64) -> Vec<Record> {
    (0..count).map(|n| Record::in_partition(0).value(n.to_string()).at(1 + n)).collect()
}

/// All batches of partition 0 of a topic, and the reader that must outlive nothing.
fn batches(topic: &str) -> (SourceReader, Vec<SourceBatch>) {
    let mut reader = source_reader(topic);
    let at = TopicPartition::new(topic, 0);
    reader.assign(&[StartAt { at, offset: 0, leader_epoch: None }]).expect("assigned");
    let mut batches = Vec::new();
    poll_until(&mut reader, |polled| match polled {
        Polled::Records(batch) => {
            batches.push(batch);
            false
        }
        Polled::End { .. } => true,
        Polled::Lost { reason, .. } => panic!("{reason}"),
    });
    (reader, batches)
}

fn write_all(writer: &mut TransactionalWriter, topic: &str, batches: &[SourceBatch]) {
    let to = TopicPartition::new(topic, 0);
    for batch in batches {
        let taken = writer.write(&to, batch, 0..batch.len()).expect("it is queued");
        assert_eq!(taken, Taken::All);
    }
}

/// What a reader sees once the transactions' markers are written; they come a moment after the
/// commit returns.
fn visible(topic: &str) -> Result<Vec<Stored>, Error> {
    let oracle = &shared::clusters().target_oracle;
    let deadline = Instant::now() + SOON;
    while oracle.list_offsets(topic)?.iter().any(|at| at.stable < at.latest) {
        assert!(Instant::now() < deadline, "a transaction stays open");
    }
    oracle.read(topic, Isolation::ReadCommitted)
}

fn drain(writer: &mut TransactionalWriter) -> Result<(), ClusterError> {
    writer.drain(&mut || Ok(()))
}

#[test]
fn copies_are_the_same_byte_for_byte_and_their_offsets_are_told() -> Result<(), Error> {
    let topic = "writer-bytes";
    let written = [
        Record::in_partition(0).at(1),
        Record::in_partition(0).key("").value("").at(1).header("", "").null_header("n"),
        Record::in_partition(0).key(b"\xff\x00").value(b"\xfe").at(-5).header(b"\xff\xfe", b"\x00"),
        Record::in_partition(0).key("k").at(4_102_444_800_000).header("h", "1").header("h", "2"),
        // No timestamp at all.
        Record::in_partition(0).value("v").at(-1),
    ];
    topics(topic, &[("message.timestamp.after.max.ms", &i64::MAX.to_string())], &written)?;
    let (member, _events) = sole_member("writer-bytes-plan", 2);
    let (_reader, batches) = batches(topic);
    let mut writer = writer("writer-bytes-plan", &member);
    writer.fence().expect("fenced");
    for round in 0..2 {
        writer.begin().expect("begun");
        write_all(&mut writer, topic, &batches);
        drain(&mut writer).expect("delivered");
        let first = round * (written.len() as i64 + 1);
        let expected: Vec<i64> = (first..first + written.len() as i64).collect();
        assert_eq!(writer.delivered(), Ok(&expected[..]));
        writer.commit().expect("committed");
    }
    let copies = visible(topic)?;
    let copies: Vec<Record> = copies.into_iter().map(|stored| stored.record).collect();
    assert_eq!(copies, [written.clone(), written].concat());
    Ok(())
}

#[test]
fn records_entry_and_offsets_become_visible_together() -> Result<(), Error> {
    let (topic, plan) = ("writer-together", "writer-together-plan");
    topics(topic, &[], &some(10))?;
    let oracle = &shared::clusters().target_oracle;
    let (member, _events) = sole_member(plan, 2);
    let (_reader, batches) = batches(topic);
    let mut writer = writer(plan, &member);
    writer.fence().expect("fenced");
    writer.begin().expect("begun");
    write_all(&mut writer, topic, &batches);
    drain(&mut writer).expect("delivered");
    assert_eq!(writer.delivered().map(<[i64]>::len), Ok(10));
    let ledger = TopicPartition::new(format!("{plan}-ledger"), 0);
    writer.write_entry(&ledger, b"carry").expect("queued");
    drain(&mut writer).expect("delivered");
    assert_eq!(writer.delivered().map(<[i64]>::len), Ok(10), "an entry is no record");
    let data = TopicPartition::new(topic, 0);
    writer.send_offsets(&[(ledger.clone(), 1), (data, 10)]).expect("we are the member");
    assert_eq!(oracle.read(topic, Isolation::ReadCommitted)?.len(), 0);
    writer.commit().expect("committed");

    assert_eq!(visible(topic)?.len(), 10);
    let entries = visible(&ledger.topic)?;
    assert_eq!(entries[0].record.value.as_deref(), Some(&b"carry"[..]));
    let offsets: Vec<_> =
        oracle.group_offsets(plan)?.into_iter().map(|at| (at.topic, at.offset)).collect();
    assert_eq!(offsets, [(topic.to_owned(), 10), (ledger.topic.to_string(), 1)]);
    Ok(())
}

#[test]
fn an_aborted_transaction_leaves_nothing_to_see_and_the_next_one_works() -> Result<(), Error> {
    let (topic, plan) = ("writer-abort", "writer-abort-plan");
    topics(topic, &[], &some(1000))?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let mut writer = writer(plan, &member);
    writer.fence().expect("fenced");
    // With everything still queued; then with everything delivered.
    for delivered in [false, true] {
        writer.begin().expect("begun");
        write_all(&mut writer, topic, &batches);
        if delivered {
            drain(&mut writer).expect("delivered");
        }
        writer.abort().expect("aborted");
        assert_eq!(writer.in_flight(), 0);
        writer.fence().expect("fenced anew");
    }
    writer.begin().expect("begun");
    write_all(&mut writer, topic, &batches);
    drain(&mut writer).expect("delivered");
    writer.commit().expect("committed");
    assert_eq!(visible(topic)?.len(), 1000);
    Ok(())
}

#[test]
fn a_newer_producer_of_the_same_id_shuts_the_older_one_out() -> Result<(), Error> {
    let (topic, plan) = ("writer-fenced", "writer-fenced-plan");
    topics(topic, &[], &some(10))?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let (mut older, mut newer) = (writer(plan, &member), writer(plan, &member));
    older.fence().expect("fenced");
    older.begin().expect("begun");
    write_all(&mut older, topic, &batches);
    drain(&mut older).expect("delivered");
    newer.fence().expect("fenced");
    assert_eq!(older.commit().expect_err("it was fenced").class, Class::Fenced);
    newer.begin().expect("begun");
    write_all(&mut newer, topic, &batches);
    drain(&mut newer).expect("delivered");
    newer.commit().expect("committed");
    assert_eq!(visible(topic)?.len(), 10);
    Ok(())
}

#[test]
fn a_lane_that_is_not_ours_is_neither_fenced_nor_committed() -> Result<(), Error> {
    let (topic, plan) = ("writer-left", "writer-left-plan");
    topics(topic, &[], &some(10))?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let mut writer = writer(plan, &member);
    writer.fence().expect("fenced");
    writer.begin().expect("begun");
    write_all(&mut writer, topic, &batches);
    drain(&mut writer).expect("delivered");
    member.leave(SOON).expect("left");
    let at = TopicPartition::new(topic, 0);
    let error = writer.send_offsets(&[(at, 10)]).expect_err("we have left");
    assert_eq!(error.class, Class::NotMember);
    writer.abort().expect("aborted");
    assert_eq!(writer.fence().expect_err("we have left").class, Class::NotMember);
    Ok(())
}

#[test]
fn a_worker_whose_name_was_taken_commits_nothing() -> Result<(), Error> {
    let (topic, plan) = ("writer-taken", "writer-taken-plan");
    topics(topic, &[], &some(10))?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let mut writer = writer(plan, &member);
    writer.fence().expect("fenced");
    writer.begin().expect("begun");
    write_all(&mut writer, topic, &batches);
    drain(&mut writer).expect("delivered");
    let (sender, events) = channel();
    let ledger = format!("{plan}-ledger");
    let _taker = Membership::join(&target(), plan, "w1", &ledger, sender).expect("joins");
    next(&events);
    // Whether we know it already or the coordinator tells us.
    let at = TopicPartition::new(topic, 0);
    let error = writer.send_offsets(&[(at, 10)]).expect_err("the name was taken");
    assert!(matches!(error.class, Class::NotMember | Class::TakenOver), "{error:?}");
    Ok(())
}

#[test]
fn the_one_record_that_is_too_large_is_named_when_sent_one_by_one() -> Result<(), Error> {
    let (topic, plan) = ("writer-large", "writer-large-plan");
    let oracles = shared::clusters();
    let mut records = some(50);
    records[33] = Record::in_partition(0).value(crate::pipe::noise(5000)).at(1);
    oracles.source_oracle.create_topic(topic, 1, &[])?;
    oracles.target_oracle.create_topic(topic, 1, &[("max.message.bytes", "2000")])?;
    oracles.source_oracle.produce_raw(topic, &records)?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    for one_by_one in [false, true] {
        let mut writer = writer_with(plan, &member, WriterTuning { one_by_one, ..TUNING });
        writer.fence().expect("fenced");
        writer.begin().expect("begun");
        write_all(&mut writer, topic, &batches);
        let error = drain(&mut writer).expect_err("the topic refuses it");
        assert_eq!(error.class, Class::Record, "{error}");
        if one_by_one {
            assert!(error.what.contains("writer-large-0@33 "), "{error}");
        }
        writer.abort().expect("aborted");
    }
    Ok(())
}

#[test]
fn a_full_queue_takes_the_rest_later() -> Result<(), Error> {
    let (topic, plan) = ("writer-full", "writer-full-plan");
    let value = vec![b'x'; 1000];
    let records: Vec<Record> =
        (0..3000).map(|n| Record::in_partition(0).value(&value).at(1 + n)).collect();
    topics(topic, &[], &[])?;
    shared::clusters().source_oracle.produce(topic, &records)?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let mut writer = writer_with(plan, &member, WriterTuning { queue_bytes: 100 << 10, ..TUNING });
    writer.fence().expect("fenced");
    writer.begin().expect("begun");
    let to = TopicPartition::new(topic, 0);
    let mut full = 0;
    for batch in &batches {
        let mut next = 0;
        while let Taken::UpTo(index) = writer.write(&to, batch, next..batch.len()).expect("open") {
            full += 1;
            next = index;
            writer.serve().expect("no delivery fails");
        }
    }
    assert!(full > 0, "3 MB fit into a queue of 100 KiB");
    drain(&mut writer).expect("delivered");
    assert_eq!(writer.delivered().map(<[i64]>::len), Ok(3000));
    writer.commit().expect("committed");
    assert_eq!(visible(topic)?.len(), 3000);
    let digest = |oracle: &crate::brokers::Oracle| oracle.digest(topic, Isolation::ReadCommitted);
    let clusters = shared::clusters();
    assert_eq!(digest(&clusters.source_oracle)?, digest(&clusters.target_oracle)?);
    Ok(())
}

#[test]
fn a_drain_can_be_called_off() -> Result<(), Error> {
    let (topic, plan) = ("writer-off", "writer-off-plan");
    topics(topic, &[], &some(10))?;
    let (member, _events) = sole_member(plan, 1);
    let (_reader, batches) = batches(topic);
    let mut writer = writer(plan, &member);
    writer.fence().expect("fenced");
    writer.begin().expect("begun");
    write_all(&mut writer, topic, &batches);
    let stop = ClusterError::new(onceover::error::Side::Target, Class::NotMember, "stop");
    let stopped = writer.drain(&mut || Err(stop.clone()));
    assert_eq!(stopped, Err(stop));
    writer.abort().expect("aborted");
    Ok(())
}

#[test]
fn control_entries_are_appended_one_after_the_other() -> Result<(), Error> {
    let oracle = &shared::clusters().target_oracle;
    oracle.create_topic("writer-control", 2, &[])?;
    let mut writer = ControlWriter::open(&target()).expect("a writer");
    let at = TopicPartition::new("writer-control", 1);
    for (offset, entry) in [&b"fence"[..], b"done"].into_iter().enumerate() {
        assert_eq!(writer.append(&at, entry), Ok(offset as i64));
    }
    let values: Vec<_> = oracle
        .read("writer-control", Isolation::ReadCommitted)?
        .into_iter()
        .map(|stored| (stored.record.partition, stored.record.value.unwrap_or_default()))
        .collect();
    assert_eq!(values, [(1, b"fence".to_vec()), (1, b"done".to_vec())]);
    Ok(())
}
