//! The fold over a lane's entries: from the header, or from a snapshot, to what was moved.

use std::collections::BTreeMap;

use super::assemble::{Assembled, assemble};
use super::entry::{DecodeError, Entry, decode};
use super::lane::{Bind, Carry, Gap, Header, PhaseChange, Role, Snapshot, SnapshotPartition};
use super::parts::MAX_PART_BYTES;
use super::position::PartitionState;
use crate::plan::TopicPartition;

/// A ledger partition that cannot be trusted. The caller knows the partition, and refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// An entry contradicts those before it, or itself.
    #[error("damaged at offset {offset}: {what}")]
    Damaged {
        /// Its offset in the ledger partition.
        offset: i64,
        /// What does not fit, in words.
        what: String,
    },
    /// An entry cannot be read: a newer version, an unknown kind, or not an entry.
    #[error("entry at offset {offset}: {error}")]
    Unreadable {
        /// Its offset in the ledger partition.
        offset: i64,
        /// Why.
        error: DecodeError,
    },
}

/// Everything that a lane's ledger partition says, up to [`next_offset`](LaneState::next_offset). After an error it must not be used any more.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneState {
    /// What the ledger belongs to; `None` while the partition is empty.
    pub header: Option<Header>,
    /// The bound naming rule, once anything is bound.
    pub naming: Option<String>,
    /// The bound start positions, once anything is bound.
    pub start: Option<String>,
    /// By source partition.
    pub partitions: BTreeMap<TopicPartition, PartitionState>,
    /// Number of the last carry; 0 before the first.
    pub last_seq: u64,
    /// Ownership epoch of the last writer; 0 before the first.
    pub last_epoch: u64,
    /// Name of the last writer.
    pub last_worker: Option<String>,
    /// Ledger offset of the first part of the latest snapshot.
    pub last_snapshot: Option<i64>,
    /// Ledger offset to go on reading at.
    pub next_offset: i64,
    /// Carries since the latest snapshot, or since the beginning.
    pub carries_since_snapshot: u64,
    /// Latest phase of each wave.
    pub phases: BTreeMap<String, PhaseChange>,
    pending: Option<Pending>,
    expects_snapshot: bool,
}

/// Parts of one entry, and the ledger offset of the first one.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Carry(i64, Carry),
    Snapshot(i64, Snapshot),
}

impl LaneState {
    /// A replay that starts at a snapshot instead of at the header: the next entry to apply is the
    /// snapshot's first part. `header` is the partition's first entry all the same.
    pub fn from_snapshot(header: Header) -> Result<Self, ReplayError> {
        check_header(&header).map_err(|what| ReplayError::Damaged { offset: 0, what })?;
        Ok(Self { header: Some(header), expects_snapshot: true, ..Self::default() })
    }

    /// Adds the entry at `offset` of the ledger partition.
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

    /// Decodes and adds the entry at `offset` of the ledger partition.
    pub fn apply_bytes(&mut self, offset: i64, bytes: &[u8]) -> Result<(), ReplayError> {
        let entry = decode(bytes).map_err(|error| ReplayError::Unreadable { offset, error })?;
        self.apply(offset, entry)
    }

    /// To be called at the end of the ledger partition: an entry whose last parts are missing there is
    /// damage, because a transaction is visible as a whole.
    pub fn check_end(&self) -> Result<(), ReplayError> {
        let (offset, what) = match &self.pending {
            Some(Pending::Carry(at, carry)) => (*at, format!("carry {}", carry.seq)),
            Some(Pending::Snapshot(at, _)) => (*at, "the snapshot".to_owned()),
            None if self.expects_snapshot => (self.next_offset, "the snapshot".to_owned()),
            None => return Ok(()),
        };
        Err(ReplayError::Damaged { offset, what: format!("{what} ends before its last part") })
    }

    /// Notes that no deletion before `at` can have been missed, since the lane was at the partition's log
    /// end then; the next snapshot keeps it.
    pub fn caught_up(&mut self, partition: &TopicPartition, at: i64) {
        if let Some(state) = self.partitions.get_mut(partition) {
            state.caught_up_at = Some(at);
        }
    }

