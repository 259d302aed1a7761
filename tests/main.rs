//! The one integration test binary.

mod brokers;
mod brokers_test;
mod cli;
mod cluster;
mod faults;
mod mirror_test;
mod oracle_test;
mod pipe;
mod reconcile;
mod sites;
