//! Reads many partitions of both sides at once, on as many threads as there are cores and per side.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::cluster::{Connection, Isolation, LogRange, LogReader, Reached};
use crate::error::{Error, Result, Side};
use crate::plan::TopicPartition;
use crate::record::Record;
use crate::report::Board;

/// Partitions that one reader takes together, and the offsets that they may span unless it is one alone:
/// small ones would cost a round trip each, large ones would leave other threads without work.
const TOGETHER: usize = 100;
const TOGETHER_OFFSETS: i64 = 200_000;

/// Records between two looks at the board.
const TELL_EVERY: u64 = 4_096;

/// What to read of one side of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Index of the part.
    pub part: usize,
    /// Where.
    pub range: LogRange,
    /// What it is called on the board.
    pub shown: TopicPartition,
}

/// Takes the records of whole partitions, each in its order.
pub trait Sink: Send {
    /// The next record of a part.
    fn take(&mut self, part: usize, record: &Record<'_>) -> Result<()>;
    /// The part was read to its end.
    fn end(&mut self, part: usize, position: i64) -> Result<()>;
    /// No part follows: what can be done while other threads still read.
    fn done(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What one side's reading came to.
pub struct Outcome<S> {
    /// One for each thread; a partition went to one of them.
    pub sinks: Vec<S>,
    /// Parts whose log no longer held what was to be read, with the position.
    pub lost: Vec<(usize, i64)>,
}

/// How to read.
pub struct Reading<'a> {
    /// The side's cluster.
    pub connection: &'a Connection,
    /// What is visible.
    pub isolation: Isolation,
    /// Bytes that each thread may have fetched ahead.
    pub queue_bytes: usize,
    /// Told about progress, by source partition; none for a reading that is not told.
    pub board: Option<&'a Board>,
}

/// Reads the tasks of both sides at the same time.
pub fn read_both<S: Sink>(
    readings: [(&Reading<'_>, Vec<Task>); 2],
    make: &(impl Fn(Side) -> S + Sync),
) -> Result<[Outcome<S>; 2]> {
    let [source, target] = readings;
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(|| read_until(&failed, Side::Target, target.0, target.1, make));
        let source = read_until(&failed, Side::Source, source.0, source.1, make);
        let target = other.join().unwrap_or_else(|_| Err(panicked()));
        Ok([source?, target?])
    })
}

/// Reads the tasks of one side.
pub fn read_side<S: Sink>(
    side: Side,
    reading: &Reading<'_>,
    tasks: Vec<Task>,
    make: &(impl Fn(Side) -> S + Sync),
) -> Result<Outcome<S>> {
    read_until(&AtomicBool::new(false), side, reading, tasks, make)
}

/// The same until `failed` is set, here or elsewhere: nobody need finish what will be thrown away. Then what
/// comes back is not whole, unless it is the error.
fn read_until<S: Sink>(
    failed: &AtomicBool,
    side: Side,
    reading: &Reading<'_>,
    tasks: Vec<Task>,
    make: &(impl Fn(Side) -> S + Sync),
) -> Result<Outcome<S>> {
    let jobs = Mutex::new(jobs(tasks));
    let count = jobs.lock().unwrap_or_else(PoisonError::into_inner).len();
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let work = || -> Result<(S, Vec<(usize, i64)>)> {
        let mut sink = make(side);
        let mut lost = Vec::new();
        let mut log =
            LogReader::open_within(reading.connection, reading.isolation, reading.queue_bytes)?;
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = job.filter(|_| !failed.load(Ordering::Relaxed)) else {
                sink.done()?;
                return Ok((sink, lost));
            };
            reading.board.map_or(Ok(()), unless_stopped)?;
            lost.extend(read_job(failed, side, reading, &mut log, &job, &mut sink)?);
        }
    };
    let work = || work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count.min(cores)).map(|_| scope.spawn(work)).collect();
        let mut outcome = Outcome { sinks: Vec::new(), lost: Vec::new() };
        let mut error = None;
        for thread in threads {
            match thread.join().unwrap_or_else(|_| Err(panicked())) {
                Ok((sink, lost)) => {
                    outcome.sinks.push(sink);
                    outcome.lost.extend(lost);
                }
                Err(one) => error = error.or(Some(one)),
            }
        }
        error.map_or(Ok(outcome), Err)
    })
}

