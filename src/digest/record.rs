//! What a record is, as bytes, and the 128-bit number that stands for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_128;

use super::{ParseDigestError, hex};
use crate::record::Record;

/// First byte of the canonical form; another form gets another number.
const CANONICAL_VERSION: u8 = 1;

/// Length that stands for null. No slice is that long, so null and every length are told apart.
const NULL: u64 = u64::MAX;

/// Bytes of the canonical form beside key, value and headers: version, timestamp, two lengths, count.
const FIXED: usize = 1 + 9 + 8 + 8 + 8;

/// Stands for one record: key, value, headers (names, order, duplicates, nulls) and, where the target
/// keeps it, the timestamp. Offset and leader epoch do not count: they differ between clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordDigest(pub u128);

impl RecordDigest {
    /// Digest of `record`. `timestamp_kept` is false where the target overwrites timestamps
    /// (`LogAppendTime`); digests made with different values of it cannot be compared.
    ///
    /// `scratch` is overwritten; passing the same one for every record avoids allocation.
    pub fn of(record: &Record<'_>, timestamp_kept: bool, scratch: &mut Vec<u8>) -> Self {
        canonical(record, timestamp_kept, scratch);
        Self(xxh3_128(scratch))
    }
}

/// Writes the canonical form of `record` to `out`, which is cleared first. Two records have the same
/// form only if they are the same in everything that a digest covers.
///
/// All integers are little-endian: the version byte; the timestamp as a tag byte (0 not kept, 1 none,
/// 2 present) followed, if present, by its 8 bytes; key; value; the number of headers in 8 bytes; per
/// header name and value. Key, value, name and header value are each a length in 8 bytes and that many
/// bytes, or the length 2^64 − 1 alone for null.
pub fn canonical(record: &Record<'_>, timestamp_kept: bool, out: &mut Vec<u8>) {
    out.clear();
    out.reserve(FIXED + record.headers.len() * 16 + record.bytes());
    out.push(CANONICAL_VERSION);
    match record.timestamp {
        _ if !timestamp_kept => out.push(0),
        None => out.push(1),
        Some(timestamp) => {
            out.push(2);
            out.extend_from_slice(&timestamp.to_le_bytes());
        }
    }
    field(record.key, out);
    field(record.value, out);
    out.extend_from_slice(&(record.headers.len() as u64).to_le_bytes());
    for (name, value) in record.headers {
        field(Some(name), out);
        field(*value, out);
    }
}

