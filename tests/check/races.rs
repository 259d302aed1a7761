//! The retention race as `status` tells it while a run goes on.

use onceover::pipe::shared::now_ms;

use crate::brokers::{Error, Record, shared};
use crate::pipe::harness::{Migration, eventually};

const TWO_HOURS: i64 = 7_200_000;

#[test]
fn status_tells_which_partition_loses_its_records_before_the_copy_is_there() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    // Five minutes are left; 16 MB at 32 KiB a second are more than eight.
    let written = now_ms() - TWO_HOURS + 300_000;
    let (expires, kept) = ("check-race-expires", "check-race-kept");
    source.create_topic(expires, 1, &[("retention.ms", "7200000")])?;
    source.create_topic(kept, 1, &[])?;
    let record = Record::in_partition(0).value([b'v'; 10_000]).at(written);
    for topic in [expires, kept] {
        source.produce(topic, &vec![record.clone(); 800])?;
    }
    let rest = "topics.include = ['/check-race-.*/']\nrun.max_rate = \"32KiB/s\"";
    let migration = Migration::new("check-race", rest);
    assert_eq!(migration.status()["partitions"].as_array().map(Vec::len), Some(0));
    let run = migration.start(&["--json"]);
    let outlook = |topic: &str| {
        let status = migration.status();
        let lines = status["partitions"].as_array().expect("partitions");
        let line = lines.iter().find(|line| line["topic"] == topic);
        line.map_or(serde_json::Value::Null, |line| line["retention"].clone())
    };
    eventually("the pace is known and the race is lost", || outlook(expires)["risk"] == "lost");
    let lost = outlook(expires);
    assert_eq!(lost["deleted_at_ms"], written + TWO_HOURS);
    let lost_from = lost["lost_from_ms"].as_i64().expect("a time");
    let reached = lost["reached_at_ms"].as_i64().expect("a time");
    // Both are estimates, in whole milliseconds.
    assert!(written + TWO_HOURS - 1 <= lost_from && lost_from < reached, "{lost}");
    let fine = outlook(kept);
    assert_eq!((&fine["risk"], &fine["deleted_at_ms"]), (&"none".into(), &().into()), "{fine}");
    let text = migration.verb("status", &[]).expect(0).stdout;
    assert!(text.contains("  race     check-race-expires-0: the source may delete"), "{text}");
    assert!(!text.contains("check-race-kept-0:"), "{text}");
    run.kill();

    // What a refused run would say: the source no longer has what is to be copied next.
    let position = migration.status()["partitions"]
        .as_array()
        .and_then(|lines| lines.iter().find(|line| line["topic"] == kept)?["position"].as_i64());
    source.delete_records(kept, 0, position.expect("a position") + 1)?;
    assert_eq!(outlook(kept)["risk"], "gone");
    Ok(())
}
