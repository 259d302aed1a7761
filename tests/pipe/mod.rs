//! The pipe on real brokers, judged by the oracle.

mod harness;
mod moves;
