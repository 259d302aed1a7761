//! PROVE it: digest manifests of both sides, compared key by key.
//!
//! Shares nothing with the copying loop but the record digest.
//!
//! - [`key`]: the order of everything. [`manifest`]: what one side holds of one key. [`policy`]: what counts.
//! - [`difference`]: what a difference is. [`line`]: a record that is looked at in detail.
//! - [`spill`]: bounded memory: sorted runs on disk, merged again.

pub mod difference;
pub mod key;
pub mod line;
pub mod manifest;
pub mod policy;
pub mod spill;
