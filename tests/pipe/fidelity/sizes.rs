//! Records up to the size that a topic allows, and beyond.

use super::{assert_same, digest, records, source, target, text};
use crate::brokers::{Error, Numbered, Record, Writing};
use crate::pipe::harness::Migration;
use crate::pipe::noise;

/// A record batch of one record without key and headers: 61 bytes (KIP-98), then attributes, time
/// delta, offset delta, key length, number of headers (5), value length and record length (4 each
/// from 1 MiB on, 2 each below 8 KiB).
fn exactly(limit: usize) -> Record {
    let lengths = if limit > 1 << 20 { 4 + 4 } else { 2 + 2 };
    text(noise(limit - 61 - 5 - lengths))
}

const FIVE_MIB: usize = 5 << 20;
/// Each record in a batch of its own, so that the limit is that of the record.
const TO_BROKER: [(&str, &str); 3] =
    [("max.request.size", "20000000"), ("buffer.memory", "100000000"), ("batch.size", "0")];

#[test]
fn records_as_large_as_their_topic_allows_arrive_beside_topics_with_tiny_limits_in_one_lane()
-> Result<(), Error> {
    // Numbered records of 110 bytes: three of them are over the limit.
    let limits = [("sizes-huge", FIVE_MIB), ("sizes-small", 2000), ("sizes-tiny", 300)];
    for (topic, limit) in limits {
        source().create_topic(topic, 1, &[("max.message.bytes", &limit.to_string())])?;
    }
    for (topic, limit) in [("sizes-huge", FIVE_MIB), ("sizes-small", 2000)] {
        let mut over = exactly(limit);
        over.value.as_mut().expect("a value").push(b'x');
        let refused = source().produce_with(topic, &[over], &TO_BROKER).unwrap_err().to_string();
        assert!(refused.contains("RecordTooLarge"), "{refused}");
        for record in [text("small"), exactly(limit), exactly(limit), text("small")] {
            source().produce_with(topic, &[record], &TO_BROKER)?;
        }
    }
    let writing = Writing { settings: &TO_BROKER, ..Writing::default() };
    source().produce_numbered(
        &Numbered { value_size: 40, ..Numbered::new("sizes-tiny", 1, 500) },
        &writing,
    )?;

    let plan = "topics.include = ['/sizes-.*/']\nrun.lanes = 1";
    let done = Migration::new("sizes", plan).run(&[]).expect(0);
    assert!(!done.stderr.contains("interrupted"), "no request was refused:\n{}", done.stderr);
    for (topic, count) in [("sizes-huge", 4), ("sizes-small", 4), ("sizes-tiny", 500)] {
        let found = digest(target(), topic)?;
        assert_eq!((&found, found[0].count), (&digest(source(), topic)?, count), "{topic}");
    }
    Ok(())
}

#[test]
fn a_record_that_the_target_refuses_is_named_with_a_hint_and_nothing_is_lost_or_doubled()
-> Result<(), Error> {
    source().create_topic("refused", 2, &[])?;
    source().create_topic("refused-not", 1, &[])?;
    target().create_topic("refused", 2, &[("max.message.bytes", "5000")])?;
    let numbered = Numbered::new("refused-not", 1, 300);
    source().produce_numbered(&numbered, &Writing::default())?;
    let row = |p: i32, from: usize| {
        (from..from + 100).map(move |n| Record { partition: p, ..text(n.to_string()) })
    };
    let mut written: Vec<Record> = row(0, 0).chain(row(1, 0)).collect();
    written.push(Record { partition: 1, ..text(noise(6000)) });
    written.extend(row(0, 100).chain(row(1, 100)));
    source().produce("refused", &written)?;

    let plan = "topics.include = ['/refused.*/']\nrun.lanes = 1\n[[check.allow]]\n\
                check = 'message-size'\ntopics = ['refused']\nreason = 'to see it refused'";
    let migration = Migration::new("refused", plan);
    let stopped = migration.run(&["--json"]).expect(4);
    let error = &stopped.json()["error"];
    assert_eq!(error["side"], "target", "{error}");
    let what = error["message"].as_str().unwrap_or_default();
    assert!(what.contains("record refused-1@100 for `refused-1`"), "{error}");
    assert!(error["hint"].as_str().unwrap_or_default().contains("max.message.bytes"), "{error}");
    let arrived = records(target(), "refused")?;
    let wanted = records(source(), "refused")?;
    assert!(arrived.iter().all(|one| wanted.contains(one)), "nothing else is there");

    target().set_topic_config("refused", &[("max.message.bytes", "1000000")])?;
    migration.run(&[]).expect(0);
    assert_eq!(assert_same("refused")?, 401);
    assert_eq!(target().check_numbered(&numbered)?, [""; 0]);
    Ok(())
}

#[test]
fn a_record_that_fits_only_compressed_arrives() -> Result<(), Error> {
    source().create_topic("zipped", 1, &[])?;
    let large = |byte: u8| text(vec![byte; 3 << 20]).key([byte]).header("h", [byte]);
    let [size, memory, alone] = TO_BROKER;
    let settings = [("compression.type", "gzip"), size, memory, alone];
    let written = [text("before"), large(1), large(2), text("after"), large(3)];
    source().produce_with("zipped", &written, &settings)?;
    Migration::new("zipped", "topics.include = [\"zipped\"]").run(&[]).expect(0);
    assert_eq!(digest(source(), "zipped")?, digest(target(), "zipped")?);
    assert_eq!(digest(target(), "zipped")?[0].count, 5);
    Ok(())
}
