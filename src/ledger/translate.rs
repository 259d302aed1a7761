//! Translation of offsets over many carries of one partition. Exact: it never extrapolates.

use super::lane::CarryPartition;
use super::position::PartitionState;
use super::runs::{NotRising, Runs};

/// All that was carried of one partition, as one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetMap {
    runs: Runs,
    next: i64,
    target_next: i64,
}

impl OffsetMap {
    /// Nothing carried yet of a partition bound at this source offset and this target log end.
    pub fn new(start: i64, target_start: i64) -> Self {
        Self { runs: Runs::default(), next: start, target_next: target_start }
    }

    /// Nothing carried yet of this partition.
    pub fn of(state: &PartitionState) -> Self {
        Self::new(state.start, state.target_start)
    }

    /// Adds the partition's next carry, in the ledger's order.
    pub fn push(&mut self, carry: &CarryPartition) -> Result<(), NotRising> {
        self.runs.append(&carry.runs)?;
        self.next = carry.next;
        self.target_next =
            self.runs.last().map_or(self.target_next, |(_, target)| target.saturating_add(1));
        Ok(())
    }

    /// Target offset of exactly the record at this source offset.
    pub fn to_target(&self, source: i64) -> Option<i64> {
        self.runs.to_target(source)
    }

    /// Source offset of exactly the record at this target offset.
    pub fn to_source(&self, target: i64) -> Option<i64> {
        self.runs.to_source(target)
    }

    /// Where a consumer that would read `source` next goes on in the target: at the first record carried
    /// at or after it, or behind all of them if none is. `None` while `source` is beyond what was carried.
    pub fn translate(&self, source: i64) -> Option<i64> {
        if source > self.next {
            return None;
        }
        Some(self.runs.translate_next(source).unwrap_or(self.target_next))
    }

    /// First source offset that was not carried.
    pub fn next(&self) -> i64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::SequenceDigest;

    fn carry(first: i64, next: i64, pairs: &[(i64, i64)]) -> CarryPartition {
        let mut runs = Runs::default();
        pairs.iter().for_each(|(source, target)| runs.push(*source, *target));
        CarryPartition {
            topic: "orders".into(),
            partition: 0,
            first,
            next,
            runs,
            read: pairs.len() as u64,
            written: pairs.len() as u64,
            filtered: 0,
            dead: 0,
            bytes: 0,
            digest: SequenceDigest::EMPTY,
            anchor: None,
            untimed: 0,
        }
    }

    #[test]
    fn a_position_behind_the_last_record_goes_behind_it_and_no_further() {
        let mut map = OffsetMap::new(10, 100);
        assert_eq!(map.translate(10), Some(100));
        map.push(&carry(10, 15, &[(10, 100), (12, 101)])).unwrap();
        map.push(&carry(15, 17, &[])).unwrap();
        assert_eq!(map.translate(3), Some(100), "what was not copied is before the first record");
        assert_eq!(map.translate(11), Some(101));
        assert_eq!(map.translate(13), Some(102));
        assert_eq!(map.translate(17), Some(102));
        assert_eq!(map.translate(18), None, "not carried yet");
        assert_eq!(map.next(), 17);
    }

    proptest! {
        #[test]
        fn many_carries_translate_as_one_plain_map(
            carries in prop::collection::vec(
                (prop::collection::vec((1i64..4, 1i64..3), 0..8), 0i64..4), 0..12,
            ),
        ) {
            let mut map = OffsetMap::new(0, 0);
            let (mut plain, mut next, mut target) = (Vec::new(), 0, 0);
            for (steps, control_records) in carries {
                let (first, mut pairs) = (next, Vec::new());
                for (source_step, target_step) in steps {
                    pairs.push((next + source_step - 1, target + target_step - 1));
                    (next, target) = (next + source_step, target + target_step);
                }
                next += control_records;
                map.push(&carry(first, next, &pairs)).unwrap();
                plain.extend(pairs);
                target += 1; // the transaction's marker
            }
            let end = plain.last().map_or(0, |(_, target)| target + 1);
            for at in 0..=next {
                let after = plain.iter().find(|(source, _)| *source >= at);
                prop_assert_eq!(map.translate(at), Some(after.map_or(end, |(_, target)| *target)));
                let exact = plain.iter().find(|(source, _)| *source == at);
                prop_assert_eq!(map.to_target(at), exact.map(|(_, target)| *target));
            }
            for (source, target) in plain {
                prop_assert_eq!(map.to_source(target), Some(source));
            }
            prop_assert_eq!(map.translate(next + 1), None);
        }
    }
}
