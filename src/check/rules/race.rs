//! The retention race: deletion eats a partition from its beginning while the copy runs towards its end.
//!
//! ```text
//!   expires at   t + retention.ms        of a record with timestamp t, at the earliest: brokers delete
//!                                        whole segments, so the real moment is a little later
//!   is reached   now + share of the copy's time that lies before it
//! ```
//!
//! Both are taken as straight lines between the first uncopied record and the last one, so the race is
//! the closest at one of the two ends.

use super::Look;
use super::retention::expires;
use crate::check::Rule;
use crate::check::effective::{number_on_source, on_source};
use crate::check::facts::{CopyFacts, Facts, PairFacts, PartitionFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::{span, takes, time};
use crate::plan::Plan;

pub const RACE: Rule = Rule::Pair(check);

/// One partition and its race. Times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Race {
    /// Now.
    pub now_ms: i64,
    /// Timestamp of the first uncopied record.
    pub first_ms: i64,
    /// Largest timestamp.
    pub last_ms: i64,
    /// `retention.ms`; none: for ever.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; none: any size.
    pub retention_bytes: Option<u64>,
    /// Size of what is not copied, uncompressed.
    pub bytes: u64,
    /// How long the copy takes to its end.
    pub copy_seconds: f64,
}

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ending {
    /// The copy is always ahead, by so many seconds where it is the closest.
    Won(f64),
    /// The first records may go at any moment; the copy has passed the deletion after so many seconds.
    Close(f64),
    /// Records from some time on are deleted before the copy reaches them.
    Lost {
        /// When deletion overtakes the copy.
        deleted_ms: i64,
        /// When the copy would have reached the end.
        reached_ms: i64,
    },
}

impl Race {
    /// Says how it ends.
    pub fn ending(&self) -> Ending {
        let ending = |(first, last)| self.between(first, last - self.copy_seconds);
        let worse = |a: Ending, b: Ending| if a.margin() <= b.margin() { a } else { b };
        match (self.by_time().map(ending), self.by_size().map(ending)) {
            (Some(a), Some(b)) => worse(a, b),
            (a, b) => a.or(b).unwrap_or(Ending::Won(f64::INFINITY)),
        }
    }

    /// When the first uncopied record may be deleted; none: never.
    pub fn first_deleted_ms(&self) -> Option<i64> {
        let firsts = [self.by_time(), self.by_size()].into_iter().flatten().map(|(first, _)| first);
        let first = firsts.reduce(f64::min)?;
        Some(self.now_ms.saturating_add(millis(first)))
    }

    /// When the copy reaches the end.
    pub fn reached_ms(&self) -> i64 {
        self.now_ms.saturating_add(millis(self.copy_seconds))
    }

    /// In how many seconds the first and the last uncopied record expire.
    fn by_time(&self) -> Option<(f64, f64)> {
        let retention = self.retention_ms?;
        let expires = |ms: i64| seconds(ms.saturating_sub(self.now_ms).saturating_add(retention));
        Some((expires(self.first_ms), expires(self.last_ms)))
    }

    /// The same where the partition may only have a size.
    fn by_size(&self) -> Option<(f64, f64)> {
        let limit = self.retention_bytes?;
        let written = seconds(self.last_ms.saturating_sub(self.first_ms));
        // An estimate without compression; on disk a broker never holds more than the limit.
        let bytes = float(self.bytes.min(limit.max(1)));
        let per_second = bytes / written;
        // Without writing nothing is ever deleted by size.
        (written > 0.0 && per_second > 0.0)
            .then(|| ((float(limit) - bytes) / per_second, float(limit) / per_second))
    }

    /// `first`, `last`: seconds between reaching and deletion at both ends.
    fn between(&self, first: f64, last: f64) -> Ending {
        // Where the line crosses zero, as a share of the copy.
        let crossing = if (first < 0.0) == (last < 0.0) { 0.0 } else { first / (first - last) };
        let after = crossing * self.copy_seconds;
        if last < 0.0 {
            let in_ms = |seconds: f64| self.now_ms.saturating_add(millis(seconds));
            Ending::Lost { deleted_ms: in_ms(after), reached_ms: in_ms(self.copy_seconds) }
        } else if first < 0.0 {
            Ending::Close(after)
        } else {
            Ending::Won(first.min(last))
        }
    }
}

