//! The stage: both clusters, a clock, and the lanes on it, of which only one moves at a time.
//!
//! Every lane runs in a thread of its own and stops before each call that leaves it ([`Stage::step`])
//! until the play gives it its turn for some calls. So a lane can be left anywhere (frozen, a zombie),
//! killed anywhere, and overtaken anywhere, and the same play is the same run each time.

use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::log::Log;
use super::target::TargetCluster;
use crate::cluster::HEARTBEAT_MS;
use crate::pipe::clock::Clock;
use crate::pipe::lane::LaneEnd;
use crate::pipe::stop::Stop;
use crate::plan::TopicPartition;

/// Markers that are slow are written after so many calls.
const SLOW: u32 = 150;
/// What a call costs.
const CALL: Duration = Duration::from_millis(1);

/// A call that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Point {
    Fence,
    Write,
    Deliver,
    Offsets,
    Commit,
    Abort,
    Poll,
    Ask,
}

/// How a call goes wrong, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fault {
    /// `init_transactions` fails, and may be tried again.
    FenceFails,
    /// It works at the second try; the first is still under way.
    FenceHeld,
    /// The producer's queue is full.
    QueueFull,
    /// A record cannot be delivered.
    DeliveryFails,
    /// The target refuses a record of its own.
    RecordRefused,
    /// A report without an offset.
    NoOffset,
    /// The offsets are refused.
    OffsetsFail,
    /// The offsets are added, the answer is lost.
    OffsetsUnanswered,
    /// The offsets are on their way when the client gives up.
    OffsetsHeld,
    /// The offsets are added at the second try; the first is still under way.
    OffsetsSlow,
    /// The transaction is broken; the commit says so.
    CommitBroken,
    /// The commit never arrives.
    CommitLost,
    /// The commit is under way when the client gives up.
    CommitHeld,
    /// The commit is done, the answers are lost, another try is still under way.
    CommitUnanswered,
    /// The commit is done at the second try; the first is still under way.
    CommitSlow,
    /// The commit arrives when the transaction has timed out.
    CommitTooLate,
    /// The commit is answered long before its markers are written.
    MarkersSlow,
    /// The abort is under way when the client gives up.
    AbortHeld,
    /// The source does not answer.
    PollFails,
    /// A question fails, and may be asked again.
    AskFails,
    /// The rights are gone.
    AskDenied,
}

impl Fault {
    pub(super) const ALL: [Fault; 21] = [
        Self::FenceFails,
        Self::FenceHeld,
        Self::QueueFull,
        Self::DeliveryFails,
        Self::RecordRefused,
        Self::NoOffset,
        Self::OffsetsFail,
        Self::OffsetsUnanswered,
        Self::OffsetsHeld,
        Self::OffsetsSlow,
        Self::CommitBroken,
        Self::CommitLost,
        Self::CommitHeld,
        Self::CommitUnanswered,
        Self::CommitSlow,
        Self::CommitTooLate,
        Self::MarkersSlow,
        Self::AbortHeld,
        Self::PollFails,
        Self::AskFails,
        Self::AskDenied,
    ];

    /// The call that it is about.
    pub(super) fn point(self) -> Point {
        match self {
            Self::FenceFails | Self::FenceHeld => Point::Fence,
            Self::QueueFull => Point::Write,
            Self::DeliveryFails | Self::RecordRefused | Self::NoOffset => Point::Deliver,
            Self::OffsetsFail | Self::OffsetsUnanswered | Self::OffsetsHeld | Self::OffsetsSlow => {
                Point::Offsets
            }
            Self::CommitBroken
            | Self::CommitLost
            | Self::CommitHeld
            | Self::CommitUnanswered
            | Self::CommitSlow
            | Self::CommitTooLate
            | Self::MarkersSlow => Point::Commit,
            Self::AbortHeld => Point::Abort,
            Self::PollFails => Point::Poll,
            Self::AskFails | Self::AskDenied => Point::Ask,
        }
    }
}

/// How a lane came off the stage.
#[derive(Debug)]
pub(super) enum Exit {
    /// As a lane ends.
    Ended(LaneEnd),
    /// Killed.
    Killed,
    /// It panicked: a fault of ours.
    Panicked(String),
}