/// Comes to an end where a signal has asked for it: a proof changes nothing that would have to be finished.
///
/// # Errors
/// It was asked for.
pub fn unless_stopped(board: &Board) -> Result<()> {
    match board.stopped_by() {
        None => Ok(()),
        Some(signal) => Err(Error::stopped(
            signal,
            "the proof was stopped; the files of an earlier one are as they were",
        )),
    }
}

fn panicked() -> Error {
    Error::fault("a reader of the proof panicked")
}

fn read_job(
    failed_elsewhere: &AtomicBool,
    side: Side,
    reading: &Reading<'_>,
    log: &mut LogReader,
    job: &[Task],
    sink: &mut impl Sink,
) -> Result<Vec<(usize, i64)>> {
    let ranges: Vec<LogRange> = job.iter().map(|task| task.range.clone()).collect();
    let mut failed = None;
    let mut told = vec![(0u64, 0u64); job.len()];
    let reached = log.read_each(&ranges, &mut |index, record| {
        if failed.is_none() {
            failed = sink.take(job[index].part, record).err();
        }
        let (records, bytes) = &mut told[index];
        *records += 1;
        *bytes += record.bytes() as u64;
        if *records == TELL_EVERY {
            if failed_elsewhere.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            if let Some(board) = reading.board {
                board.moved(&job[index].shown, record.offset + 1, *records, *bytes, 0);
                failed = failed.take().or_else(|| unless_stopped(board).err());
            }
            (*records, *bytes) = (0, 0);
        }
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if failed_elsewhere.load(Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let mut lost = Vec::new();
    for (index, (task, reached)) in job.iter().zip(reached).enumerate() {
        let position = match reached {
            Reached::Position(position) => position,
            Reached::Lost { at, reason } => {
                tracing::warn!(
                    "{side} `{}` lost offset {at} while it was read: {reason}",
                    task.range.at
                );
                lost.push((task.part, at));
                at
            }
        };
        if let Some(board) = reading.board {
            let (records, bytes) = told[index];
            board.moved(&task.shown, task.range.until, records, bytes, 0);
        }
        sink.end(task.part, position)?;
    }
    Ok(lost)
}

/// Large partitions first and alone, small ones together.
fn jobs(mut tasks: Vec<Task>) -> VecDeque<Vec<Task>> {
    let span = |task: &Task| task.range.until - task.range.from;
    tasks.sort_by_key(|task| std::cmp::Reverse(span(task)));
    let mut jobs: VecDeque<Vec<Task>> = VecDeque::new();
    let mut together = 0;
    for task in tasks {
        let span = span(&task);
        match jobs.back_mut() {
            Some(job) if job.len() < TOGETHER && together + span <= TOGETHER_OFFSETS => {
                job.push(task);
                together += span;
            }
            _ => {
                jobs.push_back(vec![task]);
                together = span;
            }
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_partitions_are_read_alone_and_first_and_small_ones_together() {
        let task = |part: usize, span: i64| Task {
            part,
            range: LogRange { at: TopicPartition::new("t", 0), from: 5, until: 5 + span },
            shown: TopicPartition::new("t", 0),
        };
        let tasks =
            vec![task(0, 10), task(1, 1_000_000), task(2, 150_000), task(3, 60_000), task(4, 0)];
        let parts: Vec<Vec<usize>> =
            jobs(tasks).iter().map(|job| job.iter().map(|task| task.part).collect()).collect();
        assert_eq!(parts, [vec![1], vec![2], vec![3, 0, 4]]);
    }
}
