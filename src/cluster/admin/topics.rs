//! Topics: which there are, their ids and configurations; making one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Admin, CHUNK, PATIENCE, REQUEST, none_passes};
use crate::cluster::class::{Call, ClusterError};
use crate::cluster::connect::Connection;
use crate::cluster::sys::client::Client;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::configs::{self, Of};
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::request::Pending;
use crate::cluster::sys::topics::{self, Described};

/// A topic is gone when it is missing so often in a row, so far apart: together longer than a broker
/// takes from its start to the end of its metadata.
const GONE_LOOKS: u32 = 10;
const GONE_PAUSE: Duration = Duration::from_secs(2);

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
    /// Where the value comes from.
    pub source: ConfigSource,
    /// The broker hides its value.
    pub sensitive: bool,
}

/// Where the value of a configuration comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// Set on the topic itself.
    Topic,
    /// Set in the cluster: in a broker's file, or while it runs.
    Cluster,
    /// Nobody set it: Kafka's default.
    Default,
    /// A newer broker knows a source that we do not.
    Other,
}

impl ConfigSource {
    fn of(number: i32) -> Self {
        match number {
            configs::OF_TOPIC => Self::Topic,
            configs::OF_BROKER | configs::OF_ALL_BROKERS | configs::OF_FILE => Self::Cluster,
            configs::DEFAULT => Self::Default,
            _ => Self::Other,
        }
    }
}

/// All about a topic but its configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDetail {
    /// Its partitions, in the order of their numbers.
    pub partitions: Vec<PartitionDetail>,
    /// The cluster's own.
    pub internal: bool,
    /// What we may do with it, as numbers of the protocol (KIP-430; 3 is Read); none where the broker
    /// does not tell.
    pub authorized: Option<BTreeSet<i32>>,
}

