//! Where the verbs meet the network.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::check::facts::Facts;
use crate::check::gather::{Options, gather};
use crate::check::pace;
use crate::cli::{InitArgs, RunArgs};
use crate::cluster::{Admin, At, Connection, check_property};
use crate::error::{Error, Result, Side};
use crate::ledger::{ControlState, Entry, Fence, LaneState, LedgerReader};
use crate::pipe::clusters::Clusters;
use crate::pipe::outlook::{Behind, outlooks};
use crate::pipe::shared::{Shared, now_ms};
use crate::pipe::{self, RunOptions, ending};
use crate::plan::{Env, Plan, TopicPartition, template};
use crate::report::ledger_print::Message;
use crate::report::summary::{FenceTime, Outcome};
use crate::report::{Board, Screen, Status, Summary};

/// How long `status` waits for a source that may be gone for good.
const SOURCE_PATIENCE: Duration = Duration::from_secs(5);

/// Loads the plan and hands its secrets to the screen's redactor.
pub fn load(path: &Path, screen: &Screen) -> Result<Plan> {
    let plan = Plan::load(path, &Env::of_process(&check_property))?;
    let redactor = plan.redactor().clone();
    screen.set_redactor(move |text| redactor.redact(text).into_owned());
    Ok(plan)
}

/// What `check` looks at, from both clusters. `rate`: bytes per second that the copy will make.
pub fn facts(plan: &Plan, rate: Option<u64>) -> Result<Facts> {
    let clusters = Clusters::connect(plan)?;
    gather(plan, &clusters, Options { rate, ..Options::default() })
}

/// A copy that is to be proved by this process.
pub struct Copied {
    /// The run's connections.
    pub shared: Arc<Shared>,
    /// Who proves.
    pub worker: String,
}

/// Copies, telling the board; how it ended, and what this process is to prove.
pub fn run(plan: &Plan, args: &RunArgs, board: &Board) -> Result<(Summary, Option<Copied>)> {
    let options = RunOptions { tail: args.tail, worker: args.worker.clone() };
    let ran = pipe::run(plan.clone(), &options, board)?;
    let outcome = match ran.outcome {
        ending::Outcome::Copied => Outcome::CopiedNotProved,
        ending::Outcome::Stopped(signal) => Outcome::Stopped(signal),
        // A tail that looks again goes on; none ends like that.
        ending::Outcome::TailStopped | ending::Outcome::Changed => Outcome::TailStopped,
    };
    let name = |source: &str| ran.names.get(source).cloned().unwrap_or_else(|| source.to_owned());
    let mut summary = Summary::new(&plan.name, &ran.worker, outcome, &board.snapshot(), name);
    let copied = ran.outcome == ending::Outcome::Copied;
    // One of several workers proves: the one that called the fence done.
    let prover = ran.shared.view.done_by().filter(|_| copied);
    let ours = prover.as_deref() == Some(&*ran.worker);
    summary.prover = prover.filter(|_| !ours && !args.no_reconcile);
    summary.fence = ran.fence.map(|fence| FenceTime { id: fence.id.clone(), taken_at: fence.at });
    summary.warnings = ran.warnings;
    let copied = ours.then_some(Copied { shared: ran.shared, worker: ran.worker });
    Ok((summary, copied))
}

/// An error of the proof at the end of a run.
pub fn copied_not_proved(mut error: Error) -> Error {
    error.what = format!("everything is copied up to the fence, but not proved: {}", error.what);
    error.hint.get_or_insert_with(|| "`onceover reconcile PLAN` proves it".to_owned());
    error
}

/// How long the work may take to come to an end by itself: it may wait for a cluster that is gone.
const GRACE: Duration = Duration::from_secs(5);

