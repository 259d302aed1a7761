//! The target cluster, as far as a lane can tell: logs, the transaction coordinator of one transactional
//! id, and the group's offsets.
//!
//! Kept as exact as the protocol before KIP-890's client side is: the coordinator knows one epoch and at
//! most one transaction; markers come after the decision; an `EndTxn` is judged by its epoch alone and
//! ends whatever transaction is open; offsets stay pending until the next marker of the producer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::log::Log;
use crate::pipe::shared::TRANSACTION_TIMEOUT;
use crate::plan::TopicPartition;

/// The lane's producer id: a transactional id keeps one for life.
const PRODUCER: u64 = 1;

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// An older epoch.
    Fenced,
    /// No transaction is open, or this partition is not in it.
    NotInTransaction,
    /// The group gave the lane to somebody else.
    NotMember,
}

#[derive(Debug, Clone)]
enum Transaction {
    None,
    Open { partitions: BTreeSet<TopicPartition>, group: bool, begun: Duration },
    Ended { commit: bool },
}

/// A request that is still under way though its sender went on.
#[derive(Debug, Clone)]
pub(super) enum Late {
    End { epoch: u32, commit: bool },
    Offsets { epoch: u32, worker: usize, offsets: Vec<(TopicPartition, i64)> },
    Init,
}

/// The target cluster.
#[derive(Debug, Clone)]
pub(super) struct TargetCluster {
    pub(super) logs: BTreeMap<TopicPartition, Log>,
    pub(super) late: Vec<Late>,
    /// Decided, and not yet written: `None` stands for the group's offsets.
    markers: Vec<(Option<TopicPartition>, u32, bool)>,
    /// The next markers are written only when somebody asks for it.
    pub(super) slow_markers: bool,
    /// Brokers from 3.6 on ask the coordinator whether a partition is in the transaction (KIP-890, part 1).
    verifies: bool,
    epoch: u32,
    transaction: Transaction,
    /// Who owns the lane by the group.
    pub(super) owner: Option<usize>,
    offsets: BTreeMap<TopicPartition, i64>,
    /// Counts what changes anything that is visible.
    pub(super) decisions: u64,
    pending: BTreeMap<TopicPartition, i64>,
    offsets_epoch: u32,
    /// Records that were open when their epoch was fenced: never to be seen.
    pub(super) doomed: BTreeSet<(TopicPartition, i64)>,
}

impl TargetCluster {
    pub(super) fn new(partitions: impl Iterator<Item = TopicPartition>, verifies: bool) -> Self {
        Self {
            logs: partitions.map(|at| (at, Log::default())).collect(),
            late: Vec::new(),
            markers: Vec::new(),
            slow_markers: false,
            verifies,
            epoch: 0,
            transaction: Transaction::None,
            owner: None,
            offsets: BTreeMap::new(),
            decisions: 0,
            pending: BTreeMap::new(),
            offsets_epoch: 0,
            doomed: BTreeSet::new(),
        }
    }

    /// `InitProducerId`: a new epoch; what was open is aborted under it.
    pub(super) fn init(&mut self) -> u32 {
        self.write_markers();
        self.fence_off();
        self.epoch += 1;
        self.transaction = Transaction::None;
        self.epoch
    }

    /// Ends an open transaction under a new epoch.
    fn fence_off(&mut self) {
        if !self.is_open() {
            return;
        }
        for (at, log) in &self.logs {
            self.doomed.extend(log.undecided().map(|(offset, _)| (at.clone(), offset)));
        }
        self.epoch += 1;
        self.decide(false);
        self.write_markers();
    }

    /// The coordinator ends a transaction that has been open for too long; its producer is fenced.
    pub(super) fn expire(&mut self, now: Duration) -> bool {
        let due = matches!(&self.transaction, Transaction::Open { begun, .. }
            if now.saturating_sub(*begun) >= TRANSACTION_TIMEOUT);
        if due {
            self.fence_off();
        }
        due
    }

