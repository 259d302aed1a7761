//! The stop signal of a lane: a value that its loop looks at, set by the supervisor.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// What the supervisor wants of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Copy on.
    Run,
    /// Commit what is open, close, and come back.
    Finish,
    /// Abort what is open and come back.
    Abort,
}

/// Shared by the supervisor and one lane. A wish only ever becomes more urgent.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Signal>);

#[derive(Debug, Default)]
struct Signal {
    wish: AtomicU8,
    /// When the lane last looked, in milliseconds since the process began to count.
    looked: AtomicU64,
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn now() -> u64 {
    u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Stop {
    /// A signal that a lane is about to look at.
    pub fn new() -> Self {
        let stop = Self::default();
        stop.wish();
        stop
    }

    /// Commit what is open, and come back.
    pub fn finish(&self) {
        self.0.wish.fetch_max(1, Ordering::Relaxed);
    }

    /// Abort what is open, and come back.
    pub fn abort(&self) {
        self.0.wish.fetch_max(2, Ordering::Relaxed);
    }

    /// How long ago the lane last looked: a lane in a call that does not come back looks no more.
    pub fn silent_for(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.0.looked.load(Ordering::Relaxed)))
    }

    /// The lane's look: what is wanted now.
    pub fn wish(&self) -> Wish {
        self.0.looked.store(now(), Ordering::Relaxed);
        match self.0.wish.load(Ordering::Relaxed) {
            0 => Wish::Run,
            1 => Wish::Finish,
            _ => Wish::Abort,
        }
    }
}
