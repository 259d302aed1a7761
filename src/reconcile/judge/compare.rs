//! First reading: is there anything to look at?

use super::{Judged, PartitionPair, Rules};
use crate::digest::RecordDigest;
use crate::reconcile::manifest::Manifest;

/// Judges a group by its manifests.
///
/// - `delete`: the sequences are equal and nobody else wrote. Without a ledger, a key that is in several
///   partitions is compared as a multiset in each.
/// - Compacted: the last records are equal, where a tombstone equals an absent key, and nobody else wrote.
///   A partition in which the key has a record behind the range is not judged.
pub fn compare(rules: &Rules, key: Option<&[u8]>, pairs: &[PartitionPair]) -> Judged {
    if rules.last_only(key) {
        let superseded = pairs.iter().filter(|pair| superseded(pair)).count() as u64;
        let mut judged = pairs.iter().filter(|pair| !self::superseded(pair));
        return match judged.all(same_last) {
            false => Judged::Suspicious,
            true if superseded > 0 => Judged::Superseded(superseded),
            true => Judged::Clean,
        };
    }
    let ordered = order_claimed(*rules, key, pairs);
    match pairs.iter().all(|pair| same_records(pair, ordered)) {
        true => Judged::Clean,
        false => Judged::Suspicious,
    }
}

/// Whether the key has a record behind the range that is proved.
pub(super) fn superseded(pair: &PartitionPair) -> bool {
    let (source, target) = pair.sides();
    source.beyond + target.beyond > 0
}

/// Whether the order of the group's records says something.
pub(super) fn order_claimed(rules: Rules, key: Option<&[u8]>, pairs: &[PartitionPair]) -> bool {
    rules.order_claimed(key, holding(pairs))
}

/// How many partitions have a record of the group.
pub(super) fn holding(pairs: &[PartitionPair]) -> usize {
    let holds = |pair: &&PartitionPair| {
        let (source, target) = pair.sides();
        source.records() + target.records() + target.foreign > 0
    };
    pairs.iter().filter(holds).count()
}

/// Whether both sides have the same records, in the same order if that is claimed.
pub(super) fn same_records(pair: &PartitionPair, ordered: bool) -> bool {
    let (source, target) = pair.sides();
    target.foreign == 0
        && if ordered {
            source.sequence == target.sequence
        } else {
            source.records() == target.records() && source.sum == target.sum
        }
}

/// Whether both sides end with the same record, and nobody else wrote.
pub(super) fn same_last(pair: &PartitionPair) -> bool {
    let (source, target) = pair.sides();
    target.foreign == 0 && live(&source) == live(&target)
}

/// The last record that the pass proves, unless it is a tombstone.
pub(super) fn live(manifest: &Manifest) -> Option<RecordDigest> {
    manifest.last.and_then(|(digest, tombstone)| (!tombstone).then_some(digest))
}
