//! What the readers show is what is in the log, byte for byte, and where it ends.

use super::{poll_until, source, source_reader, witnessed};
use crate::brokers::{Error, Record, shared};
use onceover::cluster::{Class, First, Isolation, LogReader, SourceReader};
use onceover::pipe::engine::{Batch, Polled, Source, StartAt};
use onceover::plan::TopicPartition;
use std::ops::ControlFlow;

fn at(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

fn from(topic: &str, partition: i32, offset: i64) -> StartAt {
    StartAt { at: at(topic, partition), offset, leader_epoch: None }
}

/// Offsets up to the first end of partition 0 of the assignment, and the position there.
fn read_to_end(reader: &mut SourceReader) -> (Vec<i64>, i64) {
    let mut offsets = Vec::new();
    let mut end = 0;
    poll_until(reader, |polled| match polled {
        Polled::Records(batch) => {
            offsets.extend((0..batch.len()).map(|index| batch.offset(index)));
            false
        }
        Polled::End { position, .. } => {
            end = position;
            true
        }
        Polled::Lost { reason, .. } => panic!("{reason}"),
    });
    (offsets, end)
}

#[test]
fn batches_keep_every_byte() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic(
        "reader-bytes",
        2,
        &[("message.timestamp.after.max.ms", &i64::MAX.to_string())],
    )?;
    let written = [
        Record::in_partition(0).at(0),
        Record::in_partition(0).key("").value("").at(1).header("", "").null_header("n"),
        Record::in_partition(0).key(b"\xff\x00").value(b"\xfe").at(-5).header(b"\xff\xfe", b"\x00"),
        Record::in_partition(0).key("k").at(4_102_444_800_000).header("h", "1").header("h", "2"),
        Record::in_partition(1).value("v").at(7),
    ];
    oracle.produce_raw("reader-bytes", &written)?;
    let mut reader = source_reader("reader-bytes");
    reader.assign(&[from("reader-bytes", 0, 0), from("reader-bytes", 1, 0)]).expect("assigned");
    let mut seen: [Vec<Record>; 2] = [Vec::new(), Vec::new()];
    let mut ends = 0;
    poll_until(&mut reader, |polled| {
        match polled {
            Polled::Records(batch) => {
                let partition = batch.partition();
                assert_eq!(batch.source(), &at("reader-bytes", partition as i32));
                batch.visit(&mut |index, record| {
                    assert_eq!(record.offset, batch.offset(index));
                    assert_eq!(record.leader_epoch, Some(0));
                    seen[partition].push(witnessed(partition as i32, record));
                });
            }
            Polled::End { .. } => ends += 1,
            Polled::Lost { reason, .. } => panic!("{reason}"),
        }
        ends == 2
    });
    assert_eq!(seen.concat(), written);
    Ok(())
}

#[test]
fn the_end_lies_behind_control_records_and_before_open_transactions() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-end", 1, &[])?;
    let record = [Record::in_partition(0).value("v").at(1), Record::in_partition(0).at(2)];
    let producer = oracle.transactional("reader-end", &[])?;
    for commits in [true, false] {
        producer.begin()?;
        producer.produce("reader-end", &record)?;
        if commits { producer.commit()? } else { producer.abort()? }
    }
    producer.begin()?;
    producer.produce("reader-end", &record)?;

    let mut reader = source_reader("reader-end");
    reader.assign(&[from("reader-end", 0, 0)]).expect("assigned");
    assert_eq!(read_to_end(&mut reader), (vec![0, 1], 6));
    producer.commit()?;
    assert_eq!(read_to_end(&mut reader), (vec![6, 7], 9));

    let mut log = LogReader::open(&source(), Isolation::Committed).expect("a reader");
    let mut read = |first, until| {
        let mut offsets = Vec::new();
        let reached = log.read(&at("reader-end", 0), first, until, &mut |record| {
            offsets.push(record.offset);
            ControlFlow::Continue(())
        });
        (offsets, reached.expect("it can be read"))
    };
    assert_eq!(read(0, 9), (vec![0, 1, 6, 7], 9));
    assert_eq!(read(1, 7), (vec![1, 6], 7));
    assert_eq!(read(2, 6), (vec![], 6), "aborted and control records are passed over");
    assert_eq!(read(9, 9), (vec![], 9));
    Ok(())
}

