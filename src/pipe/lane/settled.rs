//! Transactions that are open where the lane is to write: waited for, since what they hold may become
//! visible or not. The lane's own were ended by its fence, as far as their coordinator knows of them.
//!
//! A transaction that no coordinator knows stays open for ever ("hanging"). Kafka 4.3.0 leaves such ones
//! behind: a coordinator skips the markers of partitions that have no leader at that moment (KAFKA-20734;
//! measured with restarts of an only broker: the commit is answered, and no partition has its marker).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cluster::At;
use crate::error::{Error, Side};
use crate::pipe::engine::{Source, Target};
use crate::pipe::shared::TRANSACTION_TIMEOUT;
use crate::plan::TopicPartition;

use super::{Halt, Lane};

/// Longer than any transaction of onceover stays open while a coordinator knows of it: its time-out, and the
/// coordinator's own rounds (`transaction.abort.timed.out.transaction.cleanup.interval.ms`, 10 s).
const HANGS_AFTER: Duration = TRANSACTION_TIMEOUT.saturating_mul(2);

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// The ledger partition's log end, once the last stable offset has reached it.
    pub(super) fn settled_log_end(&self) -> Result<i64, Halt> {
        let ledger = self.shared.clusters.ledger();
        let wanted = ledger.ends(self.number)?;
        let at = ledger.partition(self.number);
        if wanted.log_start > 0 {
            let what = format!("ledger `{at}` starts at offset {}, not at 0", wanted.log_start);
            return Err(Halt::Person(
                Error::refused("ledger-damaged", what)
                    .hint("records of the ledger were deleted; it cannot be trusted any more"),
            ));
        }
        let until = self.now() + HANGS_AFTER;
        let mut stable = wanted.last_stable;
        while stable < wanted.log_end {
            self.still_ours()?;
            if self.now() >= until {
                return Err(self.hanging((at, stable), HANGS_AFTER));
            }
            self.say(format!(
                "an open transaction on target {at} (last stable offset {stable}, log end {})",
                wanted.log_end
            ));
            self.pause(Duration::from_millis(20));
            stable = ledger.ends(self.number)?.last_stable;
        }
        Ok(wanted.log_end)
    }

    /// Waits for transactions on the lane's target partitions that were open when it began: whether their
    /// records become visible must be known before others are written behind them.
    ///
    /// One that holds what the ledger counts as copied was committed, and the lane's next marker in that
    /// partition ends it, if its own was lost: for that nobody waits for ever.
    pub(super) fn settle_targets(&self) -> Result<(), Halt> {
        let targets = self.targets();
        // A missing partition is for the judge.
        let ends = |which| -> Result<BTreeMap<TopicPartition, i64>, Halt> {
            let answers = self.shared.clusters.offsets(Side::Target, &targets, which)?.into_iter();
            Ok(answers.filter_map(|(at, answer)| Some((at, answer.ok()?.offset))).collect())
        };
        let claimed: BTreeMap<&TopicPartition, i64> = self
            .pairs
            .iter()
            .filter_map(|pair| {
                Some((&pair.target, self.state.partitions.get(&pair.source)?.target_next))
            })
            .collect();
        let patience = self.shared.plan.run.open_transaction_wait;
        let began = self.now();
        let wanted = ends(At::LogEnd)?;
        loop {
            let stable = ends(At::LastStable)?;
            let waited = self.now() - began;
            let open = wanted.iter().find_map(|(at, end)| {
                let stable = *stable.get(at).filter(|stable| *stable < end)?;
                let ours = claimed.get(at).is_some_and(|next| stable < *next);
                (!ours || waited < HANGS_AFTER).then_some((at, stable, end))
            });
            let Some((at, stable, end)) = open else { return Ok(()) };
            self.still_ours()?;
            if waited >= patience.max(HANGS_AFTER) {
                return Err(self.hanging((at.clone(), stable), waited));
            }
            self.say(format!(
                "an open transaction on target {at} (last stable offset {stable}, log end {end})"
            ));
            self.pause(Duration::from_millis(50));
        }
    }

    /// The other open partitions are named too: they may hold the same transaction.
    fn hanging(&self, (at, stable): (TopicPartition, i64), waited: Duration) -> Halt {
        let waited = humantime::format_duration(Duration::from_secs(waited.as_secs()));
        let what = format!(
            "a transaction stays open on target {at} from offset {stable} on, for {waited}"
        );
        let mut open = vec![(at, stable)];
        let (clusters, targets) = (&self.shared.clusters, self.targets());
        let ends = |which| clusters.offsets(Side::Target, &targets, which).unwrap_or_default();
        let log_ends = ends(At::LogEnd);
        for (at, stable) in ends(At::LastStable) {
            if let (Ok(stable), Some(Ok(end))) = (stable, log_ends.get(&at))
                && stable.offset < end.offset
                && at != open[0].0
            {
                open.push((at, stable.offset));
            }
        }
        let arguments = |(at, stable): &(TopicPartition, i64)| {
            format!("`--topic {} --partition {} --start-offset {stable}`", at.topic, at.partition)
        };
        let all: Vec<String> = open.iter().map(arguments).collect();
        Halt::Person(Error::cluster(Side::Target, what).hint(format!(
            "a broker that goes down may leave a transaction behind that no coordinator ends: `kafka-transactions.sh \
             --bootstrap-server TARGET find-hanging --broker-id N` finds it, `abort` with {} ends it; then run again",
            all.join(", and with ")
        )))
    }

    fn targets(&self) -> Vec<TopicPartition> {
        self.pairs.iter().map(|pair| pair.target.clone()).collect()
    }
}
