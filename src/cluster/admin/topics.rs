//! Topics: which there are, their ids and configurations; making one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Admin, CHUNK, PATIENCE, REQUEST};
use crate::cluster::class::{Call, ClusterError};
use crate::cluster::connect::Connection;
use crate::cluster::sys::client::Client;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::request::Pending;
use crate::cluster::sys::topics::{self, Described};

/// A topic of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Name.
    pub name: String,
    /// How many partitions.
    pub partitions: usize,
    /// Replicas of the partition that has the fewest.
    pub replicas: usize,
    /// The topic's id as Kafka prints it (base64); none on brokers before 2.8.
    pub id: Option<String>,
}

/// A configuration of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicConfig {
    /// Property.
    pub name: String,
    /// Value in effect; none where the broker hides it or it is unset.
    pub value: Option<String>,
    /// Set on the topic itself, not inherited.
    pub explicit: bool,
    /// The broker hides its value.
    pub sensitive: bool,
}

/// A topic to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Name.
    pub name: String,
    /// How many partitions.
    pub partitions: i32,
    /// Replicas of each; the broker's default where left out (brokers from 2.4 on).
    pub replication_factor: Option<i32>,
    /// Configurations, set in the same request.
    pub configs: Vec<(String, String)>,
}

/// What a request to make a topic came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// Made; or it would have been, if only validated.
    Made,
    /// There was one of that name.
    Existed,
}

impl Admin {
    /// All topics of the cluster that we may see, internal ones too.
    pub fn topics(&self) -> Result<Vec<TopicInfo>, ClusterError> {
        let what = "cannot list the topics";
        let metadata = self.retry(what, || self.client.metadata(true, REQUEST))?;
        let names: Vec<&str> = metadata.topics.iter().map(|topic| topic.name.as_str()).collect();
        // One that was deleted between the two questions is gone.
        Ok(self.describe(&names)?.into_values().flatten().collect())
    }

    /// The topics of these names; none for a name without a topic. Never makes one.
    pub fn describe(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        let wanted: Vec<&str> =
            names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let mut found = BTreeMap::new();
        for chunk in wanted.chunks(CHUNK) {
            let answer = self.retry("cannot describe the topics", || {
                let request = topics::describe(&self.client, chunk.iter().copied(), REQUEST);
                existing(topics::described(&request.wait(REQUEST * 2)?))
            })?;
            found.extend(answer);
        }
        Ok(found)
    }

    /// Asks for topic ids without waiting; the request is on its way when this returns.
    pub fn start_topic_ids(&self, names: &[Arc<str>]) -> PendingTopicIds {
        let wanted: BTreeSet<Arc<str>> = names.iter().cloned().collect();
        let request = (!wanted.is_empty())
            .then(|| topics::describe(&self.client, wanted.iter().map(AsRef::as_ref), REQUEST));
        PendingTopicIds {
            connection: self.connection.clone(),
            client: Arc::clone(&self.client),
            request,
        }
    }

    /// The configurations in effect of these topics, by topic.
    pub fn configs(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Vec<TopicConfig>>, ClusterError> {
        let mut found: BTreeMap<String, Vec<TopicConfig>> = BTreeMap::new();
        for chunk in names.chunks(CHUNK / 4) {
            let entries = self.retry("cannot read the topics' configurations", || {
                let request = topics::describe_configs(&self.client, chunk, REQUEST);
                topics::configs(&request.wait(REQUEST * 2)?)
            })?;
            for entry in entries {
                found.entry(entry.topic).or_default().push(TopicConfig {
                    name: entry.name,
                    value: entry.value,
                    explicit: entry.explicit,
                    sensitive: entry.sensitive,
                });
            }
        }
        Ok(found)
    }

    /// Makes a topic with its configurations in one request, and waits until every partition has a
    /// leader. With `validate_only` the brokers check the request and make nothing.
    pub fn create_topic(
        &self,
        topic: &NewTopic,
        validate_only: bool,
    ) -> Result<Created, ClusterError> {
        let what = format!("cannot create topic `{}`", topic.name);
        let outcome = self.retry(&what, || {
            let request = topics::create(
                &self.client,
                &topic.name,
                topic.partitions,
                topic.replication_factor.unwrap_or(-1),
                &topic.configs,
                validate_only,
                REQUEST,
            )?;
            match topics::created(&request.wait(REQUEST * 2)?) {
                Ok(()) => Ok(Created::Made),
                Err(fault) if fault.code == Code::TOPIC_EXISTS => Ok(Created::Existed),
                Err(fault) => Err(fault),
            }
        })?;
        if outcome == Created::Made && !validate_only {
            self.await_leaders(&topic.name, usize::try_from(topic.partitions).unwrap_or(0))?;
        }
        Ok(outcome)
    }

    fn await_leaders(&self, name: &str, partitions: usize) -> Result<(), ClusterError> {
        let what = format!("topic `{name}` was created and has no leaders yet");
        let deadline = Instant::now() + PATIENCE;
        loop {
            // All topics: a request for this one alone could make a broker create it.
            let metadata = self.retry(&what, || self.client.metadata(true, REQUEST))?;
            let ready = metadata
                .topics
                .iter()
                .any(|topic| topic.name == name && topic.with_leader >= partitions);
            if ready {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.error(&what, &Fault::from_code(Code::TIMED_OUT)));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Topic ids that were asked for.
pub struct PendingTopicIds {
    connection: Connection,
    client: Arc<Client>,
    request: Option<Pending>,
}

impl PendingTopicIds {
    /// Waits for the answer. A topic that does not exist is left out; an id is none where the
    /// brokers have no topic ids (before 2.8). Not tried again: an error is the caller's to judge.
    pub fn wait(
        self,
        timeout: Duration,
    ) -> Result<BTreeMap<Arc<str>, Option<String>>, ClusterError> {
        let Some(request) = self.request else { return Ok(BTreeMap::new()) };
        let answer = request
            .wait(timeout)
            .and_then(|answer| existing(topics::described(&answer)))
            .map_err(|fault| {
                let notices = Some(self.client.notices());
                self.connection.error(Call::Ask, "cannot read the topic ids", &fault, notices)
            })?;
        Ok(answer
            .into_iter()
            .filter_map(|(name, topic)| Some((Arc::from(name), topic?.id)))
            .collect())
    }
}

/// Sorts an answer into topics that exist and names without one; any other error is everybody's.
fn existing(answer: Vec<Described>) -> Result<BTreeMap<String, Option<TopicInfo>>, Fault> {
    let mut found = BTreeMap::new();
    for topic in answer {
        let info = match topic.code {
            Code::OK => {
                let Described { partitions, replicas, id, .. } = topic;
                Some(TopicInfo { name: topic.name.clone(), partitions, replicas, id })
            }
            Code::UNKNOWN_TOPIC_OR_PARTITION | Code::UNKNOWN_TOPIC => None,
            code => {
                let text = format!("topic `{}`: {}", topic.name, code.text());
                return Err(Fault::new(code, text));
            }
        };
        found.insert(topic.name, info);
    }
    Ok(found)
}
