//! Keys that are to be read again, and where their records lie.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_128;

use super::manifest::{Manifest, PartitionPair};

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
    const NOTHING: Self = Self { from: i64::MAX, until: i64::MIN };

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
}

impl Suspects {
    /// None yet. `budget` is in bytes.
    pub fn new(budget: usize, parts: usize) -> Self {
        Self {
            groups: HashSet::new(),
            most: (budget / SUSPECT_BYTES).max(1),
            spans: vec![[Span::NOTHING; 2]; parts],
        }
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
            let spans = &mut self.spans[part_of(pair)];
            for (span, manifest) in spans.iter_mut().zip([&pair.source, &pair.target]) {
                if let Some(manifest) = manifest {
                    span.cover(manifest);
                }
            }
        }
        true
    }

    /// Whether this key is to be read again.
    pub fn contains(&self, topic: u32, key: Option<&[u8]>) -> bool {
        self.groups.contains(&group(topic, key))
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Where the records of suspects lie in a part, on the source and on the target; `None` if the part
    /// has none on either side.
    pub fn spans(&self, part: usize) -> Option<[Span; 2]> {
        let spans = self.spans[part];
        spans.iter().any(|span| span.from < span.until).then_some(spans)
    }
}

fn group(topic: u32, key: Option<&[u8]>) -> u128 {
    let mut bytes = Vec::with_capacity(5 + key.map_or(0, <[u8]>::len));
    bytes.extend_from_slice(&topic.to_le_bytes());
    bytes.push(u8::from(key.is_some()));
    bytes.extend_from_slice(key.unwrap_or_default());
    xxh3_128(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspects_are_known_again_and_their_places_covered() {
        let mut suspects = Suspects::new(80, 3);
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
        let span = |from, until| Span { from, until };
        assert_eq!(suspects.spans(0), Some([span(5, 31), span(3, 5)]));
        assert_eq!(suspects.spans(1), None);
        assert_eq!(suspects.spans(2), Some([Span::NOTHING, span(1, 2)]));
    }
}
