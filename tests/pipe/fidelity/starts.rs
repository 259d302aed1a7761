//! Where copying of a topic begins.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{records, source, target};
use crate::brokers::{Error, Record};
use crate::pipe::harness::Migration;

const HOUR: Duration = Duration::from_secs(3600);

fn ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("not that late")
}

#[test]
fn a_topic_begins_where_its_start_says_and_goes_on_from_there() -> Result<(), Error> {
    let now = SystemTime::now();
    let at = |value: &str, time: SystemTime| {
        [0, 1].map(|p| Record::in_partition(p).value(value).at(ms(time)))
    };
    let topics = [
        "starts-latest",
        "starts-earliest",
        "starts-ago",
        "starts-time",
        "starts-future",
        "starts-empty",
    ];
    for topic in topics {
        source().create_topic(topic, 2, &[])?;
        if topic != "starts-empty" {
            source().produce(topic, &at("3 h ago", now - 3 * HOUR))?;
            source().produce(topic, &at("2 h ago", now - 2 * HOUR))?;
            source().produce(topic, &at("now", now - HOUR / 4))?;
        }
    }
    let rule = |topic: &str, start: &str| {
        format!("[[topics.override]]\ntopics = [\"{topic}\"]\nstart = \"{start}\"\n")
    };
    let time = |time| humantime::format_rfc3339_millis(time).to_string();
    let plan = [
        "[topics]\ninclude = ['/starts-.*/']\nstart = \"latest\"\n".to_owned(),
        rule("starts-earliest", "earliest"),
        rule("starts-ago", "-1h"),
        rule("starts-time", &time(now - 2 * HOUR)),
        rule("starts-future", &time(now + 100 * HOUR)),
        rule("starts-empty", "-1h"),
    ]
    .concat();
    let migration = Migration::new("starts", &plan);
    migration.run(&[]).expect(0);
    let seen = |topic: &str| {
        let text = |one: Record| String::from_utf8(one.value.unwrap_or_default()).unwrap();
        let found = records(target(), topic)?.into_iter();
        let found: Vec<_> = found.map(|one| (one.partition, text(one))).collect();
        let half = found.len() / 2;
        let strip =
            |part: &[(i32, String)]| part.iter().map(|one| one.1.clone()).collect::<Vec<_>>();
        assert_eq!(strip(&found[..half]), strip(&found[half..]), "both partitions");
        Ok::<_, Error>(strip(&found[..half]))
    };
    let none: [&str; 0] = [];
    assert_eq!(seen("starts-latest")?, none);
    assert_eq!(seen("starts-earliest")?, ["3 h ago", "2 h ago", "now"]);
    assert_eq!(seen("starts-ago")?, ["now"]);
    assert_eq!(seen("starts-time")?, ["2 h ago", "now"]);
    assert_eq!(seen("starts-future")?, none);
    assert_eq!(seen("starts-empty")?, none);

    // The start was looked up once: later records come, whatever their time.
    for topic in topics {
        source().produce(topic, &at("later", now - 9 * HOUR))?;
    }
    migration.run(&[]).expect(0);
    assert_eq!(seen("starts-latest")?, ["later"]);
    assert_eq!(seen("starts-earliest")?, ["3 h ago", "2 h ago", "now", "later"]);
    assert_eq!(seen("starts-ago")?, ["now", "later"]);
    assert_eq!(seen("starts-time")?, ["2 h ago", "now", "later"]);
    assert_eq!(seen("starts-future")?, ["later"]);
    assert_eq!(seen("starts-empty")?, ["later"]);
    Ok(())
}