/// One incarnation of the lane: a worker with its membership.
pub(super) struct Actor {
    pub(super) stop: Stop,
    pub(super) born: Duration,
    /// When the group gave the lane to somebody else.
    pub(super) lost: Option<Duration>,
    /// It has been told so.
    pub(super) told: bool,
    pub(super) killed: bool,
    /// Faults that it met.
    pub(super) met: Vec<Fault>,
    /// How often it was told that it is fenced.
    pub(super) fenced: u32,
    /// The epoch of its producer.
    pub(super) epoch: Option<u32>,
    /// The epoch whose transaction it could not end: left to the next fence.
    pub(super) abandoned: Option<u32>,
    pub(super) exit: Option<Exit>,
}

/// Everything there is.
pub(super) struct World {
    pub(super) now: Duration,
    pub(super) source: BTreeMap<TopicPartition, Log>,
    pub(super) target: TargetCluster,
    pub(super) actors: Vec<Actor>,
    pub(super) planned: BTreeMap<Point, VecDeque<Fault>>,
    /// Most records that a look at the source brings.
    pub(super) batch: usize,
    /// What has happened, and how often.
    pub(super) seen: BTreeMap<String, u64>,
    turn: Option<usize>,
    calls: u32,
    /// For how many calls decided transactions have waited for their markers.
    unmarked: u32,
}

impl World {
    /// Counts something that happened.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        *self.seen.entry(what.into()).or_default() += 1;
    }

    /// Whether the worker thinks that the lane is its own.
    pub(super) fn believes(&self, actor: usize) -> bool {
        let actor = &self.actors[actor];
        actor.lost.is_none() || !actor.told
    }

    /// The planned fault of a call, if there is one.
    pub(super) fn fault(&mut self, actor: usize, point: Point) -> Option<Fault> {
        let fault = self.planned.get_mut(&point)?.pop_front()?;
        self.note(format!("{fault:?}"));
        self.actors[actor].met.push(fault);
        Some(fault)
    }
}

/// The payload of a killed lane's unwinding.
pub(super) struct Kill;

/// Shared by the play and its lanes.
pub(super) struct Stage {
    world: Mutex<World>,
    moved: Condvar,
    began: Instant,
}

impl Stage {
    pub(super) fn new(source: BTreeMap<TopicPartition, Log>, target: TargetCluster) -> Arc<Self> {
        let world = World {
            now: Duration::ZERO,
            source,
            target,
            actors: Vec::new(),
            planned: BTreeMap::new(),
            batch: 3,
            seen: BTreeMap::new(),
            turn: None,
            calls: 0,
            unmarked: 0,
        };
        Arc::new(Self { world: Mutex::new(world), moved: Condvar::new(), began: Instant::now() })
    }

    /// The world, while no lane moves.
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane's call: waits for its turn, and takes the world for it.
    pub(super) fn step(&self, actor: usize) -> MutexGuard<'_, World> {
        let mut world = self.world();
        if world.turn == Some(actor) && world.calls == 0 {
            world.turn = None;
            self.moved.notify_all();
        }
        while world.turn != Some(actor) {
            world = self.moved.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
        if world.actors[actor].killed {
            drop(world);
            // Not a panic: nothing is printed.
            resume_unwind(Box::new(Kill));
        }
        world.calls = world.calls.saturating_sub(1);
        world.now += CALL;
        world.unmarked = if world.target.markers_wait() { world.unmarked + 1 } else { 0 };
        if world.unmarked > SLOW {
            world.target.write_markers();
        }
        let now = world.now;
        if world.target.expire(now) {
            world.note("a transaction timed out");
        }
        world
    }

    /// Lets a lane make so many calls, at most; comes back when it waits again or is gone.
    pub(super) fn turn(&self, actor: usize, calls: u32) {
        let mut world = self.world();
        if world.actors[actor].exit.is_some() {
            return;
        }
        (world.turn, world.calls) = (Some(actor), calls);
        self.moved.notify_all();
        while world.turn.is_some() {
            world = self.moved.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A lane's last word.
    pub(super) fn leave(&self, actor: usize, exit: Exit) {
        let mut world = self.world();
        world.actors[actor].exit = Some(exit);
        world.turn = None;
        self.moved.notify_all();
    }
}

/// The stage's time, as one actor sees it.
pub(super) struct Time(pub(super) Arc<Stage>, pub(super) usize);

impl Clock for Time {
    fn now(&self) -> Instant {
        self.0.began + self.0.world().now
    }

    fn sleep(&self, pause: Duration) {
        let mut world = self.0.step(self.1);
        world.now += pause;
        let now = world.now;
        let actor = &mut world.actors[self.1];
        // Who sleeps through a heartbeat is told by it.
        let heartbeat = Duration::from_millis(HEARTBEAT_MS);
        actor.told |= actor.lost.is_some_and(|lost| now - lost >= heartbeat);
    }
}
