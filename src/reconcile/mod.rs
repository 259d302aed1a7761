//! PROVE it: digest manifests of both sides, compared key by key.
//!
//! Shares nothing with the copying loop but the record digest.
//!
//! - Words: [`key`] (the order of everything), [`manifest`] (what one side holds of one key), [`policy`]
//!   (what counts), [`line`] (a record that is looked at in detail), [`difference`], [`keying`] (how keys
//!   are named), [`part`] (one partition of a proof), [`tally`] (its line in `partitions.csv`).
//! - [`scope`]: which partitions and ranges, from both clusters and the ledger ([`claims`]); without one
//!   `align` finds where both sides begin.
//! - [`read`]: both sides at once. [`fold`]: the first reading. [`spill`]: within bounded memory.
//! - [`judge`]: the rules that find differences. [`suspects`] are read again by `second`: [`detail`]; `large`
//!   where a key has more records than memory takes.
//! - [`sites`]: each side read by itself, where no record may cross the link, and compared elsewhere.
//! - `pass`: one proof from beginning to end; `resume` and [`verified`]: behind an earlier one; `compared`,
//!   `proof` and `verdict`: what it comes to. [`aborted`]: what a consumer would see that reads uncommitted.

pub mod aborted;
mod align;
pub mod budget;
pub mod claims;
mod compared;
pub mod detail;
pub mod difference;
pub mod fold;
pub mod judge;
pub mod key;
pub mod keying;
mod large;
pub mod line;
mod look;
pub mod manifest;
pub mod part;
mod pass;
pub mod policy;
mod proof;
pub mod read;
mod resume;
pub mod scope;
mod second;
pub mod sites;
pub mod spill;
pub mod suspects;
pub mod tally;
mod verdict;
pub mod verified;

pub use pass::{Options, prove};
