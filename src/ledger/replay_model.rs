//! Random histories of a lane, against a model that keeps the same facts the plain way.

use std::sync::Arc;

use proptest::prelude::*;

use super::tests::{bind, carry, header, moved};
use super::*;
use crate::digest::RecordDigest;
use crate::ledger::{Phase, encode};

/// Which partition, its records' steps, and how many control records follow.
type Touched = (prop::sample::Index, Vec<(i64, i64)>, i64);

/// What can happen in a lane.
#[derive(Debug, Clone)]
enum Step {
    Bind { start: i64, target_start: i64 },
    Carry(Vec<Touched>),
    Gap(prop::sample::Index, i64),
    Snapshot,
    CaughtUp(prop::sample::Index),
    Phase(Phase),
    NewOwner,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let records = prop::collection::vec((1i64..5, 1i64..3), 0..25);
    let moved = (any::<prop::sample::Index>(), records, 0i64..3);
    let step = prop_oneof![
        2 => (0i64..50, 0i64..50)
            .prop_map(|(start, target_start)| Step::Bind { start, target_start }),
        8 => prop::collection::vec(moved, 0..4).prop_map(Step::Carry),
        1 => (any::<prop::sample::Index>(), 1i64..9).prop_map(|(of, len)| Step::Gap(of, len)),
        2 => Just(Step::Snapshot),
        1 => any::<prop::sample::Index>().prop_map(Step::CaughtUp),
        1 => prop_oneof![Just(Phase::Draining), Just(Phase::Tailing)].prop_map(Step::Phase),
        1 => Just(Step::NewOwner),
    ];
    prop::collection::vec(step, 0..25)
}

/// The same facts, kept the plain way, and the log that tells them.
#[derive(Default)]
struct Model {
    log: Vec<(i64, Vec<u8>)>,
    snapshots: Vec<i64>,
    /// Next source offset, next target offset, all records, read.
    partitions: Vec<(i64, i64, Vec<RecordDigest>, u64)>,
    seq: u64,
    epoch: u64,
}

impl Model {
    /// Writes the entries of one transaction, applies them, and returns where they begin.
    fn commit(&mut self, state: &mut LaneState, entries: Vec<Entry>) -> i64 {
        let first = state.next_offset + 1; // the marker of the transaction before
        for (offset, entry) in (first..).zip(entries) {
            let bytes = encode(&entry);
            state.apply_bytes(offset, &bytes).unwrap();
            self.log.push((offset, bytes));
        }
        state.check_end().unwrap();
        first
    }

    fn run(&mut self, state: &mut LaneState, step: Step) {
        match step {
            Step::Bind { start, target_start } => {
                let number = i32::try_from(self.partitions.len()).unwrap();
                let bind = Bind { epoch: self.epoch, ..bind(&[number], start, target_start) };
                self.partitions.push((start, target_start, Vec::new(), 0));
                self.commit(state, bind.into_parts(100));
            }
            Step::Carry(touched) => {
                let mut by_partition = BTreeMap::new();
                if !self.partitions.is_empty() {
                    for (of, steps, control) in touched {
                        by_partition.insert(of.index(self.partitions.len()), (steps, control));
                    }
                }
                let mut partitions = Vec::new();
                for (number, (steps, control)) in by_partition {
                    let (next, target_next, records, read) = &mut self.partitions[number];
                    let number = i32::try_from(number).unwrap();
                    let part = moved(number, (*next, *target_next), &steps, control + 1);
                    *next = part.next;
                    if let Some((_, target)) = part.runs.last() {
                        *target_next = target + 1;
                    }
                    let digest = |(source, _): (i64, i64)| {
                        RecordDigest(u128::from(source.unsigned_abs()) << 70 | 5)
                    };
                    records.extend(part.runs.iter().map(digest));
                    *read += part.read;
                    partitions.push(part);
                }
                self.seq += 1;
                let snapshot = self.snapshots.last().copied();
                let carry = carry(self.seq, self.epoch, snapshot, partitions);
                self.commit(state, carry.into_parts(600));
            }
            Step::Gap(of, len) => {
                if self.partitions.is_empty() {
                    return;
                }
                let number = of.index(self.partitions.len());
                let next = &mut self.partitions[number].0;
                let gap = Gap {
                    topic: Arc::from("orders"),
                    partition: i32::try_from(number).unwrap(),
                    from: *next,
                    to: *next + len,
                    reason: "expired".to_owned(),
                    at: 3,
                };
                *next += len;
                self.commit(state, vec![Entry::Gap(gap)]);
            }
            Step::Snapshot => {
                let parts = state.snapshot("w", self.epoch, 70).into_parts(900);
                let first = self.commit(state, parts);
                self.snapshots.push(first);
            }
            Step::CaughtUp(of) => {
                // Only the next snapshot tells; without one a replay does not know.
                if !self.partitions.is_empty() {
                    let number = i32::try_from(of.index(self.partitions.len())).unwrap();
                    state.caught_up(&TopicPartition::new("orders", number), 66);
                    self.run(state, Step::Snapshot);
                }
            }
            Step::Phase(phase) => {
                let phase = PhaseChange { wave: "all".to_owned(), phase, at: 8 };
                self.commit(state, vec![Entry::Phase(phase)]);
            }
            Step::NewOwner => self.epoch += 1,
        }
    }
}

