//! Since when a partition is complete: asked for, judged, written down. The rules are in
//! [`deletions`](crate::pipe::deletions).

use std::time::Instant;

use crate::cluster::At;
use crate::error::Side;
use crate::ledger::{Entry, Gap};
use crate::pipe::deletions::{Complete, Late, Rhythm};
use crate::pipe::engine::{Source, Target};
use crate::pipe::refuse::Refusal;
use crate::pipe::shared::now_ms;
use crate::plan::TopicPartition;

use super::copy::Course;
use super::{Halt, Lane};

/// What a gap without a length says. A proof after it reads everything again and gives this reason.
const EXPIRED_UNREAD: &str = "deletions may have expired before they were read";

/// What the loop knows about the completeness of its partitions.
pub(super) struct Ends {
    partitions: Vec<Complete>,
    /// None where no partition is compacted.
    rhythm: Option<Rhythm>,
    /// When the source was last asked for its log ends.
    looked: Option<Instant>,
    /// When it was last written down, and what: per partition the time since when it is complete.
    written: Instant,
    told: Vec<Option<i64>>,
    snapshot: Option<i64>,
}

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// As the lane begins to copy. A fence is a log end of a known time.
    pub(super) fn ends(&self) -> Ends {
        let now = now_ms();
        let complete = |(n, position): (usize, &i64)| {
            let pair = &self.pairs[n];
            let since = self.state.partitions[&pair.source].caught_up_at.unwrap_or(now);
            let mut complete = Complete::new(pair.delete_retention, since, *position);
            if let (Some(fence), Some(end)) = (&self.fence, self.fence_of(&pair.source)) {
                complete.mark(fence.at, end);
            }
            complete
        };
        Ends {
            partitions: self.positions.iter().enumerate().map(complete).collect(),
            rhythm: Rhythm::of(self.pairs.iter().map(|pair| pair.delete_retention)),
            looked: None,
            written: self.now(),
            told: self.complete_since(),
            snapshot: self.state.last_snapshot,
        }
    }

    fn complete_since(&self) -> Vec<Option<i64>> {
        let compacted = |pair: &&crate::pipe::gather::Pair| pair.delete_retention.is_some();
        let since = |at: &TopicPartition| {
            self.state.partitions.get(at).and_then(|state| state.caught_up_at)
        };
        self.pairs.iter().filter(compacted).map(|pair| since(&pair.source)).collect()
    }

    /// Judges partition `n` at its position.
    pub(super) fn look_at_end(&mut self, course: &mut Course, n: usize) -> Result<(), Halt> {
        let reached = course.ends.partitions[n].read_to(self.positions[n], now_ms());
        let Some((since, late)) = reached else { return Ok(()) };
        let pair = &self.pairs[n];
        self.state.caught_up(&pair.source, since);
        let Some(late) = late else { return Ok(()) };
        if !self.shared.plan.accepts_gaps() {
            let refusal = Refusal::DeletionsExpired(late).error(&pair.source, &pair.target);
            return Err(self.refused(refusal));
        }
        let Late { away_ms, retention_ms } = late;
        tracing::warn!(
            lane = self.number,
            partition = %pair.source,
            away_ms,
            retention_ms,
            "{EXPIRED_UNREAD}; the next proof is a full one"
        );
        self.unrecorded.push(n);
        Ok(())
    }

    /// Asks for the log ends of compacted partitions while no transaction is open: a source that
    /// does not answer keeps none from its commit. That it does not is noticed elsewhere.
    pub(super) fn look_at_ends(&mut self, course: &mut Course) -> Result<(), Halt> {
        let Some(rhythm) = course.ends.rhythm else { return Ok(()) };
        let fresh = course.ends.looked.is_some_and(|looked| self.now() - looked < rhythm.look);
        if fresh || !self.shared.tail || course.open.is_some() {
            return Ok(());
        }
        let wanted = |n: &usize| course.ends.partitions[*n].wants_mark();
        let wanted: Vec<usize> = (0..self.pairs.len()).filter(wanted).collect();
        let asked: Vec<_> = wanted.iter().map(|&n| self.pairs[n].source.clone()).collect();
        course.ends.looked = Some(self.now());
        let at = now_ms();
        // Compaction does not touch what lies behind the last stable offset.
        let mut answers = match self.shared.clusters.offsets(Side::Source, &asked, At::LastStable) {
            Ok(answers) => answers,
            Err(error) => {
                tracing::debug!(lane = self.number, %error, "no log ends");
                return Ok(());
            }
        };
        for n in wanted {
            if let Some(Ok(end)) = answers.remove(&self.pairs[n].source) {
                course.ends.partitions[n].mark(at, end.offset);
                self.look_at_end(course, n)?;
            }
        }
        Ok(())
    }

    /// Writes down what a later start, or a later proof, must know: what may have expired at once,
    /// the rest now and then.
    pub(super) fn look_at_notes(&mut self, course: &mut Course) -> Result<(), Halt> {
        let due = course
            .ends
            .rhythm
            .is_some_and(|rhythm| self.now() - course.ends.written >= rhythm.write);
        if !self.unrecorded.is_empty() || (due && self.has_news(course)) {
            self.write_down(course)?;
        }
        Ok(())
    }

    /// Whether the lane knows more than its last snapshot.
    pub(super) fn has_news(&self, course: &Course) -> bool {
        !self.unrecorded.is_empty() || self.complete_since() != course.ends.told
    }

    /// To be called after a commit: it may have brought a snapshot.
    pub(super) fn was_committed(&self, course: &mut Course) {
        if self.state.last_snapshot != course.ends.snapshot {
            course.ends.snapshot = self.state.last_snapshot;
            course.ends.written = self.now();
            course.ends.told = self.complete_since();
        }
    }

    /// Commits what is open and every position that ran ahead over control and aborted records, with
    /// a snapshot; in a transaction of its own where nothing has moved.
    pub(super) fn write_down(&mut self, course: &mut Course) -> Result<(), Halt> {
        let ahead = self.ahead(course);
        if !ahead.is_empty() || course.open.is_some() {
            self.open(course)?;
            if let Some(open) = &mut course.open {
                for n in ahead {
                    open.moving.advance(n, course.committed[n], self.positions[n]);
                }
            }
            return self.commit_open(course, true);
        }
        if self.renew {
            self.renew()?;
        }
        self.target.begin()?;
        self.point("lane-after-begin")?;
        let entries = self.with_snapshot(self.gaps())?;
        self.seal(entries, &[])?;
        self.was_committed(course);
        Ok(())
    }

    /// Partitions whose position ran ahead of what is committed or in the open transaction.
    pub(super) fn ahead(&self, course: &Course) -> Vec<usize> {
        (0..self.pairs.len()).filter(|&n| self.positions[n] > course.committed[n]).collect()
    }

    /// What may have expired unread, as entries behind the positions that the state has.
    fn gaps(&self) -> Vec<Entry> {
        self.gaps_after(|at| self.state.partitions[at].next)
    }

    /// The same, behind the positions that a carry brings.
    pub(super) fn gaps_after(&self, next: impl Fn(&TopicPartition) -> i64) -> Vec<Entry> {
        let gap = |&n: &usize| {
            let at = &self.pairs[n].source;
            let next = next(at);
            Entry::Gap(Gap {
                topic: at.topic.clone(),
                partition: at.partition,
                from: next,
                to: next,
                reason: EXPIRED_UNREAD.to_owned(),
                at: now_ms(),
            })
        };
        self.unrecorded.iter().map(gap).collect()
    }
}
