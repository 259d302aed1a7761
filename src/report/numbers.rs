//! Numbers as people read them: `1,234,567`, `93.5 MB`, `2 min 05 s`. One unit system everywhere:
//! decimal bytes (1 MB = 1,000,000 bytes), as disks and networks are sold.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Digits in groups of three: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// An offset or a difference of offsets: `-1,234`.
pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

/// An offset, or `-` where it is not known.
pub fn or_dash(number: Option<i64>) -> String {
    number.map_or_else(|| "-".to_owned(), signed)
}

/// `1 record`, `2 records`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Bytes: `512 B`, `1.5 kB`, `93.5 MB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn bytes(number: u64) -> String {
    scaled(number as f64)
}

/// Bytes per second: `93.5 MB/s`; what is not a number counts as 0.
pub fn byte_rate(per_second: f64) -> String {
    format!("{}/s", scaled(sane(per_second)))
}

/// Records per second without the unit: `183,000`; below 10 with one decimal, so that a trickle is not 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sane, not negative")]
pub fn rate(per_second: f64) -> String {
    let rate = sane(per_second);
    if rate > 0.0 && rate < 9.95 { format!("{rate:.1}") } else { count(rate.round() as u64) }
}

fn sane(number: f64) -> f64 {
    if number.is_finite() { number.max(0.0) } else { 0.0 }
}

fn scaled(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 999.5 {
        return format!("{bytes:.0} B");
    }
    let mut scaled = bytes / 1_000.0;
    let mut unit = 0;
    // 999.95 would be shown as 1000.0.
    while scaled >= 999.95 && unit + 1 < UNITS.len() {
        scaled /= 1_000.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// A length of time in its two largest units: `0 s`, `12 s`, `2 min 05 s`, `3 h 20 min`, `2 d 04 h`.
pub fn duration(length: Duration) -> String {
    let seconds = length.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if days > 0 {
        format!("{} d {:02} h", count(days), hours % 24)
    } else if hours > 0 {
        format!("{hours} h {:02} min", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes} min {:02} s", seconds % 60)
    } else {
        format!("{seconds} s")
    }
}

/// As [`duration`], with a decimal below ten seconds: how long a run took.
pub fn elapsed(length: Duration) -> String {
    if length < Duration::from_millis(9_950) {
        format!("{:.1} s", length.as_secs_f64())
    } else {
        duration(length)
    }
}

/// Milliseconds since 1970 as `2026-03-01T02:00:00Z`; `None` outside of the years 1970 to 9999.
pub fn time(millis: i64) -> Option<String> {
    const END_OF_9999: u64 = 253_402_300_799_999;
    let millis = u64::try_from(millis).ok().filter(|millis| *millis <= END_OF_9999)?;
    let time: SystemTime = UNIX_EPOCH + Duration::from_millis(millis);
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

/// A percentage with one decimal, rounded down: 100.0 only when nothing is missing; nothing of nothing
/// is 100.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 100.0;
    }
    let tenths = u128::from(part.min(whole)) * 1_000 / u128::from(whole);
    f64::from(u32::try_from(tenths).unwrap_or(1_000)) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        let all = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in all {
            assert_eq!(count(number), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(signed(-1_234), "-1,234");
        assert_eq!(signed(i64::MIN), "-9,223,372,036,854,775,808");
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(counted(2_000, "record"), "2,000 records");
    }

    #[test]
    fn bytes_never_show_four_digits_before_the_decimal_point() {
        let all = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (93_500_000, "93.5 MB"),
            (999_999, "1.0 MB"),
            (1_024_000_000, "1.0 GB"),
        ];
        for (number, text) in all {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn rates_that_are_no_numbers_are_zero() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0] {
            assert_eq!(rate(bad), "0");
            assert_eq!(byte_rate(bad), "0 B/s");
        }
        assert_eq!(rate(0.25), "0.2");
        assert_eq!(rate(9.96), "10");
        assert_eq!(rate(183_000.4), "183,000");
    }

    #[test]
    fn durations_show_their_two_largest_units() {
        let all = [
            (0, "0 s"),
            (59, "59 s"),
            (125, "2 min 05 s"),
            (12_000, "3 h 20 min"),
            (187_200, "2 d 04 h"),
        ];
        for (seconds, text) in all {
            assert_eq!(duration(Duration::from_secs(seconds)), text);
        }
        assert_eq!(elapsed(Duration::from_millis(1_234)), "1.2 s");
        assert_eq!(elapsed(Duration::from_millis(9_960)), "9 s");
    }

    #[test]
    fn times_that_cannot_be_written_are_none() {
        assert_eq!(time(1_700_000_000_123).as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(time(-1), None);
        assert_eq!(time(i64::MAX), None);
    }

    #[test]
    fn a_hundred_per_cent_means_that_nothing_is_missing() {
        assert_eq!(percent(999_999, 1_000_000).to_bits(), 99.9_f64.to_bits());
        assert_eq!(percent(0, 0).to_bits(), 100.0_f64.to_bits());
        assert_eq!(percent(5, 3).to_bits(), 100.0_f64.to_bits());
        assert_eq!(percent(u64::MAX - 1, u64::MAX).to_bits(), 99.9_f64.to_bits());
    }
}
