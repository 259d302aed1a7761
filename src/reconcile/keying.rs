//! Whether keys and digests are what they are, or keyed hashes (`reconcile.keys = "hashed"`): then no key
//! and no value leaves the clusters, and nobody without the secret can try out what a hash stands for.
//!
//! `docs/digest.md`, "Keyed digests", says the same for a second implementation.

use std::fmt;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::digest::{RecordDigest, canonical};
use crate::plan::Secret;
use crate::record::Record;

/// Begins what is hashed for a key, so that a key's hash is never a record's digest.
const KEY_DOMAIN: &[u8] = b"onceover key v1\0";

/// Begins what is hashed for a record.
const RECORD_DOMAIN: &[u8] = b"onceover record v1\0";

/// All that is hashed to tell whether two secrets are the same.
const CHECK_DOMAIN: &[u8] = b"onceover check v1\0";

/// Bytes of what stands for a key.
pub const HASHED_KEY: usize = 32;

/// How keys and records are named in manifests, spill files and differences.
#[derive(Clone)]
pub enum Keying {
    /// Keys as they are, digests as in the ledger.
    Plain,
    /// Keyed hashes of both.
    Hashed(Box<Hashing>),
}

/// HMAC-SHA-256 under the plan's secret, one state per domain, ready to be copied for each use.
#[derive(Clone)]
pub struct Hashing {
    key: Hmac<Sha256>,
    record: Hmac<Sha256>,
    check: Hmac<Sha256>,
}

impl fmt::Debug for Keying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Hashed(_) => "Hashed(***)",
        })
    }
}

impl Keying {
    /// Hashes under `secret`, whose UTF-8 bytes are the HMAC's key.
    pub fn hashed(secret: &Secret) -> Self {
        let of = |domain: &[u8]| {
            let mut hmac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
                .expect("HMAC takes keys of any length");
            hmac.update(domain);
            hmac
        };
        Self::Hashed(Box::new(Hashing {
            key: of(KEY_DOMAIN),
            record: of(RECORD_DOMAIN),
            check: of(CHECK_DOMAIN),
        }))
    }

    /// Whether keys and digests are hashed.
    pub fn is_hashed(&self) -> bool {
        matches!(self, Self::Hashed(_))
    }

