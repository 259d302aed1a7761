//! Single entries outside of any transaction: the ledger's control partition.

use std::time::{Duration, Instant};

use crate::cluster::class::{Call, Class, ClusterError};
use crate::cluster::connect::Connection;
use crate::cluster::sys::client::Role;
use crate::cluster::sys::code::Code;
use crate::cluster::sys::fault::Fault;
use crate::cluster::sys::produce::{DELIVERY_REPORTS, Producer};
use crate::plan::TopicPartition;

/// How long an entry may take to be written everywhere.
const PATIENCE: Duration = Duration::from_secs(60);

/// Appends single entries, each written to all in-sync replicas when the call returns.
pub struct ControlWriter {
    connection: Connection,
    producer: Producer,
    /// Numbers the entries: the report of one that was given up may come late.
    appended: usize,
}

impl ControlWriter {
    /// A writer; connects with the first entry.
    pub fn open(connection: &Connection) -> Result<ControlWriter, ClusterError> {
        let own = [
            ("enable.idempotence", "true".to_owned()),
            ("acks", "all".to_owned()),
            ("linger.ms", "0".to_owned()),
            ("message.max.bytes", "1000000000".to_owned()),
            ("message.timeout.ms", (PATIENCE.as_millis() / 2).to_string()),
            ("delivery.report.only.error", "false".to_owned()),
        ];
        let client = connection.start(Role::Producer, "control", &own, DELIVERY_REPORTS)?;
        let producer = Producer::new(&client);
        Ok(ControlWriter { connection: connection.clone(), producer, appended: 0 })
    }

    /// Appends one entry and returns its offset. An error of class unclear means that it may have
    /// been written: only reading tells.
    pub fn append(&mut self, to: &TopicPartition, entry: &[u8]) -> Result<i64, ClusterError> {
        let what = format!("cannot write an entry to `{to}`");
        self.appended += 1;
        let number = self.appended;
        self.producer
            .topic(&to.topic)
            .and_then(|topic| self.producer.send(topic, to.partition, entry, number))
            .map_err(|fault| self.error(&what, fault))?;
        let mut outcome = None;
        let deadline = Instant::now() + PATIENCE;
        while outcome.is_none() && Instant::now() < deadline {
            let wait = Duration::from_millis(100);
            self.producer.serve(wait, &mut |delivery| {
                if delivery.number == number {
                    outcome = Some(delivery.outcome);
                }
            });
        }
        match outcome {
            Some(Ok(offset)) if offset >= 0 => Ok(offset),
            Some(Ok(_)) => Err(ClusterError::new(
                self.connection.side(),
                Class::Unclear,
                format!("{what}: written at an offset that was not told"),
            )),
            Some(Err(fault)) => Err(self.error(&what, fault)),
            None => Err(self.error(&what, Fault::from_code(Code::MSG_TIMED_OUT))),
        }
    }

    fn error(&self, what: &str, fault: Fault) -> ClusterError {
        let may_be_written = fault.code == Code::MSG_TIMED_OUT;
        let client = self.producer.client();
        let error = super::error(&self.connection, client, Call::Produce, what, fault);
        match error.class {
            Class::Abort if may_be_written => ClusterError { class: Class::Unclear, ..error },
            // There is no transaction to abort; trying again is all that is left.
            Class::Abort => ClusterError { class: Class::Retriable, ..error },
            _ => error,
        }
    }
}
