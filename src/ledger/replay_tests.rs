use super::*;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::ledger::{Anchor, BindPartition, CarryPartition, Done, Found, Runs};

pub(super) fn header() -> Header {
    Header {
        plan: "orders-eu".to_owned(),
        generation: 1,
        lanes: 4,
        source_cluster: "old".to_owned(),
        target_cluster: "new".to_owned(),
        partition_role: Role::Lane(3),
        tool: "0.1.0".to_owned(),
        created: 1,
    }
}

pub(super) fn bind(partitions: &[i32], start: i64, target_start: i64) -> Bind {
    let one = |partition: &i32| BindPartition {
        topic: "orders".into(),
        partition: *partition,
        topic_id: Some("AAAA".to_owned()),
        target_topic: "orders-eu".into(),
        target_topic_id: None,
        start,
        target_start,
        found: Found::Empty,
    };
    Bind {
        worker: "w".to_owned(),
        epoch: 1,
        naming: "same".to_owned(),
        start: "earliest".to_owned(),
        partitions: partitions.iter().map(one).collect(),
    }
}

/// What a transaction moves of a partition at `first`: records at these steps from it and from the
/// target's end, then as many source offsets without records.
pub(super) fn moved(
    partition: i32,
    (first, target_next): (i64, i64),
    steps: &[(i64, i64)],
    control_records: i64,
) -> CarryPartition {
    let (mut runs, mut digest, mut anchor) = (Runs::default(), SequenceDigest::EMPTY, None);
    let (mut source, mut target) = (first - 1, target_next - 1);
    for (source_step, target_step) in steps {
        (source, target) = (source + source_step, target + target_step);
        runs.push(source, target);
        let record = RecordDigest(u128::from(source.unsigned_abs()) << 70 | 5);
        digest.push(record);
        anchor = Some(Anchor { offset: source, epoch: Some(2), digest: record, timestamp: None });
    }
    CarryPartition {
        topic: "orders".into(),
        partition,
        first,
        next: source + 1 + control_records,
        runs,
        read: steps.len() as u64 + 1,
        written: steps.len() as u64,
        filtered: 1,
        dead: 0,
        bytes: 10 * steps.len() as u64,
        digest,
        anchor,
        untimed: 0,
    }
}

pub(super) fn carry(
    seq: u64,
    epoch: u64,
    snapshot: Option<i64>,
    partitions: Vec<CarryPartition>,
) -> Carry {
    Carry { seq, part: 1, parts: 1, worker: "w".to_owned(), epoch, snapshot, at: 9, partitions }
}

/// A bound lane with one carry of partition 0, at source offset 12 and target offset 102.
fn begun() -> LaneState {
    let mut state = LaneState::default();
    state.apply(0, Entry::Header(header())).unwrap();
    state.apply(1, Entry::Bind(bind(&[0, 1], 10, 100))).unwrap();
    let first = moved(0, (10, 100), &[(1, 1), (1, 1)], 0);
    state.apply(3, Entry::Carry(carry(1, 1, None, vec![first]))).unwrap();
    state
}

fn refused(state: &LaneState, entry: Entry) -> String {
    match state.clone().apply(state.next_offset, entry) {
        Err(ReplayError::Damaged { offset, what }) => {
            assert_eq!(offset, state.next_offset);
            what
        }
        other => panic!("not refused as damaged: {other:?}"),
    }
}

fn refused_carry(change: impl FnOnce(&mut Carry)) -> String {
    let state = begun();
    let mut carry = carry(2, 1, None, vec![moved(0, (12, 102), &[(1, 1), (2, 1)], 3)]);
    state.clone().apply(9, Entry::Carry(carry.clone())).unwrap();
    change(&mut carry);
    refused(&state, Entry::Carry(carry))
}

#[test]
fn a_carry_adds_to_what_was_moved() {
    let mut state = begun();
    let next = moved(0, (12, 102), &[(1, 5), (2, 1)], 3);
    state.apply(9, Entry::Carry(carry(2, 7, None, vec![next]))).unwrap();
    let orders = &state.partitions[&TopicPartition::new("orders", 0)];
    assert_eq!((orders.next, orders.target_next), (18, 108));
    assert_eq!((orders.records, orders.read, orders.filtered, orders.bytes), (4, 6, 2, 40));
    assert_eq!(orders.digest.count, 4);
    assert_eq!(orders.anchor.map(|anchor| anchor.offset), Some(14));
    assert_eq!((state.last_seq, state.last_epoch, state.next_offset), (2, 7, 10));
    assert_eq!(state.carries_since_snapshot, 2);
    let untouched = &state.partitions[&TopicPartition::new("orders", 1)];
    assert_eq!((untouched.next, untouched.target_next, untouched.records), (10, 100, 0));
}

