//! What the ledger claims: read from its beginning, so that every record ever carried has its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::part::Claim;
use crate::error::{Error, Result, Side};
use crate::ledger::{
    Carry, ControlState, Ends, Entry, LaneState, LedgerReader, ReadError, ReplayError, Runs,
};
use crate::plan::TopicPartition;
use crate::report::Board;

/// How long a transaction may stay open on a ledger partition: the pipe's own time-outs are shorter.
const OPEN_TRANSACTION: Duration = Duration::from_secs(180);

/// Between two looks at ledger partitions with open transactions.
const TICK: Duration = Duration::from_millis(100);

/// The whole ledger, up to some moment.
pub struct Ledger {
    lanes: Vec<Lane>,
    /// The control partition.
    pub control: ControlState,
    read_to: Vec<i64>,
}

#[derive(Default)]
struct Lane {
    state: LaneState,
    runs: BTreeMap<TopicPartition, Runs>,
}

impl Ledger {
    /// Nothing read yet of a ledger topic with so many partitions.
    pub fn new(partitions: usize) -> Self {
        let lanes = (1..partitions).map(|_| Lane::default()).collect();
        Self { lanes, control: ControlState::default(), read_to: vec![0; partitions] }
    }

    /// Number of the control partition: the last one.
    pub fn control_partition(&self) -> u32 {
        u32::try_from(self.lanes.len()).unwrap_or(u32::MAX)
    }

    /// Reads on to everything that is committed now.
    pub fn catch_up(&mut self, ledger: &LedgerReader, board: &Board) -> Result<()> {
        let ends = settled(ledger, self.control_partition() + 1, board)?;
        let ranges: Vec<(u32, i64, i64)> =
            (0..).zip(&self.read_to).zip(&ends).map(|((n, from), end)| (n, *from, *end)).collect();
        let Self { lanes, control, .. } = self;
        ledger.entries_of(&ranges, &mut |number, offset, entry| match lanes
            .get_mut(number as usize)
        {
            None => control.apply(offset, entry),
            Some(lane) => {
                if let Entry::Carry(carry) = &entry {
                    lane.note(offset, carry)?;
                }
                lane.state.apply(offset, entry)
            }
        })?;
        for lane in lanes {
            lane.state.check_end().map_err(|error| ReadError::Damaged(error.to_string()))?;
        }
        self.read_to = ends;
        Ok(())
    }

    /// Bound source partitions and their target partitions.
    pub fn pairs(&self) -> impl Iterator<Item = (TopicPartition, TopicPartition)> {
        self.lanes.iter().flat_map(|lane| &lane.state.partitions).map(|(at, state)| {
            (at.clone(), TopicPartition::new(state.target_topic.clone(), at.partition))
        })
    }

    /// Ids of source and target cluster, as bound.
    pub fn cluster_ids(&self) -> Option<(&str, &str)> {
        let header = self.lanes.iter().find_map(|lane| lane.state.header.as_ref())?;
        Some((&header.source_cluster, &header.target_cluster))
    }

    /// What it says of each source partition. To be called once: it is moved out.
    pub fn take_claims(&mut self) -> BTreeMap<TopicPartition, Arc<Claim>> {
        let mut claims = BTreeMap::new();
        for lane in &mut self.lanes {
            let states = std::mem::take(&mut lane.state.partitions);
            claims.extend(states.into_iter().map(|(at, state)| {
                let runs = lane.runs.remove(&at).unwrap_or_default();
                (at, Arc::new(Claim { state, runs }))
            }));
        }
        claims
    }
}

impl Lane {
    /// Parts of a carry come in the order of their runs.
    fn note(&mut self, offset: i64, carry: &Carry) -> Result<(), ReplayError> {
        for part in &carry.partitions {
            let runs = self.runs.entry(part.at()).or_default();
            runs.append(&part.runs).map_err(|error| ReplayError::Damaged {
                offset,
                what: format!("`{}`: {error}", part.at()),
            })?;
        }
        Ok(())
    }
}

/// Up to where each ledger partition can be read, once no transaction is open below what is there now.
fn settled(ledger: &LedgerReader, partitions: u32, board: &Board) -> Result<Vec<i64>> {
    let ends = ledger.all_ends(partitions)?;
    let named = |number: usize| ledger.partition(u32::try_from(number).unwrap_or(u32::MAX));
    if let Some(lost) = ends.iter().position(|ends| ends.log_start > 0) {
        let what = format!("ledger `{}` has lost its beginning", named(lost));
        return Err(Error::refused("ledger-damaged", what)
            .hint("`--no-ledger` compares whole logs without it"));
    }
    let deadline = Instant::now() + OPEN_TRANSACTION;
    let behind = |stable: &[i64]| {
        stable.iter().zip(&ends).position(|(stable, ends): (&i64, &Ends)| *stable < ends.log_end)
    };
    let mut stable: Vec<i64> = ends.iter().map(|ends| ends.last_stable).collect();
    while let Some(number) = behind(&stable) {
        let open = format!("the open transaction on ledger `{}`", named(number));
        if Instant::now() > deadline {
            let what = format!("gave up waiting for {open}");
            return Err(Error::cluster(Side::Target, what).hint(
                "kafka-transactions.sh --describe-producers on that partition finds its producer",
            ));
        }
        board.wait("proof", open);
        std::thread::sleep(TICK);
        stable = ledger.last_stable(partitions)?;
    }
    board.go_on("proof");
    Ok(ends.into_iter().map(|ends| ends.log_end).collect())
}
