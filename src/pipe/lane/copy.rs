//! The copying loop: read, produce, commit when the rule says so. It has no rules of its own.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::cluster::{Class, ClusterError};
use crate::error::Side;
use crate::pipe::batch::OpenBatch;
use crate::pipe::engine::{Batch, Polled, Source, Taken, Target};
use crate::pipe::gather::{Question, gather};
use crate::pipe::moving::Moving;
use crate::pipe::refuse::{Refusal, judge, passed_by};
use crate::pipe::shared::now_ms;
use crate::pipe::stop::Wish;

use super::ends::Ends;
use super::{Halt, Lane, LaneEnd};

/// How long an idle lane waits for records before it looks at its stop signal.
const IDLE: Duration = Duration::from_millis(100);
/// How long a lane waits for room in the producer's queue before it offers the rest again.
const FULL: Duration = Duration::from_millis(1);

/// What the loop knows about its partitions beside their positions.
pub(super) struct Course {
    pub(super) open: Option<Open>,
    /// Committed positions; `Lane::positions` runs ahead of them.
    pub(super) committed: Vec<i64>,
    pub(super) reached: Vec<bool>,
    /// Read to its end, with nothing after it.
    at_end: Vec<bool>,
    /// Since when a partition is at the last stable offset, below its fence.
    pub(super) blocked: Vec<Option<Instant>>,
    /// The board says that the lane waits for those.
    pub(super) said: bool,
    /// `max_rate`: nothing is taken before.
    hold: Instant,
    /// When the source last brought something, or answered.
    pub(super) heard: Instant,
    pub(super) ends: Ends,
}

