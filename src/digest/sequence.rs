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
    #[inline]
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    /// The prime factors of P − 1.
    const FACTORS: [u64; 12] = [2, 3, 5, 7, 11, 13, 31, 41, 61, 151, 331, 1321];

    #[test]
    fn the_bases_are_what_their_documentation_derives() {
        let primitive = |base| base > 1 && FACTORS.iter().all(|f| pow(base, (P - 1) / f) != 1);
        for (lane, expected) in [("a", BASE_A), ("b", BASE_B)] {
            let derived = (0u32..)
                .map(|n| reduce(xxh3_64(format!("onceover sequence digest {lane} {n}").as_bytes())))
                .find(|base| primitive(*base));
            assert_eq!(derived, Some(expected), "lane {lane}");
        }
    }

    #[test]
    fn elements_are_reduced_at_the_edges() {
        let of = |low: u64, high: u64| -> SequenceDigest {
            [RecordDigest(u128::from(high) << 64 | u128::from(low))].into_iter().collect()
        };
        assert_eq!(of(P, P), SequenceDigest { count: 1, a: 0, b: 0 });
        assert_eq!(of(P - 1, P + 1), SequenceDigest { count: 1, a: P - 1, b: 1 });
        assert_eq!(of(u64::MAX, 0), SequenceDigest { count: 1, a: 7, b: 0 });
    }

    #[test]
    fn a_zero_element_is_told_from_none_by_the_count() {
        let zero: SequenceDigest = [RecordDigest(0)].into_iter().collect();
        assert_ne!(zero, SequenceDigest::EMPTY);
        assert_ne!(zero.compose(zero), zero);
    }

    #[test]
    fn only_the_canonical_text_of_a_sequence_is_read() {
        for right in ["0:0000000000000000:0000000000000000", "12:1b1f2bbce3a52f49:0f0a2e0bfd4885ec"]
        {
            assert_eq!(right.parse::<SequenceDigest>().map(|d| d.to_string()), Ok(right.into()));
        }
        for wrong in [
            "",
            "1:0:0",
            "+1:1b1f2bbce3a52f49:0f0a2e0bfd4885ec",
            "01:1b1f2bbce3a52f49:0f0a2e0bfd4885ec",
            "1:1b1f2bbce3a52f49:0f0a2e0bfd4885ec:",
            "1:1B1F2bbce3a52f49:0f0a2e0bfd4885ec",
            "1:1fffffffffffffff:0f0a2e0bfd4885ec", // P itself
        ] {
            assert!(wrong.parse::<SequenceDigest>().is_err(), "{wrong}");
        }
    }

    fn digests() -> impl Strategy<Value = Vec<RecordDigest>> {
        prop::collection::vec(any::<u128>().prop_map(RecordDigest), 0..20)
    }

    fn of(records: &[RecordDigest]) -> SequenceDigest {
        records.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn the_digest_of_a_whole_is_composed_from_its_pieces(x in digests(), y in digests()) {
            prop_assert_eq!(of(&x).compose(of(&y)), of(&[x, y].concat()));
        }

        #[test]
        fn composition_is_associative_and_empty_is_neutral(
            x in digests(), y in digests(), z in digests(),
        ) {
            let (x, y, z) = (of(&x), of(&y), of(&z));
            prop_assert_eq!(x.compose(y).compose(z), x.compose(y.compose(z)));
            prop_assert_eq!(x.compose(SequenceDigest::EMPTY), x);
            prop_assert_eq!(SequenceDigest::EMPTY.compose(x), x);
        }

        #[test]
        fn exchanging_two_records_is_noticed(
            records in digests(), i in any::<prop::sample::Index>(), j in any::<prop::sample::Index>(),
        ) {
            prop_assume!(!records.is_empty());
            let (i, j) = (i.index(records.len()), j.index(records.len()));
            prop_assume!(records[i] != records[j]);
            let mut exchanged = records.clone();
            exchanged.swap(i, j);
            prop_assert_ne!(of(&records), of(&exchanged));
        }

        #[test]
        fn arithmetic_modulo_the_prime_is_that_of_wide_integers(x in 0..P, y in 0..P, any in any::<u64>()) {
            let wide = |n: u128| (n % u128::from(P)) as u64;
            prop_assert_eq!(mul(x, y), wide(u128::from(x) * u128::from(y)));
            prop_assert_eq!(add(x, y), wide(u128::from(x) + u128::from(y)));
            prop_assert_eq!(reduce(any), any % P);
        }
    }
}