#[test]
fn an_uncommitted_reader_sees_what_is_open_and_aborted() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-uncommitted", 1, &[])?;
    let producer = oracle.transactional("reader-uncommitted", &[])?;
    producer.begin()?;
    producer.produce("reader-uncommitted", &[Record::in_partition(0).at(1)])?;
    producer.abort()?;
    producer.begin()?;
    producer.produce("reader-uncommitted", &[Record::in_partition(0).at(1)])?;
    let mut log = LogReader::open(&source(), Isolation::Uncommitted).expect("a reader");
    let mut offsets = Vec::new();
    let reached = log.read(&at("reader-uncommitted", 0), 0, 3, &mut |record| {
        offsets.push(record.offset);
        ControlFlow::Continue(())
    });
    assert_eq!((reached, offsets), (Ok(3), vec![0, 2]));
    producer.abort()
}

#[test]
fn an_assignment_replaces_everything_before_it() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-assign", 2, &[])?;
    let records: Vec<Record> =
        (0..2000).map(|n| Record::in_partition(n % 2).value(n.to_string()).at(1)).collect();
    oracle.produce("reader-assign", &records)?;
    let mut reader = source_reader("reader-assign");
    // Forward, back, with and without epochs, with what is fetched ahead still in the queue.
    for (offset, leader_epoch) in
        [(0, None), (900, Some(0)), (100, Some(0)), (500, None), (0, Some(0))]
    {
        let start = StartAt { at: at("reader-assign", 1), offset, leader_epoch };
        reader.assign(std::slice::from_ref(&start)).expect("assigned");
        let mut first = None;
        poll_until(&mut reader, |polled| {
            if let Polled::Records(batch) = &polled {
                first = Some((batch.partition(), batch.offset(0)));
            }
            first.is_some()
        });
        assert_eq!(first, Some((0, offset)), "assigned at {start:?}");
    }
    reader.assign(&[from("reader-assign", 1, 0)]).expect("assigned");
    assert_eq!(read_to_end(&mut reader), ((0..1000).collect(), 1000));
    reader.assign(&[]).expect("nothing is assigned");
    assert!(reader.poll(std::time::Duration::from_millis(300)).expect("it can poll").is_empty());
    Ok(())
}

#[test]
fn a_paused_partition_delivers_nothing_more() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-pause", 2, &[])?;
    let records: Vec<Record> = (0..200).map(|n| Record::in_partition(n % 2).at(1)).collect();
    oracle.produce("reader-pause", &records)?;
    let mut reader = source_reader("reader-pause");
    reader.assign(&[from("reader-pause", 0, 0), from("reader-pause", 1, 0)]).expect("assigned");
    reader.pause(0).expect("paused");
    poll_until(&mut reader, |polled| match polled {
        Polled::Records(batch) => {
            assert_eq!(batch.partition(), 1);
            false
        }
        Polled::End { partition, position } => {
            assert_eq!((partition, position), (1, 100));
            true
        }
        Polled::Lost { reason, .. } => panic!("{reason}"),
    });
    // A pause ends with its assignment.
    reader.assign(&[from("reader-pause", 0, 50)]).expect("assigned");
    assert_eq!(read_to_end(&mut reader), ((50..100).collect(), 100));
    Ok(())
}

#[test]
fn a_position_that_is_not_in_the_log_is_lost_and_the_rest_goes_on() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-lost", 3, &[])?;
    let records: Vec<Record> = (0..30).map(|n| Record::in_partition(n % 3).at(1)).collect();
    oracle.produce("reader-lost", &records)?;
    oracle.delete_records("reader-lost", 0, 5)?;
    let mut reader = source_reader("reader-lost");
    let starts = [from("reader-lost", 0, 4), from("reader-lost", 1, 11), from("reader-lost", 2, 0)];
    reader.assign(&starts).expect("assigned");
    let (mut lost, mut read) = (Vec::new(), 0);
    poll_until(&mut reader, |polled| {
        match polled {
            Polled::Records(batch) => {
                assert_eq!(batch.partition(), 2);
                read += batch.len();
            }
            Polled::Lost { partition, .. } => lost.push(partition),
            Polled::End { .. } => {}
        }
        lost.len() == 2 && read == 10
    });
    lost.sort_unstable();
    assert_eq!(lost, [0, 1]);
    // The next assignment reads on.
    reader.assign(&[from("reader-lost", 0, 5)]).expect("assigned");
    assert_eq!(read_to_end(&mut reader), ((5..10).collect(), 10));

    let mut log = LogReader::open(&source(), Isolation::Committed).expect("a reader");
    let error = log
        .read(&at("reader-lost", 0), 4, 10, &mut |_| ControlFlow::Continue(()))
        .expect_err("offset 4 was deleted");
    assert_eq!(error.class, Class::Final);
    Ok(())
}

