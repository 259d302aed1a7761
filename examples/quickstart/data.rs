//! An ordinary set of topics, and a million records for them.

use super::brokers::{Error, Numbered, Oracle, Writing};
use std::borrow::Borrow;
use std::thread;

/// What a topic is like, and which records it gets before and while onceover runs.
pub struct Topic {
    pub name: &'static str,
    pub partitions: usize,
    pub kind: &'static str,
    pub config: &'static [(&'static str, &'static str)],
    pub before: Numbered,
    pub during: Numbered,
}

impl Topic {
    /// All records that the topic holds in the end.
    pub fn all(&self) -> Numbered {
        Numbered { count: self.before.count + self.during.count, ..self.before.clone() }
    }
}

/// Records per second in all, while onceover runs: four seconds' worth.
const PER_SECOND: u64 = 100_000;

/// Orders with a key each, a compacted table of customers, and events without keys; all with headers.
pub fn topics() -> [Topic; 3] {
    let orders = Numbered {
        value_size: 300,
        keys: 40_000,
        headers: 3,
        ..Numbered::new("orders", 6, 300_000)
    };
    let customers = Numbered {
        value_size: 200,
        keys: 20_000,
        headers: 2,
        tombstone_every: 20,
        ..Numbered::new("customers", 3, 120_000)
    };
    let events = Numbered { value_size: 150, headers: 2, ..Numbered::new("events", 3, 180_000) };
    [
        topic("orders", "keyed", &[], orders, 200_000),
        topic(
            "customers",
            "keyed, compacted, every 20th record a tombstone",
            &[("cleanup.policy", "compact")],
            customers,
            80_000,
        ),
        topic("events", "no keys", &[], events, 120_000),
    ]
}

fn topic(
    name: &'static str,
    kind: &'static str,
    config: &'static [(&'static str, &'static str)],
    before: Numbered,
    during: u64,
) -> Topic {
    let during = Numbered {
        first: before.count,
        count: during,
        // Timestamps go on where those before end: 100 records share a millisecond.
        first_timestamp: before.first_timestamp + i64::try_from(before.count / 100).unwrap_or(0),
        ..before.clone()
    };
    Topic { name, partitions: before.partitions, kind, config, before, during }
}

pub fn create(source: &Oracle, topics: &[Topic]) -> Result<(), Error> {
    for topic in topics {
        source.create_topic(topic.name, topic.partitions, topic.config)?;
    }
    Ok(())
}

/// As fast as it goes.
pub fn write_before(source: &Oracle, topics: &[Topic]) -> Result<(), Error> {
    side_by_side(topics, |topic| source.produce_numbered(&topic.before, &Writing::default()))
        .map(drop)
}

/// Like a busy day; each topic its share.
pub fn write_during(source: &Oracle, topics: &[Topic]) -> Result<(), Error> {
    let all: u64 = topics.iter().map(|topic| topic.during.count).sum();
    side_by_side(topics, |topic| {
        let per_second = PER_SECOND * topic.during.count / all;
        source.produce_numbered(&topic.during, &Writing { per_second, ..Writing::default() })
    })
    .map(drop)
}

/// Does it for all topics at once; the first error counts.
pub fn side_by_side<T: Send>(
    topics: &[impl Borrow<Topic> + Sync],
    each: impl Fn(&Topic) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    thread::scope(|scope| {
        let each = &each;
        let started: Vec<_> =
            topics.iter().map(|topic| scope.spawn(move || each(topic.borrow()))).collect();
        started.into_iter().map(|one| one.join().expect("it does not panic")).collect()
    })
}
