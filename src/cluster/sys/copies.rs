//! How often a client has sent the requests whose late copies do harm.
//!
//! librdkafka sends a request again, on another connection, when one breaks or stays silent, and tells
//! nobody. Its interceptors see every request that was written to a socket.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_resp_err_t as E;

use super::code::Code;
use super::fault::Fault;

/// API keys of Kafka's protocol.
const END_TXN: i16 = 26;
const TXN_OFFSET_COMMIT: i16 = 28;

/// Counts what one client sends. A call of the client ends after the answer to its last copy, and a copy is
/// counted before its answer is read: so a count that is read after a call holds all of the call's copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    ends: AtomicU64,
    offsets: AtomicU64,
    counting: AtomicBool,
}

impl Copies {
    /// `EndTxn` requests sent.
    pub(crate) fn ends(&self) -> u64 {
        self.ends.load(Ordering::Acquire)
    }

    /// `TxnOffsetCommit` requests sent.
    pub(crate) fn offsets(&self) -> u64 {
        self.offsets.load(Ordering::Acquire)
    }

    /// Whether the client that was made with [`Copies::attach`] counts.
    pub(super) fn is_counting(&self) -> bool {
        self.counting.load(Ordering::Acquire)
    }

    /// Makes the client that comes of `config` count here.
    ///
    /// # Safety
    /// `config` is live, and `copies` outlives every client that is made of it.
    pub(super) unsafe fn attach(
        copies: &Arc<Copies>,
        config: *mut rd::rd_kafka_conf_t,
    ) -> Result<(), Fault> {
        let opaque = Arc::as_ptr(copies).cast::<c_void>().cast_mut();
        // SAFETY: a live configuration by the caller's promise; the name is copied.
        let code = Code::from(unsafe {
            rd::rd_kafka_conf_interceptor_add_on_new(config, NAME.as_ptr(), Some(on_new), opaque)
        });
        Fault::check(code)
    }
}

const NAME: &std::ffi::CStr = c"onceover";

/// A client is being made: other interceptors can be added only now.
unsafe extern "C" fn on_new(
    client: *mut rd::rd_kafka_t,
    _config: *const rd::rd_kafka_conf_t,
    opaque: *mut c_void,
    _text: *mut c_char,
    _size: usize,
) -> E {
    // SAFETY: the client is the one being made; the opaque is the `Copies` that outlives it.
    unsafe {
        let code = rd::rd_kafka_interceptor_add_on_request_sent(
            client,
            NAME.as_ptr(),
            Some(on_request_sent),
            opaque,
        );
        if let Some(copies) = opaque.cast::<Copies>().as_ref() {
            copies.counting.store(Code::from(code).is_ok(), Ordering::Release);
        }
    }
    E::RD_KAFKA_RESP_ERR_NO_ERROR
}

/// A whole request was written to a socket; from the thread that will read its answer.
unsafe extern "C" fn on_request_sent(
    _client: *mut rd::rd_kafka_t,
    _socket: c_int,
    _broker_name: *const c_char,
    _broker: i32,
    api_key: i16,
    _api_version: i16,
    _correlation: i32,
    _size: usize,
    opaque: *mut c_void,
) -> E {
    // SAFETY: the opaque is the `Copies` that outlives the client.
    if let Some(copies) = unsafe { opaque.cast::<Copies>().as_ref() } {
        let count = match api_key {
            END_TXN => Some(&copies.ends),
            TXN_OFFSET_COMMIT => Some(&copies.offsets),
            _ => None,
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }
    E::RD_KAFKA_RESP_ERR_NO_ERROR
}
