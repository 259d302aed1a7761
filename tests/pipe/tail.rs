//! `run --tail`: copies until it is stopped, and never beside a one-shot run.

use nix::sys::signal::Signal;

use super::crowd::Crowd;
use super::harness::{Migration, Process, eventually};
use crate::brokers::{Error, Isolation, Numbered, Oracle, Record, Writing, shared};

fn same_on_both_sides(topic: &str) -> Result<bool, Error> {
    let clusters = shared::clusters();
    let digest = |oracle: &Oracle| oracle.digest(topic, Isolation::ReadCommitted);
    Ok(digest(&clusters.source_oracle)? == digest(&clusters.target_oracle)?)
}

#[track_caller]
fn await_same(topic: &str) {
    // There is no topic at first.
    eventually("both sides are the same", || same_on_both_sides(topic).unwrap_or(false));
}

/// So many intervals of 10 s are longer than the patience of [`eventually`].
const LATE: i32 = 20;

fn tail(migration: &Migration) -> Process {
    migration.start(&["--tail", "--json", "--worker", "tail"])
}

#[test]
fn a_record_on_a_quiet_topic_waits_for_no_interval() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("tail-quiet", 2, &[])?;
    source.produce_numbered(&Numbered::new("tail-quiet", 2, 5_000), &Writing::default())?;
    let rest = "topics.include = [\"tail-quiet\"]\nrun.commit_interval = \"10s\"";
    let migration = Migration::new("tail-quiet", rest);
    let running = tail(&migration);
    await_same("tail-quiet");
    // One after the other, and each is written when the one before has arrived: with an interval for
    // each of them they would still not be there when everything here is taken for hanging.
    let target = &shared::clusters().target_oracle;
    let arrived = || -> i64 {
        let offsets = target.list_offsets("tail-quiet").unwrap_or_default();
        offsets.iter().map(|at| at.stable).sum()
    };
    let mut written = 0;
    let mut before = arrived();
    let write = |n: i32| {
        source.produce("tail-quiet", &[Record::in_partition(n % 2).value("late").at(1_700)])
    };
    write(written)?;
    eventually("all late records are there", || {
        let now = arrived();
        if now > before {
            (before, written) = (now, written + 1);
            write(written).expect("the source takes a record");
        }
        written == LATE
    });
    await_same("tail-quiet");
    running.signal(Signal::SIGTERM);
    let stopped = running.finish().expect(0);
    assert_eq!(stopped.json()["result"], "tail-stopped");
    Ok(())
}

#[test]
fn a_stopped_tail_has_committed_its_positions_and_a_one_shot_run_goes_on_from_there()
-> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("tail-stop", 2, &[])?;
    let writing = Writing { per_transaction: 100, abort_every: 3, ..Writing::default() };
    let mut numbered = Numbered::new("tail-stop", 2, 3_000);
    let rest = "topics.include = [\"tail-stop\"]\nrun.lanes = 1";
    let migration = Migration::new("tail-stop", rest);
    for (round, signal) in [Signal::SIGTERM, Signal::SIGINT].into_iter().enumerate() {
        source.produce_numbered(&numbered, &writing)?;
        numbered.first += numbered.count;
        let running = tail(&migration);
        await_same("tail-stop");
        // Partition 0 ends in a control record. Its end comes with the fetch that brings this record
        // of partition 1, if not before.
        source.produce("tail-stop", &[Record::in_partition(1).value("late").at(1_700)])?;
        await_same("tail-stop");
        running.signal(signal);
        let stopped = running.finish().expect(0);
        assert_eq!(stopped.json()["result"], "tail-stopped", "round {round}");
        let status = migration.status();
        assert_eq!((&status["stage"], &status["lag"]), (&"no-fence".into(), &0.into()), "{status}");
    }
    source.produce_numbered(&numbered, &writing)?;
    migration.run(&[]).expect(0);
    assert!(same_on_both_sides("tail-stop")?);
    assert_eq!(migration.status()["lag"], 0);
    Ok(())
}

#[test]
fn a_one_shot_run_beside_a_tail_is_refused_and_the_tail_is_not_disturbed() -> Result<(), Error> {
    let source = &shared::clusters().source_oracle;
    source.create_topic("tail-first", 2, &[])?;
    source.produce("tail-first", &[Record::in_partition(0).value("a").at(1)])?;
    let migration = Migration::new("tail-first", "topics.include = [\"tail-first\"]");
    let mut running = tail(&migration);
    await_same("tail-first");
    let before = shared::clusters().target_oracle.list_offsets(&migration.ledger())?;
    let refused = migration.run(&["--json", "--worker", "once"]).expect(2);
    assert_eq!(refused.error_kind(), "usage");
    assert!(refused.stdout.contains("`tail`"), "it names the worker: {}", refused.stdout);
    let after = shared::clusters().target_oracle.list_offsets(&migration.ledger())?;
    // The last partition is the control one: the tail itself may still be writing its plan entry there.
    assert_eq!(before[..2], after[..2], "no lane taken");
    assert_eq!(migration.status()["stage"], "no-fence");
    assert!(running.is_running());
    source.produce("tail-first", &[Record::in_partition(1).value("b").at(2)])?;
    await_same("tail-first");
    // One that was killed is no obstacle, though the group still lists it for a while.
    running.kill();
    migration.run(&["--worker", "once"]).expect(0);
    assert!(same_on_both_sides("tail-first")?);
    Ok(())
}

#[test]
fn a_tail_beside_a_one_shot_run_is_refused_and_the_run_is_not_disturbed() -> Result<(), Error> {
    let crowd = Crowd::new("tail-second", 60_000, 40)?;
    let once = crowd.worker("once");
    crowd.await_arrival(0.05);
    let refused = tail(&crowd.migration).finish().expect(2);
    assert_eq!(refused.error_kind(), "usage");
    crowd.in_mid_run();
    once.finish().expect(0);
    crowd.is_complete()
}
