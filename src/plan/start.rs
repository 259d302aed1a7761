//! Where a topic's partitions begin when the ledger knows nothing of them yet.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::units::{moment, parse_duration};

/// Where copying of a partition begins. Bound in the ledger at the partition's first start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// The log start.
    #[default]
    Earliest,
    /// The log end at the time of binding.
    Latest,
    /// The first record whose timestamp is at most this old at the time of binding.
    Ago(Duration),
    /// The first record whose timestamp is at or after this moment (whole milliseconds).
    At(SystemTime),
}

impl Start {
    /// Reads `earliest`, `latest`, `-7d` or an RFC 3339 time with a zone.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text {
            "earliest" => Ok(Self::Earliest),
            "latest" => Ok(Self::Latest),
            _ => {
                if let Some(ago) = text.strip_prefix('-') {
                    parse_duration(ago).map(Self::Ago)
                } else if let Ok(time) = text.parse() {
                    moment(&time).map(Self::At)
                } else {
                    Err("expected `earliest`, `latest`, a duration ago such as `-7d`, or a time \
                         such as `2026-01-31T12:00:00Z`"
                        .into())
                }
            }
        }
    }
}

/// The canonical text, as the ledger's `bind` keeps it; [`Start::parse`] reads it back.
impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earliest => f.write_str("earliest"),
            Self::Latest => f.write_str("latest"),
            Self::Ago(ago) => write!(f, "-{}", humantime::format_duration(*ago)),
            Self::At(time) => humantime::format_rfc3339_millis(*time).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_four_kinds_are_told_apart() {
        assert_eq!(Start::parse("earliest"), Ok(Start::Earliest));
        assert_eq!(Start::parse("latest"), Ok(Start::Latest));
        assert_eq!(Start::parse("-7d"), Ok(Start::Ago(Duration::from_secs(7 * 86_400))));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_860_800);
        assert_eq!(Start::parse("2026-01-31T12:00:00Z"), Ok(Start::At(at)));
        assert!(Start::parse("7d").is_err());
        assert!(Start::parse("newest").is_err());
    }

    proptest! {
        #[test]
        fn the_canonical_text_reads_back(kind in 0..4, millis in 0u64..4_102_444_800_000) {
            let start = match kind {
                0 => Start::Earliest,
                1 => Start::Latest,
                2 => Start::Ago(Duration::from_millis(millis)),
                _ => Start::At(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)),
            };
            prop_assert_eq!(Start::parse(&start.to_string()), Ok(start));
        }
    }
}
