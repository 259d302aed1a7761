//! SAY it: the board of observable facts, progress, status, summary. Nothing here touches the network.

pub mod board;

pub use board::{Board, Snapshot, Wait};