    /// The state as entries of one transaction, from which a replay can start. Not applied to itself.
    pub fn to_snapshot(&self, worker: &str, epoch: u64, at: i64) -> Vec<Entry> {
        self.snapshot(worker, epoch, at).into_parts(MAX_PART_BYTES)
    }

    /// The state as one entry, however large.
    pub fn snapshot(&self, worker: &str, epoch: u64, at: i64) -> Snapshot {
        Snapshot {
            seq: self.last_seq,
            part: 1,
            parts: 1,
            worker: worker.to_owned(),
            epoch,
            at,
            naming: self.naming.clone(),
            start: self.start.clone(),
            phases: self.phases.values().cloned().collect(),
            partitions: self
                .partitions
                .iter()
                .map(|(of, state)| SnapshotPartition {
                    topic: of.topic.clone(),
                    partition: of.partition,
                    state: state.clone(),
                })
                .collect(),
        }
    }

    fn fold(&mut self, offset: i64, entry: Entry) -> Result<(), String> {
        let kind = entry.kind();
        match (&self.header, &entry) {
            (None, Entry::Header(_)) => {}
            (None, _) => return Err(format!("the first entry is a `{kind}`, not a `header`")),
            (Some(_), Entry::Header(_)) => return Err("a second `header`".to_owned()),
            (Some(_), _) => {}
        }
        if self.expects_snapshot && !matches!(entry, Entry::Snapshot(_)) {
            return Err(format!("a `{kind}` where a `snapshot` was said to be"));
        }
        match (entry, self.pending.take()) {
            (Entry::Carry(part), None) => self.carry_part(offset, None, part),
            (Entry::Carry(part), Some(Pending::Carry(at, parts))) => {
                self.carry_part(at, Some(parts), part)
            }
            (Entry::Snapshot(part), None) => self.snapshot_part(offset, None, part),
            (Entry::Snapshot(part), Some(Pending::Snapshot(at, parts))) => {
                self.snapshot_part(at, Some(parts), part)
            }
            (_, Some(_)) => Err(format!("a `{kind}` between the parts of another entry")),
            (Entry::Header(header), None) => self.header(header),
            (Entry::Bind(bind), None) => self.bind(bind),
            (Entry::Gap(gap), None) => self.gap(gap),
            (Entry::Phase(phase), None) => {
                self.phases.insert(phase.wave.clone(), phase);
                Ok(())
            }
            (_, None) => Err(format!("a `{kind}` belongs in the control partition")),
        }
    }

    fn header(&mut self, header: Header) -> Result<(), String> {
        check_header(&header)?;
        self.header = Some(header);
        Ok(())
    }

    fn bind(&mut self, bind: Bind) -> Result<(), String> {
        self.owner(bind.worker, bind.epoch)?;
        self.naming = Some(bind.naming);
        self.start = Some(bind.start);
        // A bind has no time of its own. The lane's header is the cheapest honest lower bound: it lies
        // in the first bind's transaction, and a later bind comes with a snapshot that knows better.
        let since = self.header.as_ref().map(|header| header.created);
        for partition in bind.partitions {
            let of = partition.at();
            if self.partitions.contains_key(&of) {
                return Err(format!("`{of}` is bound a second time"));
            }
            self.partitions.insert(of, PartitionState::bound(partition, since)?);
        }
        Ok(())
    }

    fn gap(&mut self, gap: Gap) -> Result<(), String> {
        let of = gap.at();
        self.state(&of)?.gap(gap).map_err(|what| format!("`{of}`: {what}"))
    }

    fn carry_part(&mut self, at: i64, parts: Option<Carry>, part: Carry) -> Result<(), String> {
        match assemble(parts, part)? {
            Assembled::Waiting(carry) => {
                self.pending = Some(Pending::Carry(at, carry));
                Ok(())
            }
            Assembled::Whole(carry) => self.carry(carry),
        }
    }

