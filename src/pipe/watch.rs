//! Follows the whole ledger, so that every worker knows how far the plan is; and, in the worker that
//! owns the last ledger partition, does the control work: header, fence, done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cluster::{At, ControlWriter};
use crate::error::{Error, Result, Side};
use crate::ledger::{Done, Entry, Fence, Header, MAX_PART_BYTES, Override, Refused, Role, encode};
use crate::pipe::ask::Ask;
use crate::pipe::clusters::Clusters;
use crate::pipe::decide::PATIENCE;
use crate::pipe::plan_entry::plan_entry;
use crate::pipe::shared::{Shared, now_ms};
use crate::plan::PlanField;

/// How often the ledger's ends are asked for.
const EVERY: Duration = Duration::from_millis(200);

/// Flags between the supervisor and the watch.
#[derive(Debug, Default)]
pub struct Duty {
    /// Whether this worker owns the control partition.
    pub control: AtomicBool,
    /// Whether the watch is to end.
    pub end: AtomicBool,
}

/// Follows the ledger until told to end. `news` is called after every change, `failed` when the
/// ledger cannot be trusted or the control work cannot be done.
pub fn watch(shared: &Shared, duty: &Duty, news: &dyn Fn(), failed: &dyn Fn(Error)) {
    let mut read_to = vec![0; shared.bound.lanes as usize + 1];
    let (fields, hash) = (shared.plan.fields(), shared.plan.hash());
    let mut writer = None;
    let mut trouble: Option<Instant> = None;
    while !duty.end.load(Ordering::Relaxed) {
        let round = follow(shared, &mut read_to).and_then(|changed| {
            if changed {
                shared.view.announce();
                news();
            }
            let control = duty.control.load(Ordering::Relaxed);
            if control { control_work(shared, &fields, &hash, &mut writer) } else { Ok(()) }
        });
        match round {
            Ok(()) => {
                trouble = None;
                shared.board.go_on("control");
            }
            // The same patience as a lane's: whoever waits for ever only looks alive.
            Err(error)
                if error.retryable
                    && trouble.get_or_insert_with(Instant::now).elapsed() < PATIENCE =>
            {
                tracing::warn!(%error, "the ledger could not be followed; trying again");
                shared.board.wait("control", format!("the target: {}", error.what));
            }
            Err(error) => return failed(error),
        }
        // Lanes that reach the fence, and other workers, are seen with this delay at most.
        std::thread::sleep(EVERY);
    }
}

/// Brings the view up to date; tells whether anything changed.
fn follow(shared: &Shared, read_to: &mut [i64]) -> Result<bool> {
    let ledger = &shared.clusters.ledger;
    let ends = ledger.last_stable(shared.bound.lanes + 1)?;
    let mut changed = false;
    for (number, until) in (0u32..).zip(ends) {
        let read = &mut read_to[number as usize];
        if *read >= until {
            continue;
        }
        // Read outside the lock: a lane that asks for the fence must not wait for the network.
        if number == shared.scope.control() {
            let mut control = shared.view.seen().control.clone();
            let from = control.next_offset.max(*read);
            ledger.entries(number, from, until, &mut |offset, entry| {
                changed = true;
                control.apply(offset, entry)
            })?;
            shared.view.seen().control = control;
        } else {
            let mut lane = shared.view.seen().lanes[number as usize].clone();
            changed |= ledger.catch_up(number, &mut lane, until)?;
            shared.view.seen().lanes[number as usize] = lane;
        }
        *read = until;
    }
    Ok(changed)
}

fn control_work(
    shared: &Shared,
    fields: &[PlanField],
    hash: &str,
    writer: &mut Option<ControlWriter>,
) -> Result<()> {
    let (no_header, plan, unrecorded) = {
        let control = &shared.view.seen().control;
        let known = control.plan_changes.iter().map(|(_, change)| change);
        let unrecorded = unrecorded(&control.overrides, &shared.overrides);
        (control.header.is_none(), plan_entry(known, fields, hash, now_ms()), unrecorded)
    };
    if no_header {
        return append(shared, writer, &[Entry::Header(control_header(shared))]);
    }
    if let Some(change) = plan {
        return append(shared, writer, &[Entry::Plan(change)]);
    }
    if !unrecorded.is_empty() {
        let entries: Vec<Entry> = unrecorded.into_iter().map(Entry::Override).collect();
        return append(shared, writer, &entries);
    }
    if shared.tail {
        return Ok(());
    }
    if let Some(fence) = shared.view.to_be_called_done() {
        return append(shared, writer, &[Entry::Done(done(shared, &fence))]);
    }
    if shared.view.fence().is_none() {
        let fence = take_fence(shared)?;
        return append(shared, writer, &fence.into_parts(MAX_PART_BYTES));
    }
    Ok(())
}

