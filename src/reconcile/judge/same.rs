//! When two records are the same, and which of their parts differ.

use std::fmt;
use std::ops::BitOr;

use crate::digest::RecordDigest;
use crate::reconcile::line::Line;

/// What stands for a record whose timestamp could not be written: key and value, and headers.
pub type Timeless = (RecordDigest, RecordDigest);

/// Whether `target` is what the pipe had to make of `source`.
pub(super) fn same(source: &Line, target: &Line) -> bool {
    source.digest == target.digest || unwritable(source) == Some(timeless(target))
}

/// `source` without its timestamp, if librdkafka cannot write that: for timestamp 0 it writes the present
/// time (measured; none, −5 and 1 are kept). Where timestamps are not compared, both sides
/// have none and equal digests.
pub fn unwritable(source: &Line) -> Option<Timeless> {
    (source.timestamp == Some(0)).then(|| timeless(source))
}

/// A record but for its timestamp.
pub fn timeless(line: &Line) -> Timeless {
    (line.value, line.headers)
}

/// The parts in which two records differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    value: bool,
    headers: bool,
    timestamp: bool,
}

impl Parts {
    /// Those in which `target` differs from `source`.
    pub(super) fn of(source: &Line, target: &Line) -> Self {
        Self {
            value: source.value != target.value,
            headers: source.headers != target.headers,
            timestamp: source.timestamp != target.timestamp && source.timestamp != Some(0),
        }
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            value: self.value | other.value,
            headers: self.headers | other.headers,
            timestamp: self.timestamp | other.timestamp,
        }
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(self.value, "value"), (self.headers, "headers"), (self.timestamp, "timestamp")];
        let differ: Vec<&str> =
            all.iter().filter(|(differs, _)| *differs).map(|(_, part)| *part).collect();
        f.write_str(&differ.join(", "))
    }
}
