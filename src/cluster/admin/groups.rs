//! Consumer groups from outside: committed offsets and members.

use std::collections::BTreeMap;

use super::{Admin, CHUNK, REQUEST};
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

impl Admin {
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
        let what = format!("cannot describe group `{group}`");
        let members = self.retry(&what, || {
            groups::members(&groups::describe(&self.client, group, REQUEST).wait(REQUEST * 2)?)
        })?;
        Ok(members
            .into_iter()
            .map(|member| GroupMember {
                member_id: member.id,
                instance_id: member.instance_id,
                client_id: member.client_id,
                host: member.host,
                partitions: member
                    .assigned
                    .into_iter()
                    .map(|entry| TopicPartition::new(entry.topic, entry.partition))
                    .collect(),
            })
            .collect())
    }
}

fn cannot_read(group: &str) -> String {
    format!("cannot read the offsets of group `{group}`")
}
