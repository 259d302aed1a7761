//! The retention race while a copy is going on: when what is not copied may be deleted, and when the copy
//! will have reached it. Pure.

use super::rules::race::{Ending, Race};

/// How a partition's race stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Risk {
    /// The copy is ahead, or nothing expires.
    None,
    /// The first uncopied records may be deleted at any moment.
    Now,
    /// Deletion overtakes the copy from this time on, in milliseconds since 1970.
    Lost(i64),
    /// The first uncopied records are deleted.
    Gone,
    /// Nothing is deleted yet as far as anybody can tell; how fast the copy is, or what the source keeps, is
    /// not known.
    Unknown,
}

/// What `status` says of the race of one partition. Times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// When its first uncopied record may be deleted; none: never, as far as anybody can tell.
    pub deleted_at: Option<i64>,
    /// When the copy reaches its log end; none: not known.
    pub reached_at: Option<i64>,
    /// How that ends.
    pub risk: Risk,
}

impl Risk {
    /// Its stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Now => "now",
            Self::Lost(_) => "lost",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

impl Outlook {
    /// Of a partition whose log starts behind what is to be copied next.
    pub const GONE: Self = Self { deleted_at: None, reached_at: None, risk: Risk::Gone };

    /// Of a partition of which nothing expires.
    pub const KEPT: Self = Self { deleted_at: None, reached_at: None, risk: Risk::None };
    /// Of one that does not tell what it keeps, or how old its records are.
    pub const UNKNOWN: Self = Self { deleted_at: None, reached_at: None, risk: Risk::Unknown };

    /// Judges a race; `copy_seconds` to its end are none where nobody knows how fast the copy is, or which
    /// timestamp is the last.
    pub fn of(race: &Race, copy_seconds: Option<f64>) -> Self {
        let deleted_at = race.first_deleted_ms();
        let race = Race { copy_seconds: copy_seconds.unwrap_or(0.0), ..*race };
        let risk = match (race.ending(), copy_seconds) {
            (Ending::Lost { deleted_ms, .. }, Some(_)) => Risk::Lost(deleted_ms),
            (Ending::Lost { .. } | Ending::Close(_), _) => Risk::Now,
            (Ending::Won(_), None) if deleted_at.is_some() => Risk::Unknown,
            (Ending::Won(_), _) => Risk::None,
        };
        Self { deleted_at, reached_at: copy_seconds.map(|_| race.reached_ms()), risk }
    }
}

/// How fast a copy is, in bytes per second, by the latest transactions of its lanes: of each lane when
/// (milliseconds since 1970) and how many bytes, in order. None: nothing was copied of late, or too little.
pub fn pace(lanes: &[Vec<(i64, u64)>], now_ms: i64) -> Option<f64> {
    /// A lane that committed nothing for so long copies nothing: it is at its end, or nobody works on it.
    const RECENT_MS: i64 = 120_000;
    let of = |lane: &Vec<(i64, u64)>| {
        let ((first, _), (last, _)) = (lane.first()?, lane.last()?);
        let took = u32::try_from(last - first).ok().filter(|took| *took > 0)?;
        let bytes: u64 = lane[1..].iter().map(|(_, bytes)| bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let bytes = bytes as f64;
        (now_ms - last < RECENT_MS).then(|| bytes * 1_000.0 / f64::from(took))
    };
    let all: f64 = lanes.iter().filter_map(of).sum();
    (all > 0.0).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_772_330_400_000;

    /// 1 MB is not copied, written in the last hour; the source keeps two hours.
    fn race() -> Race {
        Race {
            now_ms: NOW,
            first_ms: NOW - 3_600_000,
            last_ms: NOW,
            retention_ms: Some(7_200_000),
            retention_bytes: None,
            bytes: 1_000_000,
            copy_seconds: 0.0,
        }
    }

    #[test]
    fn a_copy_that_is_fast_enough_is_no_risk_and_both_times_are_told() {
        let found = Outlook::of(&race(), Some(600.0));
        assert_eq!(found.deleted_at, Some(NOW + 3_600_000));
        assert_eq!(found.reached_at, Some(NOW + 600_000));
        assert_eq!(found.risk, Risk::None);
    }

    #[test]
    fn a_copy_slower_than_the_retention_loses_from_some_time_on() {
        let found = Outlook::of(&race(), Some(14_400.0));
        // An hour ahead at first, two hours behind at last: a third of the way.
        assert_eq!(found.risk, Risk::Lost(NOW + 4_800_000));
        assert_eq!(found.reached_at, Some(NOW + 14_400_000));
    }

    #[test]
    fn without_a_pace_only_what_is_past_its_retention_is_a_risk() {
        assert_eq!(Outlook::of(&race(), None).risk, Risk::Unknown);
        assert_eq!(Outlook::of(&race(), None).reached_at, None);
        let late = Race { first_ms: NOW - 7_300_000, ..race() };
        assert_eq!(Outlook::of(&late, None).risk, Risk::Now);
        assert_eq!(Outlook::of(&late, Some(60.0)).risk, Risk::Now);
        let past = Race { last_ms: NOW - 7_300_000, first_ms: NOW - 7_400_000, ..race() };
        assert_eq!(Outlook::of(&past, None).risk, Risk::Now);
        let kept = Race { retention_ms: None, ..past };
        let found = Outlook::of(&kept, None);
        assert_eq!((found.deleted_at, found.risk), (None, Risk::None));
    }

    #[test]
    fn by_size_the_first_record_goes_when_the_partition_is_full() {
        // 1 MB an hour: 500 kB more are half an hour.
        let sized = Race { retention_ms: None, retention_bytes: Some(1_500_000), ..race() };
        assert_eq!(Outlook::of(&sized, Some(60.0)).deleted_at, Some(NOW + 1_800_000));
    }

    #[test]
    fn the_pace_is_what_all_lanes_that_work_have_copied() {
        let lane = |from: i64| vec![(from, 9_999), (from + 1_000, 500), (from + 2_000, 700)];
        assert_eq!(pace(&[lane(NOW - 5_000)], NOW), Some(600.0));
        assert_eq!(pace(&[lane(NOW - 5_000), lane(NOW - 5_000)], NOW), Some(1_200.0));
        assert_eq!(pace(&[lane(NOW - 5_000), lane(NOW - 150_000)], NOW), Some(600.0));
        assert_eq!(pace(&[lane(NOW - 150_000)], NOW), None, "nobody works");
        assert_eq!(pace(&[vec![(NOW, 7)], vec![]], NOW), None, "too little to tell");
    }
}
