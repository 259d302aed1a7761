//! Real Apache Kafka clusters for tests, benchmarks and examples.
//!
//! Shared by including the file: `mod brokers;` in the test binary,
//! `#[path = "../tests/brokers/mod.rs"] mod brokers;` in benches and examples. It shares no code
//! with the library, so that it can bear witness against it.
//!
//! - [`java`] finds a JDK, or says what to install.
//! - [`distribution`] fetches a pinned Apache Kafka once, by `pom.xml`, into the build folder.
//! - [`run`] is the folder of this process's logs and data, [`ports`] its free ports.
//! - [`jvm`] is one Java process that cannot outlive its owner.
//! - [`cluster`] starts, stops, kills, pauses and restarts brokers, [`properties`] are theirs.
//! - [`mirror`] is Kafka's own MirrorMaker 2, to be started, killed and started again.
//! - [`oracle`] is a second client, Apache Kafka's own: it writes, reads, steers and compares.
//! - [`shared`] holds the two clusters that all tests of a binary use.
#![allow(dead_code, unused_imports)] // each includer uses a part

pub mod cluster;
pub mod distribution;
pub mod error;
pub mod java;
pub mod jvm;
pub mod mirror;
pub mod oracle;
pub mod ports;
pub mod properties;
pub mod run;
pub mod shared;

pub use cluster::{Builder, Cluster};
pub use error::Error;
pub use mirror::MirrorMaker;
pub use oracle::{Fault, Isolation, Numbered, Oracle, Record, Stored, Writing};
