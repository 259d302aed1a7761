//! Admin requests: sent now, collected when the answer is wanted.

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;

/// A queue of a client.
pub(super) struct Queue {
    raw: NonNull<rd::rd_kafka_queue_t>,
    // After `raw`: a queue must go before its client.
    client: Arc<Client>,
}

// SAFETY: librdkafka's queues are thread-safe.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new queue, for answers.
    pub(super) fn new(client: &Arc<Client>) -> Queue {
        // SAFETY: a live client; the call does not fail.
        let raw = unsafe { rd::rd_kafka_queue_new(client.raw()) };
        let raw = NonNull::new(raw).expect("librdkafka aborts when memory is out");
        Queue { raw, client: Arc::clone(client) }
    }

    /// The client's main queue: delivery reports of a producer.
    pub(super) fn main(client: &Arc<Client>) -> Queue {
        // SAFETY: a live client always has this queue; the reference is ours.
        let raw = unsafe { rd::rd_kafka_queue_get_main(client.raw()) };
        let raw = NonNull::new(raw).expect("every client has a main queue");
        Queue { raw, client: Arc::clone(client) }
    }

    /// The consumer queue; none for a producer or without a `group.id`.
    pub(super) fn consumer(client: &Arc<Client>) -> Option<Queue> {
        // SAFETY: a live client; the reference is ours.
        let raw = unsafe { rd::rd_kafka_queue_get_consumer(client.raw()) };
        NonNull::new(raw).map(|raw| Queue { raw, client: Arc::clone(client) })
    }

    pub(super) fn raw(&self) -> *mut rd::rd_kafka_queue_t {
        self.raw.as_ptr()
    }

    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Waits for the next event. Errors that belong to no call go to the client's notices too.
    pub(super) fn poll(&self, wait: Duration) -> Option<Event> {
        // SAFETY: a live queue; the event is ours.
        let raw = unsafe { rd::rd_kafka_queue_poll(self.raw(), super::millis(wait)) };
        let event = Event(NonNull::new(raw)?);
        if event.kind() == rd::RD_KAFKA_EVENT_ERROR
            && let Err(fault) = event.check()
        {
            self.client.notices().error(fault.code, &fault.text);
        }
        Some(event)
    }

    /// Wakes whoever polls.
    pub(super) fn wake(&self) {
        // SAFETY: a live queue.
        unsafe { rd::rd_kafka_queue_yield(self.raw()) };
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: our reference, not used after.
        unsafe { rd::rd_kafka_queue_destroy(self.raw()) };
    }
}

/// An event from a queue.
pub(crate) struct Event(NonNull<rd::rd_kafka_event_t>);

// SAFETY: a heap object without thread affinity.
unsafe impl Send for Event {}

impl Event {
    pub(super) fn raw(&self) -> *mut rd::rd_kafka_event_t {
        self.0.as_ptr()
    }

    /// Which `RD_KAFKA_EVENT_*` it is.
    pub(super) fn kind(&self) -> i32 {
        // SAFETY: a live event.
        unsafe { rd::rd_kafka_event_type(self.raw()) }
    }

    /// Its code.
    pub(super) fn code(&self) -> Code {
        type AsEnum = unsafe extern "C" fn(*mut rd::rd_kafka_event_t) -> rd::rd_kafka_resp_err_t;
        type AsInt = unsafe extern "C" fn(*mut rd::rd_kafka_event_t) -> c_int;
        // SAFETY: same C signature (a C enum is an int); a live event.
        Code(unsafe { std::mem::transmute::<AsEnum, AsInt>(rd::rd_kafka_event_error)(self.raw()) })
    }

    /// Its error, if it carries one.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let code = self.code();
        if code.is_ok() {
            return Ok(());
        }
        // SAFETY: a live event; the string belongs to it and is copied.
        Err(unsafe { Fault::told(code, rd::rd_kafka_event_error_string(self.raw())) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: ours, not used after.
        unsafe { rd::rd_kafka_event_destroy(self.raw()) };
    }
}

/// A request under way.
pub(crate) struct Pending(pub(super) Queue);

impl Pending {
    /// Waits for the answer. Dropping a request that was not waited for forgets its answer.
    pub(crate) fn wait(&self, wait: Duration) -> Result<Event, Fault> {
        match self.0.poll(wait) {
            Some(event) => event.check().map(|()| event),
            None => Err(Fault::from_code(Code::TIMED_OUT)),
        }
    }
}

/// Options of one request.
pub(super) struct Options(NonNull<rd::rd_kafka_AdminOptions_t>);

impl Options {
    /// Options for a request of kind `operation` that gives up after `timeout`.
    pub(super) fn new(
        client: &Client,
        operation: rd::rd_kafka_admin_op_t,
        timeout: Duration,
    ) -> Options {
        let mut text = [0 as c_char; 256];
        // SAFETY: a live client; the call does not fail for a known operation. The time-out is
        // within the library's bounds (0 to one hour).
        unsafe {
            let raw = rd::rd_kafka_AdminOptions_new(client.raw(), operation);
            let options = Options(NonNull::new(raw).expect("the operation is known"));
            rd::rd_kafka_AdminOptions_set_request_timeout(
                options.raw(),
                super::millis(timeout).min(3_600_000),
                text.as_mut_ptr(),
                text.len(),
            );
            options
        }
    }

    /// Asks the brokers to tell what we may do with what is described (KIP-430).
    pub(super) fn include_authorized(&self) -> Result<(), Fault> {
        // SAFETY: live options; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_AdminOptions_set_include_authorized_operations(self.raw(), 1))
        }
    }

    /// How long the controller itself may take before it answers.
    pub(super) fn operation_timeout(&self, timeout: Duration) -> Result<(), Fault> {
        let mut text = [0 as c_char; 256];
        // SAFETY: live options, a buffer of the told size.
        unsafe {
            let code = Code::from(rd::rd_kafka_AdminOptions_set_operation_timeout(
                self.raw(),
                super::millis(timeout).min(3_600_000),
                text.as_mut_ptr(),
                text.len(),
            ));
            if code.is_ok() { Ok(()) } else { Err(Fault::told(code, text.as_ptr())) }
        }
    }

    /// Asks the brokers to check the request and to change nothing.
    pub(super) fn validate_only(&self) -> Result<(), Fault> {
        let mut text = [0 as c_char; 256];
        // SAFETY: live options, a buffer of the told size.
        unsafe {
            let code = Code::from(rd::rd_kafka_AdminOptions_set_validate_only(
                self.raw(),
                1,
                text.as_mut_ptr(),
                text.len(),
            ));
            if code.is_ok() { Ok(()) } else { Err(Fault::told(code, text.as_ptr())) }
        }
    }

    pub(super) fn raw(&self) -> *mut rd::rd_kafka_AdminOptions_t {
        self.0.as_ptr()
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: ours, not used after; requests copy them.
        unsafe { rd::rd_kafka_AdminOptions_destroy(self.raw()) };
    }
}

/// A slice of what an answer's `(pointer, count)` accessor returned.
///
/// # Safety
/// `first` is null or points to `count` elements that live as long as `'a`.
pub(super) unsafe fn elements<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(first, count) }
}
