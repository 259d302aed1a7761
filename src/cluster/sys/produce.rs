//! Writing: copies of fetched records, plain bytes, delivery reports.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_vtype_t as V;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::message::{self, Messages};
use super::request::Queue;

/// The events that a client needs for a [`Producer`].
pub(crate) const DELIVERY_REPORTS: i32 = rd::RD_KAFKA_EVENT_DR;

/// A producer and the topics it writes to.
pub(crate) struct Producer {
    // Before the queue, whose client must outlive them.
    topics: Vec<TopicHandle>,
    names: HashMap<Arc<str>, TopicIndex>,
    queue: Queue,
}

/// A topic of one [`Producer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TopicIndex(usize);

struct TopicHandle(NonNull<rd::rd_kafka_topic_t>);

// SAFETY: topic handles are thread-safe.
unsafe impl Send for TopicHandle {}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: our reference, not used after.
        unsafe { rd::rd_kafka_topic_destroy(self.0.as_ptr()) };
    }
}

/// What became of a record.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// The number that it was sent with.
    pub number: usize,
    /// Bytes of its key and value.
    pub bytes: usize,
    /// Its offset, or `Err`.
    pub outcome: Result<i64, Fault>,
}

impl Producer {
    /// A producer on `client`.
    pub(crate) fn new(client: &Arc<Client>) -> Producer {
        Producer { topics: Vec::new(), names: HashMap::new(), queue: Queue::main(client) }
    }

    /// Its client.
    pub(crate) fn client(&self) -> &Arc<Client> {
        self.queue.client()
    }

    /// The handle of a topic, made when first asked for.
    pub(crate) fn topic(&mut self, name: &Arc<str>) -> Result<TopicIndex, Fault> {
        if let Some(&index) = self.names.get(name) {
            return Ok(index);
        }
        // SAFETY: a live client; the name is copied; null is the default configuration.
        let raw = unsafe {
            rd::rd_kafka_topic_new(
                self.client().raw(),
                super::c_string(name).as_ptr(),
                std::ptr::null_mut(),
            )
        };
        let handle = NonNull::new(raw)
            .ok_or_else(|| Fault::new(Code::INVALID_ARG, "the topic name is not accepted"))?;
        let index = TopicIndex(self.topics.len());
        self.topics.push(TopicHandle(handle));
        self.names.insert(Arc::clone(name), index);
        Ok(index)
    }

    /// Queues a copy of record `index` of `messages`: key, value, headers and timestamp as they are.
    /// A timestamp of 0 becomes the present time (librdkafka takes 0 for "none"); no timestamp
    /// stays none.
    pub(crate) fn copy(
        &self,
        to: TopicIndex,
        partition: i32,
        messages: &Messages,
        index: usize,
        number: usize,
    ) -> Result<(), Fault> {
        let raw = messages.raw(index);
        // SAFETY: a live message that nobody else looks at; all pointers live during the call,
        // which copies the bytes and, on success only, takes the headers over.
        unsafe {
            let headers = match message::headers_of(raw)? {
                Some(headers) => rd::rd_kafka_headers_copy(headers),
                None => std::ptr::null_mut(),
            };
            let code = Code::from(rd::rd_kafka_producev(
                self.client().raw(),
                V::RD_KAFKA_VTYPE_RKT,
                self.topics[to.0].0.as_ptr(),
                V::RD_KAFKA_VTYPE_PARTITION,
                partition,
                V::RD_KAFKA_VTYPE_MSGFLAGS,
                rd::RD_KAFKA_MSG_F_COPY,
                V::RD_KAFKA_VTYPE_VALUE,
                (*raw).payload,
                (*raw).len,
                V::RD_KAFKA_VTYPE_KEY,
                (*raw).key,
                (*raw).key_len,
                V::RD_KAFKA_VTYPE_TIMESTAMP,
                message::timestamp(raw).unwrap_or(-1),
                V::RD_KAFKA_VTYPE_HEADERS,
                headers,
                V::RD_KAFKA_VTYPE_OPAQUE,
                number as *mut c_void,
                V::RD_KAFKA_VTYPE_END,
            ));
            if !code.is_ok() && !headers.is_null() {
                rd::rd_kafka_headers_destroy(headers);
            }
            Fault::check(code)
        }
    }

