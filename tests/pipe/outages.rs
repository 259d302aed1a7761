//! Brokers that die, freeze and come back under a run: clusters of these tests' own.

use std::sync::{Mutex, OnceLock, PoisonError};

use nix::sys::signal::Signal;

use super::crowd::Crowd;
use crate::brokers::{Cluster, Error, Oracle};

struct Pair {
    source: Cluster,
    target: Cluster,
    oracles: (Oracle, Oracle),
}

/// One test at a time has them.
fn pair() -> &'static Mutex<Pair> {
    static PAIR: OnceLock<Result<Mutex<Pair>, Error>> = OnceLock::new();
    let start = || {
        let start = |name| Cluster::builder(name).heap_mb(256).start();
        let (source, target) = (start("outage-source")?, start("outage-target")?);
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
fn a_run_outlives_the_restart_of_either_sides_only_broker() -> Result<(), Error> {
    let pair = pair().lock().unwrap_or_else(PoisonError::into_inner);
    let crowd = pair.crowd("outage-restart", 60_000, 16)?;
    let mut worker = crowd.worker("w1");
    crowd.await_arrival(0.2);
    // Lanes write all the time: transactions are open.
    pair.target.kill(1);
    pair.target.restart(1)?;
    crowd.in_mid_run();
    assert!(worker.is_running());
    crowd.await_arrival(0.5);
    pair.source.kill(1);
    pair.source.restart(1)?;
    crowd.in_mid_run();
    assert!(worker.is_running());
    worker.finish().expect(0);
    crowd.is_complete()
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
