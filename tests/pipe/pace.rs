//! `run.max_rate`, measured by the target's own clock.

use super::harness::Migration;
use crate::brokers::{Error, Isolation, Numbered, Writing, shared};

const RATE: u64 = 1 << 20;
/// What a plan may take at once before it is held back: two seconds' worth is fetched ahead, a quarter
/// of a second is saved up; and the first batch may arrive later than the last one after it was taken.
const BURST: f64 = 4.25;

#[test]
fn records_come_no_faster_than_the_plan_allows() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    source.create_topic("pace", 4, &[])?;
    // The broker writes down when each batch arrived.
    target.create_topic("pace", 4, &[("message.timestamp.type", "LogAppendTime")])?;
    let numbered = Numbered { value_size: 1_000, ..Numbered::new("pace", 4, 10_000) };
    source.produce_numbered(&numbered, &Writing::default())?;
    let rest = "topics.include = [\"pace\"]\nrun.lanes = 4\nrun.max_rate = \"1MiB/s\"\n\
                [[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['pace']\nreason = 'to see them'";
    let migration = Migration::new("pace", rest);
    migration.run(&[]).expect(0);

    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for (partition, ends) in (0..).zip(target.list_offsets("pace")?) {
        let at = |from: i64, until| {
            target.read_range("pace", Isolation::ReadCommitted, partition, from.max(0), until)
        };
        let (begin, end) = (at(0, 1)?, at(ends.latest - 20, ends.latest)?);
        for stored in begin.iter().chain(&end) {
            let arrived = stored.record.timestamp.expect("LogAppendTime");
            (first, last) = (first.min(arrived), last.max(arrived));
        }
    }
    let bytes = migration.status()["bytes"].as_u64().expect("bytes");
    assert!(bytes > 9 * RATE, "enough to see the rate: {bytes}");
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let allowed = RATE as f64 * ((last - first) as f64 / 1000.0 + BURST);
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let moved = bytes as f64;
    println!("{bytes} bytes in {} ms", last - first);
    assert!(moved <= allowed, "{bytes} bytes in {} ms", last - first);
    Ok(())
}
