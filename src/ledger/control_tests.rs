use proptest::prelude::*;

use super::*;
use crate::ledger::{Phase, ProvedSide, encode};

fn header(lanes: u32) -> Header {
    Header {
        plan: "orders-eu".to_owned(),
        generation: 1,
        lanes,
        source_cluster: "old".to_owned(),
        target_cluster: "new".to_owned(),
        partition_role: Role::Control,
        tool: "0.1.0".to_owned(),
        created: 1,
    }
}

fn fence(id: &str, topics: &[&str]) -> Fence {
    let marks = topics.iter().map(|topic| (TopicPartition::new(*topic, 1), 70));
    Fence::new(id, 5, "w", marks)
}

fn done(fence: &str) -> Done {
    Done { fence: fence.to_owned(), at: 9, worker: "w".to_owned(), records: 3, bytes: 30 }
}

fn begun() -> ControlState {
    let mut state = ControlState::default();
    state.apply(0, Entry::Header(header(2))).unwrap();
    state
}

fn apply(state: &mut ControlState, entry: Entry) {
    state.apply(state.next_offset, entry).unwrap();
}

#[test]
fn a_fence_names_the_high_watermark_of_each_of_its_partitions() {
    let marks = [("orders", 2, 17), ("orders", 0, 0), ("events", 0, 4)];
    let fence = Fence::new(
        "f",
        5,
        "w",
        marks.map(|(topic, partition, mark)| (TopicPartition::new(topic, partition), mark)),
    );
    assert_eq!(
        String::from_utf8(encode(&Entry::Fence(fence.clone()))).unwrap(),
        r#"{"v":1,"kind":"fence","id":"f","part":1,"parts":1,"at":5,"worker":"w","#.to_owned()
            + r#""partitions":{"events":[4],"orders":[0,null,17]}}"#
    );
    for (topic, partition, mark) in marks {
        assert_eq!(fence.get(&TopicPartition::new(topic, partition)), Some(mark));
    }
    for (topic, partition) in [("orders", 1), ("orders", 3), ("orders", -1), ("other", 0)] {
        assert_eq!(fence.get(&TopicPartition::new(topic, partition)), None);
    }
    assert_eq!(fence.iter().count(), 3);
}

#[test]
fn of_two_fences_the_first_one_wins() {
    let mut state = begun();
    apply(&mut state, Entry::Fence(fence("first", &["a"])));
    apply(&mut state, Entry::Fence(fence("second", &["b"])));
    assert_eq!(state.open_fence().map(|fence| &*fence.id), Some("first"));
    assert_eq!(state.fence_status("second"), Some(FenceStatus::Void));
    assert_eq!(state.fence("second"), None);
    apply(&mut state, Entry::Done(done("second")));
    assert_eq!(state.fence_status("first"), Some(FenceStatus::Open));
}

#[test]
fn a_done_closes_its_fence_and_the_next_one_counts() {
    let mut state = begun();
    apply(&mut state, Entry::Fence(fence("first", &["a"])));
    apply(&mut state, Entry::Done(done("first")));
    assert_eq!(state.fence_status("first"), Some(FenceStatus::Done));
    assert_eq!(state.open_fence(), None);
    apply(&mut state, Entry::Fence(fence("first", &["a"])));
    assert_eq!(state.open_fence(), None, "sent again, it does not open anew");
    apply(&mut state, Entry::Fence(fence("second", &["a"])));
    apply(&mut state, Entry::Done(Done { records: 99, ..done("first") }));
    assert_eq!(state.open_fence().map(|fence| &*fence.id), Some("second"));
    let kept: Vec<_> = state.fences().map(|(_, done)| done.map(|done| done.records)).collect();
    assert_eq!(kept, [Some(3), None], "of two `done` the first one holds");
}

#[test]
fn a_fence_in_parts_counts_from_its_last_part() {
    let mut state = begun();
    let whole = fence("large", &["a", "b", "c", "d"]);
    let parts = whole.clone().into_parts(100);
    assert!(parts.len() > 2);
    let (last, others) = parts.split_last().unwrap();
    for part in others.iter().rev().chain(others) {
        apply(&mut state, part.clone());
    }
    assert_eq!(state.fence_status("large"), Some(FenceStatus::Incomplete));
    assert_eq!(state.open_fence(), None);
    apply(&mut state, last.clone());
    assert_eq!(state.open_fence(), Some(&whole));
}

#[test]
fn a_fence_that_becomes_whole_behind_another_is_void() {
    let mut state = begun();
    let parts = fence("large", &["a", "b", "c", "d"]).into_parts(100);
    apply(&mut state, parts[0].clone());
    apply(&mut state, Entry::Fence(fence("small", &["a"])));
    for part in parts {
        apply(&mut state, part);
    }
    assert_eq!(state.fence_status("large"), Some(FenceStatus::Void));
    assert_eq!(state.open_fence().map(|fence| &*fence.id), Some("small"));
}

