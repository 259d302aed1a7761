//! Compares source and target with Apache Kafka's own consumer, which shares no code with the pipe.

use super::brokers::oracle::Digest;
use super::brokers::{Error, Isolation, Oracle};
use super::data::{Topic, side_by_side};
use super::page::{self, count};

/// What was found, topic by topic.
pub struct Comparison(Vec<TopicComparison>);

struct TopicComparison {
    name: &'static str,
    source: Vec<Digest>,
    target: Vec<Digest>,
    /// What a read_uncommitted consumer sees.
    uncommitted: Vec<Digest>,
    /// Records that are lost, doubled, out of order or changed on the target, by number.
    differences: Vec<String>,
}

pub fn both_sides(source: &Oracle, target: &Oracle, topics: &[Topic]) -> Result<Comparison, Error> {
    side_by_side(topics, |topic| {
        Ok(TopicComparison {
            name: topic.name,
            source: source.digest(topic.name, Isolation::ReadCommitted)?,
            target: target.digest(topic.name, Isolation::ReadCommitted)?,
            uncommitted: target.digest(topic.name, Isolation::ReadUncommitted)?,
            differences: target.check_numbered(&topic.all())?,
        })
    })
    .map(Comparison)
}

fn records(digests: &[Digest]) -> u64 {
    digests.iter().map(|digest| digest.count).sum()
}

impl TopicComparison {
    fn is_same(&self) -> bool {
        self.source == self.target && self.differences.is_empty()
    }
}

impl Comparison {
    /// Whether every partition holds the same records in the same order, and every record that was
    /// written is there once.
    pub fn is_same(&self) -> bool {
        self.0.iter().all(TopicComparison::is_same)
    }

    pub fn print(&self) {
        println!("\ncomparing both sides with Apache Kafka's own consumer (read_committed)");
        page::line(&format!(
            "{:<12}{:>11}{:>11}{:>11}  partitions with equal SHA-256",
            "topic", "source", "target", "tombstones"
        ));
        for topic in &self.0 {
            let equal = topic.source.iter().zip(&topic.target).filter(|(a, b)| a == b).count();
            page::line(&format!(
                "{:<12}{:>11}{:>11}{:>11}  {equal} of {}",
                topic.name,
                count(records(&topic.source)),
                count(records(&topic.target)),
                count(topic.target.iter().map(|digest| digest.tombstones).sum()),
                topic.source.len(),
            ));
        }
        self.print_verdict();
    }

    fn print_verdict(&self) {
        let sum = |side: fn(&TopicComparison) -> &Vec<Digest>| -> u64 {
            self.0.iter().map(|topic| records(side(topic))).sum()
        };
        if self.is_same() {
            page::line(&format!(
                "lost 0, doubled 0, out of order 0, changed 0, of {} records",
                count(sum(|topic| &topic.source))
            ));
        } else {
            page::line("THE TWO SIDES DIFFER");
            for topic in &self.0 {
                for difference in &topic.differences {
                    page::line(&format!("{}: {difference}", topic.name));
                }
            }
        }
        let aborted = sum(|topic| &topic.uncommitted).saturating_sub(sum(|topic| &topic.target));
        page::line(&format!(
            "{} aborted copies stay in the target's log: only a read_uncommitted consumer sees them",
            count(aborted)
        ));
    }
}
