//! The cluster itself: its brokers, its controller, what we may do with it.

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::fault::Fault;
use super::request::{Event, Options, Pending, Queue, elements};

/// A cluster as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// Id of the broker that answers for the controller.
    pub controller: Option<i32>,
    /// Brokers that are alive.
    pub brokers: Vec<Broker>,
    /// What we may do with it (KIP-430), as numbers of the protocol; none where the broker does not tell.
    pub authorized: Option<Vec<i32>>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    /// Its id.
    pub id: i32,
    /// Address that it advertises.
    pub address: String,
    /// Its rack, where it has one.
    pub rack: Option<String>,
}

/// Asks for the description.
pub(crate) fn describe(client: &Arc<Client>, timeout: Duration) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER, timeout);
    options.include_authorized()?;
    // SAFETY: all arguments live during the call, which copies them.
    unsafe { rd::rd_kafka_DescribeCluster(client.raw(), options.raw(), queue.raw()) };
    Ok(Pending(queue))
}

/// Reads the answer to [`describe`].
pub(crate) fn described(answer: &Event) -> Option<Described> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeCluster_result(answer.raw());
        if result.is_null() {
            return None;
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeCluster_result_nodes(result, &raw mut count);
        let brokers = elements(first, count).iter().filter(|node| !node.is_null());
        let brokers = brokers.map(|&node| {
            let rack = rd::rd_kafka_Node_rack(node);
            let (host, port) = (rd::rd_kafka_Node_host(node), rd::rd_kafka_Node_port(node));
            Broker {
                id: rd::rd_kafka_Node_id(node),
                address: format!("{}:{port}", super::text(host)),
                rack: (!rack.is_null()).then(|| super::text(rack)),
            }
        });
        Some(Described {
            controller: node_id(rd::rd_kafka_DescribeCluster_result_controller(result)),
            brokers: brokers.collect(),
            authorized: operations(
                rd::rd_kafka_DescribeCluster_result_authorized_operations,
                result,
            ),
        })
    }
}

/// The id of a broker that is known.
///
/// # Safety
/// `node` is null or live.
pub(super) unsafe fn node_id(node: *const rd::rd_kafka_Node_t) -> Option<i32> {
    if node.is_null() {
        return None;
    }
    // SAFETY: not null, and live by the caller's promise.
    let id = unsafe { rd::rd_kafka_Node_id(node) };
    (id >= 0).then_some(id)
}

/// What an accessor says that we may do, as numbers of the protocol; none where nobody tells.
///
/// # Safety
/// As `accessor(of, count)`.
pub(super) unsafe fn operations<T>(
    accessor: unsafe extern "C" fn(*const T, *mut usize) -> *const rd::rd_kafka_AclOperation_t,
    of: *const T,
) -> Option<Vec<i32>> {
    let mut count = 0;
    // SAFETY: the caller's promise. The elements are C enums, and are read as the ints that they are.
    unsafe {
        let first = accessor(of, &raw mut count);
        (!first.is_null()).then(|| elements(first.cast::<c_int>(), count).to_vec())
    }
}
