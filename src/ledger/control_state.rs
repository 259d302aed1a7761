//! The fold over the control partition. Its entries are not transactional and any worker may write them,
//! so of entries that exclude each other the first valid one in log order wins.

use std::collections::{BTreeMap, BTreeSet};

use super::control::{
    Done, Fence, Override, Paused, PlanChange, Refused, Verified, VerifiedPartition,
};
use super::entry::{Entry, decode};
use super::lane::{Header, PhaseChange, Role};
use super::replay::ReplayError;
use crate::plan::TopicPartition;

/// Everything that the control partition says. Lists keep the ledger offset of each entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlState {
    /// What the ledger belongs to; `None` while the partition is empty.
    pub header: Option<Header>,
    /// Runs that were refused.
    pub refused: Vec<(i64, Refused)>,
    /// Refusals that were overridden.
    pub overrides: Vec<(i64, Override)>,
    /// Changes of the plan.
    pub plan_changes: Vec<(i64, PlanChange)>,
    /// Phases of the waves.
    pub phases: Vec<(i64, PhaseChange)>,
    /// Pauses and their ends.
    pub paused: Vec<(i64, Paused)>,
    /// What was last proved of each partition, and when, in milliseconds since 1970.
    pub verified: BTreeMap<TopicPartition, (i64, VerifiedPartition)>,
    /// Ledger offset to go on reading at.
    pub next_offset: i64,
    fences: Vec<(Fence, Option<Done>)>,
    void: BTreeSet<String>,
    parts: BTreeMap<String, FenceParts>,
}

/// Parts of a fence by their number; those of two writers may lie mixed.
#[derive(Debug, Clone, PartialEq)]
struct FenceParts {
    parts: BTreeMap<u32, Fence>,
    of: u32,
}

/// What became of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceStatus {
    /// Valid, and not reached by all lanes.
    Open,
    /// Valid, and reached.
    Done,
    /// Another one was open when it came: it never counted.
    Void,
    /// Some of its parts are missing.
    Incomplete,
}

impl ControlState {
    /// Adds the entry at `offset` of the control partition. After an error the state must not be used.
    pub fn apply(&mut self, offset: i64, entry: Entry) -> Result<(), ReplayError> {
        let applied = if offset < self.next_offset {
            Err(format!("read again, after {}", self.next_offset - 1))
        } else {
            self.fold(offset, entry)
        };
        applied.map_err(|what| ReplayError::Damaged { offset, what })?;
        self.next_offset = offset + 1;
        Ok(())
    }

    /// Decodes and adds the entry at `offset` of the control partition.
    pub fn apply_bytes(&mut self, offset: i64, bytes: &[u8]) -> Result<(), ReplayError> {
        let entry = decode(bytes).map_err(|error| ReplayError::Unreadable { offset, error })?;
        self.apply(offset, entry)
    }

    /// The fence that a one-shot run goes on with.
    pub fn open_fence(&self) -> Option<&Fence> {
        self.fences.last().filter(|(_, done)| done.is_none()).map(|(fence, _)| fence)
    }

    /// The valid fence with this name, open or done.
    pub fn fence(&self, id: &str) -> Option<&Fence> {
        self.valid(id).map(|(fence, _)| fence)
    }

    /// What became of the fence with this name; `None` if there is none.
    pub fn fence_status(&self, id: &str) -> Option<FenceStatus> {
        match self.valid(id) {
            Some((_, None)) => Some(FenceStatus::Open),
            Some((_, Some(_))) => Some(FenceStatus::Done),
            None if self.void.contains(id) => Some(FenceStatus::Void),
            None => self.parts.contains_key(id).then_some(FenceStatus::Incomplete),
        }
    }

    /// All valid fences in their order, each with what ended it. Only the last can be open.
    pub fn fences(&self) -> impl Iterator<Item = (&Fence, Option<&Done>)> {
        self.fences.iter().map(|(fence, done)| (fence, done.as_ref()))
    }

    fn valid(&self, id: &str) -> Option<&(Fence, Option<Done>)> {
        self.fences.iter().find(|(fence, _)| fence.id == id)
    }

    fn fold(&mut self, offset: i64, entry: Entry) -> Result<(), String> {
        let kind = entry.kind();
        if let Entry::Header(header) = entry {
            return self.header(header);
        }
        if self.header.is_none() {
            return Err(format!("the first entry is a `{kind}`, not a `header`"));
        }
        match entry {
            Entry::Fence(part) => self.fence_part(part)?,
            Entry::Done(done) => self.done(done)?,
            Entry::Verified(verified) => self.verify(verified),
            Entry::Plan(change) => self.plan_changes.push((offset, change)),
            Entry::Override(over) => self.overrides.push((offset, over)),
            Entry::Refused(refused) => self.refused.push((offset, refused)),
            Entry::Phase(phase) => self.phases.push((offset, phase)),
            Entry::Paused(paused) => self.paused.push((offset, paused)),
            Entry::Header(_)
            | Entry::Bind(_)
            | Entry::Carry(_)
            | Entry::Gap(_)
            | Entry::Snapshot(_) => {
                return Err(format!("a `{kind}` belongs in a lane's partition"));
            }
        }
        Ok(())
    }

    /// Two workers may both find the partition empty and write a header: the first one holds, and the
    /// writer of the second finds out when it reads it back.
    fn header(&mut self, header: Header) -> Result<(), String> {
        if header.partition_role != Role::Control {
            return Err(format!("a control header with the role `{}`", header.partition_role));
        }
        self.header.get_or_insert(header);
        Ok(())
    }

    fn fence_part(&mut self, part: Fence) -> Result<(), String> {
        let id = part.id.clone();
        if self.valid(&id).is_some() || self.void.contains(&id) {
            return Ok(()); // sent again after a lost answer
        }
        if !(1..=part.parts).contains(&part.part) {
            return Err(format!("part {} of {} of a fence", part.part, part.parts));
        }
        let fence = self
            .parts
            .entry(id.clone())
            .or_insert_with(|| FenceParts { parts: BTreeMap::new(), of: part.parts });
        if fence.of != part.parts {
            return Err(format!("fence `{id}` has both {} and {} parts", fence.of, part.parts));
        }
        fence.parts.entry(part.part).or_insert(part);
        if fence.parts.len() < fence.of as usize {
            return Ok(());
        }
        let whole = self.parts.remove(&id).and_then(|fence| join(fence.parts.into_values()));
        match whole {
            Some(fence) if self.open_fence().is_none() => self.fences.push((fence, None)),
            _ => drop(self.void.insert(id)),
        }
        Ok(())
    }

    fn done(&mut self, done: Done) -> Result<(), String> {
        match self.fences.iter_mut().find(|(fence, _)| fence.id == done.fence) {
            Some((_, first)) => drop(first.get_or_insert(done)),
            None if self.void.contains(&done.fence) => {}
            None => return Err(format!("`{}` is done, but was never begun", done.fence)),
        }
        Ok(())
    }

    fn verify(&mut self, verified: Verified) {
        for partition in verified.partitions {
            self.verified.insert(partition.at(), (verified.at, partition));
        }
    }
}

/// Puts all parts of a fence together.
fn join(parts: impl Iterator<Item = Fence>) -> Option<Fence> {
    let whole = parts.reduce(|mut whole, part| {
        whole.partitions.extend(part.partitions);
        whole
    })?;
    Some(Fence { part: 1, parts: 1, ..whole })
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
