//! Ctrl-C and SIGTERM on a one-shot run.

use nix::sys::signal::Signal;

use super::crowd::Crowd;
use crate::brokers::Error;

#[test]
fn the_first_signal_commits_and_the_next_run_goes_on() -> Result<(), Error> {
    let crowd = Crowd::new("signals-first", 60_000, 16)?;
    let mut before = 0;
    for (signal, code, part) in [(Signal::SIGINT, 130, 0.1), (Signal::SIGTERM, 143, 0.3)] {
        let mut running = crowd.worker("w1");
        // Before it works there is nothing to commit, and a signal simply ends it.
        running.wait_for("lanes assigned");
        crowd.await_arrival(part);
        running.signal(signal);
        let summary = running.finish().expect(code).json();
        assert_eq!(summary["result"], "stopped", "{summary}");
        let status = crowd.in_mid_run();
        // What the summary counts is committed, and all that is committed was counted.
        let after = status["records"].as_u64().unwrap_or(0);
        assert_eq!(summary["records"].as_u64(), Some(after - before), "{summary} {status}");
        before = after;
    }
    let last = crowd.worker("w1").finish().expect(0).json();
    assert_eq!(last["records"].as_u64(), Some(crowd.numbered.count - before));
    crowd.is_complete()
}
