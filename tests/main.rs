//! The one integration test binary.

mod brokers;
mod brokers_test;
mod cli;
