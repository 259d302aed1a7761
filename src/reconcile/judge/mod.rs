//! The judge: pure rules that say whether a key's records are the same on both sides, and if not, how.
//!
//! - [`compare`]: first reading, from the manifests of a key: clean, superseded or suspicious.
//! - [`classify`]: second reading, from all records of a suspicious key: the rows of `diff.csv`.
//! - [`coarse`]: the same rows from manifests alone, for keys that memory has no room to read again.
//!
//! In all three, a group is one key of one source topic in all partitions of both sides. Timestamp 0
//! is in [`same`]; the order of evidence for topics with `delete` is in [`delete`], for compacted ones
//! in [`last`].

mod across;
mod coarse;
mod compare;
mod delete;
mod last;
mod matching;
mod order;
mod pairing;
mod same;
mod tally;
mod witness;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod table;

pub use coarse::{coarse, coarse_because};
pub use compare::compare;
pub use same::{Timeless, timeless, unwritable};

use super::difference::{Difference, Kind};
use super::line::Line;
pub use super::manifest::PartitionPair;
use super::manifest::Place;
use super::policy::Policy;

/// What holds for all keys of a topic in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The topic's `cleanup.policy`.
    pub policy: Policy,
    /// Whether the ledger says which target record is the copy of which source record.
    pub ledger: bool,
}

impl Rules {
    /// Whether only the last record of the key counts. A compacted topic takes no record without a key;
    /// where one is found nevertheless, nothing is compacted away and the whole sequence counts.
    pub fn last_only(self, key: Option<&[u8]>) -> bool {
        self.policy.compacts() && key.is_some()
    }

    /// Whether the order of the key's records says something. Without a ledger nothing tells in which
    /// order records of several partitions were written, so a key that is in several has none.
    fn order_claimed(self, key: Option<&[u8]>, partitions: usize) -> bool {
        self.ledger || key.is_none() || partitions < 2
    }
}

/// What the first reading says of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Nothing differs.
    Clean,
    /// Nothing differs where the key could be judged; in so many partitions (at least one) it has a
    /// newer record and was not judged.
    Superseded(u64),
    /// Something differs, or may differ: to be read again.
    Suspicious,
}

/// All records of the group in one partition, by the second reading; each side in offset order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLines {
    /// Source partition.
    pub partition: i32,
    /// What the source holds; fewer than 2^32.
    pub source: Vec<Line>,
    /// What the target holds; fewer than 2^32.
    pub target: Vec<Line>,
}

impl PartitionLines {
    fn any_counts(&self) -> bool {
        self.source.iter().chain(&self.target).any(counts)
    }

    fn any_beyond(&self) -> bool {
        !self.source.iter().chain(&self.target).all(counts)
    }
}

/// Whether a record is in the range that is proved, or was put into it by another writer.
fn counts(line: &Line) -> bool {
    line.place != Place::Beyond
}

/// What the second reading says of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Classified {
    /// At most one row per partition, in the order of the partitions given.
    pub differences: Vec<Difference>,
    /// Records that are equal but for the timestamp, which is 0 on the source, and which librdkafka
    /// therefore could not write.
    pub untimed: u64,
    /// Partitions in which a compacted key has a newer record and was not judged.
    pub superseded: u64,
}

/// Says how the records of a group differ.
///
/// It never gives a row where [`compare`] says [`Judged::Clean`]. It may give none where that says
/// [`Judged::Suspicious`]: when all that differs is timestamps that could not be written, records that
/// were on their way to the target at the start of the pass, or superseded.
pub fn classify(rules: &Rules, key: Option<&[u8]>, partitions: &[PartitionLines]) -> Classified {
    if rules.last_only(key) {
        last::classify(*rules, partitions)
    } else {
        let holding = partitions.iter().filter(|lines| lines.any_counts()).count();
        delete::classify(*rules, key, partitions, holding)
    }
}

/// [`classify`] for a group of which every record counts, from some of its records: `partitions` leave out
/// records that are equal and in the same order on both sides; of a record that has no equal, all that are
/// like it are there. `pairs` are the same partitions' manifests; the rows' numbers of records are theirs.
pub fn classify_some(
    rules: &Rules,
    key: Option<&[u8]>,
    partitions: &[PartitionLines],
    pairs: &[PartitionPair],
) -> Classified {
    let mut classified = delete::classify(*rules, key, partitions, compare::holding(pairs));
    for row in &mut classified.differences {
        let at = |partition| partition == row.partition;
        let lines = partitions.iter().find(|lines| at(lines.partition));
        let pair = pairs.iter().find(|pair| at(pair.partition));
        let (Some(lines), Some(pair)) = (lines, pair) else { continue };
        if row.kind == Kind::Reordered {
            // What stands in the same order between them is at other places all the same.
            row.detail = format!("at least {}", row.detail);
        }
        let shown = |lines: &[Line]| lines.iter().filter(|line| counts(line)).count() as u64;
        let (source, target) = pair.sides();
        row.source_records += source.records().saturating_sub(shown(&lines.source));
        row.target_records +=
            (target.records() + target.foreign).saturating_sub(shown(&lines.target));
    }
    classified
}
