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
use crate::ledger::LaneState;
use crate::pipe::engine::{Source, Target};
use crate::pipe::shared::TRANSACTION_TIMEOUT;
use crate::plan::TopicPartition;

use super::{Halt, Lane};

/// Longer than any transaction of onceover stays open while a coordinator knows of it: its time-out, and the
/// coordinator's own rounds (`transaction.abort.timed.out.transaction.cleanup.interval.ms`, 10 s).
const HANGS_AFTER: Duration = TRANSACTION_TIMEOUT.saturating_mul(2);

/// A partition with an open transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    at: TopicPartition,
    /// Last stable offset: where the first open transaction begins.
    stable: i64,
    end: i64,
    /// Where what the ledger counts as copied ends, if the transaction begins before that: then it was committed,
    /// and the lane's next marker in this partition ends it if its own was lost.
    copied: Option<i64>,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Wait,
    /// Nothing comes of waiting.
    GoOn,
    /// Nobody ends it.
    Hangs,
}

impl Open {
    fn then(&self, waited: Duration, patience: Duration) -> Then {
        if self.copied.is_some() {
            return if waited < HANGS_AFTER { Then::Wait } else { Then::GoOn };
        }
        if waited < patience.max(HANGS_AFTER) { Then::Wait } else { Then::Hangs }
    }
}

/// The error of one that nobody ends; `others` are open as well, and may be of the same transaction.
fn hanging(open: &Open, others: &[Open], waited: Duration) -> Error {
    let Open { at, stable, .. } = open;
    let waited = humantime::format_duration(Duration::from_secs(waited.as_secs()));
    let what =
        format!("a transaction stays open on target {at} from offset {stable} on, for {waited}");
    let arguments = |open: &Open| {
        let Open { at: TopicPartition { topic, partition }, stable, .. } = open;
        format!("`--topic {topic} --partition {partition} --start-offset {stable}`")
    };
    let (counted, free): (Vec<_>, Vec<_>) =
        others.iter().filter(|other| other.at != *at).partition(|other| other.copied.is_some());
    let free: Vec<String> = std::iter::once(open).chain(free).map(arguments).collect();
    let mut hint = format!(
        "a broker that goes down may leave a transaction behind that no coordinator ends: `kafka-transactions.sh \
         --bootstrap-server TARGET find-hanging --broker-id N` finds it, `abort` with {} ends it; then run again",
        free.join(", and with ")
    );
    if !counted.is_empty() {
        let counted: Vec<String> = counted.iter().map(|open| open.at.to_string()).collect();
        hint.push_str(&format!(
            ". Do not abort what is open on {}: the ledger counts it as copied",
            counted.join(", ")
        ));
    }
    Error::cluster(Side::Target, what).hint(hint)
}

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
        let (began, end) = (self.now(), wanted.log_end);
        let mut stable = wanted.last_stable;
        while stable < end {
            self.still_ours()?;
            let open = Open { at: at.clone(), stable, end, copied: None };
            let waited = self.now() - began;
            if open.then(waited, HANGS_AFTER) == Then::Hangs {
                let state = ledger.lane(self.number, stable)?;
                let ends = self.ends_of_targets(At::LogEnd)?;
                return Err(hanging(&open, &self.open_targets(&state, &ends)?, waited).into());
            }
            self.say_open(&open);
            self.pause(Duration::from_millis(20));
            stable = ledger.ends(self.number)?.last_stable;
        }
        Ok(end)
    }

    /// Waits for transactions on the lane's target partitions that were open when it began: whether their
    /// records become visible must be known before others are written behind them.
    pub(super) fn settle_targets(&mut self) -> Result<(), Halt> {
        let patience = self.shared.plan.run.open_transaction_wait;
        let began = self.now();
        let wanted = self.ends_of_targets(At::LogEnd)?;
        loop {
            let waited = self.now() - began;
            let open = self.open_targets(&self.state, &wanted)?;
            let then = |one: &Open| one.then(waited, patience);
            let Some(one) = open.iter().find(|one| then(one) != Then::GoOn) else {
                self.unmarked =
                    open.into_iter().filter_map(|one| Some((one.at, one.copied?))).collect();
                return Ok(());
            };
            self.still_ours()?;
            if then(one) == Then::Hangs {
                return Err(hanging(one, &open, waited).into());
            }
            self.say_open(one);
            self.pause(Duration::from_millis(50));
        }
    }

    /// The lane's target partitions with transactions that are open below `ends`, beside what this ledger
    /// counts as copied.
    fn open_targets(
        &self,
        state: &LaneState,
        ends: &BTreeMap<TopicPartition, i64>,
    ) -> Result<Vec<Open>, Halt> {
        let stable = self.ends_of_targets(At::LastStable)?;
        let open = self.pairs.iter().filter_map(|pair| {
            let at = pair.target.clone();
            let (stable, end) = (*stable.get(&at)?, *ends.get(&at)?);
            let copied = state.partitions.get(&pair.source).map(|state| state.target_next);
            let copied = copied.filter(|next| stable < *next);
            (stable < end).then_some(Open { at, stable, end, copied })
        });
        Ok(open.collect())
    }

    /// A missing partition is for the judge.
    fn ends_of_targets(&self, which: At) -> Result<BTreeMap<TopicPartition, i64>, Halt> {
        let targets: Vec<_> = self.pairs.iter().map(|pair| pair.target.clone()).collect();
        let answers = self.shared.clusters.offsets(Side::Target, &targets, which)?.into_iter();
        Ok(answers.filter_map(|(at, answer)| Some((at, answer.ok()?.offset))).collect())
    }

    fn say_open(&self, Open { at, stable, end, .. }: &Open) {
        self.say(format!(
            "an open transaction on target {at} (last stable offset {stable}, log end {end})"
        ));
    }
}

