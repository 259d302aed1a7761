//! Bounded memory, whatever the number of keys: sorted runs on disk, merged again in one order.
//!
//! ```text
//! records of one reader ──> Collector (folds into manifests) ─┐ run files     ┌─> Merged ─┐
//!                       └─> Sorter (keeps every line)        ─┴─ and a rest ──┘           ├─> join
//!                                        (in memory)            merge    the other side ─┘
//! ```
//!
//! What arrows carry is in the order of [`KeyAt`](super::key::KeyAt), and nothing is lost on the way
//! without an error: a run file ends with the number of its entries and a checksum. A reader of
//! [`Merged`] knows that everything was whole only when it has read to the end.
//!
//! - Words: `stored` and `varint` (bytes of an entry), `current` (a key that is looked at), `error`.
//! - Memory: `arena` and `chunks` (grow without copying), `table`, `fold` and `lines` (the two
//!   tables), `name`, `rows` and `index` (of the fold), `spilling` (what both do when they are full),
//!   `collector`, `sorter`.
//! - Disk: `dir` (the folder), `write` and `read` (one run file).
//! - Order: `contest` (which of many is next), `runs`, `merge`, `levels` (too many
//!   files at once), `join`.

mod arena;
mod chunks;
mod collector;
mod contest;
mod current;
mod dir;
mod error;
mod fold;
mod index;
mod join;
mod levels;
mod lines;
mod merge;
mod name;
mod read;
mod rows;
mod runs;
mod sorter;
mod spilling;
mod stored;
mod table;
mod varint;
mod write;

#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod model_tests;

pub use collector::Collector;
pub use dir::{PREFIX, SpillDir};
pub use error::SpillError;
pub use join::join;
pub use levels::Limits;
pub use merge::{Merged, merge};
pub use runs::Runs;
pub use sorter::Sorter;
pub use stored::Stored;