#[test]
fn a_lane_begins_with_its_header() {
    let empty = LaneState::default();
    assert_eq!(
        refused(&empty, Entry::Bind(bind(&[0], 0, 0))),
        "the first entry is a `bind`, not a `header`"
    );
    assert_eq!(refused(&begun(), Entry::Header(header())), "a second `header`");
    for partition_role in [Role::Control, Role::Lane(4)] {
        let other = Header { partition_role, ..header() };
        assert!(refused(&empty, Entry::Header(other.clone())).contains("role"));
        assert!(LaneState::from_snapshot(other).is_err());
    }
}

#[test]
fn control_entries_do_not_belong_in_a_lane() {
    let done = Done { fence: "f".to_owned(), at: 0, worker: "w".to_owned(), records: 0, bytes: 0 };
    assert_eq!(refused(&begun(), Entry::Done(done)), "a `done` belongs in the control partition");
}

#[test]
fn carries_have_no_hole_and_no_double() {
    assert_eq!(refused_carry(|carry| carry.seq = 3), "carry 3 follows carry 1");
    assert_eq!(refused_carry(|carry| carry.seq = 1), "carry 1 follows carry 1");
}

#[test]
fn a_carry_begins_where_the_one_before_ended() {
    let what = refused_carry(|carry| carry.partitions[0].first = 11);
    assert_eq!(what, "carry 2 of `orders-0` begins at 11, but the position is 12");
    assert!(refused_carry(|carry| carry.partitions[0].next = 11).contains("goes back from 12"));
    assert!(refused_carry(|carry| carry.partitions[0].next = 14).contains("carries 14"));
}

#[test]
fn target_offsets_rise_over_all_carries() {
    let what = refused_carry(|carry| {
        carry.partitions[0] = moved(0, (12, 101), &[(1, 1), (2, 1)], 3);
    });
    let expected = "carry 2 of `orders-0` writes to target offset 101, but the one before was 101";
    assert_eq!(what, expected);
}

#[test]
fn a_carry_whose_numbers_contradict_each_other_is_refused() {
    let contradictions: [fn(&mut CarryPartition); 5] = [
        |part| part.written += 1,
        |part| part.digest = SequenceDigest::EMPTY,
        |part| part.dead += 1,
        |part| part.untimed = 3,
        |part| part.read = u64::MAX,
    ];
    for contradiction in contradictions {
        let what = refused_carry(|carry| contradiction(&mut carry.partitions[0]));
        assert!(what.contains("says"), "{what}");
    }
    let what = refused_carry(|carry| carry.partitions[0].bytes = u64::MAX);
    assert!(what.contains("64 bits"), "{what}");
}

#[test]
fn only_bound_partitions_are_carried_and_each_is_bound_once() {
    assert_eq!(refused_carry(|carry| carry.partitions[0].partition = 9), "`orders-9` is not bound");
    let again = Entry::Bind(bind(&[1], 0, 0));
    assert_eq!(refused(&begun(), again), "`orders-1` is bound a second time");
}

#[test]
fn the_ownership_epoch_never_falls() {
    let what = refused_carry(|carry| carry.epoch = 0);
    assert_eq!(what, "`w` writes under epoch 0, after epoch 1");
}

#[test]
fn a_carry_names_a_snapshot_that_was_there() {
    let what = refused_carry(|carry| carry.snapshot = Some(2));
    assert_eq!(what, "carry 2 names a snapshot that is not there");
}

#[test]
fn a_gap_advances_the_position_and_is_remembered() {
    let gap = |from, to| Gap {
        topic: "orders".into(),
        partition: 0,
        from,
        to,
        reason: "expired".to_owned(),
        at: 4,
    };
    let mut state = begun();
    assert!(refused(&state, Entry::Gap(gap(11, 20))).contains("the position is 12"));
    assert!(refused(&state, Entry::Gap(gap(12, 11))).contains("is none"));
    state.apply(4, Entry::Gap(gap(12, 20))).unwrap();
    let orders = &state.partitions[&TopicPartition::new("orders", 0)];
    assert_eq!((orders.next, orders.gaps.len()), (20, 1));
    state.apply(5, Entry::Gap(gap(20, 20))).unwrap();
    let orders = &state.partitions[&TopicPartition::new("orders", 0)];
    assert_eq!((orders.next, orders.gaps.len()), (20, 2), "expired deletions have no length");
}

