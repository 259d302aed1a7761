//! The pipe on real brokers, judged by the oracle.

pub mod crowd;
mod fidelity;
pub mod harness;
mod moves;
mod outages;
mod pace;
mod refusals;
mod refusals_deletions;
mod refusals_disk;
mod refusals_group;
mod refusals_ledger;
mod refusals_plan;
mod refusals_source;
mod refusals_target;
mod refusals_worker;
mod rights;
mod signals;
mod tail;
mod workers;

/// Bytes that no compression makes smaller (xorshift).
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(next).collect()
}
