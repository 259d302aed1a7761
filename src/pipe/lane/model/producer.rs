//! The target's transactional producer, over the model's coordinator.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use super::consumer::{Few, GIVEN_UP, error};
use super::stage::{Fault, Point, Stage, World};
use super::target::{Late, Refused};
use crate::cluster::{Class, ClusterError};
use crate::error::Side;
use crate::pipe::engine::{Taken, Target};
use crate::plan::TopicPartition;

/// A call that the client has retried takes longer than this (the premise of the lane's defence).
const RETRIED: Duration = Duration::from_millis(600);
/// Records that one look at the deliveries brings.
const PER_LOOK: usize = 2;

fn refused(refused: Refused) -> ClusterError {
    let class = match refused {
        Refused::Fenced => Class::Fenced,
        Refused::NotInTransaction => Class::Abort,
        Refused::NotMember => Class::NotMember,
    };
    error(Side::Target, class, &format!("{refused:?}"))
}

struct Queued {
    to: TopicPartition,
    bytes: Vec<u8>,
    entry: bool,
}

/// The target's transactional producer.
pub(super) struct Producer {
    stage: Arc<Stage>,
    actor: usize,
    epoch: Option<u32>,
    open: bool,
    /// What the client knows to be in its transaction: it does not ask again.
    added: BTreeSet<TopicPartition>,
    queue: VecDeque<Queued>,
    delivered: Vec<i64>,
    entries: Vec<i64>,
    broken: Option<ClusterError>,
    sent_again: bool,
}

impl Producer {
    pub(super) fn new(stage: &Arc<Stage>, actor: usize) -> Self {
        Self {
            stage: stage.clone(),
            actor,
            epoch: None,
            open: false,
            added: BTreeSet::new(),
            queue: VecDeque::new(),
            delivered: Vec::new(),
            entries: Vec::new(),
            broken: None,
            sent_again: false,
        }
    }

    fn epoch(&self) -> Result<u32, ClusterError> {
        self.epoch.ok_or_else(|| error(Side::Target, Class::Abort, "no producer"))
    }

    fn member(&self, world: &World) -> Result<(), ClusterError> {
        if world.believes(self.actor) {
            return Ok(());
        }
        Err(error(Side::Target, Class::NotMember, "the group took the lane back"))
    }

    fn refused(&self, world: &mut World, why: Refused) -> ClusterError {
        if why == Refused::Fenced {
            world.note("a producer was told that it is fenced");
            world.actors[self.actor].fenced += 1;
        }
        refused(why)
    }

    /// Some of the queue reaches its brokers.
    fn deliver(&mut self, world: &mut World, most: usize) -> Result<(), ClusterError> {
        for _ in 0..most {
            let Some(Queued { to, bytes, entry }) = self.queue.pop_front() else { break };
            let fault = if entry { None } else { world.fault(self.actor, Point::Deliver) };
            let mut offset = self.send(world, &to, bytes);
            match fault {
                Some(Fault::NoOffset) => offset = offset.map(|_| -1),
                Some(Fault::RecordRefused) => {
                    offset = Err(error(Side::Target, Class::Record, "too large"));
                }
                Some(_) => offset = Err(error(Side::Target, Class::Abort, "not delivered")),
                None => {}
            }
            match offset {
                Ok(offset) if entry => self.entries.push(offset),
                Ok(offset) => self.delivered.push(offset),
                Err(why) => {
                    // A client that was fenced sends nothing more; after other errors what is on its way
                    // still arrives.
                    if why.class == Class::Fenced {
                        self.queue.clear();
                    }
                    self.broken = Some(why);
                }
            }
        }
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn send(
        &mut self,
        world: &mut World,
        to: &TopicPartition,
        bytes: Vec<u8>,
    ) -> Result<i64, ClusterError> {
        let epoch = self.epoch()?;
        let now = world.now;
        if !self.added.contains(to) {
            let added = world.target.add_partition(epoch, to, now);
            added.map_err(|why| self.refused(world, why))?;
            self.added.insert(to.clone());
        }
        world.target.produce(epoch, to, bytes).map_err(|why| self.refused(world, why))
    }

    fn end(&self, world: &mut World, epoch: u32, commit: bool) -> Result<(), ClusterError> {
        match world.target.end(epoch, commit) {
            // The client takes it for fatal: nothing is known.
            Err(Refused::NotInTransaction) => {
                Err(error(Side::Target, Class::Unclear, "invalid transaction state"))
            }
            ended => ended.map_err(|why| self.refused(world, why)),
        }
    }

    fn step(&self) -> MutexGuard<'_, World> {
        self.stage.step(self.actor)
    }
}

impl Target for Producer {
    type Batch = Few;

    fn fence(&mut self) -> Result<(), ClusterError> {
        let stage = self.stage.clone();
        let mut world = stage.step(self.actor);
        let former = self.epoch.take();
        (self.open, self.broken, self.sent_again) = (false, None, false);
        self.queue.clear();
        // The former producer is closed by now, and cannot abort any more.
        if let Err(lost) = self.member(&world) {
            world.actors[self.actor].abandoned = former;
            return Err(lost);
        }
        let fault = world.fault(self.actor, Point::Fence);
        if fault == Some(Fault::FenceFails) {
            world.actors[self.actor].abandoned = former;
            world.now += GIVEN_UP;
            return Err(error(Side::Target, Class::Retriable, "coordinator loading"));
        }
        if fault == Some(Fault::FenceHeld) {
            world.target.late.push(Late::Init);
        }
        if world.target.owner != Some(self.actor) {
            world.note("a worker that lost its membership raised the epoch");
        }
        let epoch = world.target.init();
        self.epoch = Some(epoch);
        world.actors[self.actor].epoch = self.epoch;
        Ok(())
    }

