//! One record of a key that is looked at in detail: what the second reading keeps of it.

use super::manifest::Place;
use crate::digest::RecordDigest;
use crate::error::Side;

/// A record of a suspicious key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it was read.
    pub side: Side,
    /// Its offset there.
    pub offset: i64,
    /// On the target, with a ledger: the source offset of the record that it is the copy of, by the
    /// ledger's runs. `None` for foreign records, on the source, and without a ledger.
    pub source_offset: Option<i64>,
    /// What it is to the proof.
    pub place: Place,
    /// Its digest, as in the manifest.
    pub digest: RecordDigest,
    /// Digest of key and value alone.
    pub value: RecordDigest,
    /// Digest of the headers alone.
    pub headers: RecordDigest,
    /// Milliseconds since 1970; `None` where it has none, or where timestamps are not compared.
    pub timestamp: Option<i64>,
    /// Whether its value is null.
    pub tombstone: bool,
    /// On the source, with a ledger: whether a run names it (the pipe says that it copied it), and the
    /// target offset that it was given.
    pub copied_to: Option<i64>,
}
