//! What an open transaction has moved so far, and the carry entry that it becomes. Pure.

use std::ops::Range;

use crate::digest::{RecordDigest, SequenceDigest};
use crate::ledger::{Anchor, CarryPartition, Runs};
use crate::pipe::batch::CodedEstimate;
use crate::pipe::engine::Batch;
use crate::plan::TopicPartition;
use crate::record::Record;

/// The open batch of a lane.
#[derive(Debug, Default)]
pub struct Moving {
    /// By the partition's index in the lane's assignment.
    parts: Vec<Option<Part>>,
    /// Partition index and source offset of every record, in the order of the writes: the delivery
    /// reports bring the target offsets in the same order.
    order: Vec<(u32, i64)>,
    bytes: u64,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Part {
    first: i64,
    next: i64,
    records: u64,
    bytes: u64,
    untimed: u64,
    digest: SequenceDigest,
    anchor: Option<Anchor>,
    estimate: CodedEstimate,
}

impl Part {
    fn at(first: i64) -> Self {
        Self {
            first,
            next: first,
            records: 0,
            bytes: 0,
            untimed: 0,
            digest: SequenceDigest::EMPTY,
            anchor: None,
            estimate: CodedEstimate::default(),
        }
    }

    fn take(&mut self, record: &Record<'_>, scratch: &mut Vec<u8>) -> u64 {
        let digest = RecordDigest::of(record, true, scratch);
        let bytes = record.bytes() as u64;
        self.next = record.offset + 1;
        self.records += 1;
        self.bytes += bytes;
        self.untimed += u64::from(!timestamp_survives(record.timestamp));
        self.digest.push(digest);
        self.anchor = Some(Anchor {
            offset: record.offset,
            epoch: record.leader_epoch,
            digest,
            timestamp: record.timestamp,
        });
        self.estimate.push(record.offset);
        bytes
    }
}

/// librdkafka sends the wall clock for a record whose timestamp is 0 (measured); every other value,
/// negative ones and none at all too, is kept.
fn timestamp_survives(timestamp: Option<i64>) -> bool {
    timestamp != Some(0)
}

impl Moving {
    /// An empty batch over `partitions` partitions.
    pub fn over(partitions: usize) -> Self {
        Self { parts: (0..partitions).map(|_| None).collect(), ..Self::default() }
    }

    /// Takes `records` of `batch`; `from` is the partition's position before them.
    pub fn take<B: Batch>(&mut self, batch: &B, records: Range<usize>, from: i64) {
        let index = batch.partition();
        let part = self.parts[index].get_or_insert_with(|| Part::at(from));
        let tag = u32::try_from(index).expect("a lane has fewer than 2^32 partitions");
        batch.visit(&mut |n, record| {
            if records.contains(&n) {
                self.bytes += part.take(record, &mut self.scratch);
                self.order.push((tag, record.offset));
            }
        });
    }

    /// Moves a partition's position over offsets that hold no committed record.
    pub fn advance(&mut self, partition: usize, from: i64, next: i64) {
        let part = self.parts[partition].get_or_insert_with(|| Part::at(from));
        part.next = part.next.max(next);
    }

    /// Bytes of the records taken.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records taken.
    pub fn records(&self) -> u64 {
        self.order.len() as u64
    }

    /// Estimated size of the carry's runs.
    pub fn coded(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.estimate.bytes()).sum()
    }

    /// The touched partitions' indices.
    pub fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().enumerate().filter_map(|(n, part)| part.as_ref().map(|_| n))
    }

    /// The carry's partitions, given the target offsets of all records in the order of the writes.
    ///
    /// # Errors
    /// Tells when the reports do not match the records, or run backwards: then the transaction must
    /// not be committed.
    pub fn carry(
        &self,
        names: &[TopicPartition],
        delivered: &[i64],
    ) -> Result<Vec<CarryPartition>, String> {
        if delivered.len() != self.order.len() {
            return Err(format!(
                "{} records were sent and {} delivery reports came",
                self.order.len(),
                delivered.len()
            ));
        }
        let mut runs: Vec<Runs> = self.parts.iter().map(|_| Runs::default()).collect();
        let mut last = vec![-1i64; self.parts.len()];
        for (&(tag, source), &target) in self.order.iter().zip(delivered) {
            let index = tag as usize;
            if target <= last[index] {
                return Err(format!(
                    "the target answered offset {target} for {} after {}",
                    names[index], last[index]
                ));
            }
            last[index] = target;
            runs[index].push(source, target);
        }
        let touched = self.parts.iter().zip(runs).zip(names);
        Ok(touched
            .filter_map(|((part, runs), name)| part.as_ref().map(|part| (part, runs, name)))
            .map(|(part, runs, name)| CarryPartition {
                topic: name.topic.clone(),
                partition: name.partition,
                first: part.first,
                next: part.next,
                runs,
                read: part.records,
                written: part.records,
                filtered: 0,
                dead: 0,
                bytes: part.bytes,
                untimed: part.untimed,
                digest: part.digest,
                anchor: part.anchor,
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Few(usize, Vec<i64>);

    impl Batch for Few {
        fn partition(&self) -> usize {
            self.0
        }
        fn len(&self) -> usize {
            self.1.len()
        }
        fn offset(&self, index: usize) -> i64 {
            self.1[index]
        }
        fn visit(&self, see: &mut dyn FnMut(usize, &Record<'_>)) {
            for (n, &offset) in self.1.iter().enumerate() {
                let record = Record {
                    offset,
                    leader_epoch: Some(1),
                    timestamp: Some(offset),
                    key: None,
                    value: Some(b"v"),
                    headers: &[],
                };
                see(n, &record);
            }
        }
    }

    fn names() -> Vec<TopicPartition> {
        vec![TopicPartition::new("a", 0), TopicPartition::new("b", 3)]
    }

    #[test]
    fn a_carry_names_every_touched_partition_and_maps_every_record() {
        let mut moving = Moving::over(2);
        moving.take(&Few(0, vec![5, 7]), 0..2, 5);
        moving.take(&Few(1, vec![0, 1, 2]), 0..2, 0);
        moving.take(&Few(0, vec![9]), 0..1, 8);
        let carry = moving.carry(&names(), &[100, 101, 40, 41, 102]).unwrap();
        assert_eq!(carry.len(), 2);
        assert_eq!((carry[0].first, carry[0].next, carry[0].written), (5, 10, 3));
        assert_eq!(carry[0].runs.to_target(9), Some(102));
        assert_eq!((carry[1].first, carry[1].next, carry[1].written), (0, 2, 2));
        assert_eq!(carry[1].runs.to_target(1), Some(41));
        assert_eq!(carry[0].untimed + carry[1].untimed, 1, "timestamp 0 is not kept");
    }

    #[test]
    fn control_records_move_the_position_and_nothing_else() {
        let mut moving = Moving::over(2);
        moving.advance(1, 6, 9);
        let carry = moving.carry(&names(), &[]).unwrap();
        assert_eq!((carry[0].first, carry[0].next, carry[0].written), (6, 9, 0));
        assert_eq!(carry[0].anchor, None);
    }

    #[test]
    fn reports_that_are_missing_or_run_backwards_are_an_error() {
        let mut moving = Moving::over(2);
        moving.take(&Few(0, vec![5, 7]), 0..2, 5);
        assert!(moving.carry(&names(), &[100]).is_err());
        assert!(moving.carry(&names(), &[100, 100]).is_err());
    }
}
