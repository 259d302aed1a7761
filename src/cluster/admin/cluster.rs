//! The cluster itself: brokers, their configurations, the requests that they know.

use std::collections::{BTreeMap, BTreeSet};

use super::topics::config;
use super::{Admin, REQUEST, TopicConfig};
use crate::cluster::class::ClusterError;
use crate::cluster::sys::cluster::{describe, described};
use crate::cluster::sys::code::Code;
use crate::cluster::sys::configs::{self, Of};
use crate::cluster::sys::fault::Fault;

/// A cluster as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDetail {
    /// Id of the broker that answers for the controller; none where it does not tell.
    pub controller: Option<i32>,
    /// Brokers that are alive.
    pub brokers: Vec<Broker>,
    /// What we may do with the cluster, as numbers of the protocol (KIP-430; 5 is Create); none where
    /// the broker does not tell.
    pub authorized: Option<BTreeSet<i32>>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// Address that it advertises.
    pub address: String,
    /// Its rack, where it has one.
    pub rack: Option<String>,
}

/// The versions of each request that the brokers know, lowest and highest, by the request's number. Of
/// several brokers what all of them know. Empty where `api.version.request` is off.
pub type ApiVersions = BTreeMap<i16, (i16, i16)>;

impl Admin {
    /// Brokers, controller, and our rights on the cluster.
    pub fn cluster(&self) -> Result<ClusterDetail, ClusterError> {
        let found = self.retry("cannot describe the cluster", || {
            let answer = describe(&self.client, REQUEST)?.wait(REQUEST * 2)?;
            described(&answer).ok_or_else(|| Fault::from_code(Code::TIMED_OUT))
        })?;
        let brokers = found.brokers.into_iter().map(|broker| Broker {
            id: broker.id,
            address: broker.address,
            rack: broker.rack,
        });
        Ok(ClusterDetail {
            controller: found.controller,
            brokers: brokers.collect(),
            authorized: found.authorized.map(|numbers| numbers.into_iter().collect()),
        })
    }

    /// The configurations in effect of these brokers. Brokers fail one by one.
    pub fn broker_configs(
        &self,
        ids: &[i32],
    ) -> BTreeMap<i32, Result<Vec<TopicConfig>, ClusterError>> {
        // All are asked before the first answer is waited for.
        let ask = |id: i32| configs::describe(&self.client, Of::Broker(id), REQUEST);
        let started: Vec<_> = ids.iter().map(|&id| (id, ask(id))).collect();
        let found = started.into_iter().map(|(id, first)| {
            let what = format!("cannot read the configurations of broker {id}");
            let mut first = Some(first);
            let answer = self.retry(&what, || {
                let request = first.take().unwrap_or_else(|| ask(id));
                let answer = configs::described(&request.wait(REQUEST * 2)?);
                let answer = answer.into_iter().next();
                answer.map_or(Err(Fault::from_code(Code::TIMED_OUT)), |(_, entries)| entries)
            });
            (id, answer.map(|entries| entries.into_iter().map(config).collect()))
        });
        found.collect()
    }

    /// Which requests the brokers know, of those brokers that this client has talked to.
    pub fn api_versions(&self) -> ApiVersions {
        self.client.notices().api_versions()
    }
}