/// Of what the plan takes responsibility for now, what the ledger does not hold yet.
fn unrecorded(recorded: &[(i64, Override)], now: &[Override]) -> Vec<Override> {
    let same = |a: &Override, b: &Override| {
        (&a.what, &a.topics, &a.reason) == (&b.what, &b.topics, &b.reason)
    };
    let known = |one: &&Override| recorded.iter().any(|(_, old)| same(old, one));
    now.iter().filter(|one| !known(one)).cloned().collect()
}

fn control_header(shared: &Shared) -> Header {
    Header {
        plan: shared.bound.plan.clone(),
        generation: 1,
        lanes: shared.bound.lanes,
        source_cluster: shared.bound.source_cluster.clone(),
        target_cluster: shared.bound.target_cluster.clone(),
        partition_role: Role::Control,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created: now_ms(),
    }
}

/// All high watermarks in one round: one point in time that an auditor can name.
fn take_fence(shared: &Shared) -> Result<Fence> {
    let sources: Vec<_> = shared.scope.pairs.iter().map(|pair| pair.source.clone()).collect();
    let at = now_ms();
    let mut marks = Vec::with_capacity(sources.len());
    for (partition, answer) in shared.clusters.offsets(Side::Source, &sources, At::LogEnd)? {
        marks.push((partition, answer?.offset));
    }
    let id = format!("{at}-{}", shared.worker);
    tracing::info!(fence = %id, partitions = marks.len(), "fence taken");
    Ok(Fence::new(id, at, shared.worker.clone(), marks))
}

fn done(shared: &Shared, fence: &Fence) -> Done {
    let seen = shared.view.seen();
    let states = seen.lanes.iter().flat_map(|lane| lane.partitions.values());
    let (records, bytes) =
        states.fold((0, 0), |(records, bytes), s| (records + s.records, bytes + s.bytes));
    let (fence, worker) = (fence.id.clone(), shared.worker.clone());
    Done { fence, at: now_ms(), worker, records, bytes }
}

fn append(shared: &Shared, writer: &mut Option<ControlWriter>, entries: &[Entry]) -> Result<()> {
    let partition = shared.clusters.ledger.partition(shared.scope.control());
    for entry in entries {
        let mut open = match writer.take() {
            Some(open) => open,
            None => ControlWriter::open(&shared.clusters.target)?,
        };
        // After an error the writer is not used again.
        open.append(&partition, &encode(entry))?;
        *writer = Some(open);
    }
    Ok(())
}

/// Writes into the control partition that a run was refused, so that all workers end with its code.
/// Before there is a ledger nothing is written.
pub fn write_refused(clusters: &Clusters, worker: &str, error: &Error) -> Result<()> {
    let ledger = clusters.ledger.topic();
    let topic = clusters.target_admin.describe(&[ledger])?.remove(ledger).flatten();
    let Some(partitions) = topic.and_then(|topic| u32::try_from(topic.partitions).ok()) else {
        return Ok(());
    };
    let control = partitions.saturating_sub(1);
    if partitions < 2 || clusters.ledger.ends(control)?.log_end == 0 {
        return Ok(());
    }
    let entry = Entry::Refused(Refused {
        word: error.word().to_owned(),
        what: error.what.clone(),
        at: now_ms(),
        worker: worker.to_owned(),
    });
    let partition = clusters.ledger.partition(control);
    ControlWriter::open(&clusters.target)?.append(&partition, &encode(&entry))?;
    Ok(())
}

/// A watch in a thread of its own.
pub fn start(
    shared: &Arc<Shared>,
    duty: &Arc<Duty>,
    news: impl Fn() + Send + 'static,
    failed: impl Fn(Error) + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    let (shared, duty) = (shared.clone(), duty.clone());
    std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || watch(&shared, &duty, &news, &failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_plan_allows_is_recorded_once_and_again_with_another_reason() {
        let one = |reason: &str, at| Override {
            what: "retention".into(),
            topics: vec!["orders".into()],
            reason: reason.into(),
            at,
        };
        let recorded = [(4, one("agreed", 1))];
        assert_eq!(unrecorded(&recorded, &[one("agreed", 9)]), []);
        assert_eq!(unrecorded(&recorded, &[one("asked again", 9)]), [one("asked again", 9)]);
        assert_eq!(unrecorded(&[], &[one("agreed", 9)]), [one("agreed", 9)]);
    }
}
