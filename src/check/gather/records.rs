//! A look at a few records of each topic: the oldest and the newest of each partition. What is read is
//! counted and forgotten; no key or value is kept or shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::side::Site;
use crate::check::facts::{Known, PartitionFacts, Sample};
use crate::check::sample::Sampler;
use crate::cluster::{ClusterError, Isolation, LogRange, LogReader};
use crate::pipe::clusters::Clusters;
use crate::plan::{Selection, TopicPartition};

/// Records of a topic: half of them old ones, half of them new ones.
const RECORDS: usize = 1_000;
/// Bytes of records of a topic.
const BYTES: u64 = 4 << 20;
/// Partitions that are read side by side.
const TOGETHER: usize = 200;
/// What is fetched ahead: a partition that is done is still fetched for a moment.
const QUEUE: usize = 8 << 20;
/// How long reading may take, of all topics together; then what was seen has to do.
const TIME: Duration = Duration::from_secs(30);

/// Of a topic that was not reached within it.
const NO_TIME: &str = "no time was left to look at its records";

/// Which end of a partition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Oldest,
    Newest,
}

/// Less than that says nothing about how fast reading is: the time goes into waiting for answers.
const TELLING: u64 = 4 << 20;

/// Samples of the plan's topics on the source.
#[derive(Default)]
pub struct Samples {
    /// By topic.
    pub topics: BTreeMap<Arc<str>, Known<Sample>>,
    /// Bytes per second while they were read, if that tells anything.
    pub rate: Option<f64>,
}

