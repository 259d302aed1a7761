//! Sizes, rates, durations and moments as a plan writes them.
//!
//! Every error is a text without the value: a value in the wrong place may be a secret.

use std::time::{Duration, SystemTime};

use toml::value::{Datetime, Offset};

/// The units of a size; bytes each.
const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

/// Bytes of a size such as `64MiB`: a whole number and a unit.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    if number.is_empty() {
        return Err("not a size: expected a whole number and a unit, such as `64MiB`".into());
    }
    if unit.is_empty() {
        return Err("a size without a unit: expected one such as `64MiB`".into());
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let known = UNITS.map(|(name, _)| name);
        return Err(match known.iter().find(|name| name.eq_ignore_ascii_case(unit)) {
            Some(near) => format!("unknown unit of a size, did you mean `{near}`?"),
            None => format!("unknown unit of a size: the units are {}", known.join(", ")),
        });
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| "a size beyond 16 EiB".to_string())
}

/// Bytes per second of a rate such as `50MiB/s`.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let Some(size) = text.trim().strip_suffix("/s") else {
        return Err("not a rate: expected a size per second, such as `50MiB/s`".into());
    };
    parse_size(size).map_err(|error| error.replace("MiB`", "MiB/s`").replace("a size", "a rate"))
}

/// A size in the largest binary unit that shows it exactly: what [`parse_size`] reads back.
pub fn format_size(bytes: u64) -> String {
    let (name, factor) = UNITS
        .iter()
        .rev()
        .filter(|(name, _)| name.contains('i') || *name == "B")
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .unwrap_or(&UNITS[0]);
    format!("{}{name}", bytes / factor)
}

/// A duration in humantime's grammar, such as `500ms` or `1h 30m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    use humantime::DurationError as E;
    humantime::parse_duration(text.trim()).map_err(|error| match error {
        E::InvalidCharacter(at) => {
            format!("not a duration: unexpected character at position {}", at + 1)
        }
        E::UnknownUnit { unit, .. } if unit.is_empty() => {
            "a duration without a unit: expected one such as `500ms`, `2m` or `1h 30m`".into()
        }
        E::UnknownUnit { start, .. } => format!(
            "not a duration: unknown unit at position {}, the usual ones are ms, s, m, h, d",
            start + 1
        ),
        E::Empty | E::NumberExpected(_) => {
            "not a duration: expected a number and a unit, such as `500ms` or `2m`".into()
        }
        _ => "not a duration: out of range".into(),
    })
}

/// The moment that an RFC 3339 time with a zone stands for.
pub fn moment(time: &Datetime) -> Result<SystemTime, String> {
    let (Some(date), Some(clock), Some(offset)) = (time.date, time.time, time.offset) else {
        return Err("a time needs a date, a clock time and a zone, such as \
                    `2026-01-31T12:00:00Z`"
            .into());
    };
    let minutes = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_since_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let seconds = days * 86_400
        + i64::from(clock.hour) * 3_600
        + (i64::from(clock.minute) - minutes) * 60
        + i64::from(clock.second.unwrap_or(0));
    let millis = u64::from(clock.nanosecond.unwrap_or(0) / 1_000_000);
    // Kafka looks records up by milliseconds since 1970.
    u64::try_from(seconds)
        .map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1_000 + millis))
        .map_err(|_| "a time before 1970".into())
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar: years are counted from
/// March, so that the leap day is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    const MARCH_0000_TO_1970: i64 = 719_468;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - MARCH_0000_TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let sizes =
            [("1B", 1), ("2KB", 2_000), ("2 KiB", 2_048), ("64MiB", 64 << 20), ("3GiB", 3 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        assert_eq!(parse_rate("50MiB/s"), Ok(50 << 20));
    }

    #[test]
    fn bad_sizes_say_what_is_missing() {
        let errors = [
            ("", "not a size: expected a whole number and a unit, such as `64MiB`"),
            ("64", "a size without a unit: expected one such as `64MiB`"),
            ("64mib", "unknown unit of a size, did you mean `MiB`?"),
            (
                "1.5GiB",
                "unknown unit of a size: the units are B, KB, KiB, MB, MiB, GB, GiB, TB, TiB",
            ),
            ("99999999999GiB", "a size beyond 16 EiB"),
        ];
        for (text, error) in errors {
            assert_eq!(parse_size(text), Err(error.to_string()), "{text}");
        }
        assert_eq!(
            parse_rate("50MiB"),
            Err("not a rate: expected a size per second, such as `50MiB/s`".into())
        );
        assert_eq!(
            parse_rate("50/s"),
            Err("a rate without a unit: expected one such as `64MiB/s`".into())
        );
    }

    #[test]
    fn a_time_is_a_moment_whatever_its_zone() {
        let times = [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59Z",
            "2026-01-31T12:00:00.250Z",
            "2100-03-01T00:00:00Z",
        ];
        for text in times {
            let read = moment(&text.parse().expect("a time")).expect("a moment");
            assert_eq!(read, humantime::parse_rfc3339(text).expect("a time"), "{text}");
        }
        let zoned = moment(&"2026-01-31T14:30:00+02:30".parse().expect("a time"));
        assert_eq!(zoned, moment(&"2026-01-31T12:00:00Z".parse().expect("a time")));
        assert!(moment(&"2026-01-31T12:00:00".parse().expect("a time")).is_err());
        assert!(moment(&"1969-12-31T23:59:59Z".parse().expect("a time")).is_err());
    }

    proptest! {
        #[test]
        fn a_size_reads_back_as_it_was_written(bytes: u64) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn any_text_is_a_size_or_an_error_without_the_text(text in "[0-9]{0,3}CANARY[a-zA-Z]{0,4}") {
            for error in [parse_size(&text).err(), parse_rate(&text).err(), parse_duration(&text).err()] {
                prop_assert!(error.is_some_and(|error| !error.contains("CANARY")));
            }
        }

        #[test]
        fn dates_agree_with_humantime(seconds in 0u64..4_102_444_800) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let text = humantime::format_rfc3339_seconds(time).to_string();
            prop_assert_eq!(moment(&text.parse().expect("a time")), Ok(time));
        }
    }
}
