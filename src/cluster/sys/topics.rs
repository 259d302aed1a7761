//! Topics: describe, create, add partitions.

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
    /// Its partitions, in the order of their numbers.
    pub partitions: Vec<Partition>,
    /// The cluster's own, such as `__consumer_offsets`.
    pub internal: bool,
    /// What we may do with it (KIP-430), as numbers of the protocol; none where it was not asked for.
    pub authorized: Option<Vec<i32>>,
    /// Error of this topic.
    pub code: Code,
}

/// A partition of a described topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Id of the broker that leads it; none while nobody does.
    pub leader: Option<i32>,
    /// Ids of the brokers that hold it.
    pub replicas: Vec<i32>,
    /// Ids of those that are in sync.
    pub in_sync: Vec<i32>,
}

/// Asks for descriptions, and with `authorized` for what we may do with each topic.
pub(crate) fn describe<'a>(
    client: &Arc<Client>,
    names: impl IntoIterator<Item = &'a str>,
    authorized: bool,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let names: Vec<CString> = names.into_iter().map(super::c_string).collect();
    let mut raw: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, timeout);
    if authorized {
        options.include_authorized()?;
    }
    // SAFETY: all arguments live during the call, which copies them.
    unsafe {
        let collection = rd::rd_kafka_TopicCollection_of_topic_names(raw.as_mut_ptr(), raw.len());
        rd::rd_kafka_DescribeTopics(client.raw(), collection, options.raw(), queue.raw());
        rd::rd_kafka_TopicCollection_destroy(collection);
    }
    Ok(Pending(queue))
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
    let mut count = 0;
    // SAFETY: the caller's promise; strings, ids and lists belong to the description.
    unsafe {
        let first = rd::rd_kafka_TopicDescription_partitions(topic, &raw mut count);
        let partitions = elements(first, count).iter().map(|&info| partition(info)).collect();
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
            internal: rd::rd_kafka_TopicDescription_is_internal(topic) == 1,
            authorized: super::cluster::operations(
                rd::rd_kafka_TopicDescription_authorized_operations,
                topic,
            ),
            code,
        }
    }
}

/// # Safety
/// `info` is a live description.
unsafe fn partition(info: *const rd::rd_kafka_TopicPartitionInfo_t) -> Partition {
    let ids = |nodes: &[*const rd::rd_kafka_Node_t]| {
        // SAFETY: nodes of a live description; one that is not known may be null.
        nodes.iter().filter_map(|&node| unsafe { super::cluster::node_id(node) }).collect()
    };
    let mut count = 0;
    // SAFETY: the caller's promise; the lists belong to the description.
    unsafe {
        let first = rd::rd_kafka_TopicPartitionInfo_replicas(info, &raw mut count);
        let replicas = ids(elements(first, count));
        let first = rd::rd_kafka_TopicPartitionInfo_isr(info, &raw mut count);
        let in_sync = ids(elements(first, count));
        let leader = super::cluster::node_id(rd::rd_kafka_TopicPartitionInfo_leader(info));
        Partition { leader, replicas, in_sync }
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
    options.operation_timeout(timeout)?;
    if validate_only {
        options.validate_only()?;
    }
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
        let configured = configs.iter().try_for_each(|(name, value)| {
            let (name, value) = (super::c_string(name), super::c_string(value));
            let code = rd::rd_kafka_NewTopic_set_config(topic, name.as_ptr(), value.as_ptr());
            Fault::check(Code::from(code))
        });
        if configured.is_ok() {
            rd::rd_kafka_CreateTopics(client.raw(), &raw mut topic, 1, options.raw(), queue.raw());
        }
        rd::rd_kafka_NewTopic_destroy(topic);
        configured.map(|()| Pending(queue))
    }
}

/// Asks that a topic has `total` partitions.
pub(crate) fn grow(
    client: &Arc<Client>,
    name: &str,
    total: usize,
    timeout: Duration,
) -> Result<Pending, Fault> {
    let queue = Queue::new(client);
    let options = Options::new(client, Op::RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, timeout);
    options.operation_timeout(timeout)?;
    let mut text = [0 as c_char; 512];
    // SAFETY: all arguments live during the calls, which copy them; the request object is ours.
    unsafe {
        let mut request = rd::rd_kafka_NewPartitions_new(
            super::c_string(name).as_ptr(),
            total,
            text.as_mut_ptr(),
            text.len(),
        );
        if request.is_null() {
            return Err(Fault::new(Code::INVALID_ARG, super::text(text.as_ptr())));
        }
        rd::rd_kafka_CreatePartitions(
            client.raw(),
            &raw mut request,
            1,
            options.raw(),
            queue.raw(),
        );
        rd::rd_kafka_NewPartitions_destroy(request);
    }
    Ok(Pending(queue))
}

/// Reads the answer to [`grow`].
pub(crate) fn grown(answer: &Event) -> Result<(), Fault> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_CreatePartitions_result(answer.raw());
        if result.is_null() {
            return Ok(());
        }
        let mut count = 0;
        let first = rd::rd_kafka_CreatePartitions_result_topics(result, &raw mut count);
        outcome(elements(first, count))
    }
}

/// Reads the answer to [`create`].
pub(crate) fn created(answer: &Event) -> Result<(), Fault> {
    // SAFETY: a live event; everything that is read belongs to it and is copied.
    unsafe {
        let result = rd::rd_kafka_event_CreateTopics_result(answer.raw());
        if result.is_null() {
            return Ok(());
        }
        let mut count = 0;
        let first = rd::rd_kafka_CreateTopics_result_topics(result, &raw mut count);
        outcome(elements(first, count))
    }
}

/// The first error among results of topics.
///
/// # Safety
/// All are live results.
unsafe fn outcome(results: &[*const rd::rd_kafka_topic_result_t]) -> Result<(), Fault> {
    for &topic in results {
        // SAFETY: the caller's promise; the string belongs to the result and is copied.
        unsafe {
            let code = Code::of(rd::rd_kafka_topic_result_error, topic);
            if !code.is_ok() {
                let text = rd::rd_kafka_topic_result_error_string(topic);
                return Err(Fault::told(code, text));
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
