//! Topics: describe, configurations, create.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_admin_op_t as Op;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::request::{Event, Options, Pending, Queue, elements};

/// A described topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// Name.
    pub name: String,
    /// The topic's id as Kafka prints it (base64); none where the broker has none.
    pub id: Option<String>,
    /// How many partitions.
    pub partitions: usize,
    /// Replicas of the partition that has the fewest.
    pub replicas: usize,
    /// Error of this topic.
    pub code: Code,
}

/// A configuration entry of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEntry {
    /// Topic.
    pub topic: String,
    /// Property.
    pub name: String,
    /// Value; none where it is hidden or unset.
    pub value: Option<String>,
    /// Set on the topic itself.
    pub explicit: bool,
    /// The broker hides its value.
    pub sensitive: bool,
}

/// Asks for descriptions.
pub(crate) fn describe<'a>(
    client: &Arc<Client>,
    names: impl IntoIterator<Item = &'a str>,
    timeout: Duration,
) -> Pending {
    let names: Vec<CString> = names.into_iter().map(super::c_string).collect();
    let mut raw: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, timeout);
    // SAFETY: all arguments live during the call, which copies them.
    unsafe {
        let collection = rd::rd_kafka_TopicCollection_of_topic_names(raw.as_mut_ptr(), raw.len());
        rd::rd_kafka_DescribeTopics(client.raw(), collection, options.raw(), queue.raw());
        rd::rd_kafka_TopicCollection_destroy(collection);
    }
    Pending(queue)
}

/// Reads the answer to [`describe`].
pub(crate) fn described(answer: &Event) -> Vec<Described> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeTopics_result(answer.raw());
        if result.is_null() {
            return Vec::new();
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        elements(first, count).iter().map(|&topic| description(topic)).collect()
    }
}

/// # Safety
/// `topic` is a live description.
unsafe fn description(topic: *const rd::rd_kafka_TopicDescription_t) -> Described {
    let mut partitions = 0;
    // SAFETY: the caller's promise; strings and ids belong to the description.
    unsafe {
        let first = rd::rd_kafka_TopicDescription_partitions(topic, &raw mut partitions);
        let replicas = elements(first, partitions).iter().map(|&partition| {
            let mut count = 0;
            rd::rd_kafka_TopicPartitionInfo_replicas(partition, &raw mut count);
            count
        });
        let replicas = replicas.min().unwrap_or(0);
        let id = rd::rd_kafka_TopicDescription_topic_id(topic);
        let id = if id.is_null() {
            [0; 2]
        } else {
            [
                rd::rd_kafka_Uuid_most_significant_bits(id),
                rd::rd_kafka_Uuid_least_significant_bits(id),
            ]
        };
        let error = rd::rd_kafka_TopicDescription_error(topic);
        let code = if error.is_null() { Code::OK } else { Fault::read(error).code };
        Described {
            name: super::text(rd::rd_kafka_TopicDescription_name(topic)),
            id: (id != [0; 2]).then(|| uuid(id)),
            partitions,
            replicas,
            code,
        }
    }
}

/// An id as Kafka prints it: 16 bytes in Base64 for URLs, without padding. librdkafka's own text
/// has the ordinary alphabet, and would differ from what every Kafka tool shows.
fn uuid(halves: [i64; 2]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let [high, low] = halves.map(|half| u128::from(half.cast_unsigned()));
    let bits = high << 64 | low;
    // 128 bits are 21 letters of 6 bits and one of 2, which stand on top of it.
    let letter = |value: u128| char::from(LETTERS[usize::try_from(value & 63).unwrap_or(0)]);
    let whole = (0..21).map(|index| letter(bits >> (122 - 6 * index)));
    whole.chain([letter(bits << 4)]).collect()
}

