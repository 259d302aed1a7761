//! Small records for tests, with real digests.

use super::{PartitionLines, PartitionPair};
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::{Manifest, Place, Seen};
use crate::record::{Header, Record};

/// A record whose parts are small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Small {
    pub(super) key: Option<u8>,
    pub(super) value: Option<u8>,
    pub(super) headers: u8,
    pub(super) timestamp: i64,
}

impl Small {
    /// The record as the second reading would keep it.
    pub(super) fn line(&self, side: Side, offset: i64) -> Line {
        let (key, value, name) =
            (self.key.map(|key| [key]), self.value.map(|v| [v]), [self.headers]);
        let headers: [Header<'_>; 1] = [(&name, None)];
        let record = Record {
            offset,
            leader_epoch: None,
            timestamp: Some(self.timestamp),
            key: key.as_ref().map(|key| &key[..]),
            value: value.as_ref().map(|value| &value[..]),
            headers: &headers,
        };
        let mut scratch = Vec::new();
        let digest = RecordDigest::of(&record, true, &mut scratch);
        let bare = Record { headers: &[], ..record };
        let wrap = Record { key: None, value: None, ..record };
        Line {
            side,
            offset,
            source_offset: None,
            place: Place::Claimed,
            digest,
            value: RecordDigest::of(&bare, false, &mut scratch),
            headers: RecordDigest::of(&wrap, false, &mut scratch),
            timestamp: record.timestamp,
            tombstone: value.is_none(),
            copied_to: None,
        }
    }
}

/// What the first reading makes of the same records.
pub(super) fn pairs(partitions: &[PartitionLines]) -> Vec<PartitionPair> {
    let manifest = |lines: &[Line]| {
        let mut manifest = Manifest::default();
        for line in lines {
            let Line { offset, digest, tombstone, place, .. } = *line;
            manifest.push(Seen { offset, digest, tombstone, place });
        }
        (!lines.is_empty()).then_some(manifest)
    };
    let pair = |lines: &PartitionLines| PartitionPair {
        partition: lines.partition,
        source: manifest(&lines.source),
        target: manifest(&lines.target),
    };
    partitions.iter().map(pair).collect()
}