/// Reads some records of each of the plan's topics.
pub fn sample(clusters: &Clusters, selection: &Selection, source: &Site) -> Samples {
    let mut topics = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for pair in &selection.topics {
        match readable(source, &pair.source) {
            Ok(partitions) => {
                topics.insert(pair.source.clone(), partitions);
            }
            Err(why) => {
                samples.insert(pair.source.clone(), Known::Unknown(why));
            }
        }
    }
    let mut reading = Reading {
        until: Instant::now() + TIME,
        samplers: BTreeMap::new(),
        failed: BTreeMap::new(),
    };
    for (topic, partitions) in &topics {
        let sampler = Sampler::new(partitions.len());
        reading.samplers.insert(topic.clone(), (sampler, 0));
    }
    let mut log = match LogReader::open_within(&clusters.source, Isolation::Committed, QUEUE) {
        Ok(log) => log,
        Err(error) => {
            let why = |topic: &Arc<str>| (topic.clone(), Known::unknown(&error.what));
            samples.extend(topics.keys().map(why));
            return Samples { topics: samples, rate: None };
        }
    };
    let begun = Instant::now();
    for end in [End::Oldest, End::Newest] {
        let ranges: Vec<(LogRange, usize)> =
            topics.iter().flat_map(|(topic, partitions)| ranges(topic, partitions, end)).collect();
        for some in ranges.chunks(TOGETHER) {
            if let Err(error) = reading.read(&mut log, some) {
                for (range, _) in some {
                    reading.failed.insert(range.at.topic.clone(), error.what.clone());
                }
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let bytes: u64 = reading.samplers.values().map(|(_, bytes)| bytes).sum();
    #[expect(clippy::cast_precision_loss, reason = "a rate is a rough number")]
    let rate = (bytes >= TELLING && seconds > 0.0).then(|| bytes as f64 / seconds);
    for (topic, (sampler, _)) in reading.samplers {
        let sample = match reading.failed.remove(&topic) {
            Some(why) => Known::Unknown(why),
            None => Known::Known(sampler.finish()),
        };
        samples.insert(topic, sample);
    }
    Samples { topics: samples, rate }
}

/// The partitions of a topic that we may read.
fn readable<'a>(source: &'a Site, topic: &str) -> Result<&'a [PartitionFacts], String> {
    const READ: i32 = 3;
    let looked = source.topics.get(topic).ok_or("the topic was not looked for")?;
    if looked.authorized.as_ref().is_some_and(|may| !may.contains(&READ)) {
        return Err("no right to read the topic".into());
    }
    let facts = looked.facts.get()?.as_ref().ok_or("the topic is gone")?;
    Ok(facts.partitions.get()?)
}

/// What is to be read of a topic, each range with its greatest number of records.
fn ranges(topic: &Arc<str>, partitions: &[PartitionFacts], end: End) -> Vec<(LogRange, usize)> {
    let share = RECORDS.div_ceil(2 * partitions.len().max(1));
    let records = i64::try_from(share).unwrap_or(1);
    let range = |one: &PartitionFacts| {
        let (start, stable) = (*one.log_start.ok()?, *one.last_stable.ok()?);
        // The oldest records may lie far behind each other, if others were compacted away. The newest
        // ones are looked for where they would lie without holes, and not behind the oldest.
        let from = match end {
            End::Oldest => start,
            End::Newest => (stable - records).max(start + records),
        };
        let at = TopicPartition::new(topic.clone(), one.number);
        (from < stable).then_some((LogRange { at, from, until: stable }, share))
    };
    partitions.iter().filter_map(range).collect()
}

struct Reading {
    until: Instant,
    /// Samplers, each with the bytes that it has taken.
    samplers: BTreeMap<Arc<str>, (Sampler, u64)>,
    failed: BTreeMap<Arc<str>, String>,
}

impl Reading {
    fn read(
        &mut self,
        log: &mut LogReader,
        some: &[(LogRange, usize)],
    ) -> Result<(), ClusterError> {
        if Instant::now() >= self.until {
            let skipped: BTreeSet<_> = some.iter().map(|(range, _)| &range.at.topic).collect();
            tracing::debug!(?skipped, "no time left for their samples");
            for topic in skipped {
                // What was seen of the oldest records has to do; without any of them nothing was looked at.
                if self.samplers.get(topic).is_some_and(|(_, bytes)| *bytes == 0) {
                    self.failed.insert(topic.clone(), NO_TIME.to_owned());
                }
            }
            return Ok(());
        }
        let ranges: Vec<LogRange> = some.iter().map(|(range, _)| range.clone()).collect();
        let mut seen = vec![0; ranges.len()];
        log.read_each(&ranges, &mut |index, record| {
            let at = &ranges[index].at;
            let Some((sampler, bytes)) = self.samplers.get_mut(&at.topic) else {
                return ControlFlow::Break(());
            };
            let size = record.bytes() as u64;
            sampler.add(at.partition, record.key, record.value, size);
            *bytes += size;
            seen[index] += 1;
            let enough =
                seen[index] >= some[index].1 || *bytes >= BYTES || Instant::now() >= self.until;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Connection;
    use crate::error::Side;

    #[test]
    fn a_topic_that_no_time_was_left_for_was_not_looked_at() {
        let topics: [Arc<str>; 2] = ["seen".into(), "skipped".into()];
        let samplers = topics.iter().zip([10, 0]);
        let mut reading = Reading {
            until: Instant::now(),
            samplers: samplers
                .map(|(topic, bytes)| (topic.clone(), (Sampler::new(1), bytes)))
                .collect(),
            failed: BTreeMap::new(),
        };
        let range = |topic: &Arc<str>| {
            (LogRange { at: TopicPartition::new(topic.clone(), 0), from: 0, until: 9 }, 5)
        };
        let nowhere = Connection::new(Side::Source, "127.0.0.1:1", &BTreeMap::new(), "test");
        let mut log = LogReader::open(&nowhere, Isolation::Committed).expect("it does not connect");
        reading.read(&mut log, &topics.each_ref().map(range)).expect("nothing is read");
        assert_eq!(reading.failed, BTreeMap::from([("skipped".into(), NO_TIME.to_owned())]));
    }

    fn froms(records: i64, end: End) -> Vec<i64> {
        let partition = |number| PartitionFacts {
            number,
            leader: Some(1),
            replicas: vec![1],
            isr: vec![1],
            log_start: Known::Known(0),
            log_end: Known::Known(records),
            last_stable: Known::Known(records),
            oldest_ms: Known::Known(None),
            newest_ms: Known::Known(None),
            open_since_ms: Known::Known(None),
        };
        let found = ranges(&"t".into(), &[partition(0), partition(1)], end);
        found.into_iter().map(|(range, _)| range.from).collect()
    }

    #[test]
    fn the_newest_records_are_never_the_oldest_again() {
        assert_eq!(froms(10_000, End::Oldest), [0, 0]);
        assert_eq!(froms(10_000, End::Newest), [9_750, 9_750]);
        assert_eq!(froms(300, End::Newest), [250, 250]);
        assert_eq!(froms(250, End::Newest), [] as [i64; 0]);
        assert_eq!(froms(0, End::Oldest), [] as [i64; 0]);
    }
}
