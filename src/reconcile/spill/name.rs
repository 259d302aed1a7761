//! What a row of the fold knows its key by: short keys whole, so that finding one looks nowhere else.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::arena::Arena;
use crate::reconcile::key::KeyAt;

/// Bytes of a key that lie in its name. Ids in decimals, UUIDs as bytes and most hashed ids are no longer;
/// a longer key lies in the arena, and its beginning here.
pub const INLINE: usize = 16;

/// Key length that stands for no key.
const NO_KEY: u32 = u32::MAX;

/// Half a cache line. Two keys are the same if their names are, and what lies behind [`INLINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Name {
    /// The key, or its beginning; zeros behind its end.
    bytes: [u8; INLINE],
    len: u32,
    topic: u32,
    partition: i32,
    /// What the key is found by.
    pub hash: u32,
}

impl Name {
    /// Of a key in a partition.
    pub fn of(at: KeyAt<'_>) -> Self {
        let place = u64::from(at.topic) << 32 | u64::from(at.partition as u32);
        let (key, seed) = at.key.map_or((&[][..], !place), |key| (key, place));
        Self {
            bytes: beginning(key),
            len: if at.key.is_some() { key.len() as u32 } else { NO_KEY },
            topic: at.topic,
            partition: at.partition,
            hash: xxh3_64_with_seed(key, seed) as u32,
        }
    }

    /// Length of a key that lies in the arena; `None` for one that is all here.
    pub fn long(&self) -> Option<usize> {
        (self.len > INLINE as u32 && self.len != NO_KEY).then_some(self.len as usize)
    }

    /// The key, if [`Name::long`] says that it begins at `start` of the arena.
    pub fn at<'a>(&'a self, start: u32, keys: &'a Arena) -> KeyAt<'a> {
        let key = match self.len {
            NO_KEY => None,
            len if len > INLINE as u32 => Some(keys.get(start, len as usize)),
            len => Some(&self.bytes[..len as usize]),
        };
        KeyAt { topic: self.topic, key, partition: self.partition }
    }
}

/// The first bytes of a key, without a call for each of many small lengths.
fn beginning(key: &[u8]) -> [u8; INLINE] {
    if let Some(first) = key.first_chunk::<INLINE>() {
        return *first;
    }
    let number = match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            // They overlap in the middle; what is shifted out of the last is in the first.
            let last = u64::from_le_bytes(*last).checked_shr(8 * (16 - key.len() as u32));
            u128::from(u64::from_le_bytes(*first)) | u128::from(last.unwrap_or(0)) << 64
        }
        _ => key.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte)),
    };
    number.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_half_a_cache_line() {
        assert_eq!(size_of::<Name>(), 32);
    }

    #[test]
    fn a_key_of_any_length_begins_with_its_first_bytes_and_zeros() {
        let key: Vec<u8> = (1..=40).collect();
        for len in 0..=key.len() {
            let mut expected = [0; INLINE];
            let kept = len.min(INLINE);
            expected[..kept].copy_from_slice(&key[..kept]);
            assert_eq!(beginning(&key[..len]), expected, "{len}");
        }
    }

    #[test]
    fn names_tell_keys_places_and_no_key_apart_and_give_them_back() {
        let mut keys = Arena::new(9);
        keys.make(40);
        let long: Vec<u8> = (1..=40).collect();
        let start = keys.put(&long);
        let all: Vec<KeyAt<'_>> = [None, Some(&b""[..]), Some(b"\0"), Some(b"a"), Some(&long)]
            .into_iter()
            .chain([Some(&long[..INLINE]), Some(&long[..INLINE + 1])])
            .flat_map(|key| {
                let at = |(topic, partition)| KeyAt { topic, key, partition };
                [(0, 0), (0, 1), (1, 0)].map(at)
            })
            .collect();
        for (n, a) in all.iter().enumerate() {
            let name = Name::of(*a);
            assert_eq!(name.at(start, &keys), *a);
            assert_eq!(name.long(), a.key.map(<[u8]>::len).filter(|len| *len > INLINE));
            assert!(all[n + 1..].iter().all(|b| Name::of(*b) != name), "{a:?}");
        }
    }
}
