//! The numbers that stand for a record and for a sequence of records.
//!
//! `docs/digest.md` specifies both, with test vectors, for a second implementation. They guard
//! against accidents, not against an adversary.

mod record;
mod sequence;

pub use record::{RecordDigest, canonical};
pub use sequence::SequenceDigest;

use std::fmt;

/// A digest's text form that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDigestError(&'static str);

impl fmt::Display for ParseDigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a digest: expected {}", self.0)
    }
}

impl std::error::Error for ParseDigestError {}

/// Reads exactly `digits` lower-case hexadecimal digits; anything else is not the canonical text.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let canonical = text.len() == digits
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if canonical { u128::from_str_radix(text, 16).ok() } else { None }
}
