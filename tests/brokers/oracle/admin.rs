//! Topics and their settings.

use super::super::Error;
use super::{Offsets, Oracle, object};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A topic as its cluster describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    pub id: String,
    pub partitions: usize,
    pub replication: usize,
    /// Broker id for each partition; −1 for none.
    pub leaders: Vec<i64>,
    /// How many replicas of each partition are in sync.
    pub in_sync: Vec<usize>,
    /// Only what was set for this topic.
    pub configs: BTreeMap<String, String>,
}

impl Oracle {
    /// As the cluster says: its id, and the ids of the brokers that are there.
    pub fn describe_cluster(&self) -> Result<(String, Vec<i64>), Error> {
        let answer = self.call("describe_cluster", json!({}))?;
        let brokers = answer["brokers"].as_array().into_iter().flatten();
        Ok((text(&answer["cluster_id"]), brokers.filter_map(Value::as_i64).collect()))
    }

    /// With the cluster's own replication factor; returns the topic's id once all leaders are there.
    pub fn create_topic(
        &self,
        topic: &str,
        partitions: usize,
        configs: &[(&str, &str)],
    ) -> Result<String, Error> {
        self.create_replicated_topic(topic, partitions, -1, configs)
    }

    pub fn create_replicated_topic(
        &self,
        topic: &str,
        partitions: usize,
        replication: i16,
        configs: &[(&str, &str)],
    ) -> Result<String, Error> {
        let fields = json!({
            "topic": topic,
            "partitions": partitions,
            "replication": replication,
            "configs": object(configs),
        });
        Ok(text(&self.call("create_topic", fields)?["id"]))
    }

    /// For each partition the ids of the brokers that hold it; the first one leads.
    pub fn create_assigned_topic(
        &self,
        topic: &str,
        assignment: &[&[usize]],
        configs: &[(&str, &str)],
    ) -> Result<String, Error> {
        let fields = json!({"topic": topic, "assignment": assignment, "configs": object(configs)});
        Ok(text(&self.call("create_topic", fields)?["id"]))
    }

    /// Returns once the topic is no longer listed.
    pub fn delete_topic(&self, topic: &str) -> Result<(), Error> {
        self.call("delete_topic", json!({"topic": topic})).map(drop)
    }

    /// Returns once all leaders are there.
    pub fn add_partitions(&self, topic: &str, total: usize) -> Result<(), Error> {
        self.call("add_partitions", json!({"topic": topic, "total": total})).map(drop)
    }

    /// Nobody who is not authenticated may write to the topic any more; needs an authorizer.
    pub fn deny_write(&self, topic: &str) -> Result<(), Error> {
        self.call("deny_write", json!({ "topic": topic })).map(drop)
    }

    /// Nobody has this right (as `WRITE`) to this resource (as `TOPIC`) any more, and everybody all
    /// others; needs an authorizer.
    pub fn deny(&self, resource: &str, name: &str, right: &str) -> Result<(), Error> {
        let fields = json!({"resource": resource, "name": name, "right": right});
        self.call("deny", fields).map(drop)
    }

    /// Takes all of that back.
    pub fn permit(&self, resource: &str, name: &str) -> Result<(), Error> {
        self.call("permit", json!({"resource": resource, "name": name})).map(drop)
    }

    /// Up to and without the offset `before`; −1 is the high watermark. Returns the log start.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<i64, Error> {
        let fields = json!({"topic": topic, "partition": partition, "before": before});
        Ok(self.call("delete_records", fields)?["earliest"].as_i64().unwrap_or(-1))
    }

    pub fn set_topic_config(&self, topic: &str, set: &[(&str, &str)]) -> Result<(), Error> {
        self.call("alter_config", json!({"topic": topic, "set": object(set)})).map(drop)
    }

    pub fn unset_topic_config(&self, topic: &str, unset: &[&str]) -> Result<(), Error> {
        self.call("alter_config", json!({"topic": topic, "set": {}, "unset": unset})).map(drop)
    }

    /// Without internal ones.
    pub fn list_topics(&self) -> Result<Vec<String>, Error> {
        let answer = self.call("list_topics", json!({}))?;
        Ok(answer.as_array().into_iter().flatten().map(text).collect())
    }

    pub fn describe_topic(&self, topic: &str) -> Result<Topic, Error> {
        let answer = self.call("describe_topic", json!({"topic": topic}))?;
        let number = |name: &str| {
            answer[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default()
        };
        let leaders = answer["leaders"].as_array().into_iter().flatten();
        let in_sync = answer["in_sync"].as_array().into_iter().flatten();
        let configs = answer["configs"].as_object().into_iter().flatten();
        Ok(Topic {
            id: text(&answer["id"]),
            partitions: number("partitions"),
            replication: number("replication"),
            leaders: leaders.filter_map(Value::as_i64).collect(),
            in_sync: in_sync.filter_map(|n| usize::try_from(n.as_u64()?).ok()).collect(),
            configs: configs.map(|(key, value)| (key.clone(), text(value))).collect(),
        })
    }

    /// For each partition of the topic.
    pub fn list_offsets(&self, topic: &str) -> Result<Vec<Offsets>, Error> {
        let answer = self.call("list_offsets", json!({"topic": topic}))?;
        let offset = |of: &Value| of.as_i64().unwrap_or(-1);
        let partitions = answer.as_array().into_iter().flatten();
        Ok(partitions
            .map(|one| Offsets {
                earliest: offset(&one["earliest"]),
                latest: offset(&one["latest"]),
                stable: offset(&one["stable"]),
            })
            .collect())
    }

    /// All that a client could have changed: topics with ids, explicit configs and offsets, groups
    /// with offsets, settings of the brokers. Internal topics are left out: a broker makes
    /// `__consumer_offsets` itself when a client first looks for a group's coordinator.
    pub fn snapshot(&self) -> Result<Value, Error> {
        self.call("snapshot", json!({}))
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
