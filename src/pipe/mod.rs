//! MOVE it: supervisor, lane, batch rule, refusals.

pub mod engine;
