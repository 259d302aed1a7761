//! The supervisor: who owns which lane, when the run is over, and how it ends. It moves no record.
//!
//! Everything that happens reaches it as an [`Event`]; one thread handles them one after the other.

mod lanes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::cluster::{MemberEvent, Membership, Token};
use crate::error::{Error, Kind, Result};
use crate::pipe::bound::tail_excluded;
use crate::pipe::ending::{Outcome, closed, weightier};
use crate::pipe::identity;
use crate::pipe::lane::LaneEnd;
use crate::pipe::mode::{Mode, still_alone};
use crate::pipe::orphans::orphans;
use crate::pipe::shared::{Shared, TRANSACTION_TIMEOUT};
use crate::pipe::stop::Stop;
use crate::pipe::watch::{self, Duty, write_refused};

enum Event {
    /// Of the membership with this number.
    Member(u32, MemberEvent),
    Ended(u32, LaneEnd),
    News,
    Failed(Error),
    Changed(String),
}

/// How long leaving the group may take; then its session time-out does it.
const LEAVE_PATIENCE: Duration = Duration::from_secs(10);
/// How long lanes may take to commit and close once the run ends.
const CLOSE_PATIENCE: Duration = TRANSACTION_TIMEOUT;
/// How long lanes may take to abort after a second signal; then the next owner's fence aborts.
const ABORT_PATIENCE: Duration = Duration::from_secs(3);
/// What a worker without lanes waits for.
const LANES_WANTED: &str = "its share of the lanes from the target's group coordinator";
const TICK: Duration = Duration::from_millis(250);

/// Runs the worker until the plan is done, a signal, or an error; or until a tail has to look again.
pub fn supervise(shared: &Arc<Shared>, signals: &mut Option<Signals>) -> Result<Outcome> {
    let signals = match signals {
        Some(signals) => signals,
        None => signals.insert(Signals::listen()?),
    };
    let Signals { runtime, interrupt, terminate } = signals;
    runtime.block_on(async { Supervisor::start(shared)?.work(interrupt, terminate).await })
}

/// The process's ears for signals. They outlive a round of a tail, so that none is lost in between.
pub struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::fault(format!("no runtime: {error}")))?;
        let listen = |kind| {
            let _inside = runtime.enter();
            signal(kind).map_err(|error| Error::fault(format!("no signal handler: {error}")))
        };
        let (interrupt, terminate) =
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        Ok(Self { runtime, interrupt, terminate })
    }

    /// Runs `work` in a thread of its own; none if a signal came before its end: then nobody waits for it.
    pub fn unless_one_comes<R: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<Option<R>> {
        let (tell, told) = tokio::sync::oneshot::channel();
        thread::Builder::new()
            .name("look".into())
            .spawn(move || drop(tell.send(work())))
            .map_err(|error| Error::fault(format!("no thread for the look: {error}")))?;
        let Signals { runtime, interrupt, terminate } = self;
        runtime.block_on(async {
            tokio::select! {
                found = told => {
                    found.map(Some).map_err(|_| Error::fault("the look at both clusters panicked"))
                }
                _ = interrupt.recv() => Ok(None),
                _ = terminate.recv() => Ok(None),
            }
        })
    }
}

struct Supervisor {
    shared: Arc<Shared>,
    membership: Arc<Membership>,
    /// How often the group was joined anew: what an earlier membership still has to say is of no interest.
    joins: u32,
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
    ending: Option<Ending>,
    /// Whether it was looked for workers of the other mode since we are in the group.
    alone: bool,
    ticked: Instant,
    /// Since when the process runs without having stood still.
    awake: Instant,
}

/// How the run is to end, and until when lanes may take to close.
struct Ending {
    result: Result<Outcome>,
    until: Instant,
    signal: Option<i32>,
}

struct Running {
    stop: Stop,
    thread: JoinHandle<()>,
}

