//! The reference: what must be true of target, ledger and group, whatever was done to the lane.
//!
//! The lane as an abstract machine has one variable per partition, the next source offset, and one number,
//! the last carry. A transaction moves them forward, never back. Everything that is visible follows from
//! them and from the source's log:
//!
//! ```text
//!  target partition  =  committed source records below `next`, each once, in order
//!  ledger            =  replays without damage to `next` and `seq`; its runs name the target offsets
//!  group             =  `next` of every partition, and `seq`
//! ```
//!
//! [`Reference::check`] is asked after every action, while all lanes stand still.

use std::collections::BTreeMap;

use super::stage::World;
use crate::ledger::{Entry, LaneState, decode};
use crate::pipe::gather::Pair;
use crate::plan::TopicPartition;

/// The abstract machine.
#[derive(Debug)]
pub(super) struct Reference {
    pairs: Vec<Pair>,
    ledger: TopicPartition,
    next: BTreeMap<TopicPartition, i64>,
    seq: u64,
    /// What was found at the target's last decision.
    last: Option<(u64, LaneState)>,
    /// Somebody has deleted or set back the group's offsets: they may be behind until they are rewritten.
    pub(super) group_lost: bool,
}

fn fail<T>(what: impl Into<String>) -> Result<T, String> {
    Err(what.into())
}

impl Reference {
    pub(super) fn new(pairs: Vec<Pair>, ledger: TopicPartition) -> Self {
        Self { pairs, ledger, next: BTreeMap::new(), seq: 0, last: None, group_lost: false }
    }

    /// Compares what is decided by now with the machine, and moves it on. Returns the ledger's state.
    pub(super) fn check(&mut self, world: &World) -> Result<LaneState, String> {
        if let Some((decisions, state)) = &self.last
            && *decisions == world.target.decisions
        {
            return Ok(state.clone());
        }
        // What is decided is as good as done: markers only follow.
        let mut target = world.target.clone();
        target.write_markers();
        let mut state = LaneState::default();
        let mut runs: BTreeMap<TopicPartition, Vec<(i64, i64)>> = BTreeMap::new();
        for (offset, bytes) in target.logs[&self.ledger].committed(0) {
            if let Ok(Entry::Carry(carry)) = decode(bytes) {
                for part in &carry.partitions {
                    runs.entry(part.at()).or_default().extend(part.runs.iter());
                }
            }
            state.apply_bytes(offset, bytes).map_err(|error| format!("the ledger is {error}"))?;
        }
        state.check_end().map_err(|error| format!("the ledger is {error}"))?;
        for pair in &self.pairs {
            let known = state.partitions.get(&pair.source);
            let next = known.map_or(0, |known| known.next);
            let expected = world.source[&pair.source].committed(0);
            let expected: Vec<_> = expected.take_while(|(offset, _)| *offset < next).collect();
            let found: Vec<_> = target.logs[&pair.target].committed(0).collect();
            let bytes = |records: &[(i64, &[u8])]| -> Vec<Vec<u8>> {
                records.iter().map(|(_, bytes)| bytes.to_vec()).collect()
            };
            if bytes(&expected) != bytes(&found) {
                return fail(format!(
                    "target {} shows {:?}; the source has {:?} below {next}",
                    pair.target,
                    numbers(&found),
                    numbers(&expected)
                ));
            }
            let mapped: Vec<_> = expected.iter().zip(&found).map(|(s, t)| (s.0, t.0)).collect();
            let told = runs.remove(&pair.source).unwrap_or_default();
            if mapped != told {
                return fail(format!("the runs of {} say {told:?}, not {mapped:?}", pair.source));
            }
            if let Some(doomed) = found
                .iter()
                .find(|(offset, _)| world.target.doomed.contains(&(pair.target.clone(), *offset)))
            {
                return fail(format!("a fenced epoch's record {} is visible", doomed.0));
            }
        }
        self.advance(&state)?;
        self.check_group(target.offsets(), &state)?;
        self.last = Some((world.target.decisions, state.clone()));
        Ok(state)
    }

    fn advance(&mut self, state: &LaneState) -> Result<(), String> {
        if state.last_seq < self.seq {
            return fail(format!("carry {} after carry {}", state.last_seq, self.seq));
        }
        self.seq = state.last_seq;
        for (at, known) in &state.partitions {
            let next = self.next.entry(at.clone()).or_insert(known.next);
            if known.next < *next {
                return fail(format!(
                    "the position of {at} went from {next} back to {}",
                    known.next
                ));
            }
            *next = known.next;
        }
        Ok(())
    }

    fn check_group(
        &mut self,
        offsets: &BTreeMap<TopicPartition, i64>,
        state: &LaneState,
    ) -> Result<(), String> {
        let seq = i64::try_from(state.last_seq).expect("a small number");
        let mut wanted = vec![(&self.ledger, seq)];
        for pair in &self.pairs {
            if let Some(known) = state.partitions.get(&pair.source) {
                wanted.push((&pair.target, known.next));
            }
        }
        let mut same = true;
        for (at, wanted) in wanted {
            let has = offsets.get(at).copied();
            same &= has == Some(wanted) || (has.is_none() && state.header.is_none());
            if has.is_some_and(|has| has > wanted) {
                return fail(format!("the group is at {has:?} of {at}, ahead of {wanted}"));
            }
            if !same && !self.group_lost {
                return fail(format!("the group is at {has:?} of {at}, the ledger at {wanted}"));
            }
        }
        self.group_lost &= !same;
        Ok(())
    }
}

/// The numbers that records carry.
fn numbers(records: &[(i64, &[u8])]) -> Vec<u64> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(u64::MAX, u64::from_be_bytes);
    records.iter().map(|(_, bytes)| number(bytes)).collect()
}
