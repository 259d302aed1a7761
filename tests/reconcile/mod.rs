//! Proofs on real brokers: what `onceover reconcile` says of copies whose faults are known.
//!
//! - [`files`] reads what a proof leaves.
//! - [`copied`] is what onceover has copied and somebody may spoil, [`tampered`] a copy with faults that
//!   was made without it.

mod beginnings;
mod cleaned_copies;
mod cleaning;
mod compacted;
mod copied;
mod files;
mod hashed;
mod incremental;
mod keyed;
mod keyless;
mod live;
mod log_starts;
mod mirrored;
mod stopped;
mod tampered;
mod verified_elsewhere;
mod writers;
