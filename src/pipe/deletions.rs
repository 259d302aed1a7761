//! Deletions that may have expired before they were read. Pure.
//!
//! On a compacted topic a deletion is a record (a tombstone), and the brokers remove it
//! `delete.retention.ms` after the first cleaning that saw it. Whoever reads a key and comes to its
//! tombstone only later may find it gone, and keeps the key for ever:
//!
//! ```text
//!  since: the log was read to its end      at: its end was E            now: read to E
//!  ──┬──────────────────────────────────────┬───────────────────────────┬──▶
//!    └─────────── a tombstone of this time, below E, went at the earliest
//!                 `delete.retention.ms` behind `since`: unread only if `now` is later ──┘
//! ```
//!
//! So a partition is *complete* up to a time `since`: no tombstone of a key that was copied can have
//! been removed unread before `since + delete.retention.ms`. It is complete when its copy begins
//! (nothing was copied, nothing can stay), and anew for the time `at` whenever everything below the
//! log end of `at` is read. Times come from the workers' clocks.

use std::time::Duration;

/// Kafka's default of `delete.retention.ms`: a day.
pub const DEFAULT_RETENTION_MS: i64 = 86_400_000;

/// A tenth of `delete.retention.ms` is left for clocks that differ, between workers and from the
/// brokers', and for what was fetched and not yet looked at.
const MARGIN: i64 = 10;

/// So long after `since` deletions may be gone, in milliseconds.
fn limit(retention_ms: i64) -> i64 {
    retention_ms - retention_ms / MARGIN
}

/// A partition that was away from its log end for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// For how long, in milliseconds.
    pub away_ms: i64,
    /// The source topic's `delete.retention.ms`.
    pub retention_ms: i64,
}

impl Late {
    /// Judges a partition that was complete at `since` and is read to its end not before `now`. Where
    /// nothing was unread in between, nothing can be missed. `retention_ms` is none without compaction.
    pub fn judge(since: i64, now: i64, retention_ms: Option<i64>, unread: bool) -> Option<Self> {
        let retention_ms = retention_ms.filter(|_| unread)?;
        let away_ms = now.saturating_sub(since);
        (away_ms > limit(retention_ms)).then_some(Self { away_ms, retention_ms })
    }
}

/// What a running lane knows about the completeness of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Complete {
    retention_ms: Option<i64>,
    since: i64,
    /// The position when that was found.
    from: i64,
    /// A time and the log end of that time, not reached yet.
    mark: Option<(i64, i64)>,
}

impl Complete {
    /// As a lane begins with it, at its position.
    pub fn new(retention_ms: Option<i64>, since: i64, position: i64) -> Self {
        Self { retention_ms, since, from: position, mark: None }
    }

    /// Whether it has to be watched, and no log end is still to be reached: one that moves away
    /// before it is reached would never be.
    pub fn wants_mark(&self) -> bool {
        self.retention_ms.is_some() && self.mark.is_none()
    }

    /// At the time `at` the log ended at `end`.
    pub fn mark(&mut self, at: i64, end: i64) {
        self.mark.get_or_insert((at, end));
    }

    /// The partition is read up to `position`, now. Says since when it is complete if that has
    /// changed, and whether that came too late.
    pub fn read_to(&mut self, position: i64, now: i64) -> Option<(i64, Option<Late>)> {
        let (at, _) = self.mark.take_if(|(_, end)| *end <= position)?;
        let late = Late::judge(self.since, now, self.retention_ms, position > self.from);
        // A fence may be older than the binding, and that is the later start.
        self.since = self.since.max(at);
        self.from = position;
        Some((self.since, late))
    }
}

/// How often an idle lane does what, given the smallest `delete.retention.ms` of its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Asks the source for its log ends: an eighth of the retention, at most a minute.
    pub look: Duration,
    /// Writes down since when it is complete, which a later start may then trust: a quarter of the
    /// retention, from a second to 10 minutes. The ledger never forgets, so not more often.
    pub write: Duration,
}

