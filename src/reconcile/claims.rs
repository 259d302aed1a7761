//! What the ledger claims: read from its beginning, so that every record ever carried has its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::part::Claim;
use crate::error::{Error, Result, Side};
use crate::ledger::{ControlState, Entry, LaneState, LedgerReader, ReadError, ReplayError, Runs};
use crate::plan::TopicPartition;
use crate::report::Board;

/// How long a transaction may stay open on a ledger partition: the pipe's own time-outs are shorter.
const OPEN_TRANSACTION: Duration = Duration::from_secs(180);

/// Between two looks at a ledger partition with an open transaction.
const TICK: Duration = Duration::from_millis(100);

/// The whole ledger.
pub struct Ledger {
    /// By source partition.
    pub claims: BTreeMap<TopicPartition, Arc<Claim>>,
    /// The control partition.
    pub control: ControlState,
    /// Number of the control partition.
    pub control_partition: u32,
}

/// Reads everything that is committed now. `partitions` is how many the ledger topic has.
pub fn read_ledger(ledger: &LedgerReader, partitions: u32, board: &Board) -> Result<Ledger> {
    let mut claims = BTreeMap::new();
    let control_partition = partitions.saturating_sub(1);
    for lane in 0..control_partition {
        let until = settled(ledger, lane, board)?;
        let mut runs: BTreeMap<TopicPartition, Runs> = BTreeMap::new();
        let mut state = LaneState::default();
        ledger.entries(lane, 0, until, &mut |offset, entry| {
            if let Entry::Carry(carry) = &entry {
                for part in &carry.partitions {
                    let map = runs.entry(part.at()).or_default();
                    map.append(&part.runs).map_err(|error| ReplayError::Damaged {
                        offset,
                        what: format!("`{}`: {error}", part.at()),
                    })?;
                }
            }
            state.apply(offset, entry)
        })?;
        state.check_end().map_err(|error| ReadError::Damaged(error.to_string()))?;
        claims.extend(state.partitions.into_iter().map(|(at, state)| {
            let runs = runs.remove(&at).unwrap_or_default();
            (at, Arc::new(Claim { state, runs }))
        }));
    }
    let mut control = ControlState::default();
    let until = settled(ledger, control_partition, board)?;
    ledger
        .entries(control_partition, 0, until, &mut |offset, entry| control.apply(offset, entry))?;
    Ok(Ledger { claims, control, control_partition })
}

/// Up to where a ledger partition can be read, once no transaction is open below what is there now.
fn settled(ledger: &LedgerReader, number: u32, board: &Board) -> Result<i64> {
    let ends = ledger.ends(number)?;
    if ends.log_start > 0 {
        let what = format!("ledger `{}` has lost its beginning", ledger.partition(number));
        return Err(Error::refused("ledger-damaged", what)
            .hint("`--no-ledger` compares whole logs without it"));
    }
    let deadline = Instant::now() + OPEN_TRANSACTION;
    let mut stable = ends.last_stable;
    while stable < ends.log_end {
        if Instant::now() > deadline {
            let what = format!(
                "a transaction stays open on ledger `{}` (last stable offset {stable}, log end {})",
                ledger.partition(number),
                ends.log_end
            );
            return Err(Error::cluster(Side::Target, what).hint(
                "kafka-transactions.sh --describe-producers on that partition finds its producer",
            ));
        }
        board
            .wait("proof", format!("an open transaction on ledger `{}`", ledger.partition(number)));
        std::thread::sleep(TICK);
        stable = ledger.ends(number)?.last_stable;
    }
    board.go_on("proof");
    Ok(ends.log_end)
}