impl Ending {
    fn margin(self) -> f64 {
        match self {
            Self::Won(margin) => margin,
            Self::Close(after) => -after,
            Self::Lost { .. } => f64::NEG_INFINITY,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

/// Milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub fn millis(seconds: f64) -> i64 {
    (seconds * 1_000.0) as i64
}

/// How long the whole copy takes.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyTime {
    /// Seconds for all of which the size is known.
    pub at_least: f64,
    /// Why there may be more: a size that is not known.
    pub untold: Option<String>,
}

/// How long the whole copy takes: all partitions run side by side, so each of them may take as long.
pub fn copy_time(plan: &Plan, facts: &Facts) -> Result<CopyTime, String> {
    let rate = facts.rate.told("rate of the copy")?;
    let most = plan.run.max_rate.map_or(f64::INFINITY, float);
    let rate = rate.bytes_per_second.min(most);
    if rate <= 0.0 {
        return Err("rate of the copy: it is 0".to_owned());
    }
    let (mut total, mut untold) = (0.0, None);
    for copy in facts.pairs.iter().flat_map(|pair| &pair.copy) {
        match copy.bytes.told("size of the source") {
            Ok(bytes) => total += float(*bytes),
            Err(why) => untold = Some(why),
        }
    }
    Ok(CopyTime { at_least: total / rate, untold })
}

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let policy = on_source(pair, "cleanup.policy")?;
    if !expires(policy) {
        return Verdict::pass(format!("source has `cleanup.policy={policy}`: nothing expires"))
            .into();
    }
    let some = |limit: i64| (limit >= 0).then_some(limit);
    let retention_ms = some(number_on_source(pair, "retention.ms")?);
    let retention_bytes = some(number_on_source(pair, "retention.bytes")?);
    let retention_bytes = retention_bytes.and_then(|limit| u64::try_from(limit).ok());
    if retention_ms.is_none() && retention_bytes.is_none() {
        return Verdict::pass("source keeps records for ever").into();
    }
    let CopyTime { at_least: copy_seconds, untold } = look.copy_time()?;
    let partitions = pair.source.partitions.told("source partitions")?;
    let (mut found, mut closest) = (Vec::new(), f64::INFINITY);
    for copy in &pair.copy {
        let Some(partition) = partitions.iter().find(|one| one.number == copy.partition) else {
            continue;
        };
        let (first_ms, last_ms, bytes) = match ends(partition, copy) {
            Ok(Some(ends)) => ends,
            Ok(None) => continue,
            Err(why) => {
                found.push(about_partition(Verdict::unknown(why), copy));
                continue;
            }
        };
        let now_ms = look.facts.now_ms;
        let race =
            Race { now_ms, first_ms, last_ms, retention_ms, retention_bytes, bytes, copy_seconds };
        match race.ending() {
            Ending::Won(margin) => closest = closest.min(margin),
            Ending::Close(after) => found.push(about_partition(
                Verdict::warn(format!(
                    "its first uncopied records are past the source's retention and may be deleted at any \
                     moment; the copy overtakes deletion after {}",
                    takes(after)
                )),
                copy,
            )),
            Ending::Lost { deleted_ms, reached_ms } => found.push(about_partition(
                Verdict::fail(format!(
                    "uncopied records are deleted from {} on, the copy reaches the log end {} {}",
                    time(deleted_ms),
                    if untold.is_some() { "not before" } else { "at" },
                    time(reached_ms)
                )),
                copy,
            )),
        }
    }
    // A race that is lost in the least time is lost; one that is won in it may still be lost.
    found.extend(untold.map(|why| Verdict::unknown(format!("how long the copy takes: {why}"))));
    if found.is_empty() {
        let margin = if closest.is_finite() {
            format!("at least {} before retention", span(millis(closest)))
        } else {
            "nothing can expire before it".to_owned()
        };
        found
            .push(Verdict::pass(format!("the copy takes about {}: {margin}", takes(copy_seconds))));
    }
    Ok(found)
}

/// First and last timestamp of what is not copied, and its size; none if all is copied.
fn ends(partition: &PartitionFacts, copy: &CopyFacts) -> Result<Option<(i64, i64, u64)>, String> {
    let from = copy.from_ms.told("age of the first uncopied record")?;
    let Some(first) = *from else { return Ok(None) };
    let last = partition.newest_ms.told("time of the newest record")?.unwrap_or(first);
    let bytes = copy.bytes.told("size")?;
    Ok(Some((first, last.max(first), *bytes)))
}