    fn tune(&mut self, _batch_bytes: usize, _one_by_one: bool) {}

    fn begin(&mut self) -> Result<(), ClusterError> {
        drop(self.step());
        self.epoch()?;
        self.open = true;
        self.added.clear();
        self.delivered.clear();
        self.entries.clear();
        Ok(())
    }

    fn write(
        &mut self,
        to: &TopicPartition,
        batch: &Few,
        records: Range<usize>,
    ) -> Result<Taken, ClusterError> {
        let full = self.step().fault(self.actor, Point::Write).is_some();
        let taken = if full { records.start + records.len() / 2 } else { records.end };
        for (_, bytes) in &batch.records[records.start..taken] {
            self.queue.push_back(Queued { to: to.clone(), bytes: bytes.clone(), entry: false });
        }
        Ok(if full { Taken::UpTo(taken) } else { Taken::All })
    }

    fn write_entry(&mut self, to: &TopicPartition, entry: &[u8]) -> Result<(), ClusterError> {
        drop(self.step());
        self.queue.push_back(Queued { to: to.clone(), bytes: entry.to_vec(), entry: true });
        Ok(())
    }

    fn serve(&mut self) -> Result<(), ClusterError> {
        let stage = self.stage.clone();
        let mut world = stage.step(self.actor);
        self.deliver(&mut world, PER_LOOK)
    }

    fn sent_again(&self) -> bool {
        self.sent_again
    }

    fn drain(
        &mut self,
        alive: &mut dyn FnMut() -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let stage = self.stage.clone();
        while !self.queue.is_empty() {
            let mut world = stage.step(self.actor);
            self.deliver(&mut world, PER_LOOK)?;
            drop(world);
            alive()?;
        }
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn delivered(&mut self) -> Result<&[i64], ClusterError> {
        if self.delivered.contains(&-1) {
            return Err(error(Side::Target, Class::Abort, "an offset was not told"));
        }
        Ok(&self.delivered)
    }

    fn entries(&mut self) -> Result<&[i64], ClusterError> {
        Ok(&self.entries)
    }

    fn send_offsets(&mut self, offsets: &[(TopicPartition, i64)]) -> Result<(), ClusterError> {
        let stage = self.stage.clone();
        let mut world = stage.step(self.actor);
        self.member(&world)?;
        let epoch = self.epoch()?;
        let fault = world.fault(self.actor, Point::Offsets);
        let failed = |what| Err(error(Side::Target, Class::Abort, what));
        if fault == Some(Fault::OffsetsFail) {
            return failed("not added");
        }
        let now = world.now;
        if let Err(why) = world.target.add_group(epoch, now) {
            return Err(self.refused(&mut world, why));
        }
        let (worker, late) = (self.actor, offsets.to_vec());
        if matches!(fault, Some(Fault::OffsetsHeld | Fault::OffsetsSlow)) {
            world.target.late.push(Late::Offsets { epoch, worker, offsets: late });
            self.sent_again = true;
        }
        if fault == Some(Fault::OffsetsHeld) {
            world.now += GIVEN_UP;
            return failed("no answer");
        }
        if let Err(why) = world.target.commit_offsets(epoch, worker, offsets) {
            if why == Refused::NotMember {
                world.note("the group refused a worker that lost its membership");
            }
            return Err(self.refused(&mut world, why));
        }
        match fault {
            Some(Fault::OffsetsUnanswered) => {
                world.now += GIVEN_UP;
                return failed("no answer");
            }
            Some(_) => world.now += RETRIED,
            None => {}
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ClusterError> {
        let stage = self.stage.clone();
        let mut world = stage.step(self.actor);
        let epoch = self.epoch()?;
        let unclear = || error(Side::Target, Class::Unclear, "no answer to the commit");
        let fault = world.fault(self.actor, Point::Commit);
        match fault {
            Some(Fault::CommitBroken) => {
                return Err(error(Side::Target, Class::Abort, "the transaction is broken"));
            }
            Some(Fault::CommitTooLate) => {
                world.now += crate::pipe::shared::TRANSACTION_TIMEOUT;
                let now = world.now;
                world.target.expire(now);
            }
            Some(Fault::CommitLost | Fault::CommitHeld) => {
                if fault == Some(Fault::CommitHeld) {
                    world.target.late.push(Late::End { epoch, commit: true });
                }
                world.now += GIVEN_UP;
                return Err(unclear());
            }
            Some(Fault::CommitSlow) => {
                world.target.late.push(Late::End { epoch, commit: true });
                self.sent_again = true;
                world.now += RETRIED;
            }
            Some(Fault::MarkersSlow) => world.target.slow_markers = true,
            _ => {}
        }
        self.end(&mut world, epoch, true)?;
        world.note("commits");
        if fault == Some(Fault::CommitUnanswered) {
            // The client has tried on until it gave up: another copy may be under way.
            world.target.late.push(Late::End { epoch, commit: true });
            world.now += GIVEN_UP;
            return Err(unclear());
        }
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> Result<(), ClusterError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        self.queue.clear();
        self.broken = None;
        let stage = self.stage.clone();
        let mut world = stage.step(self.actor);
        let epoch = self.epoch()?;
        if world.fault(self.actor, Point::Abort).is_some() {
            world.target.late.push(Late::End { epoch, commit: false });
            world.actors[self.actor].abandoned = Some(epoch);
            world.now += GIVEN_UP;
            return Err(error(Side::Target, Class::Unclear, "no answer to the abort"));
        }
        world.note("aborts");
        self.end(&mut world, epoch, false)
    }
}
