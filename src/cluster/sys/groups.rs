//! Consumer groups as an outsider sees them: which there are, committed offsets, states and members.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::fault::Fault;
use super::list::{Entry, PartitionList, read};
use super::request::{Event, Options, Pending, Queue, elements};

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Member id, given by the coordinator.
    pub id: String,
    /// `group.instance.id`, of static members.
    pub instance_id: Option<String>,
    /// `client.id`.
    pub client_id: String,
    /// Address that the coordinator sees.
    pub host: String,
    /// What it is assigned.
    pub assigned: Vec<Entry>,
}

/// Asks for a group's committed offsets; with `stable`, transactions that are still open make the
/// coordinator answer with a retriable error.
pub(crate) fn offsets(
    client: &Arc<Client>,
    group: &str,
    partitions: &PartitionList,
    stable: bool,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout);
    // SAFETY: live options; the error is ours.
    unsafe {
        let stable = i32::from(stable);
        Fault::take(rd::rd_kafka_AdminOptions_set_require_stable_offsets(options.raw(), stable))?;
    }
    Ok(ask_offsets(client, group, Some(partitions), &options))
}

/// Asks for all committed offsets of a group, open transactions or not.
pub(crate) fn all_offsets(client: &Arc<Client>, group: &str, timeout: Duration) -> Pending {
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout);
    ask_offsets(client, group, None, &options)
}

fn ask_offsets(
    client: &Arc<Client>,
    group: &str,
    partitions: Option<&PartitionList>,
    options: &Options,
) -> Pending {
    let queue = Queue::new(client);
    let partitions = partitions.map_or(std::ptr::null(), |list| list.raw().cast_const());
    // SAFETY: all arguments live during the calls, which copy them; null asks for all partitions; the
    // request object is ours.
    unsafe {
        let group = super::c_string(group);
        let mut request = rd::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), partitions);
        rd::rd_kafka_ListConsumerGroupOffsets(
            client.raw(),
            &raw mut request,
            1,
            options.raw(),
            queue.raw(),
        );
        rd::rd_kafka_ListConsumerGroupOffsets_destroy(request);
    }
    Pending(queue)
}

/// Reads the answer to [`offsets`].
pub(crate) fn committed(answer: &Event) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_ListConsumerGroupOffsets_result(answer.raw());
        if result.is_null() {
            return Ok(entries);
        }
        let mut count = 0;
        let first = rd::rd_kafka_ListConsumerGroupOffsets_result_groups(result, &raw mut count);
        for &group in elements(first, count) {
            let error = rd::rd_kafka_group_result_error(group);
            if !error.is_null() {
                let fault = Fault::read(error);
                if !fault.code.is_ok() {
                    return Err(fault);
                }
            }
            entries.extend(read(rd::rd_kafka_group_result_partitions(group)));
        }
    }
    Ok(entries)
}

/// A group as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// Its id.
    pub name: String,
    /// State, as a number of `rd_kafka_consumer_group_state_t`.
    pub state: i32,
    /// Its members.
    pub members: Vec<Member>,
    /// What we may do with it (KIP-430), as numbers of the protocol.
    pub authorized: Option<Vec<i32>>,
}

/// Asks all brokers for their groups.
pub(crate) fn list(client: &Arc<Client>, timeout: Duration) -> Pending {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, timeout);
    // SAFETY: all arguments live during the call, which copies them.
    unsafe { rd::rd_kafka_ListConsumerGroups(client.raw(), options.raw(), queue.raw()) };
    Pending(queue)
}

/// Reads the answer to [`list`]: names and states. A broker that did not answer makes it an error.
pub(crate) fn listed(answer: &Event) -> Result<Vec<(String, i32)>, Fault> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_ListConsumerGroups_result(answer.raw());
        if result.is_null() {
            return Ok(Vec::new());
        }
        let mut count = 0;
        let first = rd::rd_kafka_ListConsumerGroups_result_errors(result, &raw mut count);
        if let Some(&error) = elements(first, count).first() {
            return Err(Fault::read(error));
        }
        let first = rd::rd_kafka_ListConsumerGroups_result_valid(result, &raw mut count);
        let groups = elements(first, count).iter().map(|&group| {
            let name = super::text(rd::rd_kafka_ConsumerGroupListing_group_id(group));
            (name, super::int_of(rd::rd_kafka_ConsumerGroupListing_state, group))
        });
        Ok(groups.collect())
    }
}

/// Asks for the state and the members of groups, and with `authorized` for what we may do with them.
pub(crate) fn describe(
    client: &Arc<Client>,
    groups: &[&str],
    authorized: bool,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout);
    if authorized {
        options.include_authorized()?;
    }
    let names: Vec<_> = groups.iter().map(|group| super::c_string(group)).collect();
    let mut groups: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: all arguments live during the call, which copies them.
    unsafe {
        rd::rd_kafka_DescribeConsumerGroups(
            client.raw(),
            groups.as_mut_ptr(),
            groups.len(),
            options.raw(),
            queue.raw(),
        );
    }
    Ok(Pending(queue))
}

/// Reads the answer to [`describe`]; a group that does not exist is dead and has no members.
pub(crate) fn described(answer: &Event) -> Vec<Result<Described, (String, Fault)>> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeConsumerGroups_result(answer.raw());
        if result.is_null() {
            return Vec::new();
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeConsumerGroups_result_groups(result, &raw mut count);
        elements(first, count).iter().map(|&group| read_group(group)).collect()
    }
}

/// # Safety
/// `group` is a live description.
unsafe fn read_group(
    group: *const rd::rd_kafka_ConsumerGroupDescription_t,
) -> Result<Described, (String, Fault)> {
    // SAFETY: the caller's promise; strings and members belong to the description.
    unsafe {
        let name = super::text(rd::rd_kafka_ConsumerGroupDescription_group_id(group));
        let error = rd::rd_kafka_ConsumerGroupDescription_error(group);
        if !error.is_null() {
            return Err((name, Fault::read(error)));
        }
        let count = rd::rd_kafka_ConsumerGroupDescription_member_count(group);
        let members = (0..count)
            .map(|index| rd::rd_kafka_ConsumerGroupDescription_member(group, index))
            .filter(|member| !member.is_null())
            .map(|member| read_member(member));
        Ok(Described {
            name,
            state: super::int_of(rd::rd_kafka_ConsumerGroupDescription_state, group),
            members: members.collect(),
            authorized: super::cluster::operations(
                rd::rd_kafka_ConsumerGroupDescription_authorized_operations,
                group,
            ),
        })
    }
}

/// # Safety
/// `member` is a live description.
unsafe fn read_member(member: *const rd::rd_kafka_MemberDescription_t) -> Member {
    // SAFETY: the caller's promise; all strings belong to the description.
    unsafe {
        let instance = rd::rd_kafka_MemberDescription_group_instance_id(member);
        let assignment = rd::rd_kafka_MemberDescription_assignment(member);
        let partitions = if assignment.is_null() {
            std::ptr::null()
        } else {
            rd::rd_kafka_MemberAssignment_partitions(assignment)
        };
        Member {
            id: super::text(rd::rd_kafka_MemberDescription_consumer_id(member)),
            instance_id: (!instance.is_null()).then(|| super::text(instance)),
            client_id: super::text(rd::rd_kafka_MemberDescription_client_id(member)),
            host: super::text(rd::rd_kafka_MemberDescription_host(member)),
            assigned: read(partitions),
        }
    }
}