impl Rhythm {
    /// None where no partition is compacted: nobody would ask.
    pub fn of(retentions_ms: impl Iterator<Item = Option<i64>>) -> Option<Self> {
        let smallest = Duration::from_millis(retentions_ms.flatten().min()?.max(0).cast_unsigned());
        let look = (smallest / 8).clamp(Duration::from_millis(100), Duration::from_secs(60));
        let write = (smallest / 4).clamp(Duration::from_secs(1), Duration::from_secs(600));
        Some(Self { look, write })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nine_tenths_of_the_retention_are_in_time_and_more_is_late() {
        assert_eq!(Late::judge(50, 950, Some(1000), true), None);
        let late = Late { away_ms: 901, retention_ms: 1000 };
        assert_eq!(Late::judge(50, 951, Some(1000), true), Some(late));
    }

    #[test]
    fn nothing_is_late_where_nothing_was_unread_or_nothing_is_compacted() {
        assert_eq!(Late::judge(0, i64::MAX, Some(1000), false), None);
        assert_eq!(Late::judge(0, i64::MAX, None, true), None);
    }

    #[test]
    fn an_idle_partition_stays_complete_however_long_it_is_idle() {
        let mut complete = Complete::new(Some(1000), 0, 7);
        for at in [5_000, 5_100, 90_000] {
            complete.mark(at, 7);
            assert_eq!(complete.read_to(7, at + 1), Some((at, None)));
        }
        complete.mark(90_500, 8);
        assert_eq!(complete.read_to(7, 90_600), None);
        assert_eq!(complete.read_to(8, 90_700), Some((90_500, None)));
    }

    #[test]
    fn a_first_copy_that_takes_too_long_is_late_when_it_reaches_the_log_end_of_its_beginning() {
        let mut complete = Complete::new(Some(1000), 10, 0);
        complete.mark(20, 100);
        assert_eq!(complete.read_to(99, 500), None);
        complete.mark(600, 200);
        let late = Late { away_ms: 1990, retention_ms: 1000 };
        assert_eq!(complete.read_to(100, 2000), Some((20, Some(late))), "the first mark stays");
    }

    #[test]
    fn a_fence_that_is_older_than_the_binding_does_not_turn_time_back() {
        let mut complete = Complete::new(Some(1000), 50, 0);
        complete.mark(40, 10);
        assert_eq!(complete.read_to(10, 60), Some((50, None)));
    }

    #[test]
    fn an_idle_lane_is_not_busier_than_its_topics_ask_for() {
        let of = |ms: i64| Rhythm::of([None, Some(ms), Some(i64::MAX)].into_iter()).unwrap();
        let day = of(DEFAULT_RETENTION_MS);
        assert_eq!((day.look, day.write), (Duration::from_secs(60), Duration::from_secs(600)));
        let tiny = of(0);
        assert_eq!((tiny.look, tiny.write), (Duration::from_millis(100), Duration::from_secs(1)));
        assert_eq!(of(80_000).write, Duration::from_secs(20));
        assert_eq!(Rhythm::of([None, None].into_iter()), None);
    }

    /// Reads of a log: (time that passes, records that are written, records that are read, whether the
    /// log end is asked for).
    type Step = (i64, i64, i64, bool);

    proptest! {
        /// Against the naive rule, record by record: whoever reads a record later than `limit` after
        /// the last moment at which everything written before was read, may have missed a deletion.
        /// Before the reader is called complete for a time, it was said if that happened.
        #[test]
        fn no_record_is_read_too_late_without_a_word(
            retention in 0i64..100,
            steps in prop::collection::vec((0i64..60, 0i64..5, 0i64..9, any::<bool>()), 1..60),
        ) {
            let mut complete = Complete::new(Some(retention), 0, 0);
            let (mut now, mut position) = (0i64, 0i64);
            // When each record was written; and since when, by the naive rule, all is known.
            let mut written: Vec<i64> = Vec::new();
            let mut too_late = false;
            let mut naive = 0;
            for (passes, writes, reads, asks) in steps as Vec<Step> {
                now += passes;
                written.extend((0..writes).map(|_| now));
                let end = i64::try_from(written.len()).unwrap();
                if asks {
                    complete.mark(now, end);
                }
                let to = end.min(position + reads);
                too_late |= to > position && now - naive > limit(retention);
                position = to;
                let seen = complete.read_to(position, now);
                if let Some((since, late)) = seen {
                    prop_assert!(since <= now);
                    prop_assert!(late.is_some() || !too_late, "missed by {since}");
                    let unread = usize::try_from(position).unwrap();
                    prop_assert!(written[unread..].iter().all(|at| *at >= since));
                    (naive, too_late) = (since, false);
                }
            }
        }
    }
}