/// The error where the lane's last transaction is still not visible, though its marker was waited for when the
/// lane began, and nothing is left to be copied whose commit would end it.
pub(super) fn unmarked(at: &TopicPartition, next: i64) -> Error {
    let what = format!(
        "a committed transaction stays open on target {at}: read_committed consumers do not see all below offset {next}"
    );
    Error::cluster(Side::Target, what).hint(
        "a broker went down and left it without its marker. Do not abort it: the ledger counts it as copied, and the next \
         record that is copied to this partition makes it visible. Run again when the source has one; else copy the topic \
         anew, under another plan name and another target name",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(partition: i32, claimed: bool) -> Open {
        let copied = claimed.then_some(45);
        Open { at: TopicPartition::new("orders", partition), stable: 40, end: 50, copied }
    }

    const LONG: Duration = Duration::from_secs(900);

    #[test]
    fn what_somebody_holds_open_is_waited_for_as_long_as_the_plan_says_and_no_less_than_our_own_may_take()
     {
        let one = open(0, false);
        assert_eq!(one.then(LONG - Duration::from_secs(1), LONG), Then::Wait);
        assert_eq!(one.then(LONG, LONG), Then::Hangs);
        assert_eq!(one.then(HANGS_AFTER - Duration::from_secs(1), Duration::ZERO), Then::Wait);
        assert_eq!(one.then(HANGS_AFTER, Duration::ZERO), Then::Hangs);
    }

    #[test]
    fn what_the_ledger_counts_as_copied_never_ends_a_run_here() {
        let one = open(0, true);
        assert_eq!(one.then(HANGS_AFTER - Duration::from_secs(1), LONG), Then::Wait);
        assert_eq!(one.then(HANGS_AFTER, LONG), Then::GoOn);
    }

    #[test]
    fn only_what_the_ledger_does_not_count_is_to_be_aborted() {
        let all = [open(0, false), open(1, true), open(2, false)];
        let error = hanging(&all[0], &all, HANGS_AFTER);
        assert_eq!(error.exit_code(), 4);
        assert_eq!(
            error.what,
            "a transaction stays open on target orders-0 from offset 40 on, for 2m"
        );
        let hint = error.hint.expect("a hint");
        let abort = "`abort` with `--topic orders --partition 0 --start-offset 40`, and with `--topic orders \
                     --partition 2 --start-offset 40` ends it";
        assert!(hint.contains(abort), "{hint}");
        assert!(
            hint.ends_with("Do not abort what is open on orders-1: the ledger counts it as copied")
        );
        let hint = hanging(&all[0], &[], HANGS_AFTER).hint.expect("a hint");
        assert!(!hint.contains("Do not abort"), "{hint}");
    }
}
