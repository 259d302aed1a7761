//! What a lane does about an error: a pure rule over its class and what happened before.

use std::time::{Duration, Instant};

use crate::cluster::Class;

/// What the lane does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Fence anew, read the ledger, go on from there, after this pause.
    Again(Duration),
    /// The same at once, with a closer look for the record that was refused: in small transactions, then with
    /// one record per request, so that it stands alone.
    Closer,
    /// Give the lane up; whoever the group names next goes on.
    Drop,
    /// End the process with this error.
    Fail,
}

/// What the lane knows besides the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances {
    /// Turns that failed in a row, without a commit in between; this one counts.
    pub failures: u32,
    /// How many of them were [`Class::Fenced`].
    pub fenced: u32,
    /// Since the first of them.
    pub in_trouble: Duration,
    /// Whether the records are already sent one per request.
    pub one_by_one: bool,
}

/// A lane that fails for so long without a commit ends the process: longer than the restart of a broker
/// and the election of its coordinators (measured: 17 s), short enough for a change window.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A fenced lane looks again only after a heartbeat has had the time to tell that the membership is
/// gone: half as long again as `heartbeat.interval.ms`.
pub const FENCED_PAUSE: Duration = Duration::from_millis(crate::cluster::HEARTBEAT_MS * 3 / 2);

/// Fenced so often without a commit in between (failures of other kinds do not count) while the group names us: somebody uses the transactional id outside
/// the group.
pub const FENCED_OFTEN: u32 = 5;

/// Failures in a row. A commit ends the row, and so does a long calm: a lane that has nothing to
/// commit for hours is not in trouble, and its first error then is its first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trouble {
    failures: u32,
    fenced: u32,
    began: Option<Instant>,
    /// Since when the lane copies undisturbed, if it does.
    calm: Option<Instant>,
}

impl Trouble {
    /// The lane copies (or waits for something to copy).
    pub fn copying(&mut self, now: Instant) {
        self.calm = Some(now);
    }

    /// A transaction was committed.
    pub fn committed(&mut self) {
        (self.failures, self.fenced, self.began) = (0, 0, None);
    }

    /// Another failure: how many there are in the row, how many of them fenced, and for how long it goes.
    pub fn failed(&mut self, now: Instant, class: Class) -> (u32, u32, Duration) {
        if self.calm.take().is_some_and(|since| now.duration_since(since) >= PATIENCE) {
            self.committed();
        }
        self.failures += 1;
        self.fenced += u32::from(class == Class::Fenced);
        (self.failures, self.fenced, now.duration_since(*self.began.get_or_insert(now)))
    }
}

/// Decides what to do about an error of class `class`.
pub fn next(class: Class, now: Circumstances) -> Next {
    match class {
        Class::NotMember => Next::Drop,
        Class::TakenOver | Class::Final => Next::Fail,
        Class::Record if now.one_by_one => Next::Fail,
        Class::Record => Next::Closer,
        Class::Fenced if now.fenced >= FENCED_OFTEN => Next::Fail,
        Class::Fenced => Next::Again(FENCED_PAUSE * now.fenced.max(1)),
        Class::Retriable | Class::Abort | Class::Unclear if now.in_trouble >= PATIENCE => {
            Next::Fail
        }
        Class::Retriable | Class::Abort | Class::Unclear => Next::Again(pause(now.failures)),
    }
}

/// Doubles from 100 ms to 5 s.
fn pause(failures: u32) -> Duration {
    let doubled = 100u64.saturating_mul(1 << failures.saturating_sub(1).min(10));
    Duration::from_millis(doubled.min(5_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first() -> Circumstances {
        Circumstances { failures: 1, fenced: 1, in_trouble: Duration::ZERO, one_by_one: false }
    }

    #[test]
    fn a_lost_membership_drops_the_lane_and_a_stolen_name_ends_the_process() {
        assert_eq!(next(Class::NotMember, first()), Next::Drop);
        assert_eq!(next(Class::TakenOver, first()), Next::Fail);
    }

    #[test]
    fn a_refused_record_is_sent_alone_before_it_is_blamed() {
        assert_eq!(next(Class::Record, first()), Next::Closer);
        assert_eq!(next(Class::Record, Circumstances { one_by_one: true, ..first() }), Next::Fail);
    }

    #[test]
    fn fenced_waits_for_a_heartbeat_and_does_not_fight_for_ever() {
        assert_eq!(next(Class::Fenced, first()), Next::Again(FENCED_PAUSE));
        let often = Circumstances { failures: FENCED_OFTEN, fenced: FENCED_OFTEN, ..first() };
        assert_eq!(next(Class::Fenced, often), Next::Fail);
    }

    #[test]
    fn failures_of_other_kinds_do_not_make_one_fencing_a_takeover() {
        let (start, mut trouble) = (Instant::now(), Trouble::default());
        for _ in 0..FENCED_OFTEN {
            trouble.failed(start, Class::Retriable);
        }
        let (failures, fenced, in_trouble) = trouble.failed(start, Class::Fenced);
        let now = Circumstances { failures, fenced, in_trouble, one_by_one: false };
        assert_eq!(next(Class::Fenced, now), Next::Again(FENCED_PAUSE));
    }

    #[test]
    fn an_unclear_commit_is_never_answered_by_going_on_blindly() {
        assert!(matches!(next(Class::Unclear, first()), Next::Again(_)));
        let long = Circumstances { in_trouble: PATIENCE, ..first() };
        assert_eq!(next(Class::Unclear, long), Next::Fail);
    }

    #[test]
    fn an_error_after_hours_without_a_record_is_the_first_one() {
        let start = Instant::now();
        let mut trouble = Trouble::default();
        trouble.copying(start);
        assert_eq!(trouble.failed(start + PATIENCE * 100, Class::Abort), (1, 0, Duration::ZERO));
    }

    #[test]
    fn failures_go_on_counting_until_a_commit_or_a_long_calm() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut trouble = Trouble::default();
        assert_eq!(trouble.failed(start, Class::Abort), (1, 0, Duration::ZERO));
        // It begins to copy again and fails at once.
        trouble.copying(start + second);
        assert_eq!(trouble.failed(start + second * 2, Class::Abort), (2, 0, second * 2));
        // A try that takes long by itself is no calm.
        assert_eq!(trouble.failed(start + PATIENCE * 2, Class::Abort), (3, 0, PATIENCE * 2));
        trouble.committed();
        assert_eq!(trouble.failed(start + PATIENCE * 3, Class::Abort), (1, 0, Duration::ZERO));
        trouble.copying(start + PATIENCE * 3);
        assert_eq!(trouble.failed(start + PATIENCE * 4, Class::Abort), (1, 0, Duration::ZERO));
    }

    proptest! {
        #[test]
        fn the_pause_grows_and_is_bounded(failures in 1u32..1000) {
            prop_assert!(pause(failures) <= pause(failures + 1));
            prop_assert!(pause(failures) <= Duration::from_secs(5));
        }
    }
}
