//! Consumer groups from outside: which there are, committed offsets, states and members.

use std::collections::{BTreeMap, BTreeSet};

use super::{Admin, CHUNK, REQUEST, none_passes};
use crate::cluster::class::ClusterError;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::groups;
use crate::cluster::sys::list::PartitionList;
use crate::plan::TopicPartition;

/// A member of a group, as the coordinator lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Member id, given by the coordinator.
    pub member_id: String,
    /// `group.instance.id`: our worker's name.
    pub instance_id: Option<String>,
    /// `client.id`.
    pub client_id: String,
    /// Address that the coordinator sees.
    pub host: String,
    /// What it is assigned.
    pub partitions: Vec<TopicPartition>,
}

/// A group as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDetail {
    /// Its state as Kafka's tools write it; a group that does not exist is `Dead`.
    pub state: &'static str,
    /// Its members.
    pub members: Vec<GroupMember>,
    /// What we may do with it, as numbers of the protocol (KIP-430; 3 is Read); none where the broker
    /// does not tell.
    pub authorized: Option<BTreeSet<i32>>,
}

/// Groups that are asked about at the same time.
const TOGETHER: usize = 50;

impl Admin {
    /// The names of all groups that we may see.
    pub fn groups(&self) -> Result<BTreeSet<String>, ClusterError> {
        let listed = self.retry("cannot list the groups", || {
            groups::listed(&groups::list(&self.client, REQUEST).wait(REQUEST * 2)?)
        })?;
        Ok(listed.into_iter().map(|(name, _)| name).collect())
    }

    /// State, members and our rights of these groups. Groups fail one by one.
    pub fn describe_groups(
        &self,
        names: &[&str],
    ) -> Result<BTreeMap<String, Result<GroupDetail, ClusterError>>, ClusterError> {
        let mut found = BTreeMap::new();
        for chunk in names.chunks(TOGETHER) {
            let answer = self.retry("cannot describe the groups", || {
                let request = groups::describe(&self.client, chunk, true, REQUEST)?;
                let answer = groups::described(&request.wait(REQUEST * 2)?);
                let failed = answer.iter().filter_map(|group| group.as_ref().err());
                none_passes(failed.map(|(_, fault)| fault.clone()))?;
                Ok(answer)
            })?;
            found.extend(answer.into_iter().map(|group| match group {
                Ok(group) => (group.name.clone(), Ok(detail(group))),
                Err((name, fault)) => {
                    let what = format!("cannot describe group `{name}`");
                    (name, Err(self.error(&what, &fault)))
                }
            }));
        }
        Ok(found)
    }

    /// The partitions that these groups have committed offsets for, stable or not. For a client that was
    /// connected with [`connect_for`](Admin::connect_for). Groups fail one by one.
    pub fn groups_partitions(
        &self,
        names: &[&str],
    ) -> BTreeMap<String, Result<Vec<TopicPartition>, ClusterError>> {
        let mut found = BTreeMap::new();
        for chunk in names.chunks(TOGETHER) {
            // All are asked before the first answer is waited for.
            let ask = |name: &str| groups::all_offsets(&self.client, name, REQUEST);
            let started: Vec<_> = chunk.iter().map(|&name| (name, ask(name))).collect();
            for (name, first) in started {
                let mut first = Some(first);
                let answer = self.retry(&cannot_read(name), || {
                    let request = first.take().unwrap_or_else(|| ask(name));
                    groups::committed(&request.wait(REQUEST * 2)?)
                });
                let partitions = answer.map(|entries| {
                    let committed = entries.into_iter().filter(|entry| entry.offset >= 0);
                    committed.map(|e| TopicPartition::new(e.topic, e.partition)).collect()
                });
                found.insert(name.to_owned(), partitions);
            }
        }
        found
    }

    /// The committed offsets of `group`, which must be the one connected for; partitions without one are
    /// left out. `None` while a transaction that is to change one of them is open.
    /// A worker that died between adding its offsets and its commit leaves such a one; nobody ends it
    /// before its time-out but the next owner's fence.
    pub fn group_offsets_now(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<Option<BTreeMap<TopicPartition, i64>>, ClusterError> {
        let mut found = BTreeMap::new();
        for chunk in partitions.chunks(CHUNK) {
            let answer =
                self.retry(&cannot_read(group), || match self.ask_offsets(group, chunk, true) {
                    Ok(offsets) => Ok(Some(offsets)),
                    Err(fault) if fault.code == Code::UNSTABLE_OFFSET_COMMIT => Ok(None),
                    Err(fault) => Err(fault),
                })?;
            match answer {
                Some(offsets) => found.extend(offsets),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// What is committed by now, whatever an open transaction is to make of it.
    pub fn group_offsets_committed(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, i64>, ClusterError> {
        let mut found = BTreeMap::new();
        for chunk in partitions.chunks(CHUNK) {
            let asked = || self.ask_offsets(group, chunk, false);
            found.extend(self.retry(&cannot_read(group), asked)?);
        }
        Ok(found)
    }

    fn ask_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
        stable: bool,
    ) -> Result<BTreeMap<TopicPartition, i64>, Fault> {
        let wanted = PartitionList::of(partitions);
        let answer = groups::offsets(&self.client, group, &wanted, stable, REQUEST)?;
        let mut found = BTreeMap::new();
        for entry in groups::committed(&answer.wait(REQUEST * 2)?)? {
            if !entry.code.is_ok() {
                return Err(Fault::from_code(entry.code));
            }
            if entry.offset >= 0 {
                found.insert(TopicPartition::new(entry.topic, entry.partition), entry.offset);
            }
        }
        Ok(found)
    }

    /// The members of `group`; none where there is no such group.
    pub fn group_members(&self, group: &str) -> Result<Vec<GroupMember>, ClusterError> {
        let found = self.describe_groups(&[group])?.remove(group);
        found.map_or(Ok(Vec::new()), |group| group.map(|group| group.members))
    }
}

fn detail(group: groups::Described) -> GroupDetail {
    let members = group.members.into_iter().map(|member| GroupMember {
        member_id: member.id,
        instance_id: member.instance_id,
        client_id: member.client_id,
        host: member.host,
        partitions: member
            .assigned
            .into_iter()
            .map(|entry| TopicPartition::new(entry.topic, entry.partition))
            .collect(),
    });
    GroupDetail {
        // The library's numbers (`rd_kafka_consumer_group_state_t`).
        state: match group.state {
            1 => "PreparingRebalance",
            2 => "CompletingRebalance",
            3 => "Stable",
            4 => "Dead",
            5 => "Empty",
            _ => "Unknown",
        },
        members: members.collect(),
        authorized: group.authorized.map(|numbers| numbers.into_iter().collect()),
    }
}

fn cannot_read(group: &str) -> String {
    format!("cannot read the offsets of group `{group}`")
}
