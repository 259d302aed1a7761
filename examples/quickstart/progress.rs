//! How far the target is, by its brokers' own words: log ends, stable offsets, open transactions.

use super::brokers::oracle::Offsets;
use super::brokers::{Error, Oracle};
use super::data::Topic;
use serde_json::json;

/// Looks at the target's topics again and again.
pub struct Flow<'a> {
    target: &'a Oracle,
    topics: &'a [Topic],
    /// Nothing is asked about topics that are still to be created.
    created: bool,
}

/// Where each partition of each topic stood; empty before the topics are there.
#[derive(PartialEq)]
pub struct Mark(Vec<Vec<Offsets>>);

impl<'a> Flow<'a> {
    pub fn of(target: &'a Oracle, topics: &'a [Topic]) -> Flow<'a> {
        Flow { target, topics, created: false }
    }

    pub fn look(&mut self) -> Result<Mark, Error> {
        if !self.created {
            let there = self.target.list_topics()?;
            self.created = self.topics.iter().all(|t| there.iter().any(|name| name == t.name));
            if !self.created {
                return Ok(Mark(Vec::new()));
            }
        }
        let ends = self.topics.iter().map(|topic| self.target.list_offsets(topic.name));
        ends.collect::<Result<_, _>>().map(Mark)
    }

    /// Once the brokers have done with what a dead client had sent them: two looks that see the same.
    pub fn settled(&mut self) -> Result<Mark, Error> {
        let mut before = self.look()?;
        loop {
            let now = self.look()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
    }
}

impl Mark {
    fn partitions(&self) -> impl Iterator<Item = &Offsets> {
        self.0.iter().flatten()
    }

    /// Some of it is committed, some of it is not, and much is still to come.
    pub fn is_in_the_middle(&self, all: u64) -> bool {
        let committed: i64 = self.partitions().map(|offsets| offsets.stable).sum();
        let committed = u64::try_from(committed).unwrap_or(0);
        let open = self.partitions().any(|offsets| offsets.stable < offsets.latest);
        open && committed > all / 5 && committed < all * 4 / 5
    }

    /// Whether a record was committed since. At the kill a partition's log ended at `latest`; what was
    /// open there is ended by one marker, which makes the stable offset `latest` + 1 without a record.
    pub fn has_gone_on_since(&self, kill: &Mark) -> bool {
        let mut both = self.partitions().zip(kill.partitions());
        both.any(|(now, then)| now.stable > then.latest + 1)
    }
}

/// Transactions of onceover that are open, as the coordinator says.
pub fn open_transactions(target: &Oracle) -> Result<usize, Error> {
    let transactions = target.list_transactions()?;
    let open = |(id, state): &(&String, &String)| {
        id.starts_with("onceover-quickstart-") && *state == "Ongoing"
    };
    Ok(transactions.iter().filter(open).count())
}

/// Records that a read_committed consumer could read at that moment.
pub fn committed(target: &Oracle, topics: &[Topic], at: &Mark) -> Result<u64, Error> {
    let mut records = 0;
    for (topic, ends) in topics.iter().zip(&at.0) {
        for (partition, end) in ends.iter().enumerate() {
            let range = json!({
                "topic": topic.name,
                "committed": true,
                "partition": partition,
                "until": end.stable,
            });
            let answer = target.call("digest", range)?;
            records += answer[partition]["count"].as_u64().unwrap_or(0);
        }
    }
    Ok(records)
}
