//! Plays a list of actions, then lets the lane reach a fence, and judges all the way.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::action::{Action, Who};
use super::ask::Connections;
use super::consumer::Consumer;
use super::judge::judge_end;
use super::log::Log;
use super::producer::Producer;
use super::reference::Reference;
use super::stage::{Actor, Exit, Kill, Stage};
use super::target::TargetCluster;
use super::wiring::{pairs, plan, shared};
use super::writers::Writers;
use crate::ledger::Fence;
use crate::pipe::gather::Pair;
use crate::pipe::lane::Lane;
use crate::pipe::shared::Shared;
use crate::pipe::stop::Stop;
use crate::pipe::suspects::Suspects;
use crate::plan::{Plan, TopicPartition};

/// Turns that a lane gets to reach the last fence.
const ROUNDS: u32 = 1500;

/// A play under way.
pub(super) struct Play {
    stage: Arc<Stage>,
    plan: Plan,
    pairs: Vec<Pair>,
    reference: Reference,
    threads: Vec<Option<JoinHandle<()>>>,
    modes: Vec<Option<Fence>>,
    judged: Vec<bool>,
    /// What the workers share, and show.
    shared: Vec<Arc<Shared<Connections>>>,
    /// The fence that is not reached yet.
    fence: Option<Fence>,
    fences: usize,
    writers: Writers,
}

/// Plays `actions`; returns what has happened, and how often.
pub(super) fn play(verifies: bool, actions: &[Action]) -> Result<BTreeMap<String, u64>, String> {
    let mut play = Play::new(verifies);
    let mut outcome = Ok(());
    for (number, action) in actions.iter().enumerate() {
        outcome = play
            .act(*action)
            .and_then(|()| play.judge())
            .map_err(|what| format!("after action {number}, {action:?}: {what}"));
        if outcome.is_err() {
            break;
        }
    }
    let outcome =
        outcome.and_then(|()| play.play_out().map_err(|what| format!("at the end: {what}")));
    let seen = play.stage.world().seen.clone();
    play.clear();
    outcome.map(|()| seen)
}

impl Play {
    fn new(verifies: bool) -> Self {
        let plan = plan();
        let pairs = pairs();
        let ledger = TopicPartition::new(plan.ledger_topic(), 0);
        let on_target = pairs.iter().map(|pair| pair.target.clone()).chain([ledger.clone()]);
        let target = TargetCluster::new(on_target, verifies);
        let source = pairs.iter().map(|pair| (pair.source.clone(), Log::default())).collect();
        let stage = Stage::new(source, target);
        let writers = Writers::new(&stage, &pairs);
        Self {
            stage,
            reference: Reference::new(pairs.clone(), ledger),
            plan,
            pairs,
            threads: Vec::new(),
            modes: Vec::new(),
            judged: Vec::new(),
            shared: Vec::new(),
            fence: None,
            fences: 0,
            writers,
        }
    }

    fn find(&self, who: Who) -> Option<usize> {
        let world = self.stage.world();
        let on_stage = |actor: &usize| world.actors[*actor].exit.is_none();
        let owner = world.target.owner;
        match who {
            Who::Owner => owner.filter(on_stage),
            Who::Zombie => {
                (0..world.actors.len()).filter(|actor| Some(*actor) != owner).find(on_stage)
            }
        }
    }

