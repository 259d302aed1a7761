//! How a large entry is cut into parts.
//!
//! Parts of a carry or a snapshot lie in one transaction, side by side. A bind needs no parts: each
//! partition stands for itself, so a large one becomes several binds. A fence's parts are not
//! transactional; it counts from the last one to arrive.

use std::collections::BTreeMap;

use serde::Serialize;

use super::control::Fence;
use super::entry::{Entry, encode};
use super::lane::{Bind, Carry, CarryPartition, Snapshot};

/// Largest entry that is written, in bytes: well below the smallest usual `max.message.bytes`, and small
/// enough that any Kafka tool prints it. A single element that is larger makes a larger part.
pub const MAX_PART_BYTES: usize = 256 * 1024;

impl Carry {
    /// The whole carry as entries of at most `max_bytes` each, in order.
    pub fn into_parts(mut self, max_bytes: usize) -> Vec<Entry> {
        let partitions = std::mem::take(&mut self.partitions);
        let part = |partitions, (part, parts)| {
            Entry::Carry(Self { part, parts, partitions, ..self.clone() })
        };
        let room = room(&part(Vec::new(), WIDEST), max_bytes);
        let pieces = partitions.into_iter().flat_map(|partition| partition.into_pieces(room));
        numbered(pack(pieces, room, json_len), part)
    }
}

impl CarryPartition {
    /// Cuts the runs, so that no piece is above `room` bytes; the other fields are repeated.
    fn into_pieces(self, room: usize) -> Vec<Self> {
        let len = json_len(&self);
        if len <= room {
            return vec![self];
        }
        let room_for_runs = room.saturating_sub(len - self.runs.coded_len());
        self.runs
            .split(room_for_runs)
            .into_iter()
            .map(|runs| Self { runs, ..self.clone() })
            .collect()
    }
}

impl Snapshot {
    /// The whole snapshot as entries of at most `max_bytes` each, in order.
    pub fn into_parts(mut self, max_bytes: usize) -> Vec<Entry> {
        let partitions = std::mem::take(&mut self.partitions);
        let part = |partitions, (part, parts)| {
            Entry::Snapshot(Self { part, parts, partitions, ..self.clone() })
        };
        let room = room(&part(Vec::new(), WIDEST), max_bytes);
        numbered(pack(partitions, room, json_len), part)
    }
}

impl Bind {
    /// The bind as binds of at most `max_bytes` each, in order.
    pub fn into_parts(mut self, max_bytes: usize) -> Vec<Entry> {
        let partitions = std::mem::take(&mut self.partitions);
        let part = |partitions, _| Entry::Bind(Self { partitions, ..self.clone() });
        let room = room(&part(Vec::new(), WIDEST), max_bytes);
        numbered(pack(partitions, room, json_len), part)
    }
}

impl Fence {
    /// The fence as entries of at most `max_bytes` each, in order. A topic is never cut: only one with
    /// more than some 20,000 partitions needs more than 256 KiB.
    pub fn into_parts(mut self, max_bytes: usize) -> Vec<Entry> {
        let topics = std::mem::take(&mut self.partitions);
        let part = |topics: Vec<(String, Vec<Option<i64>>)>, (part, parts)| {
            Entry::Fence(Self {
                part,
                parts,
                partitions: topics.into_iter().collect::<BTreeMap<_, _>>(),
                ..self.clone()
            })
        };
        let room = room(&part(Vec::new(), WIDEST), max_bytes);
        numbered(pack(topics, room, |(topic, marks)| json_len(topic) + 1 + json_len(marks)), part)
    }
}

/// Part numbers as wide as they can get, to measure what an entry takes beside its elements.
const WIDEST: (u32, u32) = (u32::MAX, u32::MAX);

fn json_len<T: Serialize>(value: &T) -> usize {
    serde_json::to_vec(value).map_or(0, |json| json.len())
}

/// Bytes left for elements in an entry of `max_bytes`, given the entry without any.
fn room(empty: &Entry, max_bytes: usize) -> usize {
    max_bytes.saturating_sub(encode(empty).len())
}

/// Puts items into groups of at most `room` bytes with a comma each; at least one group, and at least
/// one item in each if there are any.
fn pack<T>(
    items: impl IntoIterator<Item = T>,
    room: usize,
    len: impl Fn(&T) -> usize,
) -> Vec<Vec<T>> {
    let mut groups = vec![Vec::new()];
    let mut used = 0;
    for item in items {
        let len = len(&item) + 1;
        let fits = used + len <= room + 1; // the last one has no comma
        match groups.last_mut() {
            Some(group) if fits || group.is_empty() => {
                group.push(item);
                used += len;
            }
            _ => {
                groups.push(vec![item]);
                used = len;
            }
        }
    }
    groups
}

