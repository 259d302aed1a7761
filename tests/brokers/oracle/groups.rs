//! Consumer groups, and what brokers know of transactions.

use super::super::Error;
use super::{Oracle, admin::text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A group's position in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffset {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub leader_epoch: Option<i64>,
    pub metadata: String,
}

/// What the coordinator knows of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// As `Ongoing`, `CompleteCommit`, `Empty`.
    pub state: String,
    pub producer_id: i64,
    pub epoch: i64,
    /// As `orders-0`.
    pub partitions: Vec<String>,
}

impl Oracle {
    /// Group → state, as `Stable` or `Empty`.
    pub fn list_groups(&self) -> Result<BTreeMap<String, String>, Error> {
        self.call("list_groups", json!({})).map(|answer| texts(&answer))
    }

    /// The members of a group, each by its static name (`group.instance.id`), or by its id.
    pub fn members(&self, group: &str) -> Result<Vec<String>, Error> {
        let answer = self.call("members", json!({"group": group}))?;
        Ok(answer.as_array().into_iter().flatten().map(text).collect())
    }

    /// Stable offsets only; by topic and partition.
    pub fn group_offsets(&self, group: &str) -> Result<Vec<GroupOffset>, Error> {
        let answer = self.call("group_offsets", json!({"group": group}))?;
        let offsets = answer.as_array().into_iter().flatten();
        let partition = |one: &Value| one["partition"].as_i64().and_then(|p| i32::try_from(p).ok());
        Ok(offsets
            .map(|one| GroupOffset {
                topic: text(&one["topic"]),
                partition: partition(one).unwrap_or(-1),
                offset: one["offset"].as_i64().unwrap_or(-1),
                leader_epoch: one["leader_epoch"].as_i64(),
                metadata: text(&one["metadata"]),
            })
            .collect())
    }

    /// Topic, partition, offset. The group must have no members.
    pub fn alter_group_offsets(
        &self,
        group: &str,
        offsets: &[(&str, i32, i64)],
    ) -> Result<(), Error> {
        self.call("alter_group_offsets", json!({"group": group, "offsets": listed(offsets)}))
            .map(drop)
    }

    /// Topic and partition.
    pub fn delete_group_offsets(
        &self,
        group: &str,
        partitions: &[(&str, i32)],
    ) -> Result<(), Error> {
        let offsets: Vec<_> = partitions.iter().map(|(topic, p)| (*topic, *p, 0)).collect();
        self.call("delete_group_offsets", json!({"group": group, "offsets": listed(&offsets)}))
            .map(drop)
    }

    pub fn delete_group(&self, group: &str) -> Result<(), Error> {
        self.call("delete_group", json!({"group": group})).map(drop)
    }

    /// Transactional id → state.
    pub fn list_transactions(&self) -> Result<BTreeMap<String, String>, Error> {
        self.call("list_transactions", json!({})).map(|answer| texts(&answer))
    }

    pub fn describe_transaction(&self, transactional_id: &str) -> Result<Transaction, Error> {
        let answer =
            self.call("describe_transaction", json!({"transactional_id": transactional_id}))?;
        Ok(Transaction {
            state: text(&answer["state"]),
            producer_id: answer["producer_id"].as_i64().unwrap_or(-1),
            epoch: answer["epoch"].as_i64().unwrap_or(-1),
            partitions: answer["partitions"].as_array().into_iter().flatten().map(text).collect(),
        })
    }

    /// The brokers that coordinate a consumer group and a transactional id.
    pub fn coordinators(
        &self,
        group: &str,
        transactional_id: &str,
    ) -> Result<(usize, usize), Error> {
        let fields = json!({"group": group, "transactional_id": transactional_id});
        let answer = self.call("coordinators", fields)?;
        let broker = |of: &Value| of.as_u64().and_then(|id| usize::try_from(id).ok()).unwrap_or(0);
        Ok((broker(&answer["group"]), broker(&answer["transaction"])))
    }

    /// The first offset of each transaction that is open in a partition.
    pub fn open_transactions(&self, topic: &str, partition: i32) -> Result<Vec<i64>, Error> {
        let fields = json!({"topic": topic, "partition": partition});
        let answer = self.call("describe_producers", fields)?;
        let producers = answer.as_array().into_iter().flatten();
        Ok(producers.filter_map(|one| one["open_since"].as_i64()).collect())
    }

    /// What a newer producer of that transactional id would do: aborts what is open, and shuts the
    /// older one out.
    pub fn fence(&self, transactional_id: &str) -> Result<(), Error> {
        self.call("fence", json!({"transactional_id": transactional_id})).map(drop)
    }
}

pub(super) fn listed(offsets: &[(&str, i32, i64)]) -> Vec<Value> {
    let one = |(topic, partition, offset): &(&str, i32, i64)| json!({"topic": topic, "partition": partition, "offset": offset});
    offsets.iter().map(one).collect()
}

fn texts(answer: &Value) -> BTreeMap<String, String> {
    let entries = answer.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}
