//! Consumer groups as an outsider sees them: committed offsets and members.

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
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, timeout);
    // SAFETY: all arguments live during the calls, which copy them; the request object is ours.
    unsafe {
        let stable = i32::from(stable);
        Fault::take(rd::rd_kafka_AdminOptions_set_require_stable_offsets(options.raw(), stable))?;
        let group = super::c_string(group);
        let mut request =
            rd::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), partitions.raw());
        rd::rd_kafka_ListConsumerGroupOffsets(
            client.raw(),
            &raw mut request,
            1,
            options.raw(),
            queue.raw(),
        );
        rd::rd_kafka_ListConsumerGroupOffsets_destroy(request);
    }
    Ok(Pending(queue))
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

/// Asks for a group's members.
pub(crate) fn describe(client: &Arc<Client>, group: &str, timeout: Duration) -> Pending {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, timeout);
    let group = super::c_string(group);
    let mut groups = [group.as_ptr()];
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
    Pending(queue)
}

/// Reads the answer to [`describe`]; a group that does not exist has no members.
pub(crate) fn members(answer: &Event) -> Result<Vec<Member>, Fault> {
    let mut members = Vec::new();
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeConsumerGroups_result(answer.raw());
        if result.is_null() {
            return Ok(members);
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeConsumerGroups_result_groups(result, &raw mut count);
        for &group in elements(first, count) {
            let error = rd::rd_kafka_ConsumerGroupDescription_error(group);
            if !error.is_null() {
                return Err(Fault::read(error));
            }
            for index in 0..rd::rd_kafka_ConsumerGroupDescription_member_count(group) {
                let member = rd::rd_kafka_ConsumerGroupDescription_member(group, index);
                if !member.is_null() {
                    members.push(read_member(member));
                }
            }
        }
    }
    Ok(members)
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