    /// Queues a record of a value alone, with the present time.
    pub(crate) fn send(
        &self,
        to: TopicIndex,
        partition: i32,
        value: &[u8],
        number: usize,
    ) -> Result<(), Fault> {
        // SAFETY: all pointers live during the call, which copies the bytes.
        let code = unsafe {
            rd::rd_kafka_producev(
                self.client().raw(),
                V::RD_KAFKA_VTYPE_RKT,
                self.topics[to.0].0.as_ptr(),
                V::RD_KAFKA_VTYPE_PARTITION,
                partition,
                V::RD_KAFKA_VTYPE_MSGFLAGS,
                rd::RD_KAFKA_MSG_F_COPY,
                V::RD_KAFKA_VTYPE_VALUE,
                value.as_ptr().cast::<c_void>(),
                value.len(),
                V::RD_KAFKA_VTYPE_OPAQUE,
                number as *mut c_void,
                V::RD_KAFKA_VTYPE_END,
            )
        };
        Fault::check(Code::from(code))
    }

    /// Waits at most `wait` for delivery reports and shows those of one event; says whether one came.
    pub(crate) fn serve(&self, wait: Duration, each: &mut dyn FnMut(Delivery)) -> bool {
        let Some(event) = self.queue.poll(wait) else { return false };
        if event.kind() == rd::RD_KAFKA_EVENT_DR {
            // SAFETY: messages belong to the live event.
            unsafe {
                loop {
                    let message = rd::rd_kafka_event_message_next(event.raw());
                    if message.is_null() {
                        break;
                    }
                    each(read_delivery(message));
                }
            }
        }
        true
    }

    /// Records and events that are not done with.
    pub(crate) fn in_flight(&self) -> usize {
        // SAFETY: a live client.
        usize::try_from(unsafe { rd::rd_kafka_outq_len(self.client().raw()) }).unwrap_or(0)
    }

    /// Sends what is queued although its batch is not full.
    pub(crate) fn hurry(&self) {
        // Only while the call lasts, so long enough for the broker thread to wake up. It serves no
        // delivery reports: whether everything is gone already does not matter here.
        // SAFETY: a live client.
        unsafe { rd::rd_kafka_flush(self.client().raw(), 1) };
    }

    /// Drops everything that is queued or in flight; each record still gets its delivery report.
    pub(crate) fn purge(&self) {
        let what = rd::RD_KAFKA_PURGE_F_QUEUE | rd::RD_KAFKA_PURGE_F_INFLIGHT;
        // SAFETY: a live client; the flags are valid, so the call cannot fail.
        unsafe { rd::rd_kafka_purge(self.client().raw(), what) };
    }

    /// Drops everything queued and ends the producer without waiting for it.
    pub(crate) fn end(self) {
        self.purge();
        self.serve(Duration::ZERO, &mut |_| ());
        let client = Arc::clone(self.client());
        drop(self);
        client.end_elsewhere();
    }
}

/// # Safety
/// `message` is a live delivery report.
unsafe fn read_delivery(message: *const rd::rd_kafka_message_t) -> Delivery {
    // SAFETY: the caller's promise.
    unsafe {
        let code = Code::read(&raw const (*message).err);
        let outcome = if code.is_ok() {
            Ok((*message).offset)
        } else {
            let text = super::text(rd::rd_kafka_message_produce_errstr(message));
            let text = if text.is_empty() { code.text() } else { text };
            Err(Fault::new(code, text))
        };
        let bytes = (*message).len + (*message).key_len;
        Delivery { number: (*message)._private as usize, bytes, outcome }
    }
}