#[test]
fn a_position_beyond_the_end_of_its_leader_epoch_is_lost() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-epoch", 1, &[])?;
    oracle.produce("reader-epoch", &[Record::in_partition(0).at(1)])?;
    let mut reader = source_reader("reader-epoch");
    let start = StartAt { at: at("reader-epoch", 0), offset: 3, leader_epoch: Some(0) };
    reader.assign(&[start]).expect("assigned");
    poll_until(&mut reader, |polled| matches!(polled, Polled::Lost { partition: 0, .. }));
    Ok(())
}

#[test]
fn the_first_record_of_many_partitions_is_found_in_one_pass() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-first", 20, &[])?;
    let records: Vec<Record> =
        (0..95).map(|n| Record::in_partition(n % 19).value(n.to_string()).at(1)).collect();
    oracle.produce("reader-first", &records)?;
    oracle.delete_records("reader-first", 0, 2)?;
    let mut log = LogReader::open(&source(), Isolation::Committed).expect("a reader");
    let mut asked: Vec<_> = (0..20).map(|partition| (at("reader-first", partition), 3)).collect();
    asked[19].1 = 0; // an empty partition
    asked.push((at("reader-first", 1), 5)); // at the end, and asked for twice
    asked.push((at("reader-first", 0), 1)); // deleted
    let mut found = vec![String::new(); asked.len()];
    log.first_at(&asked, &mut |index, first| {
        found[index] += &match first {
            First::Record(record) => format!("record {}", record.offset),
            First::None { end } => format!("end {end}"),
            First::Lost { .. } => "lost".to_owned(),
        };
    })
    .unwrap_or_else(|error| panic!("{error}: {found:?}"));
    let mut expected = vec!["record 3".to_owned(); 19];
    expected.extend(["end 0", "end 5", "lost"].map(str::to_owned));
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn a_reader_that_breaks_off_says_how_far_it_came() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-break", 1, &[])?;
    let records: Vec<Record> = (0..10).map(|_| Record::in_partition(0).at(1)).collect();
    oracle.produce("reader-break", &records)?;
    let mut log = LogReader::open(&source(), Isolation::Committed).expect("a reader");
    let reached = log.read(&at("reader-break", 0), 2, 10, &mut |record| {
        if record.offset == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(reached, Ok(5));
    Ok(())
}

/// The lane's way to begin again: partitions that had reached their end, and were paused there, are read
/// from an earlier position.
#[test]
fn partitions_that_were_paused_at_their_end_are_read_again_from_where_they_are_assigned()
-> Result<(), Error> {
    const PARTITIONS: usize = 16;
    const RECORDS: usize = 50;
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("reader-again", PARTITIONS, &[])?;
    let written: Vec<Record> = (0..PARTITIONS * RECORDS)
        .map(|n| Record::in_partition((n % PARTITIONS) as i32).value(n.to_string()).at(1))
        .collect();
    oracle.produce("reader-again", &written)?;
    let mut reader = source_reader("reader-again");
    for first in [0, 1, 2, 0, 1, 2, 1] {
        // As the lane does it: from the second time on with the epoch of the record before.
        let start = |n| StartAt {
            leader_epoch: (first > 0).then_some(0),
            ..from("reader-again", n as i32, first)
        };
        let start: Vec<StartAt> = (0..PARTITIONS).map(start).collect();
        reader.assign(&start).expect("assigned");
        let mut offsets: Vec<Vec<i64>> = vec![Vec::new(); PARTITIONS];
        let mut ended = Vec::new();
        poll_until(&mut reader, |polled| {
            match polled {
                Polled::Records(batch) => offsets[batch.partition()]
                    .extend((0..batch.len()).map(|index| batch.offset(index))),
                Polled::End { partition, .. } => ended.push(partition),
                Polled::Lost { reason, .. } => panic!("{reason}"),
            }
            ended.len() == PARTITIONS
        });
        let all: Vec<i64> = (first..RECORDS as i64).collect();
        assert!(offsets.iter().all(|one| *one == all), "from {first}: {offsets:?}");
        for partition in ended {
            reader.pause(partition).expect("paused");
        }
    }
    Ok(())
}
