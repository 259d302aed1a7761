//! A cross-check of both sides with Apache Kafka's own consumer, which shares no code with onceover.

use super::brokers::{Error, Isolation, Oracle};
use super::data::{Topic, side_by_side};
use super::page::{self, count};

/// Whether every partition of the topics that are not compacted holds the same records in the same order,
/// and as many as were written. What compaction has removed on one side only, this simple reader cannot judge.
pub fn both_sides(source: &Oracle, target: &Oracle, topics: &[Topic]) -> Result<bool, Error> {
    println!(
        "\na cross-check: Apache Kafka's own consumer reads both sides of what is not compacted"
    );
    let topics: Vec<&Topic> = topics.iter().filter(|topic| topic.config.is_empty()).collect();
    let read = side_by_side(&topics, |topic| {
        let on_source = source.digest(topic.name, Isolation::ReadCommitted)?;
        Ok((on_source, target.digest(topic.name, Isolation::ReadCommitted)?))
    })?;
    let pairs = || read.iter().flat_map(|(source, target)| source.iter().zip(target));
    let equal = pairs().filter(|(source, target)| source == target).count();
    let there: u64 = pairs().map(|(_, target)| target.count).sum();
    let written: u64 = topics.iter().map(|topic| topic.all().count).sum();
    page::line(&format!(
        "{} records written, {} on the target, equal SHA-256 in {equal} of {} partitions",
        count(written),
        count(there),
        pairs().count(),
    ));
    Ok(equal == pairs().count() && there == written)
}
