//! PROVE it: digest manifests of both sides, compared key by key.
//!
//! Shares nothing with the copying loop but the record digest.
//!
//! - [`key`]: the order of everything. [`manifest`]: what one side holds of one key. [`policy`]: what counts.
//! - [`keying`]: keys and digests as they are, or hashed.
//! - [`difference`]: what a difference is. [`line`]: a record that is looked at in detail.

pub mod difference;
pub mod key;
pub mod keying;
pub mod line;
pub mod manifest;
pub mod policy;