    fn carry(&mut self, carry: Carry) -> Result<(), String> {
        if carry.seq != self.last_seq + 1 {
            return Err(format!("carry {} follows carry {}", carry.seq, self.last_seq));
        }
        if carry.snapshot > self.last_snapshot {
            return Err(format!("carry {} names a snapshot that is not there", carry.seq));
        }
        self.owner(carry.worker, carry.epoch)?;
        for partition in &carry.partitions {
            let of = partition.at();
            self.state(&of)?
                .carry(partition)
                .map_err(|what| format!("carry {} of `{of}` {what}", carry.seq))?;
        }
        self.last_seq = carry.seq;
        self.carries_since_snapshot += 1;
        Ok(())
    }

    fn snapshot_part(
        &mut self,
        at: i64,
        parts: Option<Snapshot>,
        part: Snapshot,
    ) -> Result<(), String> {
        match assemble(parts, part)? {
            Assembled::Waiting(snapshot) => {
                self.pending = Some(Pending::Snapshot(at, snapshot));
                Ok(())
            }
            Assembled::Whole(snapshot) => self.take_snapshot(at, snapshot),
        }
    }

    /// A replay from the beginning checks a snapshot against what it knows; one from here believes it.
    fn take_snapshot(&mut self, at: i64, snapshot: Snapshot) -> Result<(), String> {
        if !self.expects_snapshot {
            self.check_snapshot(&snapshot)?;
        }
        for SnapshotPartition { topic, partition, state } in &snapshot.partitions {
            state.check().map_err(|what| format!("snapshot of `{topic}-{partition}` {what}"))?;
        }
        self.owner(snapshot.worker, snapshot.epoch)?;
        self.naming = snapshot.naming;
        self.start = snapshot.start;
        self.phases =
            snapshot.phases.into_iter().map(|phase| (phase.wave.clone(), phase)).collect();
        let since = self.header.as_ref().map(|header| header.created);
        self.partitions = snapshot
            .partitions
            .into_iter()
            .map(|SnapshotPartition { topic, partition, mut state }| {
                // As after a bind: one that was never complete is so since its ledger began.
                state.caught_up_at = state.caught_up_at.or(since);
                (TopicPartition::new(topic, partition), state)
            })
            .collect();
        self.last_seq = snapshot.seq;
        self.last_snapshot = Some(at);
        self.carries_since_snapshot = 0;
        self.expects_snapshot = false;
        Ok(())
    }

    fn check_snapshot(&self, snapshot: &Snapshot) -> Result<(), String> {
        let own = self.snapshot(&snapshot.worker, snapshot.epoch, snapshot.at);
        let head = |snapshot: &Snapshot| Snapshot { partitions: Vec::new(), ..snapshot.clone() };
        if head(&own) != head(snapshot) || own.partitions.len() != snapshot.partitions.len() {
            return Err("the snapshot contradicts the entries before it".to_owned());
        }
        let same = |own: &SnapshotPartition, other: &SnapshotPartition| {
            // The only thing that a snapshot alone tells.
            let caught_up_at = other.state.caught_up_at;
            let state = PartitionState { caught_up_at, ..own.state.clone() };
            SnapshotPartition { state, ..own.clone() } == *other
        };
        let pairs = own.partitions.iter().zip(&snapshot.partitions);
        match pairs.into_iter().find(|(own, other)| !same(own, other)) {
            Some((own, _)) => Err(format!(
                "the snapshot contradicts the entries before it about `{}-{}`",
                own.topic, own.partition
            )),
            None => Ok(()),
        }
    }

    /// A lane has one owner at a time, and each one's epoch is above the one before.
    fn owner(&mut self, worker: String, epoch: u64) -> Result<(), String> {
        if epoch < self.last_epoch {
            return Err(format!(
                "`{worker}` writes under epoch {epoch}, after epoch {}",
                self.last_epoch
            ));
        }
        self.last_epoch = epoch;
        self.last_worker = Some(worker);
        Ok(())
    }

    fn state(&mut self, of: &TopicPartition) -> Result<&mut PartitionState, String> {
        self.partitions.get_mut(of).ok_or_else(|| format!("`{of}` is not bound"))
    }
}

fn check_header(header: &Header) -> Result<(), String> {
    match header.partition_role {
        Role::Lane(lane) if lane < header.lanes => Ok(()),
        role => Err(format!("a lane's header with the role `{role}` of {} lanes", header.lanes)),
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "replay_model.rs"]
mod model;
