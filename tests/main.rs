//! The one integration test binary.

mod brokers;
mod brokers_test;
mod cluster;
mod oracle_test;