fn join(shared: &Shared, events: &UnboundedSender<Event>, number: u32) -> Result<Arc<Membership>> {
    let (told, members) = std::sync::mpsc::channel();
    let forward = events.clone();
    // Ends with the membership, which drops its end of the channel.
    thread::spawn(move || {
        members.into_iter().try_for_each(|e| forward.send(Event::Member(number, e)))
    });
    let name = Mode::of(shared.tail).client_id(&shared.plan.name);
    Ok(Membership::join(
        &shared.clusters.target.named(&name),
        &shared.plan.group(),
        &shared.worker,
        shared.plan.ledger_topic(),
        told,
    )?)
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
        let tell = events.clone();
        let news = move |news| {
            drop(tell.send(match news {
                identity::News::Refused(error) => Event::Failed(error),
                identity::News::Changed(what) => Event::Changed(what),
            }));
        };
        identity::start(shared, &duty, news)
            .map_err(|error| Error::fault(format!("no thread for the topic ids: {error}")))?;
        let membership = join(shared, &events, 0)?;
        shared.board.wait("worker", LANES_WANTED);
        shared.board.lanes(0, shared.scope.lanes);
        Ok(Self {
            shared: shared.clone(),
            membership,
            joins: 0,
            duty,
            watch,
            events,
            inbox,
            lanes: BTreeMap::new(),
            owned: BTreeSet::new(),
            again: BTreeMap::new(),
            revoked: Vec::new(),
            ending: None,
            alone: false,
            ticked: Instant::now(),
            awake: Instant::now(),
        })
    }

    async fn work(mut self, interrupt: &mut Signal, terminate: &mut Signal) -> Result<Outcome> {
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
        let Ending { result, signal, .. } = self.ending.expect("over only once an end is decided");
        if self.lanes.is_empty() {
            self.shared.board.wait("worker", "the group to let it go");
            let hurry = matches!(&result, Err(error) if matches!(error.kind, Kind::Stopped(_)));
            let patience = if hurry { ABORT_PATIENCE } else { LEAVE_PATIENCE };
            if let Err(error) = self.membership.leave(patience) {
                tracing::warn!(%error, "the group was not left; its session time-out will do it");
            }
            // It looks at its flag between two questions; one that nobody answers is not waited for.
            let until = Instant::now() + ABORT_PATIENCE;
            while !self.watch.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.shared.board.go_on("worker");
        closed(result, signal, self.lanes.keys().copied().collect())
    }

    fn over(&self) -> bool {
        let over = |ending: &Ending| self.lanes.is_empty() || Instant::now() > ending.until;
        self.ending.as_ref().is_some_and(over)
    }

    fn end(&mut self, result: Result<Outcome>, signal: Option<i32>) {
        match &mut self.ending {
            None => {
                self.ending =
                    Some(Ending { result, until: Instant::now() + CLOSE_PATIENCE, signal });
                self.again.clear();
            }
            Some(ending) => ending.result = weightier(&ending.result, result),
        }
        for lane in self.lanes.values() {
            lane.stop.finish();
        }
    }

    fn signal(&mut self, signal: i32) {
        let tail = self.shared.tail;
        let Some(ending) = &mut self.ending else {
            tracing::info!(
                signal,
                "stopping: lanes commit what is open (a second signal aborts it)"
            );
            let stopped = if tail { Outcome::TailStopped } else { Outcome::Stopped(signal) };
            return self.end(Ok(stopped), Some(signal));
        };
        if ending.result == Ok(Outcome::Changed) {
            // The lanes are closing already: it only must not begin again.
            (ending.result, ending.signal) = (Ok(Outcome::TailStopped), Some(signal));
            return;
        }
        tracing::warn!(signal, "no more waiting: open transactions are aborted");
        // An error stays the cause, and a plan that is done stays done.
        if ending.signal.is_some() && ending.result.is_ok() {
            let what = "stopped by a second signal; open transactions were aborted";
            ending.result = Err(Error::stopped(signal, what));
        }
        ending.until = ending.until.min(Instant::now() + ABORT_PATIENCE);
        for lane in self.lanes.values() {
            lane.stop.abort();
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Member(of, event) if of == self.joins => self.member(event),
            Event::Member(of, event) => tracing::debug!(of, ?event, "of an earlier membership"),
            Event::Ended(lane, end) => self.ended(lane, end),
            Event::News => self.news(),
            Event::Failed(error) => self.fail(error),
            Event::Changed(what) => {
                tracing::info!("{what}: the lanes commit, then both clusters are looked at again");
                self.end(Ok(Outcome::Changed), None);
            }
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
        self.end(Err(error), None);
    }

    fn news(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if let Some(refused) = self.shared.view.refused() {
            let what = format!("worker `{}` was refused: {}", refused.worker, refused.what);
            let hint = "the other worker's output, and `onceover status`, tell more";
            self.end(Err(Error::refused("refused-elsewhere", what).hint(hint)), None);
        } else if self.shared.tail && self.shared.view.seen().control.open_fence().is_some() {
            self.end(Err(tail_excluded()), None);
        } else if !self.shared.tail && self.shared.view.done() {
            self.end(Ok(Outcome::Copied), None);
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
                if self.ending.is_none() {
                    self.shared.board.wait("worker", LANES_WANTED);
                }
            }
            MemberEvent::Fatal(error) => self.fail(error.into()),
        }
        let owned = u32::try_from(self.owned.len()).unwrap_or(u32::MAX);
        self.shared.board.lanes(owned, self.shared.scope.lanes);
        self.share_rate(owned);
    }

    /// Makes the group share out again, if it has lanes that nobody has: by leaving it, and joining anew.
    /// Done once, before any lane is begun; where the lanes are only on their way from one worker to another
    /// it does no harm.
    fn join_anew_for_orphans(&mut self) -> Result<bool> {
        let Shared { clusters, plan, worker, scope, .. } = &*self.shared;
        let members = clusters.target_admin.group_members(&plan.group())?;
        if !orphans(&members, worker, scope.lanes + 1) {
            return Ok(false);
        }
        tracing::info!("the group has lanes that nobody has; joining it anew");
        self.membership.leave(LEAVE_PATIENCE)?;
        self.joins += 1;
        self.membership = join(&self.shared, &self.events, self.joins)?;
        Ok(true)
    }

    fn assigned(&mut self, partitions: &[i32]) {
        if !self.alone {
            let shared = &self.shared;
            match still_alone(Mode::of(shared.tail), &shared.plan, &shared.clusters) {
                Ok(()) => self.alone = true,
                // Nothing was begun yet.
                Err(error) => return self.fail(error),
            }
            match self.join_anew_for_orphans() {
                Ok(false) => {}
                Ok(true) => return,
                Err(error) => return self.fail(error),
            }
        }
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
}
