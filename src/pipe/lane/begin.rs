//! From owning a lane to copying: fence, read the ledger, judge, bind.

use std::time::Duration;

use crate::cluster::At;
use crate::error::{Error, Side};
use crate::ledger::{
    Bind, BindPartition, Entry, Found, Gap, Header, LaneState, MAX_PART_BYTES, PartitionState, Role,
};
use crate::pipe::bound::{GroupSays, added_later, group_ahead};
use crate::pipe::engine::{Source, StartAt, Target};
use crate::pipe::gather::{Question, gather, passed_from};
use crate::pipe::preflight::{group_says, open_group_says};
use crate::pipe::refuse::{Facts, Verdict, judge};
use crate::pipe::shared::{Shared, now_ms};
use crate::pipe::stop::Wish;
use crate::plan::{Start, TopicPartition};

use super::{Halt, Lane, LaneEnd};

/// Overhead of a record batch around its records (61 bytes, KIP-98), rounded up.
const BATCH_OVERHEAD: usize = 128;
/// Measured: beats 128 KiB by a third.
const BATCH_BYTES: usize = 1_000_000;
/// A decided transaction's marker takes milliseconds to reach the group, on a busy broker seconds.
pub(super) const GROUP_SETTLES: Duration = Duration::from_secs(10);
/// Kafka's default of `max.message.bytes`.
const DEFAULT_MAX_MESSAGE: usize = 1_048_588;

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// Makes the lane ours, and everything ready to copy.
    pub(super) fn begin(&mut self) -> Result<(), Halt> {
        if !self.shared.tail {
            self.await_fence()?;
            self.fence_is_known()?;
        }
        self.pairs = self.shared.scope.lane(self.number, self.fence.as_deref());
        self.batch_bytes = self.smallest_batch()?;
        self.target.tune(self.batch_bytes, self.one_by_one);
        self.still_ours()?;
        self.say("the target to fence the lane's former owner");
        self.target.fence()?;
        self.point("lane-after-fence")?;
        if self.epoch > 0 {
            self.shared.board.renewal();
        }
        self.renew = false;
        self.unrecorded.clear();
        self.state = self.read_ledger()?;
        self.epoch = self.state.last_epoch + 1;
        self.check_bound()?;
        self.settle_targets()?;
        self.say("the first look at its partitions");
        let facts = self.judge_all()?;
        self.settle(&facts)?;
        self.assign(&facts)?;
        self.shared.board.go_on(&self.who);
        Ok(())
    }

    pub(super) fn say(&self, what: impl Into<String>) {
        self.shared.board.wait(&self.who, what);
    }

    fn await_fence(&mut self) -> Result<(), Halt> {
        while self.fence.is_none() {
            self.fence = self.shared.view.fence();
            if self.fence.is_none() {
                if self.stop.wish() != Wish::Run {
                    return Err(Halt::End(LaneEnd::Released));
                }
                self.say("the fence, which the control lane takes");
                self.shared.view.wait(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    fn fence_is_known(&self) -> Result<(), Halt> {
        let fence = self.fence.as_ref();
        match fence.and_then(|fence| self.shared.scope.missing(self.number, fence)) {
            None => Ok(()),
            Some(at) => Err(Halt::Person(
                Error::cluster(
                    Side::Source,
                    format!("the fence names {at}, which was not there when this worker looked"),
                )
                .hint("run again: it sees the new partition then"),
            )),
        }
    }

    /// Stays below the smallest limit of the lane's target topics: a batch that is too large is
    /// refused whole (measured).
    fn smallest_batch(&self) -> Result<usize, Halt> {
        let mut names: Vec<&str> = self.pairs.iter().map(|pair| &*pair.target.topic).collect();
        names.dedup();
        let configs = self.shared.clusters.configs(Side::Target, &names)?;
        let smallest = configs
            .values()
            .flatten()
            .filter(|config| config.name == "max.message.bytes")
            .filter_map(|config| config.value.as_ref()?.parse::<usize>().ok())
            .min()
            .unwrap_or(DEFAULT_MAX_MESSAGE);
        // Down to 1 for the tiniest limits: then each record is a request of its own.
        Ok(BATCH_BYTES.min(smallest.saturating_sub(BATCH_OVERHEAD)).max(1))
    }

    /// Reads the ledger to the log end as it was after fencing, and waits for what is still open.
    fn read_ledger(&mut self) -> Result<LaneState, Halt> {
        let log_end = self.settled_log_end()?;
        Ok(self.shared.clusters.ledger().lane(self.number, log_end)?)
    }

    fn check_bound(&mut self) -> Result<(), Halt> {
        let shared = &self.shared;
        if let Some(header) = &self.state.header {
            shared.bound.check_header(header)?;
        }
        shared.bound.check_lane(&self.state)?;
        self.rewrite_group = false;
        match self.settled_group()? {
            GroupSays::Same => Ok(()),
            GroupSays::Behind(what) => {
                self.rewrite_group = true;
                tracing::warn!(
                    lane = self.number,
                    behind = what.join(", "),
                    "group offsets are missing or behind the ledger; the ledger is the truth, the \
                     next transaction rewrites them"
                );
                Ok(())
            }
            GroupSays::Ahead(what) => Err(self.refused(group_ahead(&shared.plan.group(), &what))),
        }
    }

    /// The group's offsets beside the ledger, once those of the last transaction have their marker. What
    /// stays open behind the fence came too late for its own transaction: brokers that do not ask the
    /// coordinator (before 3.6, KIP-890) take it, and only the lane's next marker ends it.
    fn settled_group(&self) -> Result<GroupSays, Halt> {
        let until = self.now() + GROUP_SETTLES;
        loop {
            let Shared { plan, clusters, .. } = &*self.shared;
            if let Some(says) = group_says(plan, clusters, self.number, &self.state)? {
                return Ok(says);
            }
            if self.now() >= until {
                return Ok(open_group_says(plan, clusters, self.number, &self.state)?);
            }
            self.still_ours()?;
            self.say("the last transaction's group offsets to settle on the target");
            self.pause(Duration::from_millis(20));
        }
    }

    fn judge_all(&self) -> Result<Vec<(Facts, Verdict)>, Halt> {
        let fence = self.fence.clone();
        let question = Question {
            pairs: &self.pairs,
            known: &self.state.partitions,
            fence: &|at| fence.as_ref().and_then(|fence| fence.get(at)),
            accept_gaps: self.shared.plan.accepts_gaps(),
            settled: true,
        };
        let facts = gather(&self.shared.clusters, &question)?;
        facts
            .into_iter()
            .map(|facts| match judge(&facts) {
                Ok(verdict) => Ok((facts, verdict)),
                Err(refusal) => Err(self.refused(refusal.error(&facts.source, &facts.target))),
            })
            .collect()
    }

    /// Commits header, bindings and gaps, in transactions of their own before any data.
    fn settle(&mut self, judged: &[(Facts, Verdict)]) -> Result<(), Halt> {
        let mut entries = Vec::new();
        if self.state.header.is_none() {
            entries.push(Entry::Header(self.header()));
        }
        let unbound: Vec<&Facts> =
            judged.iter().filter(|(_, v)| *v == Verdict::Bind).map(|(facts, _)| facts).collect();
        if !unbound.is_empty() {
            let bind = Bind {
                worker: self.shared.worker.clone(),
                epoch: self.epoch,
                naming: self.shared.bound.naming.clone(),
                start: self.shared.bound.start.clone(),
                partitions: self.bindings(&unbound)?,
            };
            entries.extend(bind.into_parts(MAX_PART_BYTES));
        }
        // Bound later than the lane's header, which would make it too early (the replay's own bound).
        let begun: Vec<(TopicPartition, i64)> = match self.state.header {
            Some(_) => unbound.iter().map(|facts| (facts.source.clone(), now_ms())).collect(),
            None => Vec::new(),
        };
        for (facts, verdict) in judged {
            let (Verdict::Gap { to }, Some(known)) = (verdict, &facts.known) else { continue };
            tracing::warn!(
                lane = self.number,
                partition = %facts.source,
                from = known.next,
                to,
                "source offsets were deleted before they could be copied"
            );
            entries.push(Entry::Gap(Gap {
                topic: facts.source.topic.clone(),
                partition: facts.source.partition,
                from: known.next,
                to: *to,
                reason: "the source's log start has passed the position".to_owned(),
                at: now_ms(),
            }));
        }
        if entries.is_empty() {
            return Ok(());
        }
        self.say("the commit of its bindings");
        let touched: Vec<TopicPartition> =
            self.pairs.iter().map(|pair| pair.source.clone()).collect();
        if !begun.is_empty() {
            entries = self.with_snapshot_since(entries, &begun)?;
        }
        self.target.begin()?;
        self.point("lane-after-begin")?;
        self.seal(entries, &touched)
    }

    fn header(&self) -> Header {
        let bound = &self.shared.bound;
        Header {
            plan: bound.plan.clone(),
            generation: 1,
            lanes: bound.lanes,
            source_cluster: bound.source_cluster.clone(),
            target_cluster: bound.target_cluster.clone(),
            partition_role: Role::Lane(self.number),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            created: now_ms(),
        }
    }

    fn bindings(&self, unbound: &[&Facts]) -> Result<Vec<BindPartition>, Halt> {
        let mut bindings = Vec::with_capacity(unbound.len());
        for facts in unbound {
            let (Some(source), Some(target)) = (&facts.source_facts, &facts.target_facts) else {
                return Err(Halt::Person(
                    Error::refused(
                        "target-lost-records",
                        format!("topic of target {} is gone since the run began", facts.target),
                    )
                    .hint("run again: missing topics are created before copying begins"),
                ));
            };
            bindings.push(BindPartition {
                topic: facts.source.topic.clone(),
                partition: facts.source.partition,
                topic_id: source.topic_id.clone(),
                target_topic: facts.target.topic.clone(),
                target_topic_id: target.topic_id.clone(),
                start: self.start_offset(facts, source.log_start, source.log_end)?,
                target_start: target.log_end,
                found: Found::Empty,
            });
        }
        Ok(bindings)
    }

    fn start_offset(&self, facts: &Facts, log_start: i64, log_end: i64) -> Result<i64, Halt> {
        if self.shared.fresh.contains(&facts.source) {
            return Ok(log_start);
        }
        if added_later(self.shared.view.seen().control.fences().map(|(f, _)| f), &facts.source) {
            return Ok(log_start);
        }
        let at = match self.shared.plan.start_for(&facts.source.topic) {
            Start::Earliest => return Ok(log_start),
            Start::Latest => return Ok(log_end),
            Start::Ago(ago) => {
                now_ms().saturating_sub(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX))
            }
            Start::At(time) => time
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        };
        let asked = std::slice::from_ref(&facts.source);
        let mut answer = self.shared.clusters.offsets(Side::Source, asked, At::Timestamp(at))?;
        let found =
            answer.remove(&facts.source).expect("an answer for each partition asked for")?;
        Ok(found.offset.max(log_start))
    }

    /// Points the source at the ledger's positions.
    fn assign(&mut self, judged: &[(Facts, Verdict)]) -> Result<(), Halt> {
        let mut from = Vec::with_capacity(self.pairs.len());
        self.positions.clear();
        for (pair, (facts, _)) in self.pairs.iter().zip(judged) {
            let state = &self.state.partitions[&pair.source];
            self.positions.push(state.next);
            let end = self.fence_of(&pair.source).unwrap_or(state.next);
            self.shared.board.scope(&pair.source, state.next, end);
            let log_start = facts.source_facts.as_ref().map_or(0, |seen| seen.log_start);
            let (offset, leader_epoch) = resume(state, log_start);
            from.push(StartAt { at: pair.source.clone(), offset, leader_epoch });
        }
        self.source.assign(&from)?;
        self.last_commit = self.now();
        Ok(())
    }

    pub(super) fn fence_of(&self, source: &TopicPartition) -> Option<i64> {
        self.fence.as_ref().and_then(|fence| fence.get(source))
    }
}

/// Where reading goes on, and the leader epoch of the record before it. Not at the position, where that
/// lies behind control and aborted records: these may be of a later epoch than the last record, and a
/// position behind the end of its epoch looks like a truncated log. They are read again: only the offset
/// right behind the last record is of that record's epoch for certain.
fn resume(state: &PartitionState, log_start: i64) -> (i64, Option<i32>) {
    let from = passed_from(state).max(log_start).min(state.next);
    match state.anchor.as_ref().and_then(|anchor| Some((anchor.epoch?, anchor.offset + 1))) {
        Some((epoch, behind)) if from == behind => (from, Some(epoch)),
        // Behind a gap, of what epoch the offset is nobody knows.
        Some(_) => (from, None),
        None => (state.next, None),
    }
}

#[cfg(test)]
#[path = "begin_tests.rs"]
mod tests;
