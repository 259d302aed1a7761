//! Writing: records one by one, in transactions, or millions by a rule.

use super::super::Error;
use super::{Fault, Oracle, Record, groups::listed, object};
use serde_json::{Value, json};
use std::time::Duration;

/// Which records [`Oracle::produce_numbered`] writes and [`Oracle::check_numbered`] expects; the rule
/// stands in `java/Numbered.java`. Record numbers are `first..first + count`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    pub topic: String,
    /// As many as the topic has.
    pub partitions: usize,
    pub count: u64,
    pub first: u64,
    /// Bytes; at least 34. Values are JSON and hardly compress.
    pub value_size: usize,
    /// How many different ones; 0: no keys, and records go round the partitions.
    pub keys: u64,
    /// The first one is the record's number.
    pub headers: usize,
    /// Every so many records one without a value; 0: never. Needs a header, else it has no number.
    pub tombstone_every: u64,
    pub seed: u32,
    /// Milliseconds; 100 records share one.
    pub first_timestamp: i64,
}

impl Numbered {
    /// 100 bytes each, no keys, one header, timestamps from November 2023 on.
    pub fn new(topic: &str, partitions: usize, count: u64) -> Numbered {
        Numbered {
            topic: topic.to_owned(),
            partitions,
            count,
            first: 0,
            value_size: 100,
            keys: 0,
            headers: 1,
            tombstone_every: 0,
            seed: 0,
            first_timestamp: 1_700_000_000_000,
        }
    }

    /// The next so many records. What 100 share is their timestamp, so these begin at a multiple of 100.
    #[must_use]
    pub fn after(&self, count: u64) -> Numbered {
        let shared = i64::try_from(self.count / 100).expect("few");
        let first_timestamp = self.first_timestamp + shared;
        Numbered { first: self.first + self.count, count, first_timestamp, ..self.clone() }
    }

    fn to_json(&self) -> Value {
        json!({
            "topic": self.topic,
            "partitions": self.partitions,
            "count": self.count,
            "first": self.first,
            "value_size": self.value_size,
            "keys": self.keys,
            "headers": self.headers,
            "tombstone_every": self.tombstone_every,
            "seed": self.seed,
            "first_timestamp": self.first_timestamp,
        })
    }
}

/// How numbered records are written; the default is without transactions, as fast as it goes.
#[derive(Clone, Debug, Default)]
pub struct Writing<'a> {
    /// Records in a transaction; 0: no transactions. As many as there are partitions makes a hole
    /// after every record, quickly.
    pub per_transaction: u64,
    /// The records of every so many-th transaction are written and aborted before they are written
    /// and committed; 0: never.
    pub abort_every: u64,
    /// Records per second at most; 0: no bound.
    pub per_second: u64,
    /// Of Kafka's producer, as `("compression.type", "zstd")`.
    pub settings: &'a [(&'a str, &'a str)],
    /// What is written in the place of records of these numbers.
    pub faults: &'a [(u64, Fault)],
}

impl Oracle {
    /// Writes in this order and returns the offsets.
    pub fn produce(&self, topic: &str, records: &[Record]) -> Result<Vec<i64>, Error> {
        self.produce_with(topic, records, &[])
    }

    /// `settings` are those of Kafka's producer. For large batches set `linger.ms` and `batch.size`.
    pub fn produce_with(
        &self,
        topic: &str,
        records: &[Record],
        settings: &[(&str, &str)],
    ) -> Result<Vec<i64>, Error> {
        let mut fields = written(topic, records);
        fields["settings"] = object(settings);
        self.call("produce", fields).map(|answer| offsets(&answer))
    }

    /// One batch for each partition, made by hand: for header names that are not UTF-8 and for
    /// negative timestamps, which Kafka's producer does not take. Every record needs a timestamp.
    pub fn produce_raw(&self, topic: &str, records: &[Record]) -> Result<Vec<i64>, Error> {
        if records.iter().any(|record| record.timestamp.is_none()) {
            return Err(Error::new("`produce_raw` needs the timestamp of every record"));
        }
        self.call("produce_raw", written(topic, records)).map(|answer| offsets(&answer))
    }

    /// Returns how long it took.
    pub fn produce_numbered(
        &self,
        numbered: &Numbered,
        writing: &Writing<'_>,
    ) -> Result<Duration, Error> {
        let mut fields = numbered.to_json();
        fields["per_tx"] = json!(writing.per_transaction);
        fields["abort_every"] = json!(writing.abort_every);
        fields["per_second"] = json!(writing.per_second);
        fields["settings"] = object(writing.settings);
        let faults = writing.faults.iter().map(|(id, fault)| fault.to_json(*id));
        fields["faults"] = faults.collect();
        let answer = self.call("produce_numbered", fields)?;
        Ok(Duration::from_millis(answer["ms"].as_u64().unwrap_or_default()))
    }

    /// Reads what a read_committed consumer sees and says what is not as the rule has it: records
    /// that are missing, twice, out of order, elsewhere, or other ones. Empty: all is well.
    pub fn check_numbered(&self, numbered: &Numbered) -> Result<Vec<String>, Error> {
        let mut fields = numbered.to_json();
        fields["committed"] = json!(true);
        let answer = self.call("check_numbered", fields)?;
        Ok(answer.as_array().into_iter().flatten().map(super::admin::text).collect())
    }

    /// A producer with this transactional id, initialised: older ones are fenced.
    pub fn transactional(
        &self,
        transactional_id: &str,
        settings: &[(&str, &str)],
    ) -> Result<Transactional, Error> {
        let mut settings = settings.to_vec();
        settings.push(("transactional.id", transactional_id));
        let producer = self.call("open_producer", json!({"settings": object(&settings)}))?;
        Ok(Transactional { oracle: self.clone(), producer })
    }
}

/// A transactional producer. Dropped or abandoned it leaves an open transaction open, as a crash does.
#[derive(Debug)]
pub struct Transactional {
    oracle: Oracle,
    producer: Value,
}

impl Transactional {
    pub fn begin(&self) -> Result<(), Error> {
        self.act("begin")
    }

    /// Returns once the records are in the log.
    pub fn produce(&self, topic: &str, records: &[Record]) -> Result<Vec<i64>, Error> {
        let mut fields = written(topic, records);
        fields["producer"] = self.producer.clone();
        self.oracle.call("produce", fields).map(|answer| offsets(&answer))
    }

    /// Topic, partition, offset, for a group without members.
    pub fn send_offsets(&self, group: &str, offsets: &[(&str, i32, i64)]) -> Result<(), Error> {
        let offsets = listed(offsets);
        let fields = json!({"producer": self.producer, "group": group, "offsets": offsets});
        self.oracle.call("send_offsets", fields).map(drop)
    }

    pub fn commit(&self) -> Result<(), Error> {
        self.act("commit")
    }

    pub fn abort(&self) -> Result<(), Error> {
        self.act("abort")
    }

    /// Ends the producer, not its transaction.
    pub fn abandon(self) {}

    fn act(&self, operation: &str) -> Result<(), Error> {
        self.oracle.call(operation, json!({"producer": self.producer})).map(drop)
    }
}

impl Drop for Transactional {
    fn drop(&mut self) {
        let _ = self.act("abandon");
    }
}

fn written(topic: &str, records: &[Record]) -> Value {
    json!({"topic": topic, "records": records.iter().map(Record::to_json).collect::<Vec<_>>()})
}

fn offsets(answer: &Value) -> Vec<i64> {
    answer.as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}
