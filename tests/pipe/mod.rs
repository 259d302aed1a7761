//! The pipe on real brokers, judged by the oracle.

mod crowd;
mod harness;
mod moves;
mod outages;
mod pace;
mod signals;
mod tail;
mod workers;