fn numbered<T>(groups: Vec<Vec<T>>, part: impl Fn(Vec<T>, (u32, u32)) -> Entry) -> Vec<Entry> {
    let parts = u32::try_from(groups.len()).expect("fewer than 2^32 parts fit into memory");
    (1..).zip(groups).map(|(number, group)| part(group, (number, parts))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::SequenceDigest;
    use crate::ledger::{BindPartition, Found, Runs};
    use crate::plan::TopicPartition;

    fn carry(lens: &[usize]) -> Carry {
        let partition = |(number, len): (i32, &usize)| {
            let mut runs = Runs::default();
            for i in 0..i64::try_from(*len).unwrap() {
                runs.push(i * 3 + i % 5 % 2, i * 2 + i % 7 % 3 / 2);
            }
            CarryPartition {
                topic: "orders".into(),
                partition: number,
                first: 0,
                next: 100_000,
                runs,
                read: 0,
                written: 0,
                filtered: 0,
                dead: 0,
                bytes: 0,
                digest: SequenceDigest::EMPTY,
                anchor: None,
                untimed: 0,
            }
        };
        Carry {
            seq: 1,
            part: 1,
            parts: 1,
            worker: "w".to_owned(),
            epoch: 1,
            snapshot: None,
            at: 0,
            partitions: (0..).zip(lens).map(partition).collect(),
        }
    }

    #[test]
    fn what_fits_into_one_entry_is_one() {
        let whole = carry(&[3, 5]);
        assert_eq!(whole.clone().into_parts(MAX_PART_BYTES), [Entry::Carry(whole)]);
        let empty = carry(&[]);
        assert_eq!(empty.clone().into_parts(MAX_PART_BYTES), [Entry::Carry(empty)]);
    }

    #[test]
    fn the_runs_of_one_partition_may_need_several_parts() {
        let whole = carry(&[100_000]);
        assert!(encode(&Entry::Carry(whole.clone())).len() > MAX_PART_BYTES);
        let parts = whole.clone().into_parts(MAX_PART_BYTES);
        assert!(parts.len() > 1);
        let mut runs = Runs::default();
        for part in &parts {
            assert!(encode(part).len() <= MAX_PART_BYTES);
            let Entry::Carry(part) = part else { panic!("a carry") };
            runs.append(&part.partitions[0].runs).unwrap();
        }
        assert_eq!(runs, whole.partitions[0].runs);
    }

    #[test]
    fn a_large_bind_is_several_binds() {
        let partition = |partition| BindPartition {
            topic: "orders".into(),
            partition,
            topic_id: Some("q5-Uq2SxQ0mZ3Yw1pL7dXA".to_owned()),
            target_topic: "orders".into(),
            target_topic_id: None,
            start: 0,
            target_start: 0,
            found: Found::Empty,
        };
        let whole = Bind {
            worker: "w".to_owned(),
            epoch: 1,
            naming: "same".to_owned(),
            start: "earliest".to_owned(),
            partitions: (0..5000).map(partition).collect(),
        };
        let mut bound = Vec::new();
        for entry in whole.clone().into_parts(MAX_PART_BYTES) {
            assert!(encode(&entry).len() <= MAX_PART_BYTES);
            let Entry::Bind(bind) = entry else { panic!("a bind") };
            bound.extend(bind.partitions);
        }
        assert_eq!(bound, whole.partitions);
    }

    #[test]
    fn a_fence_over_many_topics_is_cut_between_them() {
        let marks = (0..3000).flat_map(|topic| {
            (0..12).map(move |partition| {
                (TopicPartition::new(format!("topic-{topic}"), partition), 1_000_000)
            })
        });
        let whole = Fence::new("f", 0, "w", marks);
        let parts = whole.clone().into_parts(MAX_PART_BYTES);
        assert!(parts.len() > 1);
        let mut topics = BTreeMap::new();
        for part in parts {
            assert!(encode(&part).len() <= MAX_PART_BYTES);
            let Entry::Fence(part) = part else { panic!("a fence") };
            topics.extend(part.partitions);
        }
        assert_eq!(topics, whole.partitions);
    }

    proptest! {
        #[test]
        fn parts_are_within_bounds_and_numbered(
            lens in prop::collection::vec(0usize..150, 0..12), max in 600usize..2000,
        ) {
            let whole = carry(&lens);
            let parts = whole.clone().into_parts(max);
            for (number, entry) in (1..).zip(&parts) {
                prop_assert!(encode(entry).len() <= max, "{} above {}", encode(entry).len(), max);
                let Entry::Carry(part) = entry else { panic!("a carry") };
                prop_assert_eq!((part.part, part.parts as usize), (number, parts.len()));
            }
        }
    }
}
