//! The supervisor: who owns which lane, when the run is over, and how it ends. It moves no record.
//!
//! Everything that happens reaches it as an [`Event`]; one thread handles them one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::cluster::{
    MemberEvent, Membership, ReaderTuning, SourceReader, Token, TransactionalWriter, WriterTuning,
};
use crate::error::{Error, Kind, Result, Side};
use crate::pipe::bound::tail_excluded;
use crate::pipe::decide::retry_backoff;
use crate::pipe::lane::{Lane, LaneEnd};
use crate::pipe::rate::Bucket;
use crate::pipe::shared::{Shared, TRANSACTION_TIMEOUT};
use crate::pipe::stop::Stop;
use crate::pipe::watch::{self, Duty, write_refused};

/// How a run ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every lane of the plan has reached the fence.
    Copied,
    /// A one-shot run was stopped by this signal before the fence, after a clean commit.
    Stopped(i32),
    /// A tail was stopped by a signal, after a clean commit.
    TailStopped,
}

enum Event {
    Member(MemberEvent),
    Ended(u32, LaneEnd),
    News,
    Failed(Error),
}

/// A lane that looks at its stop signal no more for so long hangs in a call: longer than any time-out
/// that the calls have by themselves.
const HANGS_AFTER: Duration = TRANSACTION_TIMEOUT.saturating_mul(2);
/// How long leaving the group may take; then its session time-out does it.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);
/// How long lanes may take to commit and close once the run ends.
const CLOSE_PATIENCE: Duration = TRANSACTION_TIMEOUT;
const TICK: Duration = Duration::from_millis(250);

/// Runs the worker until the plan is done, a signal, or an error.
pub fn supervise(shared: &Arc<Shared>) -> Result<Outcome> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::fault(format!("no runtime: {error}")))?
        .block_on(async { Supervisor::start(shared)?.work().await })
}

struct Supervisor {
    shared: Arc<Shared>,
    membership: Arc<Membership>,
    duty: Arc<Duty>,
    watch: JoinHandle<()>,
    events: UnboundedSender<Event>,
    inbox: tokio::sync::mpsc::UnboundedReceiver<Event>,
    lanes: BTreeMap<u32, Running>,
    /// Lanes that the group gives us, running or finished.
    owned: BTreeSet<u32>,
    /// Lanes that gave up while the group still named us: to be begun again.
    again: BTreeMap<u32, Instant>,
    /// Revoked lanes that are still closing; acknowledged when all are closed.
    revoked: Vec<(Token, BTreeSet<u32>)>,
    ending: Option<(Result<Outcome>, Instant)>,
}

struct Running {
    stop: Stop,
    thread: JoinHandle<()>,
}

impl Supervisor {
    fn start(shared: &Arc<Shared>) -> Result<Self> {
        let (events, inbox) = unbounded_channel();
        let duty = Arc::new(Duty::default());
        let (news, failed) = (events.clone(), events.clone());
        let watch = watch::start(
            shared,
            &duty,
            move || drop(news.send(Event::News)),
            move |error| drop(failed.send(Event::Failed(error))),
        )
        .map_err(|error| Error::fault(format!("no thread for the watch: {error}")))?;
        let (told, members) = std::sync::mpsc::channel();
        let forward = events.clone();
        // Ends with the membership, which drops its end of the channel.
        thread::spawn(move || members.into_iter().try_for_each(|e| forward.send(Event::Member(e))));
        let membership = Membership::join(
            &shared.clusters.target,
            &shared.plan.group(),
            &shared.worker,
            shared.plan.ledger_topic(),
            told,
        )?;
        shared.board.wait("worker", "its share of the lanes from the target's group coordinator");
        shared.board.lanes(0, shared.scope.lanes);
        Ok(Self {
            shared: shared.clone(),
            membership,
            duty,
            watch,
            events,
            inbox,
            lanes: BTreeMap::new(),
            owned: BTreeSet::new(),
            again: BTreeMap::new(),
            revoked: Vec::new(),
            ending: None,
        })
    }

    async fn work(mut self) -> Result<Outcome> {
        use tokio::signal::unix::{SignalKind, signal};
        let fault = |error| Error::fault(format!("no signal handler: {error}"));
        let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(fault)?;
        let mut tick = tokio::time::interval(TICK);
        // The fence of an earlier worker may have been reached while we joined.
        self.news();
        while !self.over() {
            tokio::select! {
                Some(event) = self.inbox.recv() => self.handle(event),
                _ = interrupt.recv() => self.signal(2),
                _ = terminate.recv() => self.signal(15),
                _ = tick.tick() => self.tick(),
            }
        }
        self.duty.end.store(true, Ordering::Relaxed);
        let clean = self.lanes.is_empty();
        if clean {
            self.shared.board.wait("worker", "the group to let it go");
            if let Err(error) = self.membership.leave(LEAVE_PATIENCE) {
                tracing::warn!(%error, "the group was not left; its session time-out will do it");
            }
            drop(self.watch.join());
        }
        self.shared.board.go_on("worker");
        let (result, _) = self.ending.expect("over only once an end is decided");
        result
    }

