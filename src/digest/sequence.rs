//! The number that stands for a sequence of records: order counts, and two of them compose.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ParseDigestError, RecordDigest, hex};

/// The Mersenne prime 2^61 − 1, the modulus of both lanes.
const P: u64 = (1 << 61) - 1;

/// Base of lane a: `xxh3-64("onceover sequence digest a <n>") mod P` with the smallest `n` ≥ 0 that
/// makes it a primitive root, so that no two positions of a sequence weigh the same.
const BASE_A: u64 = 0x1379_a64f_5ea7_de5d; // n = 4

/// Base of lane b: the same with `b` in the text.
const BASE_B: u64 = 0x098b_4225_7059_3854; // n = 10

/// Polynomial hash of record digests in two lanes modulo 2^61 − 1:
/// `h(x1 … xn) = x1·B^(n−1) + … + xn`.
///
/// A lane's element is half of the record digest reduced modulo 2^61 − 1 (lane a the low 64 bits,
/// lane b the high ones). An element may be 0, so a lane alone cannot tell `x` from `0, x`: the count
/// is part of the digest and always compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SequenceDigest {
    /// How many records.
    pub count: u64,
    /// Lane a, below 2^61 − 1.
    pub a: u64,
    /// Lane b, below 2^61 − 1.
    pub b: u64,
}

impl SequenceDigest {
    /// Digest of no records.
    pub const EMPTY: Self = Self { count: 0, a: 0, b: 0 };

    /// Appends one record.
    pub fn push(&mut self, record: RecordDigest) {
        let low = record.0 as u64;
        let high = (record.0 >> 64) as u64;
        self.count += 1;
        self.a = add(mul(self.a, BASE_A), reduce(low));
        self.b = add(mul(self.b, BASE_B), reduce(high));
    }

    /// Digest of the records of `self` followed by those of `other`.
    #[must_use]
    pub fn compose(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            a: add(mul(self.a, pow(BASE_A, other.count)), other.a),
            b: add(mul(self.b, pow(BASE_B, other.count)), other.b),
        }
    }

    /// Whether it stands for no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Default for SequenceDigest {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Extend<RecordDigest> for SequenceDigest {
    fn extend<I: IntoIterator<Item = RecordDigest>>(&mut self, records: I) {
        records.into_iter().for_each(|record| self.push(record));
    }
}

impl FromIterator<RecordDigest> for SequenceDigest {
    fn from_iter<I: IntoIterator<Item = RecordDigest>>(records: I) -> Self {
        let mut digest = Self::EMPTY;
        digest.extend(records);
        digest
    }
}

/// `x mod P` for any 64-bit `x`: 2^61 is 1 modulo P, so the high bits are added to the low ones.
fn reduce(x: u64) -> u64 {
    let folded = (x & P) + (x >> 61);
    if folded >= P { folded - P } else { folded }
}

/// `x + y mod P` for reduced operands.
fn add(x: u64, y: u64) -> u64 {
    reduce(x + y)
}

/// `x · y mod P` for reduced operands.
fn mul(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    reduce((product as u64 & P) + (product >> 61) as u64)
}

/// `base^exponent mod P` by repeated squaring.
fn pow(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul(power, base);
        }
        base = mul(base, base);
        exponent >>= 1;
    }
    power
}

impl fmt::Display for SequenceDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}:{:016x}", self.count, self.a, self.b)
    }
}

impl FromStr for SequenceDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let lane = |text| hex(text, 16).and_then(|lane| u64::try_from(lane).ok());
        let read = || {
            let mut parts = text.split(':');
            let count = parts.next()?.parse().ok()?;
            let digest = Self { count, a: lane(parts.next()?)?, b: lane(parts.next()?)? };
            // Rendering it again rejects what Rust's parser takes beyond the form: "+1", "01", a fourth part.
            (digest.a < P && digest.b < P && digest.to_string() == text).then_some(digest)
        };
        read().ok_or(ParseDigestError("`count:a:b` with 16 lower-case hexadecimal digits each"))
    }
}

impl Serialize for SequenceDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SequenceDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
