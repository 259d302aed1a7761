//! How fast, how far, how long: what two [`Snapshot`]s say about a run. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::board::{Progress, Snapshot, Wait};

/// What a run is going for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// A one-shot run ends at its fence: there is a share that is done, and an ETA.
    Fence,
    /// A tail has no end: there is a lag.
    Tail,
    /// A proof reads what there is on both sides: a share that is done, and an ETA.
    Proof,
}

impl Aim {
    /// Whether it has an end that is known.
    pub(super) fn ends(self) -> bool {
        self != Self::Tail
    }

    /// What is done to offsets.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Fence | Self::Tail => "copied",
            Self::Proof => "compared",
        }
    }
}

/// Rates are taken over this long: short enough to follow a change, longer than several commits.
pub const WINDOW: Duration = Duration::from_secs(5);

/// Waits shorter than this are nobody's business.
pub const WORTH_SAYING: Duration = Duration::from_secs(1);

/// Progress and rates of a topic or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Offsets passed since this process began.
    pub done: u64,
    /// Offsets from where this process began to the end; never below `done`.
    pub of: u64,
    /// Offsets between the positions and the ends.
    pub lag: u64,
    /// Records committed by this process.
    pub records: u64,
    /// Bytes of keys, values and headers committed by this process.
    pub bytes: u64,
    /// Offsets per second: compaction and transactions leave holes, so this is not the records' rate.
    pub offsets_per_second: f64,
    /// Records per second.
    pub records_per_second: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

impl Pace {
    /// Time to the end at the present rate; `None` while nothing moves, or beyond a year.
    pub fn eta(&self) -> Option<Duration> {
        const YEAR: f64 = 365.0 * 86_400.0;
        let seconds = to_f64(self.lag) / self.offsets_per_second;
        // 0 / 0 is NaN and fails the comparison as well.
        (seconds <= YEAR).then(|| Duration::from_secs_f64(seconds.max(0.0)))
    }

    /// Adds the counts of a partition; every difference is cut at 0, so that a stale end cannot eat
    /// another partition's progress.
    fn add(&mut self, part: &Progress) {
        let done = gap(part.began, part.position);
        self.done = self.done.saturating_add(done);
        self.of = self.of.saturating_add(gap(part.began, part.end).max(done));
        self.lag = self.lag.saturating_add(gap(part.position, part.end));
        self.records = self.records.saturating_add(part.records);
        self.bytes = self.bytes.saturating_add(part.bytes);
    }

    fn with_rates_since(mut self, before: &Pace, seconds: f64) -> Self {
        let per_second = |now: u64, before: u64| {
            if seconds > 0.0 { to_f64(now.saturating_sub(before)) / seconds } else { 0.0 }
        };
        self.offsets_per_second = per_second(self.done, before.done);
        self.records_per_second = per_second(self.records, before.records);
        self.bytes_per_second = per_second(self.bytes, before.bytes);
        self
    }
}