    fn over(&self) -> bool {
        match &self.ending {
            None => false,
            Some((_, since)) => self.lanes.is_empty() || since.elapsed() > CLOSE_PATIENCE,
        }
    }

    fn end(&mut self, result: Result<Outcome>) {
        // The first error is the cause; what follows from it would hide it.
        if self.ending.is_none() {
            self.ending = Some((result, Instant::now()));
            self.again.clear();
        }
        for lane in self.lanes.values() {
            lane.stop.finish();
        }
    }

    fn signal(&mut self, signal: i32) {
        if self.ending.is_some() {
            tracing::warn!(signal, "second signal: open transactions are aborted");
            for lane in self.lanes.values() {
                lane.stop.abort();
            }
            let what = "stopped by a second signal; open transactions were aborted";
            self.ending = Some((Err(Error::stopped(signal, what)), Instant::now()));
            return;
        }
        tracing::info!(signal, "stopping: lanes commit what is open (a second signal aborts it)");
        let tail = self.shared.tail;
        self.end(Ok(if tail { Outcome::TailStopped } else { Outcome::Stopped(signal) }));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Member(event) => self.member(event),
            Event::Ended(lane, end) => self.ended(lane, end),
            Event::News => self.news(),
            Event::Failed(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: Error) {
        if matches!(error.kind, Kind::Refused(_))
            && self.ending.is_none()
            && let Err(unwritten) =
                write_refused(&self.shared.clusters, &self.shared.worker, &error)
        {
            tracing::warn!(%unwritten, "the refusal could not be written into the ledger");
        }
        self.end(Err(error));
    }

    fn news(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if let Some(refused) = self.shared.view.refused() {
            let what = format!("worker `{}` was refused: {}", refused.worker, refused.what);
            self.end(Err(Error::refused("refused-elsewhere", what)
                .hint("the other worker's output, and `onceover status`, tell more")));
        } else if self.shared.tail && self.shared.view.seen().control.open_fence().is_some() {
            self.end(Err(tail_excluded()));
        } else if !self.shared.tail && self.shared.view.done() {
            self.end(Ok(Outcome::Copied));
        }
    }

    fn member(&mut self, event: MemberEvent) {
        match event {
            MemberEvent::Assigned(partitions) => self.assigned(&partitions),
            MemberEvent::Revoked(partitions, token) => {
                let closing = self.give_up(&partitions, Stop::finish);
                self.revoked.push((token, closing));
                self.acknowledge();
            }
            MemberEvent::Lost(partitions) => {
                tracing::warn!(?partitions, "membership lost: lanes are dropped");
                self.give_up(&partitions, Stop::abort);
            }
            MemberEvent::Fatal(error) => self.fail(error.into()),
        }
        let owned = u32::try_from(self.owned.len()).unwrap_or(u32::MAX);
        self.shared.board.lanes(owned, self.shared.scope.lanes);
        self.share_rate(owned);
    }

    fn assigned(&mut self, partitions: &[i32]) {
        self.shared.board.go_on("worker");
        let mut fresh = Vec::new();
        for number in partitions.iter().filter_map(|p| u32::try_from(*p).ok()) {
            if number == self.shared.scope.control() {
                self.duty.control.store(true, Ordering::Relaxed);
            } else if number < self.shared.scope.lanes && self.owned.insert(number) {
                fresh.push(number);
            }
        }
        tracing::info!(lanes = ?fresh, "lanes assigned");
        for lane in fresh {
            self.spawn(lane);
        }
    }

    /// Tells lanes to close; returns those that still have to.
    fn give_up(&mut self, partitions: &[i32], how: fn(&Stop)) -> BTreeSet<u32> {
        let mut closing = BTreeSet::new();
        for number in partitions.iter().filter_map(|p| u32::try_from(*p).ok()) {
            if number == self.shared.scope.control() {
                self.duty.control.store(false, Ordering::Relaxed);
            }
            self.owned.remove(&number);
            self.again.remove(&number);
            if let Some(lane) = self.lanes.get(&number) {
                how(&lane.stop);
                closing.insert(number);
            }
        }
        closing
    }

    fn acknowledge(&mut self) {
        let lanes = &self.lanes;
        for (_, closing) in &mut self.revoked {
            closing.retain(|lane| lanes.contains_key(lane));
        }
        let revoked = std::mem::take(&mut self.revoked);
        for (token, closing) in revoked {
            if closing.is_empty() {
                self.membership.acknowledge(token);
            } else {
                self.revoked.push((token, closing));
            }
        }
    }

    fn ended(&mut self, lane: u32, end: LaneEnd) {
        if let Some(running) = self.lanes.remove(&lane) {
            drop(running.thread.join());
        }
        tracing::debug!(lane, ?end, "lane ended");
        match end {
            LaneEnd::Finished => {}
            // A lane that came back while it was being lost to us may be ours again by now.
            LaneEnd::Released | LaneEnd::Dropped => {
                if self.ending.is_none() && self.owned.contains(&lane) {
                    self.again.insert(lane, Instant::now() + Duration::from_secs(1));
                }
            }
            LaneEnd::Failed(error) => self.fail(error),
        }
        self.acknowledge();
    }

    fn tick(&mut self) {
        let now = Instant::now();
        let due: Vec<u32> =
            self.again.iter().filter(|(_, at)| **at <= now).map(|(lane, _)| *lane).collect();
        for lane in due {
            if self.membership.owns(lane_partition(lane)) {
                self.again.remove(&lane);
                self.spawn(lane);
            } else {
                self.again.insert(lane, now + Duration::from_secs(1));
            }
        }
        let hangs = self.lanes.iter().find(|(_, lane)| lane.stop.silent_for() > HANGS_AFTER);
        if let Some((&number, _)) = hangs {
            // Its thread cannot be ended; the process can, and the next owner's fence cleans up.
            self.ending = Some((
                Err(Error::cluster(
                    Side::Target,
                    format!("lane {number} hangs in a call for {} s", HANGS_AFTER.as_secs()),
                )
                .hint("look at the target's brokers; run again: it goes on where it stopped")),
                Instant::now().checked_sub(CLOSE_PATIENCE).unwrap_or(now),
            ));
        }
    }

    fn share_rate(&self, owned: u32) {
        let (Some(bucket), Some(rate)) = (&self.shared.bucket, self.shared.plan.run.max_rate)
        else {
            return;
        };
        let mut bucket = bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        bucket.set_rate(share(rate, owned, self.shared.scope.lanes), Instant::now());
    }

    fn spawn(&mut self, number: u32) {
        if self.ending.is_some() || self.lanes.contains_key(&number) {
            return;
        }
        let stop = Stop::new();
        let (shared, membership) = (self.shared.clone(), self.membership.clone());
        let lanes_here = self.owned.len().max(1);
        let events = self.events.clone();
        let lane_stop = stop.clone();
        let thread = thread::Builder::new().name(format!("lane {number}")).spawn(move || {
            let work = || run_lane(number, &shared, &membership, lanes_here, lane_stop);
            let end = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                LaneEnd::Failed(Error::fault(format!("lane {number} panicked")))
            });
            drop(events.send(Event::Ended(number, end)));
        });
        match thread {
            Ok(thread) => drop(self.lanes.insert(number, Running { stop, thread })),
            Err(error) => self.fail(Error::fault(format!("no thread for lane {number}: {error}"))),
        }
    }
}

