//! The connections of one client, as a test wants them.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::rule::{Fate, Planned, Rule, When};
use super::wire::Request;

/// All clients whose id begins with a prefix: those of one run.
#[derive(Default)]
pub struct Line {
    settings: Mutex<Settings>,
    rules: Mutex<Vec<Rule>>,
    connections: Mutex<Vec<Weak<Connection>>>,
    /// Until when the link is busy, in each direction.
    busy: [Mutex<Option<Instant>>; 2],
    /// Frames that a half-open connection has swallowed.
    pub swallowed: AtomicU64,
    /// Connections that were refused.
    pub refused: AtomicU64,
    /// Bytes carried, in both directions.
    pub bytes: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Settings {
    one_way: Duration,
    bytes_per_second: Option<u32>,
    half_open: bool,
    refuses: bool,
}

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Up = 0,
    Down = 1,
}

impl Line {
    /// There and back takes at least so long.
    pub fn round_trip(&self, takes: Duration) {
        locked(&self.settings).one_way = takes / 2;
    }

    /// So many bytes go through in a second, in each direction, of all connections together.
    pub fn bandwidth(&self, bytes_per_second: u32) {
        locked(&self.settings).bytes_per_second = Some(bytes_per_second);
    }

    /// Plans what happens to a request.
    pub fn plan(&self, when: When, fate: Fate) -> Planned {
        let rule = Rule::new(when, fate);
        let planned = rule.planned();
        locked(&self.rules).push(rule);
        planned
    }

    /// Cuts all connections; how many there were.
    pub fn cut(&self) -> usize {
        let connections = std::mem::take(&mut *locked(&self.connections));
        connections.iter().filter_map(Weak::upgrade).filter(|one| one.cut()).count()
    }

    /// New connections are hung up on, until told otherwise.
    pub fn refuse(&self, refuses: bool) {
        locked(&self.settings).refuses = refuses;
    }

    /// All connections, old and new, take everything and give nothing. [`Line::heal`] ends it.
    pub fn half_open(&self) {
        locked(&self.settings).half_open = true;
    }

    /// Connections that have swallowed something are cut: they cannot be used any more.
    pub fn heal(&self) -> usize {
        locked(&self.settings).half_open = false;
        let connections: Vec<_> =
            locked(&self.connections).iter().filter_map(Weak::upgrade).collect();
        connections.iter().filter(|one| one.swallowed.load(Relaxed) && one.cut()).count()
    }

    pub(super) fn joined(&self, connection: &Arc<Connection>) -> bool {
        if locked(&self.settings).refuses {
            self.refused.fetch_add(1, Relaxed);
            return false;
        }
        let mut connections = locked(&self.connections);
        connections.retain(|one| one.strong_count() > 0);
        connections.push(Arc::downgrade(connection));
        true
    }

    /// Whether a frame is swallowed.
    pub(super) fn swallows(&self, connection: &Connection) -> bool {
        let half_open = locked(&self.settings).half_open;
        if half_open {
            connection.swallowed.store(true, Relaxed);
            self.swallowed.fetch_add(1, Relaxed);
        }
        half_open
    }

    pub(super) fn judge(&self, request: &Request, broker: SocketAddr) -> Option<(Fate, Planned)> {
        locked(&self.rules).iter_mut().find_map(|rule| rule.judge(request, broker))
    }

    pub(super) fn one_way(&self) -> Duration {
        locked(&self.settings).one_way
    }

    /// Waits until so many bytes have gone through.
    pub(super) fn pace(&self, way: Way, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        let Some(rate) = locked(&self.settings).bytes_per_second else { return };
        let until = {
            let mut busy = locked(&self.busy[way as usize]);
            let now = Instant::now();
            let free = busy.map_or(now, |until| until.max(now));
            #[expect(clippy::cast_precision_loss, reason = "a pace")]
            let until = free + Duration::from_secs_f64(bytes as f64 / f64::from(rate));
            *busy = Some(until);
            until
        };
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

/// A client's connection, and ours to the broker in its place.
pub struct Connection {
    pub client: TcpStream,
    pub broker: TcpStream,
    is_cut: AtomicBool,
    swallowed: AtomicBool,
    /// By correlation id: whose answer is lost.
    unanswered: Mutex<HashMap<i32, Planned>>,
}

impl Connection {
    pub fn new(client: TcpStream, broker: TcpStream) -> Connection {
        let (is_cut, swallowed) = (AtomicBool::new(false), AtomicBool::new(false));
        Connection { client, broker, is_cut, swallowed, unanswered: Mutex::default() }
    }

    /// Ends both connections; whether they were there.
    pub fn cut(&self) -> bool {
        let first = !self.is_cut.swap(true, Relaxed);
        if first {
            let _ = self.client.shutdown(Shutdown::Both);
            let _ = self.broker.shutdown(Shutdown::Both);
        }
        first
    }

    pub fn lose_answer(&self, correlation: i32, planned: Planned) {
        locked(&self.unanswered).insert(correlation, planned);
    }

    pub fn lost_answer(&self, correlation: i32) -> Option<Planned> {
        locked(&self.unanswered).remove(&correlation)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
