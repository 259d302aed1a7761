//! Error codes of librdkafka and of brokers, as numbers.
//!
//! `rdkafka` reads them as a Rust enum. A broker newer than the library answers with numbers that
//! the enum does not have, and reading those as an enum is undefined behaviour; so every code is
//! read as the integer that it is.

use std::ffi::{c_char, c_int};
use std::fmt;

use rdkafka::bindings as rd;
use rdkafka::bindings::rd_kafka_resp_err_t as E;

/// An error code: negative ones are librdkafka's own, positive ones a broker's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Code(pub i32);

macro_rules! codes {
    ($($name:ident = $native:ident,)*) => {
        #[allow(dead_code, reason = "some only turn up in tests")]
        impl Code {
            $(pub(crate) const $name: Code = Code(E::$native as i32);)*
        }
    };
}

codes! {
    OK = RD_KAFKA_RESP_ERR_NO_ERROR,
    // librdkafka's own
    TRANSPORT = RD_KAFKA_RESP_ERR__TRANSPORT,
    RESOLVE = RD_KAFKA_RESP_ERR__RESOLVE,
    MSG_TIMED_OUT = RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
    PARTITION_EOF = RD_KAFKA_RESP_ERR__PARTITION_EOF,
    UNKNOWN_PARTITION = RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
    NOENT = RD_KAFKA_RESP_ERR__NOENT,
    DESTROY_BROKER = RD_KAFKA_RESP_ERR__DESTROY_BROKER,
    UNKNOWN_TOPIC = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
    ALL_BROKERS_DOWN = RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
    TIMED_OUT = RD_KAFKA_RESP_ERR__TIMED_OUT,
    TIMED_OUT_QUEUE = RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
    QUEUE_FULL = RD_KAFKA_RESP_ERR__QUEUE_FULL,
    SSL = RD_KAFKA_RESP_ERR__SSL,
    WAIT_COORD = RD_KAFKA_RESP_ERR__WAIT_COORD,
    IN_PROGRESS = RD_KAFKA_RESP_ERR__IN_PROGRESS,
    PREV_IN_PROGRESS = RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS,
    ASSIGN_PARTITIONS = RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS,
    REVOKE_PARTITIONS = RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS,
    STATE = RD_KAFKA_RESP_ERR__STATE,
    AUTHENTICATION = RD_KAFKA_RESP_ERR__AUTHENTICATION,
    WAIT_CACHE = RD_KAFKA_RESP_ERR__WAIT_CACHE,
    PURGE_QUEUE = RD_KAFKA_RESP_ERR__PURGE_QUEUE,
    PURGE_INFLIGHT = RD_KAFKA_RESP_ERR__PURGE_INFLIGHT,
    FATAL = RD_KAFKA_RESP_ERR__FATAL,
    FENCED = RD_KAFKA_RESP_ERR__FENCED,
    RETRY = RD_KAFKA_RESP_ERR__RETRY,
    INVALID_ARG = RD_KAFKA_RESP_ERR__INVALID_ARG,
    AUTO_OFFSET_RESET = RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET,
    LOG_TRUNCATION = RD_KAFKA_RESP_ERR__LOG_TRUNCATION,
    // brokers'
    OFFSET_OUT_OF_RANGE = RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_OR_PARTITION = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
    INVALID_MESSAGE_SIZE = RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
    LEADER_NOT_AVAILABLE = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
    NOT_LEADER = RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    REQUEST_TIMED_OUT = RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    BROKER_NOT_AVAILABLE = RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
    REPLICA_NOT_AVAILABLE = RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
    MESSAGE_TOO_LARGE = RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
    NETWORK_EXCEPTION = RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
    COORDINATOR_LOADING = RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE = RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR = RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
    RECORD_LIST_TOO_LARGE = RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
    NOT_ENOUGH_REPLICAS = RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    ILLEGAL_GENERATION = RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
    UNKNOWN_MEMBER = RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
    REBALANCE_IN_PROGRESS = RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS,
    TOPIC_DENIED = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
    GROUP_DENIED = RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
    CLUSTER_DENIED = RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_DENIED = RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    INVALID_TIMESTAMP = RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
    UNSUPPORTED_SASL_MECHANISM = RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM,
    ILLEGAL_SASL_STATE = RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE,
    TOPIC_EXISTS = RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS,
    NOT_CONTROLLER = RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
    OUT_OF_ORDER_SEQUENCE = RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
    INVALID_PRODUCER_EPOCH = RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
    INVALID_TXN_STATE = RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
    INVALID_PRODUCER_ID_MAPPING = RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING,
    INVALID_TRANSACTION_TIMEOUT = RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT,
    CONCURRENT_TRANSACTIONS = RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS,
    SECURITY_DISABLED = RD_KAFKA_RESP_ERR_SECURITY_DISABLED,
    KAFKA_STORAGE_ERROR = RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
    SASL_AUTHENTICATION_FAILED = RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED,
    FENCED_LEADER_EPOCH = RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
    UNKNOWN_LEADER_EPOCH = RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
    OFFSET_NOT_AVAILABLE = RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
    FENCED_INSTANCE_ID = RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
    INVALID_RECORD = RD_KAFKA_RESP_ERR_INVALID_RECORD,
    UNSUPPORTED_COMPRESSION_TYPE = RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE,
    UNSTABLE_OFFSET_COMMIT = RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT,
    THROTTLING_QUOTA = RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED,
    PRODUCER_FENCED = RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
}

impl Code {
    /// Whether this is no error.
    pub(crate) fn is_ok(self) -> bool {
        self == Code::OK
    }

    /// librdkafka's sentence for the code; `Err-N?` for a number that it does not know.
    pub(crate) fn text(self) -> String {
        type ByEnum = unsafe extern "C" fn(E) -> *const c_char;
        type ByInt = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the C enum is an int; the function takes any number, and returns a static or
        // thread-local string.
        unsafe { super::text(std::mem::transmute::<ByEnum, ByInt>(rd::rd_kafka_err2str)(self.0)) }
    }

    /// The code in the C struct at `place`, read as the integer that it is.
    ///
    /// # Safety
    /// `place` points to an initialised `rd_kafka_resp_err_t`.
    pub(super) unsafe fn read(place: *const E) -> Code {
        // SAFETY: a C enum of this library is an int; the caller vouches for the place.
        Code(unsafe { place.cast::<c_int>().read() })
    }

    /// Calls `function` as one that returns an int instead of an enum.
    ///
    /// # Safety
    /// As `function(argument)`.
    pub(super) unsafe fn of<T>(
        function: unsafe extern "C" fn(*const T) -> E,
        argument: *const T,
    ) -> Code {
        // SAFETY: the caller's promise.
        Code(unsafe { super::int_of(function, argument) })
    }
}

impl From<E> for Code {
    fn from(native: E) -> Self {
        Code(native as i32)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({}: {})", self.0, self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_the_library_does_not_know_is_still_a_code() {
        let unknown = Code(32_000);
        assert!(!unknown.is_ok());
        assert!(unknown.text().contains("32000"), "{unknown:?}");
    }

    #[test]
    fn codes_have_the_numbers_of_the_protocol() {
        assert_eq!(Code::FENCED_INSTANCE_ID, Code(82));
        assert_eq!(Code::UNKNOWN_MEMBER, Code(25));
        assert_eq!(Code::PRODUCER_FENCED, Code(90));
        assert_eq!(Code::PARTITION_EOF, Code(-191));
    }
}