/// From here on the first SIGINT or SIGTERM asks the board's work for an end; a second one, or five
/// seconds, end the process. A run has handled both until now, so the default would not.
pub fn stop_on_signal(board: &Board) -> Result<()> {
    let fault = |error| Error::fault(format!("no signal handler: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fault)?;
    let board = board.clone();
    let wait = move || {
        let signalled = runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let mut next = async || {
                tokio::select! {
                    _ = interrupt.recv() => 2,
                    _ = terminate.recv() => 15,
                }
            };
            let first = next().await;
            board.stop(first);
            Ok::<i32, std::io::Error>(tokio::select! {
                second = next() => second,
                () = tokio::time::sleep(GRACE) => first,
            })
        });
        if let Ok(signal) = signalled {
            tracing::warn!(signal, "ended at once; the files of an earlier proof are as they were");
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop).map_err(fault)
}

fn connection(plan: &Plan, side: Side) -> Connection {
    let cluster = plan.cluster(side);
    let client = format!("onceover-{}-status", plan.name);
    Connection::new(side, &cluster.bootstrap, &cluster.properties, &client)
}

/// The target's ledger, and how many partitions its topic has; `None` where there is none.
fn open_ledger(plan: &Plan) -> Result<Option<(LedgerReader, u32)>> {
    let target = connection(plan, Side::Target);
    let admin = Arc::new(Admin::connect(&target)?);
    let name = plan.ledger_topic();
    let Some(topic) = admin.describe(&[name])?.remove(name).flatten() else { return Ok(None) };
    let partitions = u32::try_from(topic.partitions).unwrap_or(u32::MAX);
    Ok(Some((LedgerReader::open(&target, admin, Arc::from(name))?, partitions)))
}

/// Reads the ledger, the source's log ends, and how the race with the source's retention stands.
pub fn status(plan: &Plan) -> Result<Status> {
    let (mut control, mut lanes) = (ControlState::default(), Vec::new());
    let mut carries = Vec::new();
    if let Some((ledger, partitions)) = open_ledger(plan)? {
        for (number, until) in (0..partitions).zip(ledger.last_stable(partitions)?) {
            if number + 1 == partitions {
                ledger
                    .entries(number, 0, until, &mut |offset, entry| control.apply(offset, entry))?;
            } else {
                lanes.push(ledger.lane(number, until)?);
                carries.push(latest_carries(&ledger, number, until)?);
            }
        }
    }
    let latest = control.fences().last().map(|(fence, _)| fence);
    let source = answering_source(plan);
    let ends = source.as_ref().map_err(|error| error.what.clone());
    let ends =
        ends.and_then(|(_, admin)| source_ends(admin, &lanes, latest).map_err(|error| error.what));
    let mut status = Status::new(&plan.name, plan.ledger_topic(), &control, &lanes, ends);
    if let Ok((source, admin)) = &source
        && status.source_silent.is_none()
    {
        let pace = pace(&carries, now_ms());
        let behind = behind(&status);
        let found = outlooks(source, admin, &behind, pace, now_ms());
        status.take_outlooks(found.map_err(|error| error.what));
    }
    Ok(status)
}

/// The latest transactions of a lane, when and how many bytes: enough to tell its pace.
fn latest_carries(ledger: &LedgerReader, lane: u32, until: i64) -> Result<Vec<(i64, u64)>> {
    /// Offsets of the ledger; a transaction takes two.
    const LATEST: i64 = 200;
    let mut carries = Vec::new();
    ledger.entries(lane, (until - LATEST).max(0), until, &mut |_, entry| {
        if let Entry::Carry(carry) = entry {
            carries.push((carry.at, carry.partitions.iter().map(|one| one.bytes).sum()));
        }
        Ok(())
    })?;
    Ok(carries)
}

/// Partitions that are not copied to their ends.
fn behind(status: &Status) -> Vec<Behind> {
    let (records, bytes) = status.moved();
    let average = bytes.checked_div(records).unwrap_or(0);
    let lines = status.partitions.iter().filter(|line| line.lag().is_some_and(|lag| lag > 0));
    lines
        .filter_map(|line| {
            let (position, bytes) = (line.position?, line.bytes_behind(average)?);
            Some(Behind { at: line.at.clone(), position, bytes })
        })
        .collect()
}

/// A source that may be gone for good is not waited for.
fn answering_source(plan: &Plan) -> Result<(Connection, Admin)> {
    let source = connection(plan, Side::Source);
    source.probe(SOURCE_PATIENCE)?;
    let admin = Admin::connect(&source)?;
    Ok((source, admin))
}

/// Log ends of all partitions of the topics that ledger or fence names, as far as these are there, new
/// partitions of them as well; none for one whose leader does not tell.
fn source_ends(
    admin: &Admin,
    lanes: &[LaneState],
    fence: Option<&Fence>,
) -> Result<BTreeMap<TopicPartition, Option<i64>>> {
    let bound = lanes.iter().flat_map(|lane| lane.partitions.keys().cloned());
    let fenced = fence.into_iter().flat_map(|fence| fence.iter().map(|(at, _)| at));
    let topics: BTreeSet<Arc<str>> = bound.chain(fenced).map(|at| at.topic).collect();
    // Partitions of a topic that is gone would be waited for.
    let there = admin.describe(&topics.iter().map(|topic| &**topic).collect::<Vec<_>>())?;
    let asked: Vec<TopicPartition> = there
        .into_values()
        .flatten()
        .flat_map(|topic| {
            let name: Arc<str> = topic.name.into();
            let partitions = 0..i32::try_from(topic.partitions).unwrap_or(i32::MAX);
            partitions.map(move |partition| TopicPartition::new(name.clone(), partition))
        })
        .collect();
    let answers = admin.offsets(&asked, At::LogEnd)?;
    Ok(answers.into_iter().map(|(at, answer)| (at, answer.ok().map(|end| end.offset))).collect())
}

/// Shows every message of the ledger, by partition and offset, until `see` breaks off.
pub fn each_ledger_message(
    plan: &Plan,
    see: &mut dyn FnMut(&Message<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let Some((ledger, partitions)) = open_ledger(plan)? else {
        return Err(Error::usage(format!("target has no ledger topic `{}`", plan.ledger_topic()))
            .hint("nothing was ever copied under this plan name on this target"));
    };
    for (number, until) in (0..partitions).zip(ledger.last_stable(partitions)?) {
        let partition = i32::try_from(number).unwrap_or(i32::MAX);
        let mut shown = Ok(ControlFlow::Continue(()));
        ledger.raw(number, 0, until, &mut |offset, bytes| {
            shown = see(&Message { partition, offset, bytes });
            match shown {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        if shown?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// The text of a commented plan for what the two clusters hold.
pub fn plan_text(args: &InitArgs) -> Result<String> {
    let none = BTreeMap::new();
    let ask = |side, bootstrap| -> Result<Vec<String>> {
        let admin = Admin::connect(&Connection::new(side, bootstrap, &none, "onceover-init"))?;
        Ok(admin.topics()?.into_iter().map(|topic| topic.name).collect())
    };
    let topics = ask(Side::Source, &args.source)?;
    ask(Side::Target, &args.target)?;
    let name = args.name.as_deref().unwrap_or("migration");
    Ok(template(&args.source, &args.target, name, &topics))
}