/// Offsets from `low` up to `high`, 0 where they are the other way round.
fn gap(low: i64, high: i64) -> u64 {
    u64::try_from(high.saturating_sub(low)).unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

/// What `now` says about all topics, with rates since `before`.
pub fn total(before: &Snapshot, now: &Snapshot) -> Pace {
    let sum = |snapshot: &Snapshot| {
        let mut sum = Pace::default();
        snapshot.partitions.values().for_each(|part| sum.add(part));
        sum
    };
    sum(now).with_rates_since(&sum(before), seconds(before, now))
}

/// What `now` says about each topic, with rates since `before`.
pub fn topics(before: &Snapshot, now: &Snapshot) -> BTreeMap<Arc<str>, Pace> {
    let sums = |snapshot: &Snapshot| {
        let mut sums: BTreeMap<Arc<str>, Pace> = BTreeMap::new();
        for (at, part) in &snapshot.partitions {
            sums.entry(at.topic.clone()).or_default().add(part);
        }
        sums
    };
    let (was, seconds) = (sums(before), seconds(before, now));
    let mut is = sums(now);
    for (topic, pace) in &mut is {
        let before = was.get(topic).copied().unwrap_or_default();
        *pace = pace.with_rates_since(&before, seconds);
    }
    is
}

fn seconds(before: &Snapshot, now: &Snapshot) -> f64 {
    now.at.saturating_duration_since(before.at).as_secs_f64()
}

/// Waits that are worth saying, those for the same thing together: who, for what, for how long (the
/// longest of them). The longest first.
pub fn waits(waits: &[Wait], now: Instant) -> Vec<(String, String, Duration)> {
    const NAMED: usize = 3;
    let mut groups: Vec<(Vec<&str>, &str, Duration)> = Vec::new();
    for wait in waits {
        let length = now.saturating_duration_since(wait.since);
        if length <= WORTH_SAYING {
            continue;
        }
        match groups.iter_mut().find(|(_, what, _)| *what == wait.what) {
            Some((who, _, longest)) => {
                who.push(&wait.who);
                *longest = length.max(*longest);
            }
            None => groups.push((vec![&wait.who], &wait.what, length)),
        }
    }
    groups.sort_by_key(|(_, _, length)| std::cmp::Reverse(*length));
    let join = |who: Vec<&str>| match who.len() {
        0..=NAMED => who.join(", "),
        more => format!("{} and {} more", who[..NAMED].join(", "), more - NAMED),
    };
    groups.into_iter().map(|(who, what, length)| (join(who), what.to_owned(), length)).collect()
}

/// The snapshots of the last [`WINDOW`], at most one a second.
#[derive(Debug, Default)]
pub struct Window {
    kept: VecDeque<Snapshot>,
}

impl Window {
    /// Takes a snapshot in, and returns the one to compare it with: about [`WINDOW`] old, or the first.
    pub fn slide(&mut self, now: &Snapshot) -> &Snapshot {
        const APART: Duration = Duration::from_secs(1);
        let age = |kept: &Snapshot| now.at.saturating_duration_since(kept.at);
        // One that is older than the window stays until the next is old enough to take its place.
        while self.kept.get(1).is_some_and(|second| age(second) >= WINDOW) {
            self.kept.pop_front();
        }
        if self.kept.back().is_none_or(|last| age(last) >= APART) {
            self.kept.push_back(now.clone());
        }
        self.kept.front().expect("one was pushed if there was none")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::TopicPartition;

    /// A snapshot taken `millis` after the run began: topic, partition 0, began, position, end, records,
    /// bytes.
    pub(crate) fn snapshot(
        started: Instant,
        millis: u64,
        parts: &[(&str, i64, i64, i64, u64, u64)],
    ) -> Snapshot {
        let mut partitions = BTreeMap::new();
        for (index, &(topic, began, position, end, records, bytes)) in parts.iter().enumerate() {
            let number = i32::try_from(index).unwrap();
            partitions.insert(
                TopicPartition::new(topic, number),
                Progress { began, position, end, records, bytes, untimed: 0 },
            );
        }
        Snapshot {
            at: started + Duration::from_millis(millis),
            started,
            partitions,
            transactions: 0,
            renewals: 0,
            waits: Vec::new(),
            lanes_owned: 3,
            lanes_total: 6,
        }
    }

    #[test]
    fn rates_and_eta_come_from_the_difference_of_two_snapshots() {
        let start = Instant::now();
        let before = snapshot(start, 0, &[("a", 0, 100, 1_000, 50, 5_000)]);
        let now = snapshot(start, 2_000, &[("a", 0, 300, 1_000, 150, 15_000)]);
        let pace = total(&before, &now);
        assert_eq!((pace.done, pace.of, pace.lag), (300, 1_000, 700));
        assert!((pace.offsets_per_second - 100.0).abs() < 1e-9);
        assert!((pace.records_per_second - 50.0).abs() < 1e-9);
        assert!((pace.bytes_per_second - 5_000.0).abs() < 1e-9);
        assert_eq!(pace.eta(), Some(Duration::from_secs(7)));
    }

    #[test]
    fn a_stale_end_does_not_eat_another_partitions_progress() {
        let start = Instant::now();
        let now = snapshot(start, 1, &[("a", 0, 500, 100, 0, 0), ("b", 0, 0, 100, 0, 0)]);
        let pace = total(&now, &now);
        assert_eq!((pace.done, pace.of, pace.lag), (500, 600, 100));
    }

    #[test]
    fn nothing_that_moves_has_no_eta_and_no_rate() {
        let start = Instant::now();
        let now = snapshot(start, 1, &[("a", 0, 500, 1_000, 0, 0)]);
        assert_eq!(total(&now, &now).eta(), None);
        let empty = snapshot(start, 1, &[]);
        assert_eq!(total(&empty, &empty), Pace::default());
    }

    #[test]
    fn a_topic_that_appears_later_counts_from_zero() {
        let start = Instant::now();
        let before = snapshot(start, 0, &[]);
        let now = snapshot(start, 1_000, &[("a", 0, 10, 10, 10, 100)]);
        let topics = topics(&before, &now);
        assert!((topics["a"].records_per_second - 10.0).abs() < 1e-9);
    }

    #[test]
    fn waits_of_a_second_or_less_are_not_said_and_equal_ones_are_said_once() {
        let now = Instant::now() + Duration::from_secs(60);
        let wait = |who: &str, what: &str, millis| Wait {
            who: who.into(),
            what: what.into(),
            since: now.checked_sub(Duration::from_millis(millis)).unwrap(),
        };
        let mut all = vec![wait("lane 9", "a lock", 900), wait("worker", "lanes", 12_000)];
        all.extend((0..5).map(|lane| wait(&format!("lane {lane}"), "the target", 20_000 + lane)));
        let said = waits(&all, now);
        assert_eq!(said.len(), 2);
        assert_eq!(said[0].0, "lane 0, lane 1, lane 2 and 2 more");
        assert_eq!(said[0].2, Duration::from_millis(20_004));
        assert_eq!(said[1], ("worker".into(), "lanes".into(), Duration::from_secs(12)));
    }

    #[test]
    fn the_window_compares_with_the_first_snapshot_and_later_with_one_about_five_seconds_old() {
        let start = Instant::now();
        let mut window = Window::default();
        for millis in (0..20_000).step_by(250) {
            let now = snapshot(start, millis, &[]);
            let age = now.at - window.slide(&now).at;
            let expected = Duration::from_millis(millis).min(WINDOW);
            assert!(age >= expected && age < expected + Duration::from_secs(1), "{age:?}");
            assert!(window.kept.len() <= 7);
        }
    }

    proptest! {
        #[test]
        fn no_snapshots_make_a_rate_that_is_not_a_number(
            a in proptest::collection::vec(any::<(i64, i64, i64, u32, u32)>(), 0..4),
            b in proptest::collection::vec(any::<(i64, i64, i64, u32, u32)>(), 0..4),
            millis in 0u64..100,
        ) {
            let start = Instant::now();
            let cut = |parts: &[(i64, i64, i64, u32, u32)]| -> Vec<_> {
                let small = |n: i64| n >> 8;
                parts
                    .iter()
                    .map(|&(x, y, z, r, b)| ("t", small(x), small(y), small(z), u64::from(r), u64::from(b)))
                    .collect()
            };
            let (before, now) = (snapshot(start, 50, &cut(&a)), snapshot(start, millis, &cut(&b)));
            let pace = total(&before, &now);
            for rate in [pace.offsets_per_second, pace.records_per_second, pace.bytes_per_second] {
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
            prop_assert!(pace.done <= pace.of);
            let _ = pace.eta();
            let _ = topics(&before, &now);
        }
    }
}
