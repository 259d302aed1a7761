//! Several workers of one plan: they share its lanes, and whatever happens to one of them, nothing is
//! lost or doubled.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::signal::Signal;

use super::crowd::{Crowd, epochs, writers};
use crate::brokers::{Error, Writing, shared};

#[test]
fn two_that_start_at_the_same_moment_make_one_ledger_and_share_the_lanes() -> Result<(), Error> {
    let crowd = Crowd::new("workers-share", 60_000, 12)?;
    let workers = [crowd.worker("w1"), crowd.worker("w2")];
    crowd.await_writers(&["w1", "w2"]);
    crowd.in_mid_run();
    for worker in workers {
        worker.finish().expect(0);
    }
    crowd.is_complete()
}

#[test]
fn one_joins_in_mid_run_and_the_other_hands_its_lanes_over() -> Result<(), Error> {
    let crowd = Crowd::new("workers-relay", 60_000, 20)?;
    let first = crowd.worker("w1");
    crowd.await_arrival(0.1);
    let second = crowd.worker("w2");
    crowd.await_writers(&["w1", "w2"]);
    first.signal(Signal::SIGTERM);
    let stopped = first.finish().expect(143);
    assert_eq!(stopped.json()["result"], "stopped");
    crowd.in_mid_run();
    second.finish().expect(0);
    // What the first one had left was finished by the second.
    assert!(writers(&crowd.migration.status()).contains("w2"));
    crowd.is_complete()
}

#[test]
fn one_that_is_killed_and_stays_away_is_replaced() -> Result<(), Error> {
    let crowd = Crowd::new("workers-killed", 60_000, 20)?;
    let (first, second) = (crowd.worker("w1"), crowd.worker("w2"));
    crowd.await_writers(&["w1", "w2"]);
    let before = epochs(&crowd.migration.status());
    first.kill();
    crowd.in_mid_run();
    second.finish().expect(0);
    crowd.is_complete()?;
    let after = epochs(&crowd.migration.status());
    assert!(
        before.iter().zip(&after).any(|(before, after)| after > before),
        "{before:?} {after:?}"
    );
    Ok(())
}

#[test]
fn one_that_was_frozen_longer_than_its_session_wakes_as_a_zombie_and_does_no_harm()
-> Result<(), Error> {
    let crowd = Crowd::new("workers-frozen", 80_000, 60)?;
    let (first, second) = (crowd.worker("w1"), crowd.worker("w2"));
    crowd.await_writers(&["w1", "w2"]);
    first.signal(Signal::SIGSTOP);
    // That the other one writes into all lanes says that the session is over.
    crowd.await_writers(&["w2"]);
    crowd.in_mid_run();
    first.signal(Signal::SIGCONT);
    first.finish().expect(0);
    second.finish().expect(0);
    crowd.is_complete()
}

#[test]
fn one_that_is_killed_and_started_again_goes_on_where_it_was() -> Result<(), Error> {
    let crowd = Crowd::new("workers-restart", 60_000, 12)?;
    let worker = crowd.worker("w1");
    crowd.await_arrival(0.2);
    worker.kill();
    let before = epochs(&crowd.in_mid_run());
    let started = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let worker = crowd.worker("w1");
    worker.finish().expect(0);
    crowd.is_complete()?;
    let status = crowd.migration.status();
    assert_eq!(writers(&status).into_iter().collect::<Vec<_>>(), ["w1"]);
    // Every lane was fenced anew, and by the same worker.
    let after = epochs(&status);
    assert!(
        before.iter().zip(&after).all(|(before, after)| after > before),
        "{before:?} {after:?}"
    );
    let old = before.iter().max().copied().unwrap_or(0);
    let carries = crowd.carries();
    let new = carries.iter().filter(|carry| carry["epoch"].as_u64() > Some(old));
    let first = new.filter_map(|carry| carry["at"].as_u64()).min().expect("a new carry");
    println!("from start to the first carry: {} ms", u128::from(first).saturating_sub(started));
    Ok(())
}

#[test]
fn one_that_is_killed_again_and_again_finishes_in_the_end() -> Result<(), Error> {
    let crowd = Crowd::new("workers-again", 80_000, 16)?;
    // Moments are random; which they were is said.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").subsec_nanos();
    let mut random = u64::from(nanos) | 1;
    for life in 0..5 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let until = crowd.arrived(false) + i64::try_from(random % 12_000).expect("small");
        println!("life {life} ends at {until}");
        let mut worker = crowd.worker("w1");
        super::harness::eventually("it goes on", || crowd.arrived(false) > until);
        assert!(worker.is_running(), "killed in mid-run");
        worker.kill();
    }
    crowd.in_mid_run();
    crowd.worker("w1").finish().expect(0);
    crowd.is_complete()
}

#[test]
fn one_that_died_between_its_offsets_and_its_commit_holds_nobody_up() -> Result<(), Error> {
    let mut crowd = Crowd::new("workers-pending", 2_000, 1)?;
    crowd.worker("w1").finish().expect(0);
    // What a lane leaves when it dies at this point, by the lane's own transactional id.
    let id = format!("{}-0", crowd.migration.group());
    let dead = shared::clusters().target_oracle.transactional(&id, &[])?;
    dead.begin()?;
    dead.send_offsets(&crowd.migration.group(), &[(&crowd.migration.ledger(), 0, 1_000)])?;
    dead.abandon();
    let more = crowd.numbered.after(1_000);
    shared::clusters().source_oracle.produce_numbered(&more, &Writing::default())?;
    crowd.worker("w1").finish().expect(0);
    crowd.numbered.count = 3_000;
    crowd.is_complete()
}
