//! The pipe on real brokers, judged by the oracle.

mod harness;
mod moves;
mod refusals;
mod refusals_disk;
mod refusals_group;
mod refusals_ledger;
mod refusals_plan;
mod refusals_source;
mod refusals_target;
mod refusals_worker;