fn lane_partition(lane: u32) -> i32 {
    i32::try_from(lane).unwrap_or(i32::MAX)
}

/// The worker's share of a plan-wide rate: that of its lanes.
#[expect(clippy::cast_precision_loss, reason = "a rate, not an account")]
fn share(rate: u64, owned: u32, lanes: u32) -> f64 {
    rate as f64 * f64::from(owned) / f64::from(lanes.max(1))
}

/// `max_rate` before any lane is owned.
pub fn bucket(rate: Option<u64>) -> Option<std::sync::Mutex<Bucket>> {
    rate.map(|_| std::sync::Mutex::new(Bucket::new(1.0, Instant::now())))
}

fn run_lane(
    number: u32,
    shared: &Arc<Shared>,
    membership: &Arc<Membership>,
    lanes_here: usize,
    stop: Stop,
) -> LaneEnd {
    let plan = &shared.plan;
    let memory = usize::try_from(plan.run.memory).unwrap_or(usize::MAX) / lanes_here;
    let reader = reader_tuning(memory, plan.run.max_rate);
    let writer = WriterTuning {
        queue_bytes: memory * 3 / 8,
        batch_bytes: 0, // the lane sets it before its first fence
        transaction_timeout: TRANSACTION_TIMEOUT,
        retry_backoff: retry_backoff(shared.round_trip),
        one_by_one: false,
    };
    let source = match SourceReader::open(&shared.clusters.source, &plan.group(), reader) {
        Ok(source) => source,
        Err(error) => return LaneEnd::Failed(error.into()),
    };
    let partition = lane_partition(number);
    let target = TransactionalWriter::new(
        &shared.clusters.target,
        &plan.transactional_id(number),
        writer,
        membership.clone(),
        partition,
    );
    let member = membership.clone();
    let member = Box::new(move || member.owns(partition));
    Lane::new(number, shared.clone(), (source, target), stop, member).run()
}

/// A lane's fetch queue: three eighths of its memory; with `max_rate` at most two seconds' worth, so
/// that reading is bounded as writing is.
fn reader_tuning(memory: usize, max_rate: Option<u64>) -> ReaderTuning {
    /// Measured: more does not help.
    const FETCH: usize = 4 << 20;
    let rate = max_rate.map_or(usize::MAX, |rate| usize::try_from(rate).unwrap_or(usize::MAX));
    let queue_bytes = (memory * 3 / 8).min(rate.saturating_mul(2)).max(64 << 10);
    ReaderTuning { queue_bytes, fetch_bytes: FETCH.min(queue_bytes / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_takes_the_share_of_its_lanes() {
        assert!((share(1000, 2, 8) - 250.0).abs() < f64::EPSILON);
        assert!((share(1000, 0, 8)).abs() < f64::EPSILON);
    }
}
