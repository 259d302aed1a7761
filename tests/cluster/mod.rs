//! `src/cluster/` against two real clusters.

mod admin;
mod connect;
mod member_process;
mod membership;
mod reader;
mod writer;

use crate::brokers::{self, shared};
use onceover::cluster::{Connection, MemberEvent, Membership, ReaderTuning, SourceReader};
use onceover::error::Side;
use onceover::pipe::engine::{Polled, Source};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything that is waited for takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn source() -> Connection {
    Connection::new(Side::Source, &shared::clusters().source.bootstrap(), &BTreeMap::new(), "test")
}

fn target() -> Connection {
    Connection::new(Side::Target, &shared::clusters().target.bootstrap(), &BTreeMap::new(), "test")
}

fn source_reader(group: &str) -> SourceReader {
    source_reader_of(&source(), group)
}

fn source_reader_of(connection: &Connection, group: &str) -> SourceReader {
    let tuning = ReaderTuning {
        queue_bytes: 16 << 20,
        fetch_bytes: 1 << 20,
        fetch_wait: Duration::from_millis(100),
    };
    SourceReader::open(connection, group, tuning).expect("a reader")
}

/// Polls until `enough` says so.
fn poll_until<S: Source>(source: &mut S, mut enough: impl FnMut(Polled<S::Batch>) -> bool) {
    let deadline = Instant::now() + SOON;
    loop {
        for polled in source.poll(Duration::from_millis(100)).expect("the source can be read") {
            if enough(polled) {
                return;
            }
        }
        assert!(Instant::now() < deadline, "the source did not bring what was waited for");
    }
}

/// Joins a group of its own over a ledger of `lanes` partitions, and waits until it has all.
fn sole_member(plan: &str, lanes: usize) -> (Arc<Membership>, Receiver<MemberEvent>) {
    let ledger = format!("{plan}-ledger");
    shared::clusters().target_oracle.create_topic(&ledger, lanes, &[]).expect("a ledger");
    let (sender, events) = channel();
    let member =
        Membership::join(&target(), plan, "w1", &ledger, sender).expect("joining begins at once");
    let MemberEvent::Assigned(assigned) = next(&events) else { panic!("no assignment") };
    assert_eq!(assigned.len(), lanes);
    (member, events)
}

fn next(events: &Receiver<MemberEvent>) -> MemberEvent {
    events.recv_timeout(SOON).expect("an event")
}

/// A record of ours as the oracle writes it down.
fn witnessed(partition: i32, record: &onceover::record::Record<'_>) -> brokers::Record {
    brokers::Record {
        partition,
        key: record.key.map(<[u8]>::to_vec),
        value: record.value.map(<[u8]>::to_vec),
        timestamp: record.timestamp,
        headers: record
            .headers
            .iter()
            .map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)))
            .collect(),
    }
}
