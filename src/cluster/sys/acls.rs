//! Access control lists: who may do what with which topic, group, transactional id or cluster.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_AclOperation_t as Operation;
use rdkafka::bindings::rd_kafka_AclPermissionType_t as Permission;
use rdkafka::bindings::rd_kafka_ResourcePatternType_t as Pattern;
use rdkafka::bindings::rd_kafka_ResourceType_t as Kind;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::request::{Event, Options, Pending, Queue, elements};

/// An entry. Numbers are the protocol's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// 2 topic, 3 group, 4 cluster, 5 transactional id; 0 what librdkafka does not know.
    pub resource: i32,
    /// The resource's name.
    pub name: String,
    /// 3 literal, 4 prefixed.
    pub pattern: i32,
    /// `User:…`.
    pub principal: String,
    /// `*` or an address.
    pub host: String,
    /// As in KIP-430.
    pub operation: i32,
    /// 2 deny, 3 allow.
    pub permission: i32,
}

/// Asks for all entries.
pub(crate) fn describe(client: &Arc<Client>, timeout: Duration) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBEACLS, timeout);
    let mut text = [0 as c_char; 256];
    // SAFETY: all arguments live during the calls, which copy them; null matches everything; the filter
    // is ours.
    unsafe {
        let filter = rd::rd_kafka_AclBindingFilter_new(
            Kind::RD_KAFKA_RESOURCE_ANY,
            std::ptr::null(),
            Pattern::RD_KAFKA_RESOURCE_PATTERN_ANY,
            std::ptr::null(),
            std::ptr::null(),
            Operation::RD_KAFKA_ACL_OPERATION_ANY,
            Permission::RD_KAFKA_ACL_PERMISSION_TYPE_ANY,
            text.as_mut_ptr(),
            text.len(),
        );
        if filter.is_null() {
            return Err(Fault::new(Code::INVALID_ARG, super::text(text.as_ptr())));
        }
        rd::rd_kafka_DescribeAcls(client.raw(), filter, options.raw(), queue.raw());
        // A filter is a binding to the library, which has no other way to destroy it.
        rd::rd_kafka_AclBinding_destroy(filter);
    }
    Ok(Pending(queue))
}

/// Reads the answer to [`describe`].
pub(crate) fn described(answer: &Event) -> Vec<Entry> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeAcls_result(answer.raw());
        if result.is_null() {
            return Vec::new();
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeAcls_result_acls(result, &raw mut count);
        let entries = elements(first, count).iter().map(|&acl| Entry {
            resource: super::int_of(rd::rd_kafka_AclBinding_restype, acl),
            name: super::text(rd::rd_kafka_AclBinding_name(acl)),
            pattern: super::int_of(rd::rd_kafka_AclBinding_resource_pattern_type, acl),
            principal: super::text(rd::rd_kafka_AclBinding_principal(acl)),
            host: super::text(rd::rd_kafka_AclBinding_host(acl)),
            operation: super::int_of(rd::rd_kafka_AclBinding_operation, acl),
            permission: super::int_of(rd::rd_kafka_AclBinding_permission_type, acl),
        });
        entries.collect()
    }
}