fn field(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    match bytes {
        None => out.extend_from_slice(&NULL.to_le_bytes()),
        Some(bytes) => {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

impl fmt::Display for RecordDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for RecordDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        hex(text, 32).map(Self).ok_or(ParseDigestError("32 lower-case hexadecimal digits"))
    }
}

impl Serialize for RecordDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::SequenceDigest;
    use super::*;
    use crate::record::Header;

    const SPECIFICATION: &str = include_str!("../../docs/digest.md");

    fn record<'a>(
        timestamp: Option<i64>,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: &'a [Header<'a>],
    ) -> Record<'a> {
        Record { offset: 7, leader_epoch: Some(3), timestamp, key, value, headers }
    }

    /// The records of the specification, whose digests a second implementation computed.
    fn vectors() -> Vec<(RecordDigest, &'static str)> {
        let large: Vec<u8> = (0..1000u32).map(|i| (i % 251) as u8).collect();
        let repeated: [Header<'_>; 3] =
            [(b"trace", Some(b"abc")), (b"trace", None), (b"", Some(b""))];
        let binary: [Header<'_>; 1] = [(b"\xfe", Some(b"\x00"))];
        let mut scratch = Vec::new();
        let mut of = |record: Record<'_>, kept| RecordDigest::of(&record, kept, &mut scratch);
        vec![
            (of(record(None, None, None, &[]), true), "2f0a2e0bfd4885eb1b1f2bbce3a52f49"),
            (
                of(record(Some(1_700_000_000_000), None, None, &[]), false),
                "32324bd0176434f642f0e662ff1af296",
            ),
            (
                of(record(Some(0), Some(b""), Some(b""), &[]), true),
                "b6661adbd16811452c53cf087f865bce",
            ),
            (
                of(
                    record(
                        Some(1_700_000_000_123),
                        Some(b"customer-17"),
                        Some(br#"{"total":42}"#),
                        &repeated,
                    ),
                    true,
                ),
                "5d4754386552aa772259e937dbd513ff",
            ),
            (
                of(record(Some(-5), Some(b"\xff\x00"), Some(b"\x80"), &binary), true),
                "e49a5d95f36dffd100feb2a9bbc05c4f",
            ),
            (
                of(record(Some(1), Some(b"k"), Some(&large), &[]), true),
                "228de619a91e461d50069ab8f92d44d1",
            ),
        ]
    }

    #[test]
    fn record_digests_are_those_of_the_specification() {
        for (digest, expected) in vectors() {
            assert_eq!(digest.to_string(), expected);
            assert!(SPECIFICATION.contains(expected), "{expected} is not in docs/digest.md");
        }
    }

    #[test]
    fn sequence_digests_are_those_of_the_specification() {
        let records: Vec<RecordDigest> = vectors().into_iter().map(|(digest, _)| digest).collect();
        let sequences: [(SequenceDigest, &str); 5] = [
            (SequenceDigest::EMPTY, "0:0000000000000000:0000000000000000"),
            (records[..1].iter().copied().collect(), "1:1b1f2bbce3a52f49:0f0a2e0bfd4885ec"),
            (records[3..].iter().copied().collect(), "3:06a921dec639fd0c:1a02dcd158747285"),
            (records.iter().copied().collect(), "6:0fad0eda320a8770:13ad00d4ea6461eb"),
            (records.iter().rev().copied().collect(), "6:0608542e2474b8df:0caa39ee5e7a3f53"),
        ];
        for (digest, expected) in sequences {
            assert_eq!(digest.to_string(), expected);
            assert!(SPECIFICATION.contains(expected), "{expected} is not in docs/digest.md");
        }
    }

    #[test]
    fn offset_and_epoch_do_not_count() {
        let mut scratch = Vec::new();
        let here = record(Some(1), Some(b"k"), None, &[]);
        let there = Record { offset: 9_000, leader_epoch: None, ..here };
        assert_eq!(
            RecordDigest::of(&here, true, &mut scratch),
            RecordDigest::of(&there, true, &mut scratch)
        );
    }

    #[test]
    fn a_timestamp_that_is_not_kept_does_not_count() {
        let mut scratch = Vec::new();
        let of = |timestamp, scratch: &mut Vec<u8>| {
            RecordDigest::of(&record(timestamp, None, None, &[]), false, scratch)
        };
        assert_eq!(of(Some(5), &mut scratch), of(None, &mut scratch));
    }

    #[test]
    fn only_the_canonical_text_of_a_digest_is_read() {
        let text = "2f0a2e0bfd4885eb1b1f2bbce3a52f49";
        assert_eq!(text.parse::<RecordDigest>().map(|digest| digest.to_string()), Ok(text.into()));
        for wrong in
            ["", "2f", &text.to_uppercase(), &format!("+{}", &text[1..]), &format!("{text}0")]
        {
            assert!(wrong.parse::<RecordDigest>().is_err(), "{wrong}");
        }
    }

    type OwnedHeader = (Vec<u8>, Option<Vec<u8>>);

    #[derive(Debug, Clone, PartialEq)]
    struct Owned {
        timestamp: Option<i64>,
        key: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
        headers: Vec<OwnedHeader>,
    }

    /// Few bytes and short fields, so that two random records are often near misses of each other.
    fn owned() -> impl Strategy<Value = Owned> {
        let bytes = || prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..3);
        let field = move || prop::option::of(bytes());
        (
            prop::option::of(-1i64..2),
            field(),
            field(),
            prop::collection::vec((bytes(), field()), 0..3),
        )
            .prop_map(|(timestamp, key, value, headers)| Owned {
                timestamp,
                key,
                value,
                headers,
            })
    }

    fn canonical_of(owned: &Owned) -> Vec<u8> {
        let headers: Vec<Header<'_>> =
            owned.headers.iter().map(|(name, value)| (&**name, value.as_deref())).collect();
        let record =
            record(owned.timestamp, owned.key.as_deref(), owned.value.as_deref(), &headers);
        let mut out = vec![42];
        canonical(&record, true, &mut out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn different_records_have_different_canonical_bytes(a in owned(), b in owned()) {
            prop_assert_eq!(a == b, canonical_of(&a) == canonical_of(&b));
        }

        #[test]
        fn no_canonical_form_is_the_beginning_of_another(a in owned(), b in owned()) {
            prop_assume!(a != b);
            prop_assert!(!canonical_of(&a).starts_with(&canonical_of(&b)));
        }
    }
}