/// A partition, and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDetail {
    /// Id of the broker that leads it; none while nobody does.
    pub leader: Option<i32>,
    /// Ids of the brokers that should hold it.
    pub replicas: Vec<i32>,
    /// Ids of those that hold all of it.
    pub in_sync: Vec<i32>,
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
                let request =
                    topics::describe(&self.client, chunk.iter().copied(), false, REQUEST)?;
                existing(topics::described(&request.wait(REQUEST * 2)?))
            })?;
            found.extend(answer);
        }
        Ok(found)
    }

    /// The same for topics that were there before. A broker that has just started knows none (measured):
    /// only one that is missing again and again is told as missing.
    pub fn describe_known(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        let mut found = self.describe(names)?;
        for _ in 1..GONE_LOOKS {
            let missing = found.iter().filter(|(_, info)| info.is_none());
            let missing: Vec<String> = missing.map(|(name, _)| name.clone()).collect();
            if missing.is_empty() {
                break;
            }
            std::thread::sleep(GONE_PAUSE);
            found.extend(self.describe(&missing.iter().map(String::as_str).collect::<Vec<_>>())?);
        }
        Ok(found)
    }

    /// Asks for topic ids without waiting; the request is on its way when this returns.
    pub fn start_topic_ids(&self, names: &[Arc<str>]) -> PendingTopicIds {
        let wanted: BTreeSet<Arc<str>> = names.iter().cloned().collect();
        let names = wanted.iter().map(AsRef::as_ref);
        let request = (!wanted.is_empty())
            .then(|| topics::describe(&self.client, names, false, REQUEST).ok())
            .flatten();
        PendingTopicIds {
            connection: self.connection.clone(),
            client: Arc::clone(&self.client),
            request,
        }
    }

    /// Brokers, partitions and rights of these topics; none for a name without a topic. Topics fail one
    /// by one: one that we may not see is its own error.
    pub fn details(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Result<Option<TopicDetail>, ClusterError>>, ClusterError> {
        let mut found = BTreeMap::new();
        for chunk in names.chunks(CHUNK) {
            let answer = self.retry("cannot describe the topics", || {
                let names = chunk.iter().copied();
                let request = topics::describe(&self.client, names, true, REQUEST)?;
                let answer = topics::described(&request.wait(REQUEST * 2)?);
                none_passes(answer.iter().map(|topic| Fault::from_code(topic.code)))?;
                Ok(answer)
            })?;
            found.extend(answer.into_iter().map(|topic| {
                let what = format!("cannot describe topic `{}`", topic.name);
                let detail = match topic.code {
                    Code::OK => Ok(Some(detail(topic.clone()))),
                    code if missing(code) => Ok(None),
                    code => Err(self.error(&what, &Fault::from_code(code))),
                };
                (topic.name, detail)
            }));
        }
        Ok(found)
    }

    /// The configurations in effect of these topics, by topic.
    pub fn configs(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Vec<TopicConfig>>, ClusterError> {
        self.configs_each(names)?.into_iter().map(|(name, found)| Ok((name, found?))).collect()
    }

    /// The same, but topics fail one by one.
    pub fn configs_each(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Result<Vec<TopicConfig>, ClusterError>>, ClusterError> {
        let mut found = BTreeMap::new();
        for chunk in names.chunks(CHUNK / 4) {
            let answer = self.retry("cannot read the topics' configurations", || {
                let request = configs::describe(&self.client, Of::Topics(chunk), REQUEST);
                let answer = configs::described(&request.wait(REQUEST * 2)?);
                none_passes(answer.iter().filter_map(|(_, found)| found.as_ref().err().cloned()))?;
                Ok(answer)
            })?;
            found.extend(answer.into_iter().map(|(name, entries)| {
                let what = format!("cannot read the configurations of topic `{name}`");
                let entries = entries.map_err(|fault| self.error(&what, &fault));
                (name, entries.map(|entries| entries.into_iter().map(config).collect()))
            }));
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

    /// Gives a topic `total` partitions, and waits until each has a leader. It may have them already.
    pub fn grow_topic(&self, name: &str, total: usize) -> Result<(), ClusterError> {
        let what = format!("cannot give topic `{name}` {total} partitions");
        let grown = self.retry(&what, || {
            let request = topics::grow(&self.client, name, total, REQUEST)?;
            topics::grown(&request.wait(REQUEST * 2)?)
        });
        if let Err(error) = grown {
            // Another worker may have been quicker, or the answer to the first try was lost.
            let now = self.describe(&[name])?.remove(name).flatten();
            if now.is_none_or(|now| now.partitions != total) {
                return Err(error);
            }
        }
        self.await_leaders(name, total)
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
                let replicas = topic.partitions.iter().map(|one| one.replicas.len()).min();
                Some(TopicInfo {
                    name: topic.name.clone(),
                    partitions: topic.partitions.len(),
                    replicas: replicas.unwrap_or(0),
                    id: topic.id,
                })
            }
            code if missing(code) => None,
            code => {
                let text = format!("topic `{}`: {}", topic.name, code.text());
                return Err(Fault::new(code, text));
            }
        };
        found.insert(topic.name, info);
    }
    Ok(found)
}

fn missing(code: Code) -> bool {
    matches!(code, Code::UNKNOWN_TOPIC_OR_PARTITION | Code::UNKNOWN_TOPIC)
}

fn detail(topic: Described) -> TopicDetail {
    let partitions = topic.partitions.into_iter().map(|one| PartitionDetail {
        leader: one.leader,
        replicas: one.replicas,
        in_sync: one.in_sync,
    });
    TopicDetail {
        partitions: partitions.collect(),
        internal: topic.internal,
        authorized: topic.authorized.map(|numbers| numbers.into_iter().collect()),
    }
}

pub(super) fn config(entry: configs::Entry) -> TopicConfig {
    let source = ConfigSource::of(entry.source);
    TopicConfig {
        name: entry.name,
        value: entry.value,
        explicit: source == ConfigSource::Topic,
        source,
        sensitive: entry.sensitive,
    }
}
