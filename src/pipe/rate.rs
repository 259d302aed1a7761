//! `max_rate`: a token bucket over the bytes that a worker takes from the source.
//!
//! A worker's share is that of its lanes. Reading is bounded by the same bucket, since a lane that
//! does not poll lets its (small) fetch queue fill up.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Bytes per second, with a burst of a quarter of a second.
#[derive(Debug)]
pub struct Bucket {
    rate: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    const BURST: f64 = 0.25;

    /// A bucket that lets `rate` bytes per second through, from `now` on, with nothing saved up.
    pub fn new(rate: f64, now: Instant) -> Self {
        Self { rate, level: 0.0, at: now }
    }

    /// The worker's share changed: lanes came or went.
    pub fn set_rate(&mut self, rate: f64, now: Instant) {
        self.fill(now);
        self.rate = rate;
    }

    /// Takes `bytes` and tells how long to wait before taking more. May go into debt: a batch is
    /// never cut in two for it.
    #[expect(clippy::cast_precision_loss, reason = "a rate, not an account")]
    pub fn take(&mut self, bytes: u64, now: Instant) -> Duration {
        self.fill(now);
        self.level -= bytes as f64;
        if self.level >= 0.0 || self.rate <= 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64((-self.level / self.rate).min(3600.0))
    }

    fn fill(&mut self, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.level = (self.level + gained).min(self.rate * Self::BURST);
        self.at = now;
    }
}

/// The worker's share of a plan-wide rate: that of its lanes.
#[expect(clippy::cast_precision_loss, reason = "a rate, not an account")]
pub fn share(rate: u64, owned: u32, lanes: u32) -> f64 {
    rate as f64 * f64::from(owned) / f64::from(lanes.max(1))
}

/// `max_rate` before any lane is owned.
pub fn bucket(rate: Option<u64>) -> Option<Mutex<Bucket>> {
    rate.map(|_| Mutex::new(Bucket::new(1.0, Instant::now())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_worker_takes_the_share_of_its_lanes() {
        assert!((share(1000, 2, 8) - 250.0).abs() < f64::EPSILON);
        assert!((share(1000, 0, 8)).abs() < f64::EPSILON);
    }

    proptest! {
        /// Whoever waits as told never gets more than rate × time + burst + one batch.
        #[test]
        fn the_rate_holds_over_any_run(sizes in proptest::collection::vec(1u64..200_000, 1..200)) {
            let start = Instant::now();
            let mut bucket = Bucket::new(100_000.0, start);
            let mut now = start;
            let mut taken = 0u64;
            for size in &sizes {
                taken += size;
                now += bucket.take(*size, now);
            }
            let elapsed = now.duration_since(start).as_secs_f64();
            prop_assert!(taken as f64 <= 100_000.0 * (elapsed + Bucket::BURST) + 1.0);
        }
    }
}
