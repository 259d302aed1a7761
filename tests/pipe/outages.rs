//! Brokers that die, freeze and come back under a run: clusters of these tests' own.

use std::sync::{Mutex, OnceLock, PoisonError};

use nix::sys::signal::Signal;

use super::crowd::{Crowd, PARTITIONS};
use super::harness::{Migration, eventually, unlike_source};
use crate::brokers::distribution::Release;
use crate::brokers::{Cluster, Error, Numbered, Oracle, Writing};
use crate::faults::random::stream::{Stream, written_while};

struct Pair {
    source: Cluster,
    target: Cluster,
    oracles: (Oracle, Oracle),
}

/// One test at a time has them.
fn pair() -> &'static Mutex<Pair> {
    static PAIR: OnceLock<Result<Mutex<Pair>, Error>> = OnceLock::new();
    let start = || {
        let start = |name, release| {
            Cluster::builder(name).heap_mb(256).quick_restart().release(release).start()
        };
        // When its only broker comes back, Kafka 4.3.0 leaves transactions open for ever (KAFKA-20734).
        let (source, target) =
            (start("outage-source", Release::Pinned)?, start("outage-target", Release::V3_9)?);
        let oracles = (Oracle::start(&source.bootstrap())?, Oracle::start(&target.bootstrap())?);
        Ok(Mutex::new(Pair { source, target, oracles }))
    };
    PAIR.get_or_init(start).as_ref().unwrap_or_else(|error| panic!("{error}"))
}

impl Pair {
    fn crowd(&self, name: &str, records: u64, seconds: u64) -> Result<Crowd, Error> {
        let (source, target) = (self.source.bootstrap(), self.target.bootstrap());
        let oracles = (&self.oracles.0, self.oracles.1.clone());
        Crowd::between(name, (&source, &target), oracles, records, seconds)
    }
}

#[test]
fn a_tail_outlives_the_restart_of_either_sides_only_broker() -> Result<(), Error> {
    let pair = pair().lock().unwrap_or_else(PoisonError::into_inner);
    let (source, target) = &pair.oracles;
    let topic = "outage-restart";
    source.create_topic(topic, PARTITIONS, &[])?;
    let plan = format!("topics.include = [\"{topic}\"]\nrun.lanes = 6\n");
    let ends = (pair.source.bootstrap(), pair.target.bootstrap());
    let migration = Migration::between(topic, &ends.0, &ends.1, &plan);
    let mut tail = migration.start(&["--tail", "--json"]);
    let writing = Writing { per_second: 2_000, ..Writing::default() };
    let stream = Stream { numbered: Numbered::new(topic, PARTITIONS, 0), writing };
    let written = written_while(source, &[stream], || {
        for (side, cluster) in [("target", &pair.target), ("source", &pair.source)] {
            // Lanes write all the time: transactions are open.
            goes_on(target, topic);
            tail.listen_anew();
            cluster.kill(1);
            let felt = tail.wait_for(&format!("side={side}"));
            println!("{side}: {felt}");
            cluster.restart(1)?;
            goes_on(target, topic);
        }
        Ok(())
    })?;
    eventually("the target holds what was written", || {
        unlike_source(source, target, &written[0]).is_ok_and(|unlike| unlike.is_empty())
    });
    tail.signal(Signal::SIGTERM);
    assert_eq!(tail.finish().expect(0).json()["result"], "tail-stopped");
    Ok(())
}

/// Waits until more is committed than now.
#[track_caller]
fn goes_on(target: &Oracle, topic: &str) {
    let arrived = || -> i64 {
        // There is no topic at first.
        let offsets = target.list_offsets(topic).unwrap_or_default();
        offsets.iter().map(|at| at.stable).sum()
    };
    let before = arrived();
    eventually("more records arrive", || arrived() > before);
}

#[test]
fn a_second_signal_leaves_at_once_though_the_target_does_not_answer() -> Result<(), Error> {
    let pair = pair().lock().unwrap_or_else(PoisonError::into_inner);
    let crowd = pair.crowd("outage-signals", 60_000, 16)?;
    let mut worker = crowd.worker("w1");
    crowd.await_arrival(0.2);
    pair.target.pause(1);
    worker.signal(Signal::SIGINT);
    worker.wait_for("stopping");
    // No lane can commit, so it is still there, and ends while the target still stands still.
    worker.signal(Signal::SIGINT);
    let aborted = worker.finish().expect(130);
    assert_eq!(aborted.error_kind(), "stopped");
    pair.target.resume(1);
    crowd.in_mid_run();
    crowd.worker("w1").finish().expect(0);
    crowd.is_complete()
}
