//! Membership of the plan's group on the target: who should own which lane.
//!
//! A thread of its own always polls, so a lane that is busy or stuck never costs the membership.
//! Nothing is fetched. What the group takes back is given back only when the lane's owner says that
//! its transaction is over:
//!
//! ```text
//! group ── assign ──▶ Assigned ──▶ the lane runs
//! group ── revoke ──▶ Revoked(token) ──▶ the lane commits or aborts ──▶ acknowledge(token) ──▶ group
//! session lost ─────▶ Lost: given back at once; the lane can commit nothing any more
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::class::{Call, Class, ClusterError, whatever_the_call};
use super::connect::Connection;
use super::sys::client::Role;
use super::sys::code::Code;
use super::sys::fault::Fault;
use super::sys::group::{END, GroupEvent, GroupMetadata, Member, REBALANCES};
use super::sys::list::{Entry, PartitionList};

/// One wait for events; a wake-up ends it early.
const SLICE: Duration = Duration::from_millis(200);

/// `heartbeat.interval.ms`: how soon a lost membership is noticed.
pub const HEARTBEAT_MS: u64 = 500;

/// `session.timeout.ms`: how long the group keeps a member that is dead or frozen; brokers allow no
/// less than 6 s.
pub const SESSION: Duration = Duration::from_secs(10);

/// What happens to a membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberEvent {
    /// These ledger partitions are ours now.
    Assigned(Vec<i32>),
    /// These are wanted back; they stay ours until the token is acknowledged.
    Revoked(Vec<i32>, Token),
    /// These are not ours any more.
    Lost(Vec<i32>),
    /// The membership is over: the same worker name was started twice, or we have no rights.
    Fatal(ClusterError),
}

/// Names a revoke, for [`Membership::acknowledge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(u64);

/// A live membership. Ends with [`leave`](Membership::leave); dropped without it, the group holds
/// the lanes for this worker's name until the session time-out.
pub struct Membership {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<bool>>>,
}

struct Shared {
    connection: Connection,
    member: Member,
    topic: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Assigned, and not given back.
    lanes: BTreeSet<i32>,
    acknowledged: Vec<Token>,
    over: Option<ClusterError>,
    leave_until: Option<Instant>,
    dropped: bool,
}

