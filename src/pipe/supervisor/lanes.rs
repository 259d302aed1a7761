//! The supervisor's lanes: begun, given up, ended, begun again, and watched for one that hangs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::{Event, Running, Supervisor, TICK};
use crate::error::{Error, Side};
use crate::pipe::equip::{lane_partition, run_lane};
use crate::pipe::lane::LaneEnd;
use crate::pipe::rate::share;
use crate::pipe::shared::TRANSACTION_TIMEOUT;
use crate::pipe::stop::Stop;

/// A lane that looks at its stop signal no more for so long hangs in a call: longer than any time-out
/// that the calls have by themselves.
const HANGS_AFTER: Duration = TRANSACTION_TIMEOUT.saturating_mul(2);
/// Ticks that lie so far apart say that the whole process stood still.
const STOOD_STILL: Duration = TICK.saturating_mul(20);

impl Supervisor {
    /// Tells lanes to close; returns those that still have to.
    pub(super) fn give_up(&mut self, partitions: &[i32], how: fn(&Stop)) -> BTreeSet<u32> {
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

    pub(super) fn acknowledge(&mut self) {
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

    pub(super) fn ended(&mut self, lane: u32, end: LaneEnd) {
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

    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.ticked) > STOOD_STILL {
            // Frozen, or its machine was: lanes could not look at anything either.
            self.awake = now;
        }
        self.ticked = now;
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
        let awake = now.duration_since(self.awake);
        let hangs = |lane: &Running| lane.stop.silent_for().min(awake) > HANGS_AFTER;
        if let Some((&number, _)) = self.lanes.iter().find(|(_, lane)| hangs(lane)) {
            // Its thread cannot be ended; the process can, and the next owner's fence cleans up.
            let error = Error::cluster(
                Side::Target,
                format!("lane {number} hangs in a call for {} s", HANGS_AFTER.as_secs()),
            )
            .hint("look at the target's brokers; run again: it goes on where it stopped");
            self.end(Err(error), None);
            if let Some(ending) = &mut self.ending {
                ending.until = now;
            }
        }
    }

    pub(super) fn share_rate(&self, owned: u32) {
        let (Some(bucket), Some(rate)) = (&self.shared.bucket, self.shared.plan.run.max_rate)
        else {
            return;
        };
        let mut bucket = bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        bucket.set_rate(share(rate, owned, self.shared.scope.lanes), Instant::now());
    }

    pub(super) fn spawn(&mut self, number: u32) {
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
