//! Planned faults on real brokers, judged by the oracle. A test that plans a fault asserts that it happened.

mod proxy;
mod random;
