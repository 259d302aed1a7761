//! An error as librdkafka tells it: code, text, and the three flags that the protocol needs.

use std::ffi::{c_char, c_int};

use rdkafka::bindings as rd;
use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;

use super::code::Code;
use crate::plan::PropertyFault;

/// An error of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What kind.
    pub code: Code,
    /// librdkafka's words.
    pub text: String,
    /// The client cannot be used any more.
    pub fatal: bool,
    /// The call may be made again.
    pub retriable: bool,
    /// The transaction must be aborted.
    pub abort: bool,
}

impl Fault {
    /// A fault that has only a code.
    pub(crate) fn from_code(code: Code) -> Fault {
        Fault { code, text: code.text(), fatal: false, retriable: false, abort: false }
    }

    /// A fault with a code and words of its own.
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Fault {
        Fault { text: text.into(), ..Fault::from_code(code) }
    }

    /// A fault with the words that came with its code; librdkafka's sentence where none did.
    ///
    /// # Safety
    /// `text` is null or points to a C string that lives during the call.
    pub(super) unsafe fn told(code: Code, text: *const c_char) -> Fault {
        // SAFETY: the caller's promise.
        let text = unsafe { super::text(text) };
        if text.is_empty() { Fault::from_code(code) } else { Fault::new(code, text) }
    }

    /// Whether `code` says that all is well.
    pub(super) fn check(code: Code) -> Result<(), Fault> {
        if code.is_ok() { Ok(()) } else { Err(Fault::from_code(code)) }
    }

    /// Reads and destroys an error object; null is success.
    ///
    /// # Safety
    /// `error` is null or an error object that the caller owns.
    pub(super) unsafe fn take(error: *mut rd::rd_kafka_error_t) -> Result<(), Fault> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: an error object that we own.
        let fault = unsafe { Fault::read(error) };
        // SAFETY: as above, and not used after.
        unsafe { rd::rd_kafka_error_destroy(error) };
        Err(fault)
    }

    /// Reads an error object that somebody else owns.
    ///
    /// # Safety
    /// `error` is a live error object.
    pub(super) unsafe fn read(error: *const rd::rd_kafka_error_t) -> Fault {
        let flag = |value: c_int| value != 0;
        // SAFETY: the caller's promise; the string belongs to the object and is copied.
        unsafe {
            Fault {
                code: Code::of(rd::rd_kafka_error_code, error),
                text: super::text(rd::rd_kafka_error_string(error)),
                fatal: flag(rd::rd_kafka_error_is_fatal(error)),
                retriable: flag(rd::rd_kafka_error_is_retriable(error)),
                abort: flag(rd::rd_kafka_error_txn_requires_abort(error)),
            }
        }
    }
}

/// The first property of `config` that librdkafka does not take, by name.
pub(crate) fn first_bad_property(config: &ClientConfig) -> Option<(String, PropertyFault)> {
    match config.create_native_config() {
        Ok(_) => None,
        Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, _, name, _)) => {
            Some((name, PropertyFault::Unknown))
        }
        Err(KafkaError::ClientConfig(_, _, name, _)) => Some((name, PropertyFault::Invalid)),
        // A NUL in a name or value; it cannot say where.
        Err(_) => Some((String::new(), PropertyFault::Invalid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_object_keeps_code_and_text() {
        let text = c"no such luck";
        // SAFETY: a format without arguments.
        let raw = unsafe {
            rd::rd_kafka_error_new(
                rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                text.as_ptr(),
            )
        };
        // SAFETY: the object was just made and is ours.
        let fault = unsafe { Fault::take(raw) }.expect_err("an error object is an error");
        assert_eq!((fault.code, fault.text.as_str()), (Code::NOT_COORDINATOR, "no such luck"));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { Fault::take(std::ptr::null_mut()) }, Ok(()));
    }

    #[test]
    fn a_bad_property_is_named_without_its_value() {
        let mut config = ClientConfig::new();
        config.set("sasl.passwort", "s3cret");
        assert_eq!(
            first_bad_property(&config),
            Some(("sasl.passwort".into(), PropertyFault::Unknown))
        );
        let mut config = ClientConfig::new();
        config.set("session.timeout.ms", "soon");
        assert_eq!(
            first_bad_property(&config),
            Some(("session.timeout.ms".into(), PropertyFault::Invalid))
        );
    }
}
