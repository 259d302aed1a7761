//! Who owns which lane, through joins, leaves, kills and freezes.

use super::member_process::MemberProcess;
use super::{SOON, next, sole_member, target};
use crate::brokers::{Error, shared};
use nix::sys::signal::Signal;
use onceover::cluster::{Class, Connection, MemberEvent, Membership, Token};
use onceover::error::Side;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

fn ledger(plan: &str, lanes: usize) -> Result<String, Error> {
    let name = format!("{plan}-ledger");
    shared::clusters().target_oracle.create_topic(&name, lanes, &[])?;
    Ok(name)
}

fn join(plan: &str, instance: &str) -> (Arc<Membership>, Receiver<MemberEvent>) {
    let (sender, events) = channel();
    let ledger = format!("{plan}-ledger");
    let member = Membership::join(&target(), plan, instance, &ledger, sender).expect("joins");
    (member, events)
}

fn assigned(events: &Receiver<MemberEvent>) -> Vec<i32> {
    match next(events) {
        MemberEvent::Assigned(mut lanes) => {
            lanes.sort_unstable();
            lanes
        }
        other => panic!("{other:?} instead of an assignment"),
    }
}

fn revoked(events: &Receiver<MemberEvent>) -> (Vec<i32>, Token) {
    match next(events) {
        MemberEvent::Revoked(lanes, token) => (lanes, token),
        other => panic!("{other:?} instead of a revoke"),
    }
}

#[test]
fn what_the_group_takes_back_stays_ours_until_it_is_acknowledged() {
    let plan = "member-share";
    let (first, first_events) = sole_member(plan, 4);
    assert!((0..4).all(|lane| first.owns(lane)) && !first.owns(4));
    let (second, second_events) = join(plan, "w2");
    let (lanes, token) = revoked(&first_events);
    assert_eq!(lanes.len(), 2);
    // The lane's last transaction may take a while.
    let early = second_events.recv_timeout(Duration::from_secs(3));
    assert_eq!(early, Err(RecvTimeoutError::Timeout));
    assert!((0..4).all(|lane| first.owns(lane)), "nothing was given back yet");
    assert!((0..4).all(|lane| !second.owns(lane)));
    first.acknowledge(token);
    assert_eq!(assigned(&second_events), lanes);
    assert!((0..4).all(|lane| first.owns(lane) != second.owns(lane)));
    first.leave(SOON).expect("left");
    assert_eq!(assigned(&second_events).len(), 2);
    assert!((0..4).all(|lane| second.owns(lane) && !first.owns(lane)));
}

#[test]
fn leaving_hands_the_lanes_over_at_once_even_with_a_revoke_unanswered() {
    let plan = "member-leave";
    let (first, first_events) = sole_member(plan, 4);
    let (_second, second_events) = join(plan, "w2");
    let (_lanes, _unanswered) = revoked(&first_events);
    let begun = Instant::now();
    first.leave(SOON).expect("left");
    let mut lanes = assigned(&second_events);
    if lanes.len() < 4 {
        lanes.extend(assigned(&second_events));
    }
    println!("handed over after {:?}", begun.elapsed());
    lanes.sort_unstable();
    assert_eq!(lanes, [0, 1, 2, 3]);
    assert!((0..4).all(|lane| !first.owns(lane)));
    assert_eq!(first.leave(SOON), Ok(()), "leaving twice is leaving once");
}

#[test]
fn a_killed_worker_gets_its_lanes_back_and_nobody_else_notices() -> Result<(), Error> {
    let plan = "member-kill";
    ledger(plan, 4)?;
    let mut process = MemberProcess::start(plan, "w1");
    assert_eq!(process.next(), "assigned [0, 1, 2, 3]");
    let (_other, other_events) = join(plan, "w2");
    let given_up = process.next();
    let others = assigned(&other_events);
    assert_eq!(given_up, format!("revoked {others:?}"));
    process.kill();
    let begun = Instant::now();
    let again = MemberProcess::start(plan, "w1");
    let ours: Vec<i32> = (0..4).filter(|lane| !others.contains(lane)).collect();
    assert_eq!(again.next(), format!("assigned {ours:?}"));
    println!("back after {:?}", begun.elapsed());
    assert!(other_events.try_recv().is_err(), "the other worker kept what it had");
    Ok(())
}

#[test]
fn a_second_worker_of_the_same_name_takes_over() {
    let plan = "member-twice";
    let (first, first_events) = sole_member(plan, 2);
    let (second, second_events) = join(plan, "w1");
    assert_eq!(assigned(&second_events), [0, 1]);
    let MemberEvent::Fatal(error) = next(&first_events) else { panic!("it was fenced") };
    assert_eq!((error.side, error.class), (Side::Target, Class::TakenOver));
    assert!(!first.owns(0) && second.owns(0));
    // The loser does not take the winner's lanes with it.
    drop(first.leave(SOON));
    drop(first);
    assert!(second.owns(0) && second.owns(1));
    assert!(second_events.try_recv().is_err());
}

#[test]
fn a_frozen_worker_loses_its_lanes_and_learns_it_when_it_wakes() -> Result<(), Error> {
    let plan = "member-frozen";
    ledger(plan, 2)?;
    let mut process = MemberProcess::start(plan, "w1");
    assert_eq!(process.next(), "assigned [0, 1]");
    let (other, other_events) = join(plan, "w2");
    let given_up = process.next();
    let mut ours = assigned(&other_events);
    assert_eq!(given_up, format!("revoked {ours:?}"));
    process.signal(Signal::SIGSTOP);
    ours.extend(assigned(&other_events));
    assert_eq!(ours.len(), 2, "the session timed out");
    assert!(other.owns(0) && other.owns(1));
    process.signal(Signal::SIGCONT);
    assert_eq!(process.next(), format!("lost [{}]", ours[1]));
    // It comes back as any other worker, and leaves in order.
    let (lanes, token) = revoked(&other_events);
    other.acknowledge(token);
    assert_eq!(process.next(), format!("assigned {lanes:?}"));
    process.leave();
    assert_eq!(process.next(), "left true");
    assert_eq!(assigned(&other_events), lanes);
    Ok(())
}

#[test]
fn leaving_a_cluster_that_does_not_answer_does_not_hang() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let bootstrap = format!("127.0.0.1:{port}");
    let nowhere = Connection::new(Side::Target, &bootstrap, &BTreeMap::new(), "test");
    let (sender, _events) = channel();
    let member = Membership::join(&nowhere, "g", "w1", "g-ledger", sender).expect("it tries");
    assert!(!member.owns(0));
    // Whatever it says: it comes back.
    drop(member.leave(Duration::from_secs(2)));
}
