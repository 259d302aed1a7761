//! Faults on purpose, and what they leave on the target, judged by the oracle. `docs/faults.md` tells how
//! to run and read it.

mod ledger;
#[cfg(feature = "failpoints")]
mod points;