fn happened(steps: Vec<Step>) -> (Model, LaneState) {
    let (mut model, mut state) = (Model { epoch: 1, ..Model::default() }, LaneState::default());
    let bytes = encode(&Entry::Header(header()));
    state.apply_bytes(0, &bytes).unwrap();
    model.log.push((0, bytes));
    for step in steps {
        model.run(&mut state, step);
    }
    (model, state)
}

fn replay<'a>(
    mut state: LaneState,
    log: impl IntoIterator<Item = &'a (i64, Vec<u8>)>,
) -> Result<LaneState, ReplayError> {
    for (offset, bytes) in log {
        state.apply_bytes(*offset, bytes)?;
    }
    state.check_end()?;
    Ok(state)
}

proptest! {
    #[test]
    fn a_replay_from_anywhere_gives_what_happened(steps in steps()) {
        let (model, live) = happened(steps);
        prop_assert_eq!(&replay(LaneState::default(), &model.log).unwrap(), &live);
        for snapshot in &model.snapshots {
            let tail = model.log.iter().filter(|(offset, _)| offset >= snapshot);
            let from_here = LaneState::from_snapshot(header()).unwrap();
            prop_assert_eq!(&replay(from_here, tail).unwrap(), &live);
        }
        prop_assert_eq!(live.partitions.len(), model.partitions.len());
        for (number, (next, target_next, records, read)) in (0..).zip(&model.partitions) {
            let state = &live.partitions[&TopicPartition::new("orders", number)];
            prop_assert_eq!((state.next, state.target_next), (*next, *target_next));
            prop_assert_eq!((state.records, state.read), (records.len() as u64, *read));
            prop_assert_eq!(state.digest, records.iter().copied().collect());
        }
        prop_assert_eq!(live.last_seq, model.seq);
        prop_assert_eq!(live.last_snapshot, model.snapshots.last().copied());
    }

    #[test]
    fn the_end_of_the_log_tells_where_the_latest_snapshot_is(steps in steps()) {
        let (model, live) = happened(steps);
        let told = model.log.iter().rev().find_map(|(offset, bytes)| {
            let entry = decode(bytes).unwrap();
            matches!(entry, Entry::Carry(_) | Entry::Snapshot(_))
                .then(|| entry.snapshot_before(*offset))
        });
        prop_assert_eq!(told.flatten(), live.last_snapshot);
    }

    #[test]
    fn a_log_without_one_of_its_carries_is_refused(
        steps in steps(), lost in any::<prop::sample::Index>(),
    ) {
        let (model, _) = happened(steps);
        let carries: Vec<usize> = (0..model.log.len())
            .filter(|n| matches!(decode(&model.log[*n].1), Ok(Entry::Carry(_))))
            .collect();
        prop_assume!(carries.len() > 1);
        let lost = carries[lost.index(carries.len() - 1)];
        let mut log = model.log;
        log.remove(lost);
        prop_assert!(replay(LaneState::default(), &log).is_err());
    }

    #[test]
    fn carries_in_another_order_are_refused(
        steps in steps(), which in any::<prop::sample::Index>(),
    ) {
        let (model, _) = happened(steps);
        let mut log = model.log;
        let carries: Vec<usize> = (0..log.len())
            .filter(|n| matches!(decode(&log[*n].1), Ok(Entry::Carry(_))))
            .collect();
        prop_assume!(carries.len() > 1);
        let which = which.index(carries.len() - 1);
        let (one, other) = (carries[which], carries[which + 1]);
        let first = log[one].1.clone();
        log[one].1 = std::mem::replace(&mut log[other].1, first);
        prop_assert!(replay(LaneState::default(), &log).is_err());
    }
}
