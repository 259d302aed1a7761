//! A look at some records of a topic: who put the keys where they are, whether one key lies in several
//! partitions, and schema ids in front of keys and values. Pure.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};

use super::facts::Sample;
use super::murmur2::{java_partition, librdkafka_partition};

/// Counts records as they come; [`Sampler::finish`] tells.
#[derive(Debug)]
pub struct Sampler {
    partitions: u32,
    sample: Sample,
    /// Digest of a key: its first partition, and whether it was found in another one.
    keys: HashMap<u128, (i32, bool)>,
}

/// Confluent's framing: a 0 byte, the schema's id, then the data.
const FRAME: usize = 5;

impl Sampler {
    /// For a topic with so many partitions.
    pub fn new(partitions: usize) -> Self {
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX).max(1);
        Self { partitions, sample: Sample::default(), keys: HashMap::new() }
    }

    /// Takes one record; `bytes` are those of key, value and headers.
    pub fn add(&mut self, partition: i32, key: Option<&[u8]>, value: Option<&[u8]>, bytes: u64) {
        let sample = &mut self.sample;
        sample.records += 1;
        sample.bytes += bytes;
        sample.largest = sample.largest.max(bytes);
        if let Some(value) = value {
            sample.values += 1;
            count_schema(&mut sample.value_schemas, value);
        }
        // Nobody puts empty keys anywhere in particular: librdkafka takes them for none.
        let Some(key) = key.filter(|key| !key.is_empty()) else { return };
        sample.keyed += 1;
        count_schema(&mut sample.key_schemas, key);
        let here = |is: u32| i32::try_from(is) == Ok(partition);
        sample.murmur2 += u64::from(here(java_partition(key, self.partitions)));
        sample.crc32 += u64::from(here(librdkafka_partition(key, self.partitions)));
        match self.keys.entry(xxhash_rust::xxh3::xxh3_128(key)) {
            Entry::Vacant(entry) => {
                entry.insert((partition, false));
            }
            Entry::Occupied(mut entry) => {
                let (first, scattered) = entry.get_mut();
                if *first != partition && !*scattered {
                    *scattered = true;
                    sample.scattered_keys += 1;
                    if sample.scattered_in.is_empty() {
                        sample.scattered_in =
                            vec![(*first).min(partition), (*first).max(partition)];
                    }
                }
            }
        }
    }

    /// What was found.
    pub fn finish(self) -> Sample {
        Sample { keys: self.keys.len() as u64, ..self.sample }
    }
}

fn count_schema(found: &mut BTreeMap<i32, u64>, data: &[u8]) {
    if let Some([0, id @ ..]) = data.first_chunk::<FRAME>() {
        *found.entry(i32::from_be_bytes(*id)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(partitions: usize, records: &[(i32, &str)]) -> Sample {
        let mut sampler = Sampler::new(partitions);
        for (partition, key) in records {
            sampler.add(*partition, Some(key.as_bytes()), Some(b"v"), 2);
        }
        sampler.finish()
    }

    #[test]
    fn a_key_in_two_partitions_is_found_once() {
        let seen = sample(6, &[(4, "a"), (1, "a"), (1, "a"), (4, "a"), (0, "b"), (0, "b")]);
        assert_eq!((seen.keys, seen.scattered_keys, seen.scattered_in), (2, 1, vec![1, 4]));
    }

    #[test]
    fn a_schema_id_is_a_zero_byte_and_four_more() {
        let mut sampler = Sampler::new(1);
        sampler.add(0, Some(&[0, 0, 0, 1, 2]), Some(&[0, 0, 0, 0, 7, 9]), 11);
        sampler.add(0, Some(b"text!"), Some(&[1, 0, 0, 0, 7]), 10);
        sampler.add(0, None, None, 0);
        let seen = sampler.finish();
        assert_eq!(seen.key_schemas, BTreeMap::from([(258, 1)]));
        assert_eq!(seen.value_schemas, BTreeMap::from([(7, 1)]));
        assert_eq!((seen.records, seen.keyed, seen.values), (3, 2, 2));
        assert_eq!((seen.bytes, seen.largest), (21, 11));
    }

    proptest! {
        #[test]
        fn what_a_partitioner_puts_there_agrees_with_it(
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..50),
            partitions in 2usize..64,
            java: bool,
        ) {
            let mut sampler = Sampler::new(partitions);
            let count = u32::try_from(partitions).unwrap();
            for key in &keys {
                let at = if java { java_partition(key, count) } else { librdkafka_partition(key, count) };
                sampler.add(i32::try_from(at).unwrap(), Some(key), None, 1);
            }
            let seen = sampler.finish();
            let agree = if java { seen.murmur2 } else { seen.crc32 };
            prop_assert_eq!(agree, keys.len() as u64);
            prop_assert_eq!(seen.scattered_keys, 0);
        }
    }
}