    /// The same, now.
    pub(super) fn expire_now(&mut self) -> bool {
        let open = self.is_open();
        self.fence_off();
        open
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.transaction, Transaction::Open { .. })
    }

    /// Whether a transaction of this epoch is open.
    pub(super) fn is_open_by(&self, epoch: u32) -> bool {
        self.is_open() && self.epoch == epoch
    }

    fn current(&mut self, epoch: u32, now: Duration) -> Result<(), Refused> {
        // The client waits while the coordinator still writes markers (CONCURRENT_TRANSACTIONS).
        self.write_markers();
        if epoch != self.epoch {
            return Err(Refused::Fenced);
        }
        if !self.is_open() {
            let (partitions, group) = (BTreeSet::new(), false);
            self.transaction = Transaction::Open { partitions, group, begun: now };
        }
        Ok(())
    }

    /// `AddPartitionsToTxn`.
    pub(super) fn add_partition(
        &mut self,
        epoch: u32,
        at: &TopicPartition,
        now: Duration,
    ) -> Result<(), Refused> {
        self.current(epoch, now)?;
        if let Transaction::Open { partitions, .. } = &mut self.transaction {
            partitions.insert(at.clone());
        }
        Ok(())
    }

    /// `AddOffsetsToTxn`.
    pub(super) fn add_group(&mut self, epoch: u32, now: Duration) -> Result<(), Refused> {
        self.current(epoch, now)?;
        if let Transaction::Open { group, .. } = &mut self.transaction {
            *group = true;
        }
        Ok(())
    }

    /// `Produce`, of one record.
    pub(super) fn produce(
        &mut self,
        epoch: u32,
        at: &TopicPartition,
        bytes: Vec<u8>,
    ) -> Result<i64, Refused> {
        let added = matches!(&self.transaction, Transaction::Open { partitions, .. }
            if self.epoch == epoch && partitions.contains(at));
        if self.verifies && !added {
            return Err(Refused::NotInTransaction);
        }
        let log = self.logs.get_mut(at).expect("a partition that is there");
        log.append(PRODUCER, epoch, bytes).map_err(|_| Refused::Fenced)
    }

    /// `TxnOffsetCommit`: goes to the group's coordinator, which knows only what it has seen itself.
    pub(super) fn commit_offsets(
        &mut self,
        epoch: u32,
        worker: usize,
        offsets: &[(TopicPartition, i64)],
    ) -> Result<(), Refused> {
        if self.owner != Some(worker) {
            return Err(Refused::NotMember);
        }
        if epoch < self.offsets_epoch {
            return Err(Refused::Fenced);
        }
        let added = matches!(&self.transaction, Transaction::Open { group: true, .. }
            if self.epoch == epoch);
        if self.verifies && !added {
            return Err(Refused::NotInTransaction);
        }
        self.offsets_epoch = epoch;
        self.pending.extend(offsets.iter().cloned());
        Ok(())
    }

    /// `EndTxn`.
    pub(super) fn end(&mut self, epoch: u32, commit: bool) -> Result<(), Refused> {
        if epoch != self.epoch {
            return Err(Refused::Fenced);
        }
        match self.transaction {
            Transaction::Open { .. } => {
                self.decide(commit);
                if !std::mem::take(&mut self.slow_markers) {
                    self.write_markers();
                }
                Ok(())
            }
            Transaction::Ended { commit: was } if was == commit => Ok(()),
            Transaction::Ended { .. } | Transaction::None => Err(Refused::NotInTransaction),
        }
    }

    fn decide(&mut self, commit: bool) {
        self.decisions += 1;
        let ended = Transaction::Ended { commit };
        let Transaction::Open { partitions, group, .. } =
            std::mem::replace(&mut self.transaction, ended)
        else {
            return;
        };
        let marked = partitions.into_iter().map(Some).chain(group.then_some(None));
        self.markers.extend(marked.map(|at| (at, self.epoch, commit)));
    }

    /// Whether a decision has not reached its partitions.
    pub(super) fn markers_wait(&self) -> bool {
        !self.markers.is_empty()
    }

    /// Every decision reaches its partitions. Tells whether one was still to be written.
    pub(super) fn write_markers(&mut self) -> bool {
        let markers = std::mem::take(&mut self.markers);
        let some = !markers.is_empty();
        for (at, epoch, commit) in markers {
            if let Some(at) = at {
                let log = self.logs.get_mut(&at).expect("a partition that is there");
                log.mark(PRODUCER, epoch, commit);
                continue;
            }
            let pending = std::mem::take(&mut self.pending);
            self.offsets_epoch = self.offsets_epoch.max(epoch);
            if commit {
                self.offsets.extend(pending);
            }
        }
        some
    }

    /// The group's offsets.
    pub(super) fn offsets(&self) -> &BTreeMap<TopicPartition, i64> {
        &self.offsets
    }

    /// Somebody deletes the group's offsets: all, or one.
    pub(super) fn lose_offsets(&mut self, all: bool) {
        self.decisions += 1;
        if all {
            self.offsets.clear();
        } else {
            self.offsets.pop_last();
        }
    }

    /// Somebody sets one of the group's offsets back.
    pub(super) fn set_offset_back(&mut self) -> bool {
        self.decisions += 1;
        let offset = self.offsets.values_mut().find(|offset| **offset > 0);
        offset.map(|offset| *offset -= 1).is_some()
    }

    /// Somebody sets the group's offsets forward. The reference is not asked about it.
    pub(super) fn set_offsets_ahead(&mut self) {
        self.offsets.values_mut().for_each(|offset| *offset += 1);
    }

    /// Offsets wait for a marker.
    pub(super) fn unstable(&self, asked: &[TopicPartition]) -> bool {
        asked.iter().any(|at| self.pending.contains_key(at))
    }

    /// The late requests arrive. Tells how many did something.
    pub(super) fn release(&mut self) -> usize {
        let mut done = 0;
        for late in std::mem::take(&mut self.late) {
            done += usize::from(match late {
                Late::End { epoch, commit } => self.is_open() && self.end(epoch, commit).is_ok(),
                Late::Offsets { epoch, worker, offsets } => {
                    self.commit_offsets(epoch, worker, &offsets).is_ok()
                }
                Late::Init => {
                    self.init();
                    true
                }
            });
        }
        done
    }
}
