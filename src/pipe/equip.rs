//! A lane's equipment: its clients, and their share of the worker's memory and of the plan's rate.

use std::sync::Arc;

use crate::cluster::{Membership, ReaderTuning, SourceReader, TransactionalWriter, WriterTuning};
use crate::pipe::decide::retry_backoff;
use crate::pipe::failpoint;
use crate::pipe::lane::{Lane, LaneEnd};
use crate::pipe::shared::{Shared, TRANSACTION_TIMEOUT};
use crate::pipe::stop::Stop;

/// A lane's partition of the ledger.
pub fn lane_partition(lane: u32) -> i32 {
    i32::try_from(lane).unwrap_or(i32::MAX)
}

/// Opens the lane's clients and runs it to its end. `lanes_here` share the worker's memory.
pub fn run_lane(
    number: u32,
    shared: &Arc<Shared>,
    membership: &Arc<Membership>,
    lanes_here: usize,
    stop: Stop,
) -> LaneEnd {
    let plan = &shared.plan;
    let memory = usize::try_from(plan.run.memory).unwrap_or(usize::MAX) / lanes_here;
    let reader = reader_tuning(memory, plan.run.max_rate, shared.scope.lanes);
    let writer = WriterTuning {
        // Measured on 6 lanes: 4 MB each take 35 MB of resident memory less than 7 MB, at the same rate.
        queue_bytes: memory / 10,
        batch_bytes: 0, // the lane sets it before its first fence
        transaction_timeout: failpoint::transaction_timeout(TRANSACTION_TIMEOUT),
        retry_backoff: retry_backoff(shared.round_trip),
        one_by_one: false,
    };
    let source = match SourceReader::open(&shared.clusters.source, &plan.group(), reader) {
        Ok(source) => source,
        Err(error) => return LaneEnd::Failed(error.into()),
    };
    let partition = lane_partition(number);
    let target = TransactionalWriter::new(
        &shared.clusters.target,
        &plan.transactional_id(number),
        writer,
        membership.clone(),
        partition,
    );
    let member = membership.clone();
    let member = Box::new(move || member.owns(partition));
    Lane::new(number, shared.clone(), (source, target), stop, member).run()
}

/// A lane's fetch queue: a sixth of its memory, since librdkafka needs as much again for each record, and
/// what was polled is held beside it (measured); with `max_rate` at most two seconds' worth of the
/// lane's share, so that reading is bounded as writing is, and the first rush stays small.
fn reader_tuning(memory: usize, max_rate: Option<u64>, lanes: u32) -> ReaderTuning {
    /// Measured: more does not help.
    const FETCH: usize = 4 << 20;
    let two_seconds = max_rate.map_or(u64::MAX, |rate| rate / u64::from(lanes.max(1)) * 2);
    let two_seconds = usize::try_from(two_seconds).unwrap_or(usize::MAX);
    let queue_bytes = (memory / 6).min(two_seconds).max(64 << 10);
    ReaderTuning { queue_bytes, fetch_bytes: FETCH.min(queue_bytes / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_lanes_fetch_ahead_is_two_seconds_worth_of_the_plans_rate() {
        let queue = |lanes| reader_tuning(256 << 20, Some(8 << 20), lanes).queue_bytes;
        assert_eq!((queue(1), queue(8)), (16 << 20, 2 << 20));
        assert_eq!(reader_tuning(96 << 20, None, 8).queue_bytes, 16 << 20);
    }
}
