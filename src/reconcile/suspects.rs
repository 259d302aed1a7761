//! Keys that are to be read again, and where their records lie.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::manifest::{Manifest, PartitionPair};
use super::part::Part;

/// A key with more records than memory has room to compare one by one at once.
#[derive(Debug, Clone)]
pub struct Large {
    /// Index of the topic.
    pub topic: u32,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// What the first reading says of it.
    pub pairs: Vec<PartitionPair>,
}

impl Large {
    fn bytes(&self) -> usize {
        let key = self.key.as_ref().map_or(0, Vec::len);
        size_of::<Self>() + key + self.pairs.len() * size_of::<PartitionPair>()
    }
}

/// Bytes that one suspect takes in the set, with its share of growth.
const SUSPECT_BYTES: usize = 40;

/// Which offsets of a part must be read again; nothing where `from` is not below `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First offset.
    pub from: i64,
    /// First offset behind it.
    pub until: i64,
}

impl Span {
    /// No offset at all.
    pub const NOTHING: Self = Self { from: i64::MAX, until: i64::MIN };

    /// Widens both sides' spans over all records of a pair.
    pub fn cover_pair(spans: &mut [Self; 2], pair: &PartitionPair) {
        for (span, manifest) in spans.iter_mut().zip([&pair.source, &pair.target]) {
            if let Some(manifest) = manifest {
                span.cover(manifest);
            }
        }
    }

    /// Widens it over all records of a manifest.
    fn cover(&mut self, manifest: &Manifest) {
        for offset in [manifest.first_offset, manifest.last_offset, manifest.first_foreign] {
            if offset >= 0 {
                self.from = self.from.min(offset);
                self.until = self.until.max(offset + 1);
            }
        }
        if manifest.foreign > 1 {
            // Only the first one's place is known.
            self.until = i64::MAX;
        }
    }
}

/// The keys, by a hash of topic and key: one that collides (2^-128) would only be read again.
pub struct Suspects {
    groups: HashSet<u128>,
    most: usize,
    spans: Vec<[Span; 2]>,
    /// Those that are compared in stretches first.
    pub large: Vec<Large>,
    large_room: usize,
}

impl Suspects {
    /// None yet. `budget` is in bytes; an eighth of it is for large keys.
    pub fn new(budget: usize, parts: usize) -> Self {
        Self {
            groups: HashSet::new(),
            most: (budget / 8 * 7 / SUSPECT_BYTES).max(1),
            spans: vec![[Span::NOTHING; 2]; parts],
            large: Vec::new(),
            large_room: budget / 8,
        }
    }

    /// Adds a large key; `false` if there is no room for more.
    pub fn add_large(&mut self, large: Large) -> bool {
        let Some(room) = self.large_room.checked_sub(large.bytes()) else { return false };
        self.large_room = room;
        self.large.push(large);
        true
    }

    /// Adds a key of a topic; `false` if there is no room for more. `part_of` tells a pair's part.
    pub fn add(
        &mut self,
        topic: u32,
        key: Option<&[u8]>,
        pairs: &[PartitionPair],
        part_of: impl Fn(&PartitionPair) -> usize,
    ) -> bool {
        if self.groups.len() >= self.most {
            return false;
        }
        self.groups.insert(group(topic, key));
        for pair in pairs {
            Span::cover_pair(&mut self.spans[part_of(pair)], pair);
        }
        true
    }

    /// Whether this key is to be read again.
    pub fn contains(&self, topic: u32, key: Option<&[u8]>) -> bool {
        self.groups.contains(&group(topic, key))
    }

    /// Whether a part, which has this index, may hold a suspect.
    pub fn touch(&self, index: usize, part: &Part) -> bool {
        let holds = |large: &Large| {
            let has = |pair: &PartitionPair| pair.partition == part.source.partition;
            large.topic == part.topic && large.pairs.iter().any(has)
        };
        self.spans(index).is_some() || self.large.iter().any(holds)
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.groups.len() + self.large.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the records of suspects lie in a part, on the source and on the target; `None` if the part
    /// has none on either side.
    pub fn spans(&self, part: usize) -> Option<[Span; 2]> {
        let spans = self.spans[part];
        spans.iter().any(|span| span.from < span.until).then_some(spans)
    }
}

/// What stands for a key of a topic.
pub fn group(topic: u32, key: Option<&[u8]>) -> u128 {
    let seed = u64::from(topic) << 1 | u64::from(key.is_some());
    xxh3_128_with_seed(key.unwrap_or_default(), seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TopicPartition;

    #[test]
    fn suspects_are_known_again_and_their_places_covered() {
        let mut suspects = Suspects::new(96, 3);
        let part_of = |pair: &PartitionPair| usize::try_from(pair.partition).unwrap();
        let manifest = |first_offset, last_offset| {
            Some(Manifest { first_offset, last_offset, ..Manifest::default() })
        };
        let pair = |partition, source, target| PartitionPair { partition, source, target };
        assert!(suspects.add(
            0,
            Some(b"k"),
            &[pair(0, manifest(5, 9), None), pair(2, None, manifest(1, 1))],
            part_of
        ));
        assert!(suspects.add(0, None, &[pair(0, manifest(7, 30), manifest(3, 4))], part_of));
        assert!(!suspects.add(0, Some(b"no room"), &[], part_of));
        assert!(suspects.contains(0, Some(b"k")) && suspects.contains(0, None));
        assert!(!suspects.contains(0, Some(b"")) && !suspects.contains(1, None));
        let of = |topic, number| Part {
            topic,
            source: TopicPartition::new("s", number),
            ..super::super::part::tests::part()
        };
        assert!(suspects.touch(0, &of(0, 0)) && !suspects.touch(1, &of(0, 1)));
        let large = Large { topic: 0, key: None, pairs: vec![pair(1, manifest(0, 9), None)] };
        suspects.large.push(large);
        assert!(suspects.touch(1, &of(0, 1)), "a large key lies there");
        assert!(!suspects.touch(1, &of(1, 1)) && !suspects.touch(1, &of(0, 3)), "not there");
        let span = |from, until| Span { from, until };
        assert_eq!(suspects.spans(0), Some([span(5, 31), span(3, 5)]));
        assert_eq!(suspects.spans(1), None);
        assert_eq!(suspects.spans(2), Some([Span::NOTHING, span(1, 2)]));
    }
}