pub(super) struct Open {
    pub(super) moving: Moving,
    begun: Instant,
}

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// Copies until the fence, a stop, or a doubt.
    pub(super) fn copy(&mut self) -> Result<LaneEnd, Halt> {
        let count = self.pairs.len();
        let mut course = Course {
            open: None,
            committed: self.positions.clone(),
            reached: vec![false; count],
            at_end: vec![false; count],
            blocked: vec![None; count],
            said: false,
            hold: self.now(),
            heard: self.now(),
            ends: self.ends(),
        };
        self.trouble.copying(self.now());
        for n in 0..count {
            self.look_at_fence(&mut course, n)?;
        }
        loop {
            self.still_ours()?;
            if self.stop.wish() == Wish::Finish {
                self.point("lane-in-revoke")?;
                self.conclude(course)?;
                self.await_visible()?;
                self.point("lane-before-release")?;
                return Ok(LaneEnd::Released);
            }
            if !self.shared.tail && course.reached.iter().all(|reached| *reached) {
                self.conclude(course)?;
                self.await_visible()?;
                return Ok(LaneEnd::Finished);
            }
            let quiet = self.step(&mut course)?;
            if self.look(&course, quiet).is_some_and(|open| self.rule.due(&open)) {
                self.commit_open(&mut course, false)?;
            }
            self.look_at_ends(&mut course)?;
            self.look_at_notes(&mut course)?;
            self.look_at_blocked(&mut course)?;
            self.look_at_silence(&mut course)?;
        }
    }

    /// One look at the source; tells whether it brought no record.
    fn step(&mut self, course: &mut Course) -> Result<bool, Halt> {
        let now = self.now();
        if now < course.hold {
            course.heard = now;
            self.target.serve()?;
            self.pause((course.hold - now).min(Duration::from_millis(20)));
            return Ok(true);
        }
        let patience = self.look(course, true).map_or(IDLE, |open| self.rule.patience(&open));
        // A stop is looked for this often, whatever the rule would wait for.
        let patience = patience.min(IDLE);
        let polled = self.source.poll(patience)?;
        self.target.serve()?;
        let mut quiet = true;
        if !polled.is_empty() {
            course.heard = self.now();
        }
        for one in polled {
            match one {
                Polled::Records(batch) => {
                    quiet = false;
                    self.take(course, &batch)?;
                }
                Polled::End { partition, position } => self.at_end(course, partition, position)?,
                Polled::Lost { partition, reason } => return Err(self.diagnose(partition, &reason)),
            }
        }
        Ok(quiet)
    }

    fn take(&mut self, course: &mut Course, batch: &S::Batch) -> Result<(), Halt> {
        let n = batch.partition();
        if course.reached[n] {
            return Ok(());
        }
        let first = batch.offset(0);
        if first < self.positions[n] {
            // Reading goes on behind the last record, and from there to the position there was none.
            let pair = &self.pairs[n];
            let refusal = Refusal::NotSameLog { why: passed_by(first, self.positions[n]) };
            return Err(refusal.error(&pair.source, &pair.target).into());
        }
        let count = match self.fence_of(&self.pairs[n].source) {
            Some(fence) => below(batch, fence),
            None => batch.len(),
        };
        let mut from = 0;
        while from < count {
            // A transaction that is full was committed.
            let room = self.room(course).map(|room| usize::try_from(room).unwrap_or(count).max(1));
            let until = room.map_or(count, |room| count.min(from.saturating_add(room)));
            self.take_some(course, batch, from..until)?;
            from = until;
            if self.room(course) == Some(0) {
                self.commit_few(course)?;
                if from < count && self.stop.wish() == Wish::Finish {
                    // The rest of the batch is not read on: whoever is next begins here.
                    self.await_visible()?;
                    return Err(Halt::End(LaneEnd::Released));
                }
            }
        }
        if count < batch.len() {
            // A record at or behind the fence: everything below it was seen.
            let fence = self.fence_of(&self.pairs[n].source).expect("only a fence cuts a batch");
            self.advance(course, n, fence);
        }
        self.look_at_fence(course, n)
    }

    /// How many more records the open transaction may take; none: as many as come.
    fn room(&self, course: &Course) -> Option<u64> {
        self.suspects.room(course.open.as_ref().map_or(0, |open| open.moving.records()))
    }

    fn take_some(
        &mut self,
        course: &mut Course,
        batch: &S::Batch,
        records: Range<usize>,
    ) -> Result<(), Halt> {
        let (n, last) = (batch.partition(), records.end - 1);
        self.open(course)?;
        let open = course.open.as_mut().expect("opened above");
        let before = open.moving.bytes();
        open.moving.take(batch, records.clone(), course.committed[n]);
        let bytes = open.moving.bytes() - before;
        // Before the writing: a record that is refused meanwhile is looked for among all of them.
        self.positions[n] = batch.offset(last) + 1;
        self.write(n, batch, records)?;
        course.blocked[n] = None;
        course.at_end[n] = false;
        if let Some(bucket) = &self.shared.bucket {
            let mut bucket = bucket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = self.now();
            course.hold = now + bucket.take(bytes, now);
        }
        Ok(())
    }

    /// Opens a transaction, with a record in hand.
    pub(super) fn open(&mut self, course: &mut Course) -> Result<(), Halt> {
        if course.open.is_some() {
            return Ok(());
        }
        if self.renew {
            self.renew()?;
        }
        self.target.begin()?;
        self.point("lane-after-begin")?;
        let moving = Moving::over(self.pairs.len());
        course.open = Some(Open { moving, begun: self.now() });
        Ok(())
    }

    fn write(&mut self, n: usize, batch: &S::Batch, records: Range<usize>) -> Result<(), Halt> {
        let Range { start: mut from, end } = records;
        while from < end {
            match self.target.write(&self.pairs[n].target, batch, from..end)? {
                Taken::All => return self.point("lane-after-produce"),
                Taken::UpTo(taken) => {
                    from = taken;
                    self.still_ours()?;
                    self.target.serve()?;
                    self.pause(FULL);
                }
            }
        }
        Ok(())
    }

    fn advance(&mut self, course: &mut Course, n: usize, position: i64) {
        if position <= self.positions[n] {
            return;
        }
        self.positions[n] = position;
        course.blocked[n] = None;
        if let Some(open) = &mut course.open {
            open.moving.advance(n, course.committed[n], position);
        }
    }

    fn at_end(&mut self, course: &mut Course, n: usize, position: i64) -> Result<(), Halt> {
        course.at_end[n] = true;
        let fence = self.fence_of(&self.pairs[n].source);
        self.advance(course, n, fence.map_or(position, |fence| position.min(fence)));
        if self.pairs[n].delete_retention.is_none() {
            // A compacted one counts from when its log end was asked for: this may have waited in a queue.
            self.state.caught_up(&self.pairs[n].source, now_ms());
        }
        if fence.is_some_and(|fence| self.positions[n] < fence) {
            course.blocked[n].get_or_insert(self.now());
        }
        if fence.is_none() {
            // Nothing but control and aborted records lies between the commit and here, unless a batch
            // is open.
            let at = if course.open.is_none() { position } else { course.committed[n] };
            self.shared.board.scope(&self.pairs[n].source, at, position);
        }
        self.look_at_fence(course, n)
    }

    fn look_at_fence(&mut self, course: &mut Course, n: usize) -> Result<(), Halt> {
        self.look_at_end(course, n)?;
        let fence = self.fence_of(&self.pairs[n].source);
        if !course.reached[n] && fence.is_some_and(|fence| self.positions[n] >= fence) {
            course.reached[n] = true;
            self.source.pause(n)?;
        }
        Ok(())
    }

    /// The open batch as the rule sees it.
    fn look(&self, course: &Course, quiet: bool) -> Option<OpenBatch> {
        let open = course.open.as_ref()?;
        let now = self.now();
        let ended = course.at_end.iter().zip(&course.reached);
        Some(OpenBatch {
            age: now - open.begun,
            bytes: open.moving.bytes(),
            records: open.moving.records(),
            coded: open.moving.coded(),
            since_commit: now - self.last_commit,
            quiet,
            at_end: ended.into_iter().all(|(at_end, reached)| *at_end || *reached),
            rate: self.rate,
        })
    }

    pub(super) fn commit_open(&mut self, course: &mut Course, closing: bool) -> Result<(), Halt> {
        let Some(open) = course.open.take() else { return Ok(()) };
        self.commit(&open.moving, open.begun, closing)?;
        for n in open.moving.touched() {
            course.committed[n] = self.state.partitions[&self.pairs[n].source].next;
        }
        self.was_committed(course);
        Ok(())
    }

    /// Commits in the middle of what the source has brought, not more often than the plan allows.
    fn commit_few(&mut self, course: &mut Course) -> Result<(), Halt> {
        self.pause(self.rule.pause.saturating_sub(self.now() - self.last_commit));
        self.commit_open(course, false)?;
        course.heard = self.now();
        Ok(())
    }

    /// Commits what is open and every position that ran ahead over control and aborted records, so
    /// that the ledger shows where the lane stands; a snapshot makes the next start quick.
    fn conclude(&mut self, mut course: Course) -> Result<(), Halt> {
        let moved = !self.ahead(&course).is_empty() || course.open.is_some();
        if !moved && !self.has_news(&course) {
            return Ok(());
        }
        self.say("its last commit");
        self.write_down(&mut course)
    }

    /// Finds out by the lane's own queries why the source refuses a position.
    fn diagnose(&self, n: usize, reason: &str) -> Halt {
        let pair = &self.pairs[n];
        let question = Question {
            pairs: std::slice::from_ref(pair),
            known: &self.state.partitions,
            fence: &|at| self.fence_of(at),
            accept_gaps: self.shared.plan.accepts_gaps(),
            settled: false,
        };
        let facts = match gather(&self.shared.clusters, &question) {
            Ok(facts) => facts,
            Err(error) => return error.into(),
        };
        for one in facts {
            if let Err(refusal) = judge(&one) {
                return self.refused(refusal.error(&one.source, &one.target));
            }
        }
        ClusterError::new(
            Side::Source,
            Class::Retriable,
            format!("the position of {} was refused: {reason}", pair.source),
        )
        .into()
    }
}

/// How many records of the batch lie below `fence`.
fn below<B: Batch>(batch: &B, fence: i64) -> usize {
    let (mut low, mut high) = (0, batch.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if batch.offset(middle) < fence {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
