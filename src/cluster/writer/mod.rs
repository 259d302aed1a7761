//! Writing records: the transactional half of the pipe, and single control entries.

mod control;
mod deliveries;
mod transactional;

pub use control::ControlWriter;
pub use transactional::{TransactionalWriter, WriterTuning};

use super::connect::Connection;
use super::sys::client::Client;
use super::sys::code::Code;
use super::sys::fault::Fault;
use super::{ClusterError, class::Call};

/// An error of a producer's call. Once a producer is broken every call says only that; the cause is
/// asked for and takes its place.
fn error(
    connection: &Connection,
    client: &Client,
    call: Call,
    what: &str,
    fault: Fault,
) -> ClusterError {
    let fault = match client.fatal_error() {
        Some(cause) if fault.fatal || fault.code == Code::FATAL => cause,
        _ => fault,
    };
    connection.error(call, what, &fault, Some(client.notices()))
}
