//! The only `unsafe` code: what librdkafka has and the `rdkafka` crate lacks, behind safe calls.
//!
//! Nothing here decides anything: a wrapper turns one C call into one Rust call, owns what the C
//! side hands over, and copies or borrows what it shows. Rules live one folder up.
//!
//! Tests against real brokers are in `tests/cluster/`; each wrapper's own are named where it has any.
//!
//! | wrapper | what rdkafka lacks | test |
//! |---|---|---|
//! | [`code::Code`] | codes a newer broker sends are outside of its enum (undefined behaviour when read as one) | `code::tests` |
//! | [`fault::Fault`] | `KafkaError` drops the error's text, or prints a property's value | `fault::tests` |
//! | [`client::Client`] | its clients show log lines only while they are polled, so a blocking call hides why it waits; dropping one can hang | `connect.rs` |
//! | [`list::PartitionList`] | leader epochs and raw error codes of list entries | `list::tests` |
//! | [`message::Messages`] | header names that are not UTF-8 panic; an `Arc` and an allocation per record | `reader.rs`: `batches_keep_every_byte` |
//! | [`consume::Consumer`] | batch consumption; partition EOF with its topic and offset; seek with epochs | `reader.rs` |
//! | [`produce::Producer`] | topic handles; header copies byte for byte; "no timestamp" kept | `writer.rs`: `copies_are_the_same_…` |
//! | [`copies::Copies`] | that a request was sent more than once | `tests/faults/proxy/late.rs` |
//! | [`transaction`] | `send_offsets` with metadata that was looked at first; errors with their text | `writer.rs` |
//! | [`group`] | generation and member id of the metadata; rebalance events without a callback; closing with a deadline | `membership.rs` |
//! | [`request`], [`topics`], [`offsets`], [`groups`] | ListOffsets, DescribeTopics (topic ids, our rights), group offsets, states and members; answers that are collected later | `admin.rs`, `topics::tests` |
//! | [`cluster`] | DescribeCluster: brokers, controller, our rights | `check/wrappers.rs` |
//! | [`configs`] | its value sources are an enum that newer brokers go beyond; an error ends the whole answer | `admin.rs`, `check/wrappers.rs` |
//! | [`acls`] | DescribeAcls | `check/wrappers.rs` |

#![allow(unsafe_code)]

pub(super) mod acls;
pub(super) mod client;
pub(super) mod cluster;
pub(super) mod code;
pub(super) mod configs;
pub(super) mod consume;
pub(super) mod copies;
pub(super) mod fault;
pub(super) mod group;
pub(super) mod groups;
pub(super) mod list;
pub(super) mod message;
pub(super) mod offsets;
pub(super) mod produce;
pub(super) mod request;
pub(super) mod topics;
pub(super) mod transaction;

use std::ffi::{CStr, CString, c_char, c_int};
use std::time::Duration;

/// A copy of a C string; empty where there is none.
///
/// # Safety
/// `text` is null or points to a C string that lives during the call.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and a C string by the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A C string of `text`; what follows an inner NUL is cut off (no Kafka name may hold one).
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Calls `function` as one that returns an int instead of an enum: a newer broker may tell a value that
/// the enum does not have.
///
/// # Safety
/// As `function(argument)`; `E` is an enum of librdkafka.
unsafe fn int_of<T, E>(function: unsafe extern "C" fn(*const T) -> E, argument: *const T) -> c_int {
    const { assert!(size_of::<E>() == size_of::<c_int>()) };
    type AsInt<T> = unsafe extern "C" fn(*const T) -> c_int;
    // SAFETY: same C signature; only Rust's idea of the returned int differs.
    let function =
        unsafe { std::mem::transmute::<unsafe extern "C" fn(*const T) -> E, AsInt<T>>(function) };
    // SAFETY: the caller's promise.
    unsafe { function(argument) }
}

/// Milliseconds as librdkafka takes them; never "for ever", and at least 1 unless zero.
fn millis(wait: Duration) -> i32 {
    let rounded = wait.as_micros().div_ceil(1000);
    i32::try_from(rounded).unwrap_or(i32::MAX)
}
