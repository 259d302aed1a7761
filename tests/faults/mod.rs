//! Faults on purpose, and what they leave on the target, judged by the oracle. A test that plans a fault
//! asserts that it happened. `docs/faults.md` tells how to run and read it.

mod ledger;
mod lineage;
mod obstacles;
#[cfg(feature = "failpoints")]
mod points;
mod proxy;
pub mod random;