fn about_partition(verdict: Verdict, copy: &CopyFacts) -> Verdict {
    verdict.about(format!("partition {}", copy.partition))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::facts::{Known, Rate};
    use crate::check::fixture::{DAY, NOW, facts, judged, judged_with, pair, plan};
    use crate::check::names::RETENTION_RACE;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_copy_slower_than_time_itself_loses() {
        let mut facts = facts();
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
        // 6 MB at 5 B/s: fourteen days, and retention is seven.
        facts.rate = Known::Known(Rate { bytes_per_second: 5.0 });
        let found = judged(&facts, RETENTION_RACE);
        assert_eq!((found.len(), found[0].severity), (6, Fail));
        assert_eq!(
            found[0].reason,
            "uncopied records are deleted from 2026-01-07T11:10:20Z on, the copy reaches the log end at \
             2026-01-14T21:20:00Z"
        );
        facts.pairs[0].set(Side::Source, "retention.ms", "-1");
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
    }

    #[test]
    fn a_busy_topics_oldest_segment_is_a_warning() {
        let mut facts = facts();
        facts.pairs[0].copy[1].from_ms = Known::Known(Some(NOW - 8 * DAY));
        let found = judged(&facts, RETENTION_RACE);
        assert_eq!((found.len(), found[0].severity), (1, Warn));
        assert_eq!(found[0].about.as_deref(), Some("partition 1"));
    }

    #[test]
    fn the_plans_own_limit_slows_the_copy() {
        let mut facts = facts();
        for partition in facts.pairs[0].copy.iter_mut() {
            partition.bytes = Known::Known(1_000_000_000);
        }
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
        let slow = plan("run.max_rate = '1KiB/s'");
        assert_eq!(judged_with(&slow, &facts, RETENTION_RACE)[0].severity, Fail);
        facts.rate = Known::unknown("give `--rate`");
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Unknown);
    }

    #[test]
    fn retention_by_size_eats_as_fast_as_is_written() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "retention.ms", "-1");
        // 1 MB were written in a day; 2 MB are kept, so deletion begins tomorrow.
        facts.pairs[0].set(Side::Source, "retention.bytes", "2000000");
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
        facts.rate = Known::Known(Rate { bytes_per_second: 10.0 });
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Fail);
    }

    #[test]
    fn a_compressed_topic_at_its_limit_loses_only_to_a_copy_slower_than_its_producers() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "retention.ms", "-1");
        // The day's 1 MB took 300 kB on disk: it holds a day, whatever the size without compression.
        facts.pairs[0].set(Side::Source, "retention.bytes", "300000");
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
        // 6 MB in 23 hours and in 26 hours.
        for (bytes_per_second, severity) in [(72.0, Pass), (64.0, Fail)] {
            facts.rate = Known::Known(Rate { bytes_per_second });
            assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, severity, "{bytes_per_second}");
        }
    }

    #[test]
    fn what_is_copied_already_makes_nobody_write_faster() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "retention.ms", "-1");
        facts.pairs[0].set(Side::Source, "retention.bytes", "2000000");
        // The last hour is to be copied: 40 kB of a partition's 1 MB, and in 5 hours.
        for copy in &mut facts.pairs[0].copy {
            copy.from_ms = Known::Known(Some(NOW - DAY / 24));
            copy.bytes = Known::Known(40_000);
        }
        facts.rate = Known::Known(Rate { bytes_per_second: 240_000.0 / 18_000.0 });
        assert_eq!(judged(&facts, RETENTION_RACE)[0].severity, Pass);
    }

    #[test]
    fn a_size_that_nobody_knows_hides_no_race_that_is_lost_and_wins_none() {
        let mut facts = facts();
        facts.pairs.push(pair("other", 1));
        facts.pairs[1].copy[0].bytes = Known::unknown("no right to read it");
        let severities = |facts: &Facts| {
            let found = judged(facts, RETENTION_RACE);
            let of = found.iter().filter(|one| one.topic.as_deref() == Some("orders"));
            of.map(|one| one.severity).collect::<Vec<_>>()
        };
        assert_eq!(severities(&facts), [Unknown], "the other topic may take weeks");
        facts.rate = Known::Known(Rate { bytes_per_second: 5.0 });
        assert_eq!(severities(&facts), [Fail, Fail, Fail, Fail, Fail, Fail, Unknown]);
        let found = judged(&facts, RETENTION_RACE);
        assert!(found[0].reason.contains("reaches the log end not before "), "{}", found[0].reason);
    }

    #[test]
    fn a_partition_that_nobody_knows_hides_no_race_that_is_lost() {
        let mut facts = facts();
        facts.rate = Known::Known(Rate { bytes_per_second: 5.0 });
        facts.pairs[0].source.parts()[5].newest_ms = Known::unknown("needs 3.0");
        let found = judged(&facts, RETENTION_RACE);
        assert_eq!((found.len(), found[4].severity, found[5].severity), (6, Fail, Unknown));
        assert_eq!(found[5].about.as_deref(), Some("partition 5"));
    }

    proptest! {
        /// Second by second, with a record a second: what the lines say is what happens.
        #[test]
        fn the_ending_is_what_a_simulation_finds(
            age in 1i64..400, records in 2i64..200, retention in 1i64..400, copy in 1i64..400,
        ) {
            let (first, last) = (-age, -age + records - 1);
            let race = Race {
                now_ms: 0,
                first_ms: first * 1_000,
                last_ms: last * 1_000,
                retention_ms: Some(retention * 1_000),
                retention_bytes: None,
                bytes: 1,
                copy_seconds: copy as f64,
            };
            // By how much each record is reached before it goes.
            let slack = |n: i64| {
                let reached = copy as f64 * n as f64 / (records - 1) as f64;
                (first + n + retention) as f64 - reached
            };
            let lost = slack(records - 1) < 0.0;
            let late = (0..records).any(|n| slack(n) < 0.0);
            match race.ending() {
                Ending::Lost { .. } => prop_assert!(lost),
                Ending::Close(_) => prop_assert!(!lost && late),
                Ending::Won(_) => prop_assert!(!late),
            }
        }
    }
}
