//! What a late request does to a producer that goes on after a retry, as librdkafka's own does: the
//! transaction protocol's ordering flaw (KAFKA-17754). If these tests fail, the flaw is gone, and with it the
//! reason of the defence.
//!
//! The brokers are of Kafka 4 with `transaction.version=2` (KIP-890), which protects clients that speak it:
//! [`a_client_of_kip_890_is_protected_by_the_broker`]. librdkafka does not.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::line::Line;
use super::proxies;
use super::rule::{Fate, When};
use super::wire::TXN_OFFSET_COMMIT;
use crate::brokers::{Error, Isolation, Oracle, Record, shared};
use crate::pipe::harness::eventually;

const WAIT: Duration = Duration::from_secs(120);

/// A transactional producer of librdkafka with its defaults, of two partitions, behind the proxy. Its
/// transactional id is the topic's name.
struct Undefended {
    topic: String,
    producer: BaseProducer,
    line: Arc<Line>,
}

impl Undefended {
    fn new(topic: &str) -> Result<Undefended, Error> {
        shared::clusters().target_oracle.create_topic(topic, 2, &[])?;
        let line = proxies().target.line(topic);
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", proxies().target.bootstrap())
            .set("client.id", topic)
            .set("transactional.id", topic)
            .create()
            .expect("a producer");
        producer.init_transactions(WAIT).expect("initialised");
        Ok(Undefended { topic: topic.to_owned(), producer, line })
    }

    fn begin(&self) {
        self.producer.begin_transaction().expect("begun");
    }

    /// Returns once it is in the log.
    fn write(&self, partition: i32, value: &str) {
        let record = BaseRecord::<(), str>::to(&self.topic).partition(partition).payload(value);
        self.producer.send(record).expect("queued");
        self.producer.flush(WAIT).expect("delivered");
    }

    fn commit(&self) {
        self.producer.commit_transaction(WAIT).expect("committed");
    }

    fn abort(&self) {
        self.producer.abort_transaction(WAIT).expect("aborted");
    }

    fn visible(&self) -> Result<Vec<String>, Error> {
        visible(&self.topic)
    }
}

/// Its first transaction has ended by a retry, with a commit or an abort; the late request has then met the second
/// one, in which `two` is written, and the broker has taken it for the end of that one.
fn ended_late(topic: &str, commits: bool) -> Result<Undefended, Error> {
    let it = Undefended::new(topic)?;
    let held = it.line.plan(When::ends(&it.topic, commits), Fate::Held);
    it.begin();
    it.write(0, "one");
    let end = if commits { Undefended::commit } else { Undefended::abort };
    end(&it); // by the retry
    assert!(held.has_happened());
    it.begin();
    it.write(0, "two");
    assert_eq!(held.release(), 0, "the broker takes it for the end of this transaction");
    // The coordinator answers before it has written the markers: what comes before them is of the transaction still.
    let oracle = &shared::clusters().target_oracle;
    let is_over =
        || oracle.list_offsets(topic).is_ok_and(|found| found[0].stable == found[0].latest);
    eventually("the transaction is over on the broker", is_over);
    Ok(it)
}

/// What a read_committed consumer sees.
fn visible(topic: &str) -> Result<Vec<String>, Error> {
    let records = shared::clusters().target_oracle.read(topic, Isolation::ReadCommitted)?;
    let text = |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into();
    Ok(records.into_iter().map(|stored| text(stored.record.value)).collect())
}

#[test]
fn a_late_commit_shows_half_of_a_transaction_that_is_then_aborted() -> Result<(), Error> {
    let it = ended_late("undefended-commit", true)?;
    it.write(1, "two, too");
    it.abort();
    assert_eq!(it.visible()?, ["one", "two"]);
    Ok(())
}

#[test]
fn a_late_commit_is_noticed_where_the_partition_stays_the_same_and_the_damage_is_done()
-> Result<(), Error> {
    let it = ended_late("undefended-same", true)?;
    it.write(0, "two, too"); // refused: the partition is in no transaction
    let ended = it.producer.commit_transaction(WAIT).expect_err("the broker has noticed");
    println!("the broker's answer to the rest of the transaction: {ended}");
    assert_eq!(it.visible()?, ["one", "two"]);
    Ok(())
}

#[test]
fn a_late_abort_loses_a_part_of_a_transaction_that_is_committed() -> Result<(), Error> {
    let it = ended_late("undefended-abort", false)?;
    it.write(1, "two, too");
    it.commit();
    assert_eq!(it.visible()?, ["two, too"], "`two` was committed, and is lost");
    Ok(())
}

#[test]
fn late_offsets_set_a_groups_position_back() -> Result<(), Error> {
    let it = Undefended::new("undefended-offsets")?;
    let group: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", proxies().target.bootstrap())
        .set("group.id", "undefended-offsets")
        .create()
        .expect("a consumer");
    let metadata = group.group_metadata().expect("of a group");
    let send = |offset| {
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(&it.topic, 0, Offset::Offset(offset)).expect("added");
        it.producer.send_offsets_to_transaction(&offsets, &metadata, WAIT).expect("added");
    };
    let held = it.line.plan(When::request(TXN_OFFSET_COMMIT).of(&it.topic), Fate::Held);
    it.begin();
    it.write(0, "one");
    send(1); // by the retry
    it.commit();
    assert!(held.has_happened());
    it.begin();
    it.write(0, "two");
    send(2);
    assert_eq!(held.release(), 0, "the broker takes them for offsets of this transaction");
    it.commit();
    let offsets = shared::clusters().target_oracle.group_offsets("undefended-offsets")?;
    assert_eq!(offsets[0].offset, 1, "2 was committed: whoever begins here reads `two` again");
    Ok(())
}

#[test]
fn a_client_of_kip_890_is_protected_by_the_broker() -> Result<(), Error> {
    let topic = "undefended-java";
    shared::clusters().target_oracle.create_topic(topic, 1, &[])?;
    let line = proxies().target.line(topic);
    let java = Oracle::start(proxies().target.bootstrap())?;
    let producer = java.transactional(topic, &[("client.id", topic)])?;
    let write = |text: &str| producer.produce(topic, &[Record::in_partition(0).value(text)]);
    let held = line.plan(When::ends(topic, true), Fate::Held);
    producer.begin()?;
    write("one")?;
    producer.commit()?; // by the retry
    assert!(held.has_happened());
    producer.begin()?;
    write("two")?;
    println!("the broker's answer to the late commit: error {}", held.release());
    assert_eq!(visible(topic)?, ["one"]);
    producer.abort()?;
    assert_eq!(visible(topic)?, ["one"], "the late commit had no part in it");
    Ok(())
}
