//! The whole ledger as one worker sees it: kept up to date by the watch, waited on by lanes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ledger::{ControlState, Fence, LaneState, Refused};
use crate::plan::lane_of;

/// Shared by the watch (writer), the lanes and the supervisor.
pub struct View {
    seen: Mutex<Seen>,
    changed: Condvar,
    /// Fences that were reached when this worker began: the next one is this run's.
    done_before: usize,
    /// Control entries below this offset were there before this worker.
    began_at: i64,
}

/// The ledger up to some moment.
#[derive(Default)]
pub struct Seen {
    /// One state per lane.
    pub lanes: Vec<LaneState>,
    /// The control partition.
    pub control: ControlState,
}

impl View {
    /// The ledger as the preflight read it.
    pub fn new(lanes: Vec<LaneState>, control: ControlState) -> Self {
        // One that is reached but not called done yet would copy nothing of what came since.
        let over = control.fences().filter(|(f, done)| done.is_some() || reached(&lanes, f));
        let done_before = over.count();
        let began_at = control.next_offset;
        Self {
            seen: Mutex::new(Seen { lanes, control }),
            changed: Condvar::new(),
            done_before,
            began_at,
        }
    }

    /// A look at everything; held only for a moment.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for news.
    pub fn announce(&self) {
        self.changed.notify_all();
    }

    /// Waits for news, at most `patience`.
    pub fn wait(&self, patience: Duration) {
        let seen = self.seen();
        drop(self.changed.wait_timeout(seen, patience));
    }

    /// The fence that this run copies up to: the one that was open when it began, else the next one.
    pub fn fence(&self) -> Option<Arc<Fence>> {
        self.seen().control.fences().nth(self.done_before).map(|(fence, _)| Arc::new(fence.clone()))
    }

    /// Whether this run's fence was reached by all lanes.
    pub fn done(&self) -> bool {
        self.seen().control.fences().nth(self.done_before).is_some_and(|(_, done)| done.is_some())
    }

    /// Who called this run's fence done.
    pub fn done_by(&self) -> Option<String> {
        let seen = self.seen();
        let (_, done) = seen.control.fences().nth(self.done_before)?;
        done.map(|done| done.worker.clone())
    }

    /// A refusal that another worker wrote since this one began. One of a worker that was started with
    /// another plan is that worker's own affair: it must not stop those that run well.
    pub fn refused(&self) -> Option<Refused> {
        let seen = self.seen();
        let ours = |(offset, refused): &&(i64, Refused)| {
            *offset >= self.began_at && refused.word != "bound-field-changed"
        };
        let since = seen.control.refused.iter().find(ours);
        since.map(|(_, refused)| refused.clone())
    }

    /// An open fence, this run's or an earlier one's, that every partition has reached.
    pub fn to_be_called_done(&self) -> Option<Fence> {
        let seen = self.seen();
        seen.control.open_fence().filter(|fence| reached(&seen.lanes, fence)).cloned()
    }
}

fn reached(lanes: &[LaneState], fence: &Fence) -> bool {
    let count = u32::try_from(lanes.len()).unwrap_or(u32::MAX);
    fence.iter().all(|(at, offset)| {
        let lane = &lanes[lane_of(&at.topic, at.partition, count) as usize];
        lane.partitions.get(&at).is_some_and(|state| state.next >= offset)
    })
}