    fn act(&mut self, action: Action) -> Result<(), String> {
        self.stage.world().note(action.name());
        match action {
            Action::Append { partition, count } => self.writers.append(partition, count),
            Action::Transact { producer, partition, count } => {
                self.writers.transact(producer, partition, count);
            }
            Action::End { producer, commit } => self.writers.end(producer, commit),
            Action::Batch(size) => self.stage.world().batch = size,
            Action::Run(who, calls) => {
                if let Some(actor) = self.find(who) {
                    self.stage.world().note(format!("{who:?} runs"));
                    self.stage.turn(actor, calls);
                }
            }
            Action::Plan(fault) => {
                let mut world = self.stage.world();
                world.planned.entry(fault.point()).or_default().push_back(fault);
            }
            Action::Kill(who) => {
                if let Some(actor) = self.find(who) {
                    self.kill(actor);
                }
            }
            Action::Start { tail } => {
                if self.find(Who::Owner).is_none() {
                    self.start(tail);
                }
            }
            Action::TakeOver { tail } => {
                if self.find(Who::Owner).is_some() {
                    self.stage.world().note("a second worker took the lane");
                }
                self.start(tail);
            }
            Action::Finish | Action::Abort => {
                if let Some(actor) = self.find(Who::Owner) {
                    let mut world = self.stage.world();
                    world.note(format!("told to {}", action.name()));
                    let stop = &world.actors[actor].stop;
                    if action == Action::Finish { stop.finish() } else { stop.abort() }
                }
            }
            Action::Tell => {
                let mut world = self.stage.world();
                world.actors.iter_mut().for_each(|actor| actor.told |= actor.lost.is_some());
            }
            Action::Expire => {
                let mut world = self.stage.world();
                if world.target.expire_now() {
                    world.note("a transaction timed out");
                }
            }
            Action::Freeze(seconds) => {
                let mut world = self.stage.world();
                world.now += Duration::from_secs(seconds);
                let now = world.now;
                if world.target.expire(now) {
                    world.note("a transaction timed out");
                }
            }
            Action::Release => self.release(),
            Action::Mark => drop(self.stage.world().target.write_markers()),
            Action::LoseGroup { all } => {
                let mut world = self.stage.world();
                world.target.lose_offsets(all);
                world.note("group offsets lost");
                self.reference.group_lost = true;
            }
            Action::SetGroupAhead => self.stage.world().target.set_offsets_ahead(),
            Action::SetGroupBack => {
                let mut world = self.stage.world();
                if world.target.set_offset_back() {
                    world.note("a group offset set back");
                    self.reference.group_lost = true;
                }
            }
        }
        Ok(())
    }

    fn release(&self) {
        let mut world = self.stage.world();
        let arrived = world.target.late.len();
        let done = world.target.release();
        for _ in 0..arrived {
            world.note("late requests arrived");
        }
        for _ in 0..done {
            world.note("late requests did something");
        }
    }

    fn take_fence(&mut self) -> Fence {
        if let Some(fence) = &self.fence {
            return fence.clone();
        }
        self.fences += 1;
        let world = self.stage.world();
        let marks = world.source.iter().map(|(at, log)| (at.clone(), log.end()));
        let fence = Fence::new(format!("fence {}", self.fences), 1, "w", marks);
        self.fence = Some(fence.clone());
        fence
    }

