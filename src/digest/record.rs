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