impl Membership {
    /// Joins `group` on the target as `instance_id`, sharing the partitions of `ledger_topic`.
    /// Returns at once; what the group assigns comes as events.
    pub fn join(
        connection: &Connection,
        group: &str,
        instance_id: &str,
        ledger_topic: &str,
        events: Sender<MemberEvent>,
    ) -> Result<Arc<Membership>, ClusterError> {
        let own = [
            ("group.id", group.to_owned()),
            ("group.instance.id", instance_id.to_owned()),
            ("group.protocol", "classic".to_owned()),
            ("partition.assignment.strategy", "cooperative-sticky".to_owned()),
            ("session.timeout.ms", SESSION.as_millis().to_string()),
            // A revoke is heard of with the next heartbeat.
            ("heartbeat.interval.ms", HEARTBEAT_MS.to_string()),
            // Our thread always polls; a process that is frozen loses its session instead.
            ("max.poll.interval.ms", "86400000".to_owned()),
            ("enable.auto.commit", "false".to_owned()),
            ("enable.auto.offset.store", "false".to_owned()),
            ("auto.offset.reset", "latest".to_owned()),
            ("enable.partition.eof", "false".to_owned()),
        ];
        let client = connection.start(Role::Consumer, "member", &own, REBALANCES)?;
        let member = Member::new(&client).expect("a consumer with a group id has a queue");
        let shared = Arc::new(Shared {
            connection: connection.clone(),
            member,
            topic: ledger_topic.to_owned(),
            state: Mutex::default(),
        });
        let what = format!("cannot join group `{group}`");
        shared.member.subscribe(ledger_topic).map_err(|fault| shared.error(&what, &fault))?;
        let polling = Polling::new(Arc::clone(&shared), events);
        let thread = std::thread::Builder::new()
            .name("membership".into())
            .spawn(move || polling.run())
            .map_err(|error| {
                let what = format!("{what}: no thread: {error}");
                ClusterError::new(connection.side(), Class::Final, what)
            })?;
        Ok(Arc::new(Membership { shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Whether the group holds us for the owner of `lane` at this moment.
    pub fn owns(&self, lane: i32) -> bool {
        self.shared.metadata_for(lane).is_some()
    }

    /// Generation and member id at this moment, where there are both: for logs and carry entries.
    pub fn identity(&self) -> Option<(i32, String)> {
        let metadata = self.shared.member.metadata()?;
        live(&metadata).then(|| (metadata.generation(), metadata.member_id()))
    }

    /// Gives back what `token` names: its lanes are closed.
    pub fn acknowledge(&self, token: Token) {
        self.shared.state().acknowledged.push(token);
        self.shared.member.wake();
    }

    /// Leaves the group, so that others get the lanes at once. All lanes must be closed: whatever
    /// the group wants back is given back. Never takes longer than `timeout`.
    pub fn leave(&self, timeout: Duration) -> Result<(), ClusterError> {
        self.shared.state().leave_until = Some(Instant::now() + timeout);
        self.shared.member.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            None | Some(Ok(true)) => Ok(()),
            Some(_) => {
                let what = "the group did not let us leave in time; \
                            it gives the lanes away when the session times out";
                Err(ClusterError::new(self.shared.connection.side(), Class::Retriable, what))
            }
        }
    }

    /// Runs `send` with the metadata that was looked at and found to own `lane`; none if it does
    /// not.
    pub(super) fn with_metadata<R>(
        &self,
        lane: i32,
        send: impl FnOnce(&GroupMetadata) -> R,
    ) -> Option<R> {
        self.shared.metadata_for(lane).map(|metadata| send(&metadata))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // The thread ends by itself and takes the client with it: ending one may take a while.
        self.shared.state().dropped = true;
        self.shared.member.wake();
    }
}

/// Whether a member has a place in the group: generation -1 would pass the coordinator unchecked.
fn live(metadata: &GroupMetadata) -> bool {
    metadata.generation() >= 0 && !metadata.member_id().is_empty()
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One snapshot of the member's metadata, if by it and at this moment `lane` is ours.
    fn metadata_for(&self, lane: i32) -> Option<GroupMetadata> {
        let metadata = self.member.metadata()?;
        let state = self.state();
        let ours = live(&metadata)
            && state.over.is_none()
            && state.lanes.contains(&lane)
            // Asked last: the client holds an assignment for lost before its event is served.
            && !self.member.assignment_lost();
        ours.then_some(metadata)
    }

    fn error(&self, what: &str, fault: &Fault) -> ClusterError {
        let notices = Some(self.member.client().notices());
        self.connection.error(Call::Member, what, fault, notices)
    }

    fn list(&self, lanes: &[i32]) -> PartitionList {
        let mut list = PartitionList::new(lanes.len());
        for lane in lanes {
            list.add(&self.topic, *lane, END, None);
        }
        list
    }
}

/// The thread that polls.
struct Polling {
    shared: Arc<Shared>,
    events: Sender<MemberEvent>,
    revoked: BTreeMap<Token, Vec<i32>>,
    next_token: u64,
    leaving: Leaving,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// Unsubscribed; the revoke of everything is on its way.
    Unsubscribed,
    /// Closing: waits for the coordinator's answer.
    Closing,
}

impl Polling {
    fn new(shared: Arc<Shared>, events: Sender<MemberEvent>) -> Polling {
        let revoked = BTreeMap::new();
        Polling { shared, events, revoked, next_token: 0, leaving: Leaving::No }
    }

    /// Polls until the membership is left (true), given up or dropped.
    fn run(mut self) -> bool {
        loop {
            let (until, dropped) = {
                let state = self.shared.state();
                (state.leave_until, state.dropped)
            };
            if dropped && until.is_none() {
                return false;
            }
            if let Some(until) = until {
                if self.leave() {
                    return true;
                }
                if Instant::now() >= until {
                    return false;
                }
            }
            self.give_back_acknowledged();
            let wait = if until.is_some() { SLICE / 10 } else { SLICE };
            match self.shared.member.poll(wait) {
                Some(GroupEvent::Assign(partitions)) => self.assigned(lanes(&partitions)),
                Some(GroupEvent::Revoke(partitions)) => self.revoked(lanes(&partitions)),
                Some(GroupEvent::Other) | None => {}
            }
            self.listen();
            self.notice_loss();
        }
    }

    fn tell(&self, event: MemberEvent) {
        // Nobody listens any more: the process is ending.
        drop(self.events.send(event));
    }

    fn assigned(&mut self, lanes: Vec<i32>) {
        let list = self.shared.list(&lanes);
        let member = &self.shared.member;
        if let Err(fault) = member
            .assign(&list)
            .and_then(|()| if list.is_empty() { Ok(()) } else { member.pause(&list) })
        {
            tracing::warn!(?lanes, "cannot take lanes on: {}", fault.text);
        }
        if lanes.is_empty() || self.leaving != Leaving::No {
            return;
        }
        self.shared.state().lanes.extend(&lanes);
        self.tell(MemberEvent::Assigned(lanes));
    }

    fn revoked(&mut self, lanes: Vec<i32>) {
        if self.shared.member.assignment_lost() {
            self.give_back(&lanes);
            self.tell(MemberEvent::Lost(lanes));
        } else if self.leaving != Leaving::No || lanes.is_empty() {
            self.give_back(&lanes);
        } else {
            self.next_token += 1;
            let token = Token(self.next_token);
            self.revoked.insert(token, lanes.clone());
            self.tell(MemberEvent::Revoked(lanes, token));
        }
    }

    fn give_back(&self, lanes: &[i32]) {
        {
            let mut state = self.shared.state();
            for lane in lanes {
                state.lanes.remove(lane);
            }
        }
        let member = &self.shared.member;
        if member.unassign(&self.shared.list(lanes)).is_err()
            // Not a cooperative revoke: then it is one of everything.
            && let Err(fault) = member.unassign_all()
        {
            tracing::warn!(?lanes, "cannot give lanes back: {}", fault.text);
        }
    }

    fn give_back_acknowledged(&mut self) {
        let acknowledged = std::mem::take(&mut self.shared.state().acknowledged);
        for token in acknowledged {
            if let Some(lanes) = self.revoked.remove(&token) {
                self.give_back(&lanes);
            }
        }
    }

    /// A session that is lost while a revoke waits for its answer brings no further event.
    fn notice_loss(&mut self) {
        if !self.revoked.is_empty() && self.shared.member.assignment_lost() {
            for lanes in std::mem::take(&mut self.revoked).into_values() {
                self.give_back(&lanes);
                self.tell(MemberEvent::Lost(lanes));
            }
        }
    }

    /// Ends the membership on errors that do not pass.
    fn listen(&mut self) {
        let client = self.shared.member.client();
        let mut over = None;
        for (code, text) in client.notices().take_errors() {
            let fault = match client.fatal_error() {
                Some(cause) => cause,
                None if whatever_the_call(code).is_some() => Fault::new(code, text),
                None => {
                    if code != Code::ALL_BROKERS_DOWN {
                        tracing::debug!(?code, "the member tries on: {text}");
                    }
                    continue;
                }
            };
            let what = match fault.code {
                Code::FENCED_INSTANCE_ID => "another process runs under this worker's name",
                _ => "the membership ended",
            };
            over = over.or(Some(self.shared.error(what, &fault)));
        }
        let Some(error) = over else { return };
        let first = self.shared.state().over.replace(error.clone()).is_none();
        if first {
            self.tell(MemberEvent::Fatal(error));
        }
    }

    /// One step of leaving; true when it is done.
    fn leave(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let member = &shared.member;
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Unsubscribed;
            for lanes in std::mem::take(&mut self.revoked).into_values() {
                self.give_back(&lanes);
            }
            if let Err(fault) = member.unsubscribe() {
                tracing::debug!("cannot unsubscribe: {}", fault.text);
            }
        }
        // The member id is emptied when the request to leave is sent; a member that never got in
        // has none. Only closing waits for the answer.
        let gone = member.metadata().is_none_or(|metadata| metadata.member_id().is_empty());
        if self.leaving == Leaving::Unsubscribed && (gone || shared.state().over.is_some()) {
            self.leaving = Leaving::Closing;
            if let Err(fault) = member.start_closing() {
                // A member that was fenced or refused has nothing to leave.
                tracing::debug!("no need to close: {}", fault.text);
                return true;
            }
        }
        self.leaving == Leaving::Closing && member.closed()
    }
}

fn lanes(partitions: &[Entry]) -> Vec<i32> {
    partitions.iter().map(|entry| entry.partition).collect()
}
