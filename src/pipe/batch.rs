//! When a batch is committed: a pure rule over what the lane has seen.
//!
//! Large transactions under a backlog (few commits, high throughput), immediate ones when the source
//! is drained (low latency), never more per second than the plan allows (a managed target is not
//! flooded with commits), and never one that could not be delivered within its transaction time-out.

use std::time::Duration;

/// The bounds of a lane's batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchRule {
    /// The longest that a record waits for its commit under load.
    pub interval: Duration,
    /// Bytes of records in one transaction.
    pub bytes: u64,
    /// Records in one transaction: bounds the memory for their offsets.
    pub records: u64,
    /// Coded size of the runs, estimated from the source offsets: bounds the ledger entry.
    pub coded: usize,
    /// The shortest time between two commits: 1 / `max_transactions_per_second`.
    pub pause: Duration,
    /// The producer's `transaction.timeout.ms`.
    pub transaction_timeout: Duration,
}

/// An open batch as the rule sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenBatch {
    /// Since the transaction was begun.
    pub age: Duration,
    /// Bytes of records written.
    pub bytes: u64,
    /// Records written.
    pub records: u64,
    /// Coded size of its runs so far, estimated.
    pub coded: usize,
    /// Since the last commit ended.
    pub since_commit: Duration,
    /// Whether the last look at the source brought nothing.
    pub quiet: bool,
    /// Whether every partition has been read to its end.
    pub at_end: bool,
    /// Measured delivery rate of this lane in bytes per second, once known.
    pub rate: Option<f64>,
}

/// Below this a batch is a trickle: it is committed when the source pauses. Above it the source is
/// busy, and a pause is only the next fetch under way: committing then makes many small
/// transactions.
const TRICKLE: u64 = 256 * 1024;

/// A source that brings nothing for so long has paused.
const PAUSE: Duration = Duration::from_millis(5);

impl BatchRule {
    /// Whether the batch is to be committed now.
    pub fn due(&self, open: &OpenBatch) -> bool {
        open.bytes >= self.deliverable(open.rate)
            || open.records >= self.records
            || open.coded >= self.coded
            || open.age >= self.interval
            || (open.drained() && open.since_commit >= self.pause)
    }

    /// How long a look at the source may wait before the rule has to be asked again.
    pub fn patience(&self, open: &OpenBatch) -> Duration {
        let to_age = self.interval.saturating_sub(open.age);
        if open.at_end || open.bytes < TRICKLE {
            to_age.min(self.pause.saturating_sub(open.since_commit).max(PAUSE))
        } else {
            to_age
        }
    }

    /// Bytes that the measured rate delivers within a quarter of the transaction time-out, at most
    /// the plan's `commit_bytes`. A rate that is not known yet bounds nothing: the age does.
    fn deliverable(&self, rate: Option<f64>) -> u64 {
        /// Small enough for any link that Kafka runs over, so that a lane never stands still.
        const FLOOR: u64 = 64 * 1024;
        let Some(rate) = rate else { return self.bytes };
        let quarter = self.transaction_timeout.as_secs_f64() / 4.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let deliverable = (rate * quarter) as u64;
        self.bytes.min(deliverable.max(FLOOR))
    }
}

impl OpenBatch {
    fn drained(&self) -> bool {
        self.at_end || (self.quiet && self.bytes < TRICKLE)
    }
}

/// Estimates the coded size of runs from source offsets alone, before the target offsets are known:
/// every change of the step costs about one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodedEstimate {
    last: Option<i64>,
    step: i64,
    bytes: usize,
}

impl CodedEstimate {
    /// A run in JSON is a handful of small integers.
    const RUN: usize = 14;

    /// Takes the next source offset of the partition.
    pub fn push(&mut self, offset: i64) {
        match self.last {
            None => self.bytes = Self::RUN * 2,
            Some(last) => {
                let step = offset - last;
                if step != self.step {
                    if self.step != 0 {
                        self.bytes += Self::RUN;
                    }
                    self.step = step;
                }
            }
        }
        self.last = Some(offset);
    }

    /// The estimate in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule() -> BatchRule {
        BatchRule {
            interval: Duration::from_millis(500),
            bytes: 64 << 20,
            records: 500_000,
            coded: 200_000,
            pause: Duration::from_millis(50),
            transaction_timeout: Duration::from_secs(60),
        }
    }

    fn open() -> OpenBatch {
        OpenBatch {
            age: Duration::from_millis(10),
            bytes: 1000,
            records: 10,
            coded: 20,
            since_commit: Duration::from_millis(10),
            quiet: false,
            at_end: false,
            rate: None,
        }
    }

    #[test]
    fn a_batch_under_load_waits_for_its_interval() {
        assert!(!rule().due(&open()));
        assert!(rule().due(&OpenBatch { age: Duration::from_millis(500), ..open() }));
    }

    #[test]
    fn a_drained_source_commits_at_once_but_not_more_often_than_allowed() {
        let drained = OpenBatch { quiet: true, ..open() };
        assert!(!rule().due(&drained));
        assert!(rule().due(&OpenBatch { since_commit: Duration::from_millis(50), ..drained }));
        assert_eq!(rule().patience(&drained), Duration::from_millis(40));
    }

    #[test]
    fn a_pause_under_load_is_no_end_of_it() {
        let busy = OpenBatch {
            quiet: true,
            bytes: TRICKLE,
            since_commit: Duration::from_secs(1),
            ..open()
        };
        assert!(!rule().due(&busy));
        assert!(rule().due(&OpenBatch { at_end: true, ..busy }));
        assert_eq!(rule().patience(&busy), Duration::from_millis(490), "no busy waiting");
    }

    #[test]
    fn each_bound_closes_a_batch_by_itself() {
        assert!(rule().due(&OpenBatch { bytes: 64 << 20, ..open() }));
        assert!(rule().due(&OpenBatch { records: 500_000, ..open() }));
        assert!(rule().due(&OpenBatch { coded: 200_000, ..open() }));
    }

    #[test]
    fn a_slow_link_gets_smaller_batches() {
        // 1 MB/s for 15 s, a quarter of the time-out.
        let slow = OpenBatch { rate: Some(1e6), bytes: 15_000_000, ..open() };
        assert!(rule().due(&slow));
        assert!(!rule().due(&OpenBatch { bytes: 14_999_999, ..slow }));
        assert!(!rule().due(&OpenBatch { rate: Some(0.0), bytes: 65_535, ..slow }));
    }

    #[test]
    fn a_hole_at_every_offset_is_one_run() {
        let mut estimate = CodedEstimate::default();
        (0..100_000).for_each(|n| estimate.push(n * 2));
        assert!(estimate.bytes() < 64, "{}", estimate.bytes());
    }

    proptest! {
        /// Within its patience nothing but a bound on size or the source itself makes a batch due.
        #[test]
        fn patience_never_outlasts_the_rule(
            age in 0u64..2000,
            since in 0u64..2000,
            bytes in 0u64..1_000_000,
        ) {
            let open = OpenBatch {
                age: Duration::from_millis(age),
                since_commit: Duration::from_millis(since),
                quiet: true,
                bytes,
                ..open()
            };
            let patience = rule().patience(&open);
            let later = OpenBatch {
                age: open.age + patience,
                since_commit: open.since_commit + patience,
                ..open
            };
            prop_assert!(rule().due(&later));
        }
    }
}