    /// A new worker, and the group gives it the lane.
    fn start(&mut self, tail: bool) {
        let fence = (!tail).then(|| self.take_fence());
        let stop = Stop::new();
        let actor = {
            let mut world = self.stage.world();
            let now = world.now;
            if let Some(former) = world.target.owner {
                world.actors[former].lost.get_or_insert(now);
            }
            let number = world.actors.len();
            world.target.owner = Some(number);
            world.note(if tail { "tails" } else { "runs to a fence" });
            world.actors.push(Actor {
                stop: stop.clone(),
                born: now,
                lost: None,
                told: false,
                killed: false,
                met: Vec::new(),
                fenced: 0,
                epoch: None,
                abandoned: None,
                exit: None,
            });
            number
        };
        let shared = shared(&self.stage, &self.plan, &self.pairs, actor, fence.as_ref());
        self.shared.push(shared.clone());
        let stage = self.stage.clone();
        let work = move || {
            let run = || {
                // Nothing moves before its turn.
                drop(stage.step(actor));
                let engine = (Consumer::new(&stage, actor), Producer::new(&stage, actor));
                let look = stage.clone();
                let member = Box::new(move || look.world().believes(actor));
                let mut lane = Lane::new(0, shared, engine, stop, member);
                // A look brings one to five records: fewer, so that they are more than one transaction.
                lane.suspects = Suspects::by(2);
                lane.run()
            };
            let exit = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(end) => Exit::Ended(end),
                Err(payload) if payload.is::<Kill>() => Exit::Killed,
                Err(payload) => Exit::Panicked(format!("{:?}", payload.downcast_ref::<String>())),
            };
            stage.leave(actor, exit);
        };
        let thread = std::thread::Builder::new().spawn(work).expect("a thread");
        self.threads.push(Some(thread));
        self.modes.push(fence);
        self.judged.push(false);
    }

    fn kill(&mut self, actor: usize) {
        {
            let mut world = self.stage.world();
            if world.actors[actor].exit.is_some() {
                return;
            }
            world.actors[actor].killed = true;
            let in_transaction =
                world.actors[actor].epoch.is_some_and(|e| world.target.is_open_by(e));
            world.note("kills");
            if in_transaction {
                world.note("kills in a transaction");
            }
        }
        self.stage.turn(actor, 1);
    }

    /// The reference, and the ends of lanes, against what there is.
    fn judge(&mut self) -> Result<(), String> {
        let mut world = self.stage.world();
        let state = self.reference.check(&world)?;
        let reached = |fence: &Fence| {
            fence.iter().all(|(at, mark)| state.partitions.get(&at).is_some_and(|s| s.next >= mark))
        };
        for (actor, fence) in self.modes.iter().enumerate() {
            if world.actors[actor].exit.is_some()
                && !std::mem::replace(&mut self.judged[actor], true)
            {
                let what = judge_end(&world, actor, fence.as_ref().map(&reached))?;
                world.note(what);
            }
        }
        if self.fence.as_ref().is_some_and(reached) {
            self.fence = None;
        }
        Ok(())
    }

    /// No more faults: all of the source's transactions end, and a worker copies to the last fence, with
    /// zombies and late requests about. Then once more, with the group's offsets lost.
    fn play_out(&mut self) -> Result<(), String> {
        self.stage.world().planned.clear();
        for producer in 0..2 {
            self.writers.end(producer, producer == 0);
        }
        for partition in 0..self.pairs.len() {
            self.writers.append(partition, 1);
        }
        let (mut last, mut lost) = (None, false);
        for round in 0..ROUNDS {
            let owner = match self.find(Who::Owner) {
                Some(owner) => owner,
                None => {
                    if last.as_ref().is_some_and(|fence| self.fence.as_ref() != Some(fence)) {
                        if std::mem::replace(&mut lost, true) {
                            break;
                        }
                        last = None;
                        self.act(Action::LoseGroup { all: true })?;
                    }
                    // Something to carry for one partition: with it all that is lost is written.
                    self.writers.append(0, 1);
                    self.start(false);
                    continue;
                }
            };
            if self.modes[owner].is_none() {
                self.stage.world().actors[owner].stop.finish();
            } else if last.is_none() && self.fence_is_last() {
                last = self.modes[owner].clone();
            }
            self.stage.turn(owner, 9);
            if let Some(zombie) = self.find(Who::Zombie) {
                self.stage.turn(zombie, 5);
            }
            match round {
                5 => self.release(),
                20 => self.act(Action::Tell)?,
                _ => {}
            }
            self.judge()?;
        }
        if self.find(Who::Owner).is_some() || last.is_none() {
            return Err(format!("the last fence is not reached; {}", self.waits()));
        }
        let world = self.stage.world();
        let state = self.reference.check(&world)?;
        if self.reference.group_lost {
            return Err("the group's offsets were not rewritten".into());
        }
        for (at, log) in &world.source {
            if state.partitions[at].next != log.end() {
                return Err(format!(
                    "{at} is at {}, not at {}",
                    state.partitions[at].next,
                    log.end()
                ));
            }
        }
        Ok(())
    }

    /// How each worker left, or what it waits for.
    fn waits(&self) -> String {
        let world = self.stage.world();
        let of = |(shared, actor): (&Arc<Shared<Connections>>, &Actor)| match &actor.exit {
            Some(exit) => format!("\n    {}: {exit:?}", shared.worker),
            None => {
                let waits = shared.board.snapshot().waits.into_iter().map(|wait| wait.what);
                let waits: Vec<_> = waits.collect();
                format!(
                    "\n    {} (met {:?}) waits for: {}",
                    shared.worker,
                    actor.met,
                    waits.join("; ")
                )
            }
        };
        self.shared.iter().zip(&world.actors).map(of).collect()
    }

    /// Whether the open fence stands at the source's log ends.
    fn fence_is_last(&self) -> bool {
        let world = self.stage.world();
        let Some(fence) = &self.fence else { return false };
        world.source.iter().all(|(at, log)| fence.get(at) == Some(log.end()))
    }

    fn clear(&mut self) {
        for actor in 0..self.threads.len() {
            self.kill(actor);
            if let Some(thread) = self.threads[actor].take() {
                drop(thread.join());
            }
        }
    }
}