#[test]
fn of_two_control_headers_the_first_one_holds() {
    let mut state = begun();
    apply(&mut state, Entry::Header(header(7)));
    assert_eq!(state.header.map(|header| header.lanes), Some(2));
}

#[test]
fn refusals_overrides_and_changes_keep_their_offsets() {
    let mut state = begun();
    let text = || "x".to_owned();
    let entries = [
        Entry::Refused(Refused { word: text(), what: text(), at: 1, worker: text() }),
        Entry::Override(Override { what: text(), topics: vec![], reason: text(), at: 1 }),
        Entry::Plan(PlanChange { at: 1, changes: vec![], hash: text() }),
        Entry::Phase(PhaseChange { wave: text(), phase: Phase::Fenced, at: 1 }),
        Entry::Paused(Paused { paused: true, topics: vec![], reason: None, at: 1 }),
    ];
    for (offset, entry) in (10..).zip(entries) {
        state.apply(offset, entry).unwrap();
    }
    assert_eq!(state.refused[0].0, 10);
    assert_eq!(state.overrides[0].0, 11);
    assert_eq!(state.plan_changes[0].0, 12);
    assert_eq!(state.phases[0].0, 13);
    assert_eq!(state.paused[0].0, 14);
    assert_eq!(state.next_offset, 15);
}

#[test]
fn the_last_proof_of_a_partition_counts() {
    let mut state = begun();
    let side = |next| ProvedSide { next, topic_id: None, epoch: None, anchor: None };
    for next in [10, 20] {
        let partition = VerifiedPartition {
            topic: "a".into(),
            partition: 0,
            from: 0,
            records: 1,
            differences: 0,
            digest: None,
            source: side(next),
            target: side(next),
        };
        apply(
            &mut state,
            Entry::Verified(Verified {
                pass: "p".to_owned(),
                at: 1,
                worker: "w".to_owned(),
                plan: "h".to_owned(),
                partitions: vec![partition],
            }),
        );
    }
    assert_eq!(state.verified[&TopicPartition::new("a", 0)].1.source.next, 20);
}

#[test]
fn what_does_not_belong_in_the_control_partition_is_refused() {
    let wrong = |state: &ControlState, entry: Entry| {
        state.clone().apply(state.next_offset, entry).unwrap_err().to_string()
    };
    let fresh = ControlState::default();
    let begun = begun();
    assert!(wrong(&fresh, Entry::Done(done("f"))).contains("not a `header`"));
    let lane = Header { partition_role: Role::Lane(0), ..header(2) };
    assert!(wrong(&fresh, Entry::Header(lane)).contains("role `lane 0`"));
    assert!(wrong(&begun, Entry::Done(done("f"))).contains("never begun"));
    let none = Fence { part: 2, ..fence("f", &["a"]) };
    assert!(wrong(&begun, Entry::Fence(none)).contains("part 2 of 1"));
    let carry = br#"{"v":1,"kind":"carry","seq":1,"part":1,"parts":1,"worker":"w","epoch":1,"at":1,"partitions":[]}"#;
    let error = begun.clone().apply_bytes(1, carry).unwrap_err().to_string();
    assert_eq!(error, "damaged at offset 1: a `carry` belongs in a lane's partition");
    let error = begun.clone().apply_bytes(1, br#"{"v":1,"kind":"song"}"#).unwrap_err().to_string();
    assert_eq!(error, "entry at offset 1: unknown entry kind `song`");
}

proptest! {
    /// Workers that do not know of each other write fences and ends in any order.
    #[test]
    fn never_is_more_than_one_fence_open(moves in prop::collection::vec((0u8..6, any::<bool>()), 0..40)) {
        let mut state = begun();
        let (mut open, mut known, mut void) = (None::<u8>, Vec::new(), Vec::new());
        for (id, begin) in moves {
            let name = format!("f{id}");
            if begin {
                apply(&mut state, Entry::Fence(fence(&name, &["a"])));
                if !known.contains(&id) && !void.contains(&id) {
                    if open.is_none() {
                        open = Some(id);
                        known.push(id);
                    } else {
                        void.push(id);
                    }
                }
            } else if known.contains(&id) || void.contains(&id) {
                apply(&mut state, Entry::Done(done(&name)));
                if open == Some(id) {
                    open = None;
                }
            }
            prop_assert_eq!(
                state.open_fence().map(|fence| fence.id.clone()),
                open.map(|id| format!("f{id}"))
            );
            for id in &known {
                let expected =
                    if open == Some(*id) { FenceStatus::Open } else { FenceStatus::Done };
                prop_assert_eq!(state.fence_status(&format!("f{id}")), Some(expected));
            }
            for id in &void {
                prop_assert_eq!(state.fence_status(&format!("f{id}")), Some(FenceStatus::Void));
            }
        }
    }
}
