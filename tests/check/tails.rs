//! What changes about topics while a tail goes on.

use std::cell::Cell;

use nix::sys::signal::Signal;

use crate::brokers::{Error, Isolation, Oracle, Record, shared};
use crate::pipe::harness::{Migration, eventually};

#[track_caller]
fn await_same(topic: &str) {
    let clusters = shared::clusters();
    let digest = |oracle: &Oracle| oracle.digest(topic, Isolation::ReadCommitted).ok();
    eventually("both sides are the same", || {
        let source = digest(&clusters.source_oracle);
        source.is_some() && source == digest(&clusters.target_oracle)
    });
}

#[test]
fn new_topics_and_new_partitions_are_copied_from_their_beginning_and_a_policy_ends_the_tail()
-> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    // Keys of their own: while the target's policy is `compact`, its cleaner drops records without one.
    let keys = Cell::new(0);
    let record = |partition| {
        keys.set(keys.get() + 1);
        Record::in_partition(partition).key(format!("k{}", keys.get())).value("v")
    };
    source.create_topic("check-tail-one", 1, &[])?;
    source.produce("check-tail-one", &[record(0), record(0)])?;
    // What is there when the tail begins is not copied; what comes later is, from its beginning.
    let plan = "topics.include = ['/check-tail-.*/']\ntopics.start = 'latest'";
    let migration = Migration::new("check-tail", plan);
    let tail = migration.start(&["--tail", "--json"]);
    eventually("the tail has begun", || {
        target.list_topics().is_ok_and(|topics| topics.contains(&migration.ledger()))
            && migration.status()["stage"] == "no-fence"
    });
    eventually("a record after the start arrives", || {
        source.produce("check-tail-one", &[record(0)]).expect("the source takes it");
        target.list_offsets("check-tail-one").is_ok_and(|ends| ends[0].stable > 0)
    });

    source.add_partitions("check-tail-one", 3)?;
    source.produce("check-tail-one", &[record(2), record(1), record(2)])?;
    source.create_topic("check-tail-two", 2, &[])?;
    source.produce("check-tail-two", &[record(1), record(0)])?;
    await_same("check-tail-two");
    let counts = || {
        let arrived = target.digest("check-tail-one", Isolation::ReadCommitted).unwrap_or_default();
        arrived.iter().skip(1).map(|one| one.count).collect::<Vec<_>>()
    };
    eventually("the new partitions are there", || counts() == [1, 2]);
    assert_eq!(target.describe_topic("check-tail-one")?.partitions, 3);

    target.set_topic_config("check-tail-two", &[("cleanup.policy", "compact")])?;
    let ended = tail.finish().expect(7);
    assert_eq!(ended.error_kind(), "cleanup-policy", "{}", ended.stderr);
    assert!(ended.stdout.contains("check-tail-two"), "{}", ended.stdout);
    target.set_topic_config("check-tail-two", &[("cleanup.policy", "delete")])?;
    let again = migration.start(&["--tail", "--json"]);
    source.produce("check-tail-two", &[record(0)])?;
    await_same("check-tail-two");
    again.signal(Signal::SIGTERM);
    assert_eq!(again.finish().expect(0).json()["result"], "tail-stopped");
    Ok(())
}
