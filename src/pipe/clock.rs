//! Time as a lane sees it: its rules and waits hold under any clock.

use std::time::{Duration, Instant};

/// Tells the time and lets it pass.
pub trait Clock: Send + Sync {
    /// Never goes back.
    fn now(&self) -> Instant;

    /// Comes back when `pause` has passed.
    fn sleep(&self, pause: Duration);
}

/// The machine's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wall;

impl Clock for Wall {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}
