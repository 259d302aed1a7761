//! The pipe on real brokers, judged by the oracle.

mod fidelity;
mod harness;
mod moves;
