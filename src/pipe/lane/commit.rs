//! The end of a transaction: everything delivered, the carry written, positions and data committed
//! as one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cluster::{Class, ClusterError};
use crate::error::{Error, Side};
use crate::ledger::{Carry, Entry, MAX_PART_BYTES, encode};
use crate::pipe::engine::{Source, Target};
use crate::pipe::moving::Moving;
use crate::pipe::shared::now_ms;
use crate::pipe::stop::{Stop, Wish};
use crate::plan::TopicPartition;

use super::{Halt, Lane, LaneEnd};

/// A snapshot after so many carries keeps a restart's reading below a megabyte or so.
const SNAPSHOT_EVERY: u64 = 256;

/// The topic-id check must answer within this; it normally takes one round trip.
const IDS_PATIENCE: Duration = Duration::from_secs(10);

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// Commits an open batch. `begun` is when its transaction was opened; with `closing` a snapshot is
    /// written as well, so that the next start reads little.
    pub(super) fn commit(
        &mut self,
        moving: &Moving,
        begun: Instant,
        closing: bool,
    ) -> Result<(), Halt> {
        let touched: Vec<usize> = moving.touched().collect();
        // The check begins after the batch's last fetch: a topic that was deleted and created anew
        // before it cannot have been read from under the old id.
        let names: Vec<Arc<str>> = {
            let mut names: Vec<_> =
                touched.iter().map(|&n| self.pairs[n].source.topic.clone()).collect();
            names.dedup();
            names
        };
        let ids = self.shared.clusters.source_ids(&names);
        self.drain()?;
        self.measure(moving.bytes(), self.now() - begun);
        let names: Vec<TopicPartition> =
            self.pairs.iter().map(|pair| pair.source.clone()).collect();
        let partitions = {
            let delivered = self.target.delivered()?;
            moving
                .carry(&names, delivered)
                .map_err(|what| ClusterError::new(Side::Target, Class::Abort, what))?
        };
        self.check_ids(&ids(IDS_PATIENCE)?, &touched)?;
        for part in &partitions {
            self.check_target_grows(&part.at(), part.runs.first())?;
        }
        let carry = Carry {
            seq: self.state.last_seq + 1,
            part: 1,
            parts: 1,
            worker: self.shared.worker.clone(),
            epoch: self.epoch,
            snapshot: self.state.last_snapshot,
            at: now_ms(),
            partitions,
        };
        let mut entries = carry.clone().into_parts(MAX_PART_BYTES);
        entries.extend(self.gaps_after(|at| {
            let carried = carry.partitions.iter().find(|part| part.at() == *at);
            carried.map_or_else(|| self.state.partitions[at].next, |part| part.next)
        }));
        if closing || self.state.carries_since_snapshot + 1 >= SNAPSHOT_EVERY {
            entries = self.with_snapshot(entries)?;
        }
        let moved: Vec<TopicPartition> = touched.iter().map(|&n| names[n].clone()).collect();
        self.seal(entries, &moved)?;
        for part in &carry.partitions {
            self.shared.board.moved(&part.at(), part.next, part.written, part.bytes, part.untimed);
        }
        self.shared.board.transaction();
        if self.suspects.any() {
            let read = self.read();
            let alone = self.suspects.committed(&read);
            // Back to requests of many records with the next producer.
            self.renew |= self.one_by_one && !alone;
            self.one_by_one &= alone;
        }
        Ok(())
    }

    /// `entries` and the snapshot of what they lead to.
    pub(super) fn with_snapshot(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, Halt> {
        self.with_snapshot_since(entries, &[])
    }

    /// The same; each of `begun` begins to be copied at its time.
    pub(super) fn with_snapshot_since(
        &self,
        mut entries: Vec<Entry>,
        begun: &[(TopicPartition, i64)],
    ) -> Result<Vec<Entry>, Halt> {
        let mut after = self.state.clone();
        for (offset, entry) in (after.next_offset..).zip(&entries) {
            after.apply(offset, entry.clone()).map_err(|error| {
                Error::fault(format!("lane {}: own entry does not fit: {error}", self.number))
            })?;
        }
        for (partition, at) in begun {
            after.caught_up(partition, *at);
        }
        entries.extend(after.to_snapshot(&self.shared.worker, self.epoch, now_ms()));
        Ok(entries)
    }

    /// Writes `entries` into the open transaction, adds the group offsets, commits, and applies the
    /// entries to the state: the same fold that a replay makes.
    pub(super) fn seal(
        &mut self,
        entries: Vec<Entry>,
        touched: &[TopicPartition],
    ) -> Result<(), Halt> {
        let ledger = self.shared.clusters.ledger().partition(self.number);
        self.point("lane-before-ledger")?;
        for entry in &entries {
            self.target.write_entry(&ledger, &encode(entry))?;
        }
        self.drain()?;
        self.point("lane-after-ledger")?;
        let mut after = self.state.clone();
        let offsets = self.target.entries()?.to_vec();
        for (offset, entry) in offsets.into_iter().zip(entries) {
            after.apply(offset, entry).map_err(|error| {
                Error::fault(format!("lane {}: own entry does not fit: {error}", self.number))
            })?;
        }
        let carries = i64::try_from(after.last_seq).unwrap_or(i64::MAX);
        let mut group = vec![(ledger, carries)];
        if self.shared.plan.run.positions {
            let all: Vec<TopicPartition>;
            let touched = if self.rewrite_group {
                all = self.pairs.iter().map(|pair| pair.source.clone()).collect();
                &all
            } else {
                touched
            };
            group.extend(touched.iter().filter_map(|at| {
                let state = after.partitions.get(at)?;
                let target = TopicPartition::new(state.target_topic.clone(), at.partition);
                Some((target, state.next))
            }));
        }
        self.still_ours()?;
        self.point("lane-before-offsets")?;
        self.target.send_offsets(&group)?;
        self.point("lane-after-offsets")?;
        self.point("lane-before-commit")?;
        self.target.commit()?;
        self.point("lane-after-commit")?;
        if self.target.sent_again() {
            tracing::debug!(
                lane = self.number,
                "the end of a transaction was sent twice: a copy may still be under way, the epoch is raised"
            );
            self.renew = true;
        }
        self.rewrite_group = false;
        self.unrecorded.clear();
        self.state = after;
        self.last_commit = self.now();
        self.trouble.committed();
        Ok(())
    }

    /// Raises the producer epoch before the next transaction, and makes sure that nobody else has
    /// used the lane in between.
    pub(super) fn renew(&mut self) -> Result<(), Halt> {
        self.still_ours()?;
        self.target.tune(self.batch_bytes, self.one_by_one);
        self.target.fence()?;
        self.shared.board.renewal();
        self.nobody_else_wrote()?;
        self.renew = false;
        self.shared.board.go_on(&self.who);
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Halt> {
        let stop = &self.stop;
        let member = &self.member;
        let mut ended = None;
        let drained = self.target.drain(&mut || match leave(stop, member) {
            None => Ok(()),
            Some(end) => {
                ended = Some(end);
                Err(ClusterError::new(Side::Target, Class::NotMember, "the lane was taken away"))
            }
        });
        match (ended, drained) {
            (Some(end), _) => Err(Halt::End(end)),
            (None, drained) => Ok(drained?),
        }
    }

    fn measure(&mut self, bytes: u64, took: Duration) {
        if bytes == 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate, not an account")]
        let now = bytes as f64 / took.as_secs_f64().max(0.001);
        self.rate = Some(self.rate.map_or(now, |before| before * 0.7 + now * 0.3));
    }

    fn check_ids(
        &self,
        ids: &BTreeMap<Arc<str>, Option<String>>,
        touched: &[usize],
    ) -> Result<(), Halt> {
        for &n in touched {
            let at = &self.pairs[n].source;
            let was = &self.state.partitions[at].topic_id;
            let (Some(was), Some(is)) = (was, ids.get(&at.topic).and_then(Option::as_ref)) else {
                continue;
            };
            if was != is {
                let why = format!("its topic id was {was} and is {is}");
                let refusal = crate::pipe::refuse::Refusal::NotSameLog { why };
                return Err(Halt::Person(refusal.error(at, &self.pairs[n].target)));
            }
        }
        Ok(())
    }

    /// A target topic that was created anew under the run starts at offset 0 again.
    fn check_target_grows(
        &self,
        source: &TopicPartition,
        first: Option<(i64, i64)>,
    ) -> Result<(), Halt> {
        let state = &self.state.partitions[source];
        match first {
            Some((_, offset)) if offset < state.target_next => {
                let refusal = crate::pipe::refuse::Refusal::TargetLostRecords {
                    expected: state.target_next,
                    log_end: offset,
                };
                let target = TopicPartition::new(state.target_topic.clone(), source.partition);
                Err(self.refused(refusal.error(source, &target)))
            }
            _ => Ok(()),
        }
    }
}

fn leave(stop: &Stop, member: &(dyn Fn() -> bool + Send)) -> Option<LaneEnd> {
    if stop.wish() == Wish::Abort {
        Some(LaneEnd::Released)
    } else if member() {
        None
    } else {
        Some(LaneEnd::Dropped)
    }
}