    /// Tells two secrets apart without telling either: 32 hexadecimal digits; `None` without a secret.
    pub fn check(&self) -> Option<String> {
        let Self::Hashed(hashing) = self else { return None };
        let hash = hashing.check.clone().finalize().into_bytes();
        Some(hash[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The key as it is named; no key stays no key. `scratch` is overwritten where keys are hashed.
    pub fn key<'a>(
        &self,
        key: Option<&'a [u8]>,
        scratch: &'a mut [u8; HASHED_KEY],
    ) -> Option<&'a [u8]> {
        match (self, key) {
            (Self::Hashed(hashing), Some(key)) => {
                let mut hmac = hashing.key.clone();
                hmac.update(key);
                *scratch = hmac.finalize().into_bytes().into();
                Some(scratch)
            }
            (_, key) => key,
        }
    }

    /// The record's digest; see [`RecordDigest::of`]. Keyed and plain ones never compare.
    pub fn digest(
        &self,
        record: &Record<'_>,
        timestamp_kept: bool,
        scratch: &mut Vec<u8>,
    ) -> RecordDigest {
        match self {
            Self::Plain => RecordDigest::of(record, timestamp_kept, scratch),
            Self::Hashed(hashing) => {
                canonical(record, timestamp_kept, scratch);
                let mut hmac = hashing.record.clone();
                hmac.update(scratch);
                let hash: [u8; HASHED_KEY] = hmac.finalize().into_bytes().into();
                let (first, _) = hash.as_chunks::<16>();
                RecordDigest(u128::from_be_bytes(first[0]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Header;

    const SPECIFICATION: &str = include_str!("../../docs/digest.md");

    fn keying() -> Keying {
        Keying::hashed(&Secret::new("correct horse battery staple"))
    }

    fn key(keying: &Keying, key: &[u8]) -> String {
        let mut scratch = [0; 32];
        let hash = keying.key(Some(key), &mut scratch).unwrap();
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn record<'a>(
        timestamp: Option<i64>,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: &'a [Header<'a>],
    ) -> Record<'a> {
        Record { offset: 7, leader_epoch: None, timestamp, key, value, headers }
    }

    #[test]
    fn hashed_keys_are_those_of_the_specification() {
        // Computed with Python's `hmac`.
        let vectors: [(&[u8], &str); 3] = [
            (b"", "ebdf0c522c8a8a31a5e12bee576b19425f853ce9bb7e2cb4291a9c3170065650"),
            (b"customer-17", "f96e81fee36a2bb14f2def19cad9f843e0436d3ea74cbf00e2e6f5a35a4d99b4"),
            (b"\xff\x00", "2665245c7a36ace8a4f31638d9e5f09a19c55024c6fcf85bdb3f5c8a400266af"),
        ];
        for (bytes, expected) in vectors {
            assert_eq!(key(&keying(), bytes), expected);
            assert!(SPECIFICATION.contains(expected), "{expected} is not in docs/digest.md");
        }
        // Longer than SHA-256's block: HMAC hashes such a secret first.
        assert_eq!(
            key(&Keying::hashed(&Secret::new("x".repeat(100))), b"k"),
            "e345200f375e7b09117ba2cd473a4c51e483cb110ec3e5b77ceaf22a67126223"
        );
    }

    #[test]
    fn keyed_digests_are_those_of_the_specification() {
        let repeated: [Header<'_>; 3] =
            [(b"trace", Some(b"abc")), (b"trace", None), (b"", Some(b""))];
        let binary: [Header<'_>; 1] = [(b"\xfe", Some(b"\x00"))];
        let (key, value): (&[u8], &[u8]) = (b"customer-17", br#"{"total":42}"#);
        let vectors = [
            (record(None, None, None, &[]), "22d37b3f336cf78081e5b966e6b901d2"),
            (
                record(Some(1_700_000_000_123), Some(key), Some(value), &repeated),
                "c46db81f09dcf487e97f1b9180d8b0a8",
            ),
            (
                record(Some(-5), Some(b"\xff\x00"), Some(b"\x80"), &binary),
                "dc67d91e6b798500bbf6bd1edab098f1",
            ),
        ];
        for (record, expected) in vectors {
            let digest = keying().digest(&record, true, &mut vec![42]);
            assert_eq!(digest.to_string(), expected);
            assert!(SPECIFICATION.contains(expected), "{expected} is not in docs/digest.md");
        }
    }

    #[test]
    fn plain_keys_and_digests_are_what_they_are() {
        let mut scratch = [42; 32];
        assert_eq!(Keying::Plain.key(Some(b"k"), &mut scratch), Some(&b"k"[..]));
        assert_eq!(scratch, [42; 32]);
        let record = record(Some(5), Some(b"k"), None, &[]);
        for kept in [true, false] {
            assert_eq!(
                Keying::Plain.digest(&record, kept, &mut Vec::new()),
                RecordDigest::of(&record, kept, &mut Vec::new())
            );
        }
    }

    #[test]
    fn secrets_are_told_apart_by_the_number_of_the_specification() {
        let check = keying().check().unwrap();
        assert_eq!(check, "aaded04de0faf56ddbe86a28d111ef0d");
        assert!(SPECIFICATION.contains(&check), "{check} is not in docs/digest.md");
        assert_ne!(Keying::hashed(&Secret::new("another")).check(), Some(check));
        assert_eq!(Keying::Plain.check(), None);
    }

    #[test]
    fn no_key_stays_no_key_and_is_no_empty_key() {
        let mut scratch = [0; 32];
        assert_eq!(keying().key(None, &mut scratch), None);
        assert!(keying().key(Some(b""), &mut scratch).is_some());
    }

    #[test]
    fn a_keyed_digest_leaves_the_timestamp_out_where_it_is_not_kept() {
        let of = |time, kept| {
            keying().digest(&record(Some(time), None, None, &[]), kept, &mut Vec::new())
        };
        assert_eq!(of(1, false), of(2, false));
        assert_ne!(of(1, true), of(2, true));
    }

    #[test]
    fn another_secret_gives_other_hashes_and_no_secret_is_shown() {
        let other = Keying::hashed(&Secret::new("correct horse battery stable"));
        assert_ne!(key(&keying(), b"k"), key(&other, b"k"));
        assert_eq!(format!("{other:?}"), "Hashed(***)");
    }
}
