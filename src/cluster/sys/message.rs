//! Fetched records, as librdkafka holds them: shown in place, never copied.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::sync::Arc;

use rdkafka::bindings as rd;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use crate::record::{Header, Record};

/// Consecutive records of one partition; never empty. Frees them when dropped.
pub(crate) struct Messages {
    raw: Vec<NonNull<rd::rd_kafka_message_t>>,
    /// Messages refer to their client, so it must outlive them.
    _client: Arc<Client>,
}

// SAFETY: messages have no thread affinity. They are not `Sync`: headers are parsed in place when
// they are first looked at.
unsafe impl Send for Messages {}

impl Messages {
    /// Takes over messages without an error, all of one partition.
    ///
    /// # Safety
    /// `raw` holds at least one message; all are owned by the caller and belong to `client`.
    pub(super) unsafe fn new(
        raw: Vec<NonNull<rd::rd_kafka_message_t>>,
        client: Arc<Client>,
    ) -> Self {
        Messages { raw, _client: client }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    /// Offset of record `index`.
    pub(crate) fn offset(&self, index: usize) -> i64 {
        // SAFETY: a live message.
        unsafe { self.raw[index].as_ref() }.offset
    }

    /// Bytes of key and value of record `index`.
    pub(crate) fn bytes(&self, index: usize) -> usize {
        // SAFETY: a live message.
        let message = unsafe { self.raw[index].as_ref() };
        message.len + message.key_len
    }

    /// Frees the first `count` records (those below a wanted offset).
    pub(crate) fn drop_first(&mut self, count: usize) {
        for message in self.raw.drain(..count.min(self.raw.len())) {
            // SAFETY: owned, and not used after.
            unsafe { rd::rd_kafka_message_destroy(message.as_ptr()) };
        }
    }

    /// Name of the records' topic.
    pub(crate) fn topic(&self) -> &str {
        // SAFETY: messages of a consumer have a topic; its name lives as long as they do.
        let name = unsafe {
            let name = rd::rd_kafka_topic_name(self.raw[0].as_ref().rkt);
            CStr::from_ptr(name)
        };
        name.to_str().unwrap_or_default()
    }

    /// Shows the records in order, until told to stop.
    pub(crate) fn visit(
        &self,
        see: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut headers = Vec::new();
        (0..self.len()).try_for_each(|index| self.show(index, &mut headers, see))
    }

    fn show<'a>(
        &'a self,
        index: usize,
        headers: &mut Vec<Header<'a>>,
        see: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let message = self.raw[index].as_ptr();
        // SAFETY: a live message; its bytes live as long as it does, and that is at least `'a`.
        unsafe {
            headers.clear();
            if let Ok(Some(raw)) = headers_of(message) {
                read_headers(raw, headers);
            }
            let epoch = rd::rd_kafka_message_leader_epoch(message);
            let record = Record {
                offset: (*message).offset,
                leader_epoch: (epoch >= 0).then_some(epoch),
                timestamp: timestamp(message),
                key: bytes((*message).key, (*message).key_len),
                value: bytes((*message).payload, (*message).len),
                headers,
            };
            see(index, &record)
        }
    }

    /// For producing a copy.
    pub(super) fn raw(&self, index: usize) -> *mut rd::rd_kafka_message_t {
        self.raw[index].as_ptr()
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.drop_first(self.raw.len());
    }
}

/// Bytes of a message; null differs from empty.
///
/// # Safety
/// `start` is null or points to `len` bytes that live as long as `'a`.
unsafe fn bytes<'a>(start: *const c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) })
}

/// Timestamp of a message, whether the producer or the broker set it; none where it has none.
///
/// # Safety
/// `message` is live.
pub(super) unsafe fn timestamp(message: *const rd::rd_kafka_message_t) -> Option<i64> {
    let mut kind: c_int = 0;
    // SAFETY: a C enum is an int; the caller's promise for the message.
    let timestamp = unsafe { rd::rd_kafka_message_timestamp(message, (&raw mut kind).cast()) };
    (kind != 0 && timestamp != -1).then_some(timestamp)
}

/// The header list of a message, parsed when first asked for; none where it has no header.
///
/// # Safety
/// `message` is live, and nobody else looks at its headers at the same time.
pub(super) unsafe fn headers_of(
    message: *const rd::rd_kafka_message_t,
) -> Result<Option<*mut rd::rd_kafka_headers_t>, Fault> {
    let mut headers = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    let code = Code::from(unsafe { rd::rd_kafka_message_headers(message, &raw mut headers) });
    if code == Code::from(rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__NOENT) {
        return Ok(None);
    }
    Fault::check(code).map(|()| Some(headers))
}

/// Appends all headers. A name ends at its first NUL here (the C call tells no length); copies
/// keep it whole.
///
/// # Safety
/// `raw` is a live list that outlives `'a`.
unsafe fn read_headers<'a>(raw: *const rd::rd_kafka_headers_t, headers: &mut Vec<Header<'a>>) {
    for index in 0.. {
        let mut name: *const c_char = std::ptr::null();
        let mut value: *const c_void = std::ptr::null();
        let mut len = 0;
        // SAFETY: a live list; an index beyond its end is an error code, not a fault.
        unsafe {
            let code = rd::rd_kafka_header_get_all(
                raw,
                index,
                &raw mut name,
                &raw mut value,
                &raw mut len,
            );
            if !Code::from(code).is_ok() {
                return;
            }
            headers.push((CStr::from_ptr(name).to_bytes(), bytes(value, len)));
        }
    }
}
