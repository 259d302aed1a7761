//! onceover moves Kafka topics from one cluster to another exactly once, and proves it.
//!
//! # Layout
//!
//! Read from top to bottom it is the order in which a migration happens.
//!
//! - [`plan`]: WHAT to move. The plan file, topic selection, naming, lanes. Pure.
//! - [`cluster`]: the two clusters. The only folder that names rdkafka types.
//! - [`ledger`]: what was moved. Entries, replay, runs and offset translation. Pure, with a thin reader.
//! - [`check`]: CAN we move it. One named check per rule.
//! - [`pipe`]: MOVE it. Supervisor, lane, batch rule, refusals.
//! - [`reconcile`]: PROVE it. Manifests, spill and merge, differences.
//! - [`report`]: SAY it. Progress, status, summary.
//! - [`digest`] and [`record`]: what a record is, and the number that stands for it.
//! - [`error`]: which side, what, what to do next, and the exit code.

pub mod check;
pub mod cli;
pub mod cluster;
pub mod digest;
pub mod error;
pub mod ledger;
pub mod pipe;
pub mod plan;
pub mod reconcile;
pub mod record;
pub mod report;
pub mod verbs;
mod wired;
