//! Configurations of topics and brokers, each with where its value comes from.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_ConfigSource_t as Source;
use rdkafka::bindings::rd_kafka_ResourceType_t as Kind;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::request::{Event, Options, Pending, Queue, elements};

/// Set on the topic itself.
pub(crate) const OF_TOPIC: i32 = Source::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG as i32;
/// Set on one broker while it runs.
pub(crate) const OF_BROKER: i32 = Source::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG as i32;
/// Set on all brokers while they run.
pub(crate) const OF_ALL_BROKERS: i32 =
    Source::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG as i32;
/// In a broker's file.
pub(crate) const OF_FILE: i32 = Source::RD_KAFKA_CONFIG_SOURCE_STATIC_BROKER_CONFIG as i32;
/// Nobody set it.
pub(crate) const DEFAULT: i32 = Source::RD_KAFKA_CONFIG_SOURCE_DEFAULT_CONFIG as i32;

/// A configuration entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Property.
    pub name: String,
    /// Value; none where it is hidden or unset.
    pub value: Option<String>,
    /// Where the value comes from, as a number of the protocol.
    pub source: i32,
    /// The broker hides its value.
    pub sensitive: bool,
}

/// Whose configurations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// Of these topics.
    Topics(&'a [&'a str]),
    /// Of a broker, by its id: it answers itself.
    Broker(i32),
}

/// Asks for configurations.
pub(crate) fn describe(client: &Arc<Client>, of: Of<'_>, timeout: Duration) -> Pending {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout);
    let new = |kind, name: &str| {
        // SAFETY: the name lives during the call, which copies it; the resource is ours.
        unsafe { rd::rd_kafka_ConfigResource_new(kind, super::c_string(name).as_ptr()) }
    };
    let mut resources: Vec<_> = match of {
        Of::Topics(names) => {
            names.iter().map(|name| new(Kind::RD_KAFKA_RESOURCE_TOPIC, name)).collect()
        }
        Of::Broker(id) => vec![new(Kind::RD_KAFKA_RESOURCE_BROKER, &id.to_string())],
    };
    // None is made for an empty name.
    resources.retain(|resource| !resource.is_null());
    // SAFETY: all arguments live during the call, which copies them; the resources are ours.
    unsafe {
        rd::rd_kafka_DescribeConfigs(
            client.raw(),
            resources.as_mut_ptr(),
            resources.len(),
            options.raw(),
            queue.raw(),
        );
        rd::rd_kafka_ConfigResource_destroy_array(resources.as_mut_ptr(), resources.len());
    }
    Pending(queue)
}

/// Reads the answer to [`describe`]: each topic, or the broker, with its entries or its error.
pub(crate) fn described(answer: &Event) -> Vec<(String, Result<Vec<Entry>, Fault>)> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeConfigs_result(answer.raw());
        if result.is_null() {
            return Vec::new();
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
        elements(first, count).iter().map(|&resource| of_resource(resource)).collect()
    }
}

/// # Safety
/// `resource` is a live result.
unsafe fn of_resource(
    resource: *const rd::rd_kafka_ConfigResource_t,
) -> (String, Result<Vec<Entry>, Fault>) {
    // SAFETY: the caller's promise; strings and entries belong to the result.
    unsafe {
        let name = super::text(rd::rd_kafka_ConfigResource_name(resource));
        let code = Code::of(rd::rd_kafka_ConfigResource_error, resource);
        if !code.is_ok() {
            let text = rd::rd_kafka_ConfigResource_error_string(resource);
            return (name, Err(Fault::told(code, text)));
        }
        let mut count = 0;
        let first = rd::rd_kafka_ConfigResource_configs(resource, &raw mut count);
        let entries = elements(first, count).iter().map(|&entry| {
            let value = rd::rd_kafka_ConfigEntry_value(entry);
            Entry {
                name: super::text(rd::rd_kafka_ConfigEntry_name(entry)),
                value: (!value.is_null()).then(|| super::text(value)),
                source: super::int_of(rd::rd_kafka_ConfigEntry_source, entry),
                sensitive: rd::rd_kafka_ConfigEntry_is_sensitive(entry) == 1,
            }
        });
        (name, Ok(entries.collect()))
    }
}
