//! What a difference is: one row of `diff.csv`.

use std::fmt;

/// What happened to a key's records. When several of these apply to one key in one partition, the row
/// bears the first of them in this order, and its detail counts all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Records of the source that the target lacks.
    Missing,
    /// A record is on both sides, with another value, other headers or another timestamp.
    Changed,
    /// Records of the source that lie in another partition of the target.
    Moved,
    /// Records that are on the target more often than on the source.
    Duplicated,
    /// Records of the target that the source never had.
    Extra,
    /// The same records in another order.
    Reordered,
}

impl Kind {
    /// All of them, in their precedence.
    pub const ALL: [Kind; 6] =
        [Kind::Missing, Kind::Changed, Kind::Moved, Kind::Duplicated, Kind::Extra, Kind::Reordered];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Missing => "missing",
            Kind::Changed => "changed",
            Kind::Moved => "moved",
            Kind::Duplicated => "duplicated",
            Kind::Extra => "extra",
            Kind::Reordered => "reordered",
        })
    }
}

/// Who made a difference, as far as the ledger tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MadeBy {
    /// The pipe: the ledger itself says that it carried less, more or something else than the source has.
    Pipe,
    /// Another writer: the record on the target is named by no carry.
    Writer,
    /// The target, after the copy: a carry names a record that is no longer there.
    Target,
}

impl fmt::Display for MadeBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MadeBy::Pipe => "pipe",
            MadeBy::Writer => "later writer",
            MadeBy::Target => "target",
        })
    }
}

/// One key of one source partition whose records differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Source partition; for extra records the partition of the target, which has the same number.
    pub partition: i32,
    /// The gravest thing that happened.
    pub kind: Kind,
    /// In words, with all counts: `2 missing, 1 changed (value, timestamp)`.
    pub detail: String,
    /// Claimed records of the key on the source.
    pub source_records: u64,
    /// Records of the key on the target, those of other writers included.
    pub target_records: u64,
    /// First offset on the source at which the sides differ, where the source has such a record.
    pub source_offset: Option<i64>,
    /// First offset on the target at which the sides differ, where the target has such a record.
    pub target_offset: Option<i64>,
    /// Who made it; `None` without a ledger.
    pub made_by: Option<MadeBy>,
}