/// Asks for the configurations of topics.
pub(crate) fn describe_configs(client: &Arc<Client>, names: &[&str], timeout: Duration) -> Pending {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, timeout);
    let topic = rd::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC;
    // SAFETY: all arguments live during the call, which copies them; the resources are ours.
    unsafe {
        let mut resources: Vec<_> = names
            .iter()
            .map(|name| rd::rd_kafka_ConfigResource_new(topic, super::c_string(name).as_ptr()))
            .collect();
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

/// Reads the answer to [`describe_configs`]; the first topic with an error ends it.
pub(crate) fn configs(answer: &Event) -> Result<Vec<ConfigEntry>, Fault> {
    let mut entries = Vec::new();
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_DescribeConfigs_result(answer.raw());
        if result.is_null() {
            return Ok(entries);
        }
        let mut count = 0;
        let first = rd::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
        for &resource in elements(first, count) {
            let topic = super::text(rd::rd_kafka_ConfigResource_name(resource));
            let code = Code::of(rd::rd_kafka_ConfigResource_error, resource);
            if !code.is_ok() {
                return Err(Fault::new(code, format!("topic `{topic}`: {}", code.text())));
            }
            let mut count = 0;
            let first = rd::rd_kafka_ConfigResource_configs(resource, &raw mut count);
            for &entry in elements(first, count) {
                let value = rd::rd_kafka_ConfigEntry_value(entry);
                entries.push(ConfigEntry {
                    topic: topic.clone(),
                    name: super::text(rd::rd_kafka_ConfigEntry_name(entry)),
                    value: (!value.is_null()).then(|| super::text(value)),
                    explicit: set_on_topic(entry),
                    sensitive: rd::rd_kafka_ConfigEntry_is_sensitive(entry) == 1,
                });
            }
        }
    }
    Ok(entries)
}

/// Whether the entry's source is the topic itself.
///
/// # Safety
/// `entry` is a live entry.
unsafe fn set_on_topic(entry: *const rd::rd_kafka_ConfigEntry_t) -> bool {
    type Entry = rd::rd_kafka_ConfigEntry_t;
    type AsEnum = unsafe extern "C" fn(*const Entry) -> rd::rd_kafka_ConfigSource_t;
    type AsInt = unsafe extern "C" fn(*const Entry) -> i32;
    // SAFETY: same C signature; a newer broker may tell a source that the enum does not have.
    let source =
        unsafe { std::mem::transmute::<AsEnum, AsInt>(rd::rd_kafka_ConfigEntry_source)(entry) };
    source == rd::rd_kafka_ConfigSource_t::RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG as i32
}

/// Asks to create one topic; a replication factor of -1 is the broker's default.
pub(crate) fn create(
    client: &Arc<Client>,
    name: &str,
    partitions: i32,
    replication_factor: i32,
    configs: &[(String, String)],
    validate_only: bool,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout);
    let mut text = [0 as c_char; 512];
    // SAFETY: all arguments live during the calls, which copy them; the topic object is ours.
    unsafe {
        let mut topic = rd::rd_kafka_NewTopic_new(
            super::c_string(name).as_ptr(),
            partitions,
            replication_factor,
            text.as_mut_ptr(),
            text.len(),
        );
        if topic.is_null() {
            return Err(Fault::new(Code::INVALID_ARG, super::text(text.as_ptr())));
        }
        for (name, value) in configs {
            let (name, value) = (super::c_string(name), super::c_string(value));
            rd::rd_kafka_NewTopic_set_config(topic, name.as_ptr(), value.as_ptr());
        }
        if validate_only {
            rd::rd_kafka_AdminOptions_set_validate_only(
                options.raw(),
                1,
                text.as_mut_ptr(),
                text.len(),
            );
        }
        // How long the controller itself may take before it answers.
        rd::rd_kafka_AdminOptions_set_operation_timeout(
            options.raw(),
            super::millis(timeout).min(3_600_000),
            text.as_mut_ptr(),
            text.len(),
        );
        rd::rd_kafka_CreateTopics(client.raw(), &raw mut topic, 1, options.raw(), queue.raw());
        rd::rd_kafka_NewTopic_destroy(topic);
    }
    Ok(Pending(queue))
}

/// Reads the answer to [`create`].
pub(crate) fn created(answer: &Event) -> Result<(), Fault> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_CreateTopics_result(answer.raw());
        let mut count = 0;
        let first = if result.is_null() {
            std::ptr::null_mut()
        } else {
            rd::rd_kafka_CreateTopics_result_topics(result, &raw mut count)
        };
        for &topic in elements(first, count) {
            let code = Code::of(rd::rd_kafka_topic_result_error, topic);
            if !code.is_ok() {
                let text = super::text(rd::rd_kafka_topic_result_error_string(topic));
                let text = if text.is_empty() { code.text() } else { text };
                return Err(Fault::new(code, text));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_kafka_writes_it() {
        // java: new Uuid(high, low).toString()
        assert_eq!(uuid([0, 1]), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(uuid([-1, -1]), "_____________________w");
        assert_eq!(uuid([0x0123_4567_89ab_cdef, -2]), "ASNFZ4mrze___________g");
    }
}