#[test]
fn a_partition_that_was_only_bound_is_complete_since_its_ledger_began() {
    let created = header().created;
    assert!(begun().partitions.values().all(|state| state.caught_up_at == Some(created)));
}

#[test]
fn a_carry_counts_only_when_all_its_parts_are_read() {
    let state = begun();
    let steps: Vec<(i64, i64)> = (0..200).map(|i| (1 + i * i % 7, 1)).collect();
    let whole =
        carry(2, 1, None, vec![moved(0, (12, 102), &steps, 0), moved(1, (10, 100), &[], 5)]);
    let parts = whole.clone().into_parts(550);
    assert!(parts.len() > 3, "{}", parts.len());
    let mut in_one = state.clone();
    in_one.apply(4, Entry::Carry(whole)).unwrap();
    let mut in_parts = state.clone();
    for (offset, part) in (4..).zip(&parts) {
        assert_eq!(in_parts.last_seq, 1);
        assert!(in_parts.check_end().is_ok() == (offset == 4));
        in_parts.apply(offset, part.clone()).unwrap();
    }
    assert!(in_parts.check_end().is_ok());
    in_one.next_offset = in_parts.next_offset;
    assert_eq!(in_parts, in_one);

    let mut torn = state.clone();
    torn.apply(4, parts[0].clone()).unwrap();
    assert!(refused(&torn, parts[2].clone()).contains("part 3 of"));
    assert!(refused(&torn, Entry::Bind(bind(&[7], 0, 0))).contains("between the parts"));
    assert!(refused(&state, parts[1].clone()).contains("follows part 0"));
    let Entry::Carry(other) = &parts[1] else { panic!("a carry") };
    let other = Carry { worker: "x".to_owned(), ..other.clone() };
    assert_eq!(refused(&torn, Entry::Carry(other)), "the parts of carry 2 differ");
}

#[test]
fn a_snapshot_that_contradicts_the_replay_is_refused() {
    let state = begun();
    let mut snapshot = state.snapshot("w", 1, 50);
    snapshot.partitions[0].state.next += 1;
    let what = refused(&state, Entry::Snapshot(snapshot.clone()));
    assert!(what.ends_with("about `orders-0`"), "{what}");
    snapshot.partitions.pop();
    assert!(refused(&state, Entry::Snapshot(snapshot)).contains("contradicts"));
    let mut snapshot = state.snapshot("w", 1, 50);
    snapshot.partitions[0].state.records += 1;
    let from_here = LaneState::from_snapshot(header()).unwrap();
    assert!(refused(&from_here, Entry::Snapshot(snapshot)).contains("contradicts itself"));
}

#[test]
fn a_replay_from_a_snapshot_begins_with_one() {
    let from_here = LaneState::from_snapshot(header()).unwrap();
    assert!(from_here.check_end().is_err());
    let what = refused(&from_here, Entry::Bind(bind(&[0], 0, 0)));
    assert_eq!(what, "a `bind` where a `snapshot` was said to be");
}

#[test]
fn a_snapshot_keeps_when_a_partition_was_caught_up() {
    let mut live = begun();
    live.caught_up(&TopicPartition::new("orders", 1), 77);
    let mut replayed = begun();
    for entry in live.to_snapshot("w", 1, 80) {
        replayed.apply(replayed.next_offset, entry).unwrap();
    }
    assert_eq!(replayed.partitions, live.partitions);
}

#[test]
fn an_entry_is_not_read_twice() {
    let mut state = begun();
    let gap = moved(0, (12, 102), &[], 1);
    assert!(state.apply(3, Entry::Carry(carry(2, 1, None, vec![gap]))).is_err());
}

#[test]
fn an_entry_of_a_newer_version_says_where_it_is() {
    let error = begun().apply_bytes(8, br#"{"v":2,"kind":"carry"}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry at offset 8: format version 2, but this onceover reads up to version 1"
    );
}
