//! Where producers put a key: Java's murmur2, librdkafka's CRC32. Pure.
//!
//! After a cutover a key stays in its partition only if the new producers hash as the old ones did.

/// Java's partition of a key that is not null: `BuiltInPartitioner.partitionForKey` of
/// org.apache.kafka:kafka-clients (`toPositive(murmur2(key)) % partitions`).
pub fn java_partition(key: &[u8], partitions: u32) -> u32 {
    (murmur2(key) & 0x7fff_ffff) % partitions.max(1)
}

/// librdkafka's partition of a key that is not empty: its default `consistent_random`
/// (`rd_kafka_msg_partitioner_consistent`: CRC32 modulo partitions).
pub fn librdkafka_partition(key: &[u8], partitions: u32) -> u32 {
    crc32fast::hash(key) % partitions.max(1)
}

/// MurmurHash2 (Austin Appleby, public domain), 32 bits, with the seed that Kafka's
/// `Utils.murmur2` has, as an unsigned number.
pub fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    // Lengths of keys fit; of more than 4 GiB only the low half counts, as in Java.
    #[expect(clippy::cast_possible_truncation, reason = "Java's int arithmetic")]
    let mut hash = SEED ^ data.len() as u32;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(M);
        mixed ^= mixed >> R;
        hash = hash.wrapping_mul(M) ^ mixed.wrapping_mul(M);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail: u32, byte| tail << 8 | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kafka's own vectors: `UtilsTest.testMurmur2` of kafka-clients.
    const KAFKAS: [(&str, i32); 6] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ];

    #[test]
    fn murmur2_gives_kafkas_own_vectors() {
        for (key, hash) in KAFKAS {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
        // Keys of one byte, from the vectors of kafkajs, which Java made.
        assert_eq!(murmur2(b"0").cast_signed(), 971_027_396);
        assert_eq!(murmur2(b"1").cast_signed(), -1_993_445_489);
    }

    #[test]
    fn javas_partition_is_never_negative() {
        // toPositive is `& 0x7fffffff`, not the absolute value.
        let hash = -973_932_308_i32;
        assert_eq!(java_partition(b"21", 10), (hash.cast_unsigned() & 0x7fff_ffff) % 10);
    }

    #[test]
    fn librdkafkas_partition_is_crc32_as_everybody_has_it() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(librdkafka_partition(b"123456789", u32::MAX), 0xcbf4_3926);
    }
}
