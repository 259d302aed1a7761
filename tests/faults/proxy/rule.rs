//! Which request meets which fate, and whether it has.

use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::wire::{END_TXN, Request, read_frame};
use crate::pipe::harness::AT_MOST;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Kept back, and its connection cut: the client retries on another one. [`Planned::release`] sends it.
    Held,
    /// Never carried out, and its connection cut.
    Lost,
    /// Carried out; the answer is lost, and the connection cut.
    Unanswered,
    /// Waits on its connection until [`Planned::go_on`] or [`Planned::lose`].
    Stopped,
}

/// Which request.
pub struct When {
    api: i16,
    mentioned: Vec<String>,
    commits: Option<bool>,
    nth: usize,
    always: bool,
    after: Option<Planned>,
}

impl When {
    /// The first request of this kind.
    pub fn request(api: i16) -> When {
        When { api, mentioned: Vec::new(), commits: None, nth: 1, always: false, after: None }
    }

    /// The first `EndTxn` of a transactional id that commits, or aborts.
    pub fn ends(transactional_id: &str, commits: bool) -> When {
        When { commits: Some(commits), ..When::request(END_TXN).of(transactional_id) }
    }

    /// That names this transactional id, or topic.
    pub fn of(mut self, text: &str) -> When {
        self.mentioned.push(text.to_owned());
        self
    }

    /// The so-many-th such request, from 1.
    pub fn nth(self, nth: usize) -> When {
        When { nth, ..self }
    }

    /// And all that follow, until [`Planned::stop`].
    pub fn always(self) -> When {
        When { always: true, ..self }
    }

    /// Only requests after that event count.
    pub fn after(self, event: &Planned) -> When {
        When { after: Some(event.clone()), ..self }
    }

    fn matches(&self, request: &Request) -> bool {
        request.api == self.api
            && self.after.as_ref().is_none_or(Planned::has_happened)
            && self.commits.is_none_or(|commits| request.commits() == commits)
            && self.mentioned.iter().all(|text| request.mentions(text))
    }
}

pub struct Rule {
    when: When,
    fate: Fate,
    seen: usize,
    planned: Planned,
}

impl Rule {
    pub fn new(when: When, fate: Fate) -> Rule {
        Rule { when, fate, seen: 0, planned: Planned(Arc::default()) }
    }

    pub fn planned(&self) -> Planned {
        self.planned.clone()
    }

    /// The request's fate, once: when it is the one that was meant.
    pub fn judge(&mut self, request: &Request, broker: SocketAddr) -> Option<(Fate, Planned)> {
        let over = self.seen >= self.when.nth && !self.when.always || self.planned.lock().over;
        if over || !self.when.matches(request) {
            return None;
        }
        self.seen += 1;
        if self.seen < self.when.nth {
            return None;
        }
        if self.fate == Fate::Held {
            self.planned.lock().held = Some((broker, request.clone()));
        }
        if self.fate != Fate::Unanswered {
            self.planned.happens();
        }
        Some((self.fate, self.planned()))
    }
}

/// An event that a test has planned.
#[derive(Clone)]
pub struct Planned(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    happened: bool,
    over: bool,
    held: Option<(SocketAddr, Request)>,
    /// What becomes of a stopped request: true if it goes on.
    decided: Option<bool>,
}

impl Planned {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn happens(&self) {
        self.lock().happened = true;
        self.0.1.notify_all();
    }

    pub fn has_happened(&self) -> bool {
        self.lock().happened
    }

    /// Waits for it.
    #[track_caller]
    pub fn wait(&self) {
        let until = Instant::now() + AT_MOST;
        let mut state = self.lock();
        while !state.happened {
            let left = until.saturating_duration_since(Instant::now());
            assert!(left > Duration::ZERO, "the planned fault never happened");
            let woken = self.0.1.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends the held request to its broker on a connection of the proxy's own; its error code, 0 for
    /// success.
    #[track_caller]
    pub fn release(&self) -> i16 {
        let (broker, request) = self.lock().held.take().expect("a held request, released once");
        let answer = TcpStream::connect(broker).and_then(|mut broker| {
            broker.set_read_timeout(Some(AT_MOST))?;
            std::io::Write::write_all(&mut broker, &request.frame)?;
            read_frame(&mut broker)
        });
        let answer = answer.expect("the broker answers");
        request.error_code(&answer).expect("an answer to that request")
    }

    /// It happens no more.
    pub fn stop(&self) {
        self.lock().over = true;
    }

    /// Lets a stopped request go on.
    pub fn go_on(&self) {
        self.decide(true);
    }

    /// Loses a stopped request.
    pub fn lose(&self) {
        self.decide(false);
    }

    fn decide(&self, goes_on: bool) {
        self.lock().decided = Some(goes_on);
        self.0.1.notify_all();
    }

    /// Whether the stopped request goes on, when that is decided.
    pub fn decision(&self) -> bool {
        let mut state = self.lock();
        loop {
            if let Some(goes_on) = state.decided {
                return goes_on;
            }
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
