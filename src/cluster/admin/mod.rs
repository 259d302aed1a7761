//! Questions to a cluster, and the one thing that is changed there outside of records: topics made.
//!
//! Retriable errors are tried again, visibly, for half a minute; what is returned is final for the
//! caller, whatever its class.

mod acls;
mod cluster;
mod groups;
mod offsets;
mod topics;

pub use acls::AclEntry;
pub use cluster::{ApiVersions, Broker, ClusterDetail};
pub use groups::{GroupDetail, GroupMember};
pub use offsets::{At, OffsetAt};
pub use topics::{
    ConfigSource, Created, NewTopic, PartitionDetail, PendingTopicIds, TopicConfig, TopicDetail,
    TopicInfo,
};

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::class::{Call, Class, ClusterError, classify};
use super::connect::Connection;
use super::sys::client::{Client, Role};
use super::sys::code::Code;
use super::sys::fault::Fault;
use crate::error::Side;

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(10);

/// How long retriable errors are tried again: a broker's restart and an election fit in.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one look for the cluster's brokers may take.
const FRESH: Duration = Duration::from_secs(5);

/// How long the client remembers who leads a partition. ListOffsets believes a remembered "no leader"
/// without asking again (`rd_kafka_topic_partition_list_get_leaders`), and by default that is 15 minutes
/// for a moment in which a broker restarted (seen: every answer "No leaders found" until then).
const MEMORY: Duration = Duration::from_secs(1);

/// Items per request: names, partitions. Keeps answers below the brokers' and our own limits.
const CHUNK: usize = 2000;

/// Asks one of the clusters.
pub struct Admin {
    connection: Connection,
    client: Arc<Client>,
    brokers: usize,
}

impl Admin {
    /// Connects, waiting at most half a minute for a broker's answer. Says nothing about any group.
    pub fn connect(connection: &Connection) -> Result<Admin, ClusterError> {
        Self::start(connection, Role::Producer, &[])
    }

    /// Connects for questions about `group` as well. A client without a group id crashes inside
    /// librdkafka 2.12.1 when a coordinator answers `NOT_COORDINATOR` to ListConsumerGroupOffsets
    /// (`rd_kafka_handle_OffsetFetch` uses the consumer group that only such a client has; seen as a
    /// segmentation fault against a broker that had just started).
    pub fn connect_for(connection: &Connection, group: &str) -> Result<Admin, ClusterError> {
        let own = [("group.id", group.to_owned()), ("enable.auto.commit", "false".to_owned())];
        Self::start(connection, Role::Consumer, &own)
    }

    fn start(
        connection: &Connection,
        role: Role,
        own: &[(&str, String)],
    ) -> Result<Admin, ClusterError> {
        let mut own = own.to_vec();
        own.push(("metadata.max.age.ms", MEMORY.as_millis().to_string()));
        // Says which requests the brokers know, and little else.
        let debug = connection.property("debug").map(|plan| format!("{plan},feature"));
        own.push(("debug", debug.unwrap_or_else(|| "feature".to_owned())));
        let client = connection.start(role, "admin", &own, 0)?;
        let brokers = connection.reach(&client, PATIENCE)?.brokers;
        Ok(Admin { connection: connection.clone(), client, brokers })
    }

    /// Which cluster it asks.
    pub fn side(&self) -> Side {
        self.connection.side()
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> Result<String, ClusterError> {
        self.retry("cannot read the cluster id", || {
            self.client.cluster_id(REQUEST).ok_or_else(|| Fault::from_code(Code::TIMED_OUT))
        })
    }

    /// How many brokers the cluster had when it was connected to.
    pub fn brokers(&self) -> usize {
        self.brokers
    }

    /// Asks until there is an answer, an error that will not pass, or no patience left.
    fn retry<T>(
        &self,
        what: &str,
        mut ask: impl FnMut() -> Result<T, Fault>,
    ) -> Result<T, ClusterError> {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(50);
        loop {
            let fault = match ask() {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            self.client.serve();
            let error = self.error(what, &fault);
            if error.class != Class::Retriable || Instant::now() + pause > deadline {
                return Err(error);
            }
            // What passes within a moment is nobody's business.
            if pause < Duration::from_millis(400) {
                tracing::debug!(side = %error.side, "{}; asking again", error.what);
            } else {
                tracing::warn!(side = %error.side, "{}; asking again", error.what);
            }
            // The client asks the controller that it once heard of, also when that is gone (measured, after
            // one of three brokers had died: until its patience ends, for ever). Whoever answers here
            // names the new one.
            if let Err(fault) = self.client.metadata(false, FRESH) {
                tracing::debug!(side = %error.side, "no fresh metadata: {}", fault.text);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    fn error(&self, what: &str, fault: &Fault) -> ClusterError {
        self.connection.error(Call::Ask, what, fault, Some(self.client.notices()))
    }
}

/// Of an answer whose items fail one by one: the first fault that passes, as an error. Then all of them are
/// asked for again.
fn none_passes(faults: impl IntoIterator<Item = Fault>) -> Result<(), Fault> {
    let passes = |fault: &Fault| classify(Call::Ask, fault) == Class::Retriable;
    faults.into_iter().find(passes).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fault_that_passes_is_reason_to_ask_again_and_lasting_ones_are_not() {
        let of = |codes: &[Code]| none_passes(codes.iter().map(|code| Fault::from_code(*code)));
        let lasting = [Code::OK, Code::TOPIC_DENIED, Code::UNKNOWN_TOPIC_OR_PARTITION];
        assert_eq!(of(&lasting), Ok(()));
        assert_eq!(of(&[]), Ok(()));
        let passing = of(&[lasting[1], Code::REQUEST_TIMED_OUT, lasting[2], Code::TIMED_OUT]);
        assert_eq!(passing.map_err(|fault| fault.code), Err(Code::REQUEST_TIMED_OUT));
    }
}
