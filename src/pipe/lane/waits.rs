//! What a lane waits for beside records: open source transactions, a silent source, a target on which its
//! last transaction is not visible yet.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cluster::{At, Class, ClusterError};
use crate::error::{Error, Side};
use crate::pipe::engine::{Source, Target};
use crate::pipe::shared::TRANSACTION_TIMEOUT;
use crate::plan::TopicPartition;

use super::begin::GROUP_SETTLES;
use super::copy::Course;
use super::settled::unmarked;
use super::{Halt, Lane};

/// A source that brings nothing for so long is asked whether it is there: the client tries on for
/// ever without a word.
const SILENCE: Duration = Duration::from_secs(10);
/// How often the target is asked whether the last transaction has become visible.
const VISIBLE_EVERY: Duration = Duration::from_millis(20);

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// Says which open source transactions hold the lane up, and gives up after the plan's patience.
    pub(super) fn look_at_blocked(&self, course: &mut Course) -> Result<(), Halt> {
        let mut held: Vec<(Instant, String)> = course
            .blocked
            .iter()
            .enumerate()
            .filter_map(|(n, since)| {
                let since = (*since)?;
                let at = &self.pairs[n].source;
                let fence = self.fence_of(at)?;
                let position = self.positions[n];
                Some((since, format!("{at} (last stable offset {position}, fence {fence})")))
            })
            .collect();
        held.sort();
        let Some((since, _)) = held.first() else {
            if std::mem::take(&mut course.said) {
                self.shared.board.go_on(&self.who);
            }
            return Ok(());
        };
        let waited = self.now() - *since;
        let names: Vec<&str> = held.iter().map(|(_, name)| name.as_str()).collect();
        let names = names.join(", ");
        if waited < self.shared.plan.run.open_transaction_wait {
            self.say(format!("open transactions on source {names}"));
            course.said = true;
            return Ok(());
        }
        let topic =
            &self.pairs[course.blocked.iter().position(Option::is_some).unwrap_or(0)].source;
        Err(Halt::Person(
            Error::cluster(
                Side::Source,
                format!(
                    "transactions stay open below the fence after {}: {names}",
                    humantime::format_duration(Duration::from_secs(waited.as_secs()))
                ),
            )
            .hint(format!(
                "find them with `kafka-transactions.sh --bootstrap-server SOURCE find-hanging \
                 --topic {} --partition {}`, end or abort them, and run again: it goes on where it \
                 stopped",
                topic.topic, topic.partition
            )),
        ))
    }

    /// Asks a silent source for its log end: an answer is a sign of life, an error is dealt with as any
    /// other. Without this a lane would wait for a cluster that is gone.
    pub(super) fn look_at_silence(&self, course: &mut Course) -> Result<(), Halt> {
        let Some(n) = course.reached.iter().position(|reached| !reached) else { return Ok(()) };
        let at = &self.pairs[n].source;
        if self.now() - course.heard >= SILENCE {
            let blocked = course.blocked.iter().any(Option::is_some);
            if !blocked {
                self.say(format!("the source to answer for {at}"));
            }
            let asked = std::slice::from_ref(at);
            for answer in
                self.shared.clusters.offsets(Side::Source, asked, At::LogEnd)?.into_values()
            {
                answer?;
            }
            if !blocked {
                // It has answered: an idle lane waits for records, and for nobody.
                self.shared.board.go_on(&self.who);
            }
            course.heard = self.now();
        }
        Ok(())
    }

    /// Waits until a `read_committed` consumer can see all that the lane has written: a commit is answered
    /// before its markers are in every partition (on a busy broker some
    /// partitions follow seconds later).
    pub(super) fn await_visible(&self) -> Result<(), Halt> {
        let mut wanted: BTreeMap<TopicPartition, i64> = BTreeMap::new();
        for pair in &self.pairs {
            let state = &self.state.partitions[&pair.source];
            if state.records > 0 {
                wanted.insert(pair.target.clone(), state.target_next);
            }
        }
        let ledger = self.shared.clusters.ledger().partition(self.number);
        wanted.insert(ledger, self.state.next_offset);
        let until = self.now() + TRANSACTION_TIMEOUT;
        loop {
            let asked: Vec<TopicPartition> = wanted.keys().cloned().collect();
            for (at, answer) in
                self.shared.clusters.offsets(Side::Target, &asked, At::LastStable)?
            {
                let stable = answer?.offset;
                if wanted.get(&at).is_some_and(|next| stable >= *next) {
                    wanted.remove(&at);
                }
            }
            let Some((at, next)) = wanted.first_key_value() else { break };
            self.still_ours()?;
            let what =
                format!("the last transaction to become visible on target {at} (below {next})");
            if self.now() >= until && self.unmarked.get(at) == Some(next) {
                return Err(unmarked(at, *next).into());
            }
            if self.now() >= until {
                return Err(ClusterError::new(Side::Target, Class::Retriable, what).into());
            }
            self.say(what);
            self.pause(VISIBLE_EVERY);
        }
        // The group's offsets have a marker of their own. Records do not wait for it, nor for ever does
        // the lane: an offset that came too late may have none (see `settled_group`).
        let asked = [self.shared.clusters.ledger().partition(self.number)];
        let group = self.shared.plan.group();
        let until = self.now() + GROUP_SETTLES;
        while self.shared.clusters.group_offsets(&group, &asked)?.is_none() && self.now() < until {
            self.still_ours()?;
            self.say("the last transaction's group offsets to settle on the target");
            self.pause(VISIBLE_EVERY);
        }
        Ok(())
    }
}
