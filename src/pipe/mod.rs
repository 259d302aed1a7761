//! MOVE it: preflight, supervisor, lanes.
//!
//! - [`preflight`]: the read-only look at both clusters; refuses or says what to create. [`checks`]: what
//!   else must fit before a run begins.
//! - [`supervisor`]: who owns which lane, when the run is over. [`watch`]: follows the ledger; control work.
//!   [`identity`]: follows the source's topic ids, and what came new while a tail goes on ([`changes`]).
//! - [`lane`]: the protocol of one lane. [`engine`], [`ask`], [`clock`]: the seam to the client library, to
//!   the clusters and to time.
//!   [`failpoint`]: where the fault suite strikes.
//! - Pure rules: [`batch`] (when to commit), [`decide`] (what an error means), [`ending`] (how a run ends), [`refuse`] (what must
//!   not be copied), [`deletions`] (what may have expired unread), [`bound`] (what the ledger is bound to), [`moving`] (what a transaction becomes),
//!   [`orphans`] (lanes that the group forgot), [`suspects`] (where a refused record is looked for), [`plan_entry`],
//!   [`rate`], [`scope`].
//! - [`outlook`]: what `status` asks the source about what is not copied.

pub mod ask;
pub mod batch;
pub mod bound;
pub mod changes;
pub mod checks;
pub mod clock;
pub mod clusters;
pub mod decide;
pub mod deletions;
pub mod ending;
pub mod engine;
pub mod equip;
pub mod failpoint;
pub mod gather;
pub mod identity;
pub mod lane;
pub mod mode;
pub mod moving;
pub mod orphans;
pub mod outlook;
pub mod pairs;
pub mod plan_entry;
pub mod preflight;
pub mod rate;
pub mod refuse;
pub mod scope;
pub mod shared;
pub mod stop;
pub mod supervisor;
pub mod suspects;
pub mod view;
pub mod watch;
pub mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result, Side};
use crate::ledger::Fence;
use crate::pipe::bound::tail_excluded;
use crate::pipe::checks::{Checked, check};
use crate::pipe::clock::Wall;
use crate::pipe::clusters::Clusters;
use crate::pipe::ending::Outcome;
use crate::pipe::mode::{Mode, exclude};
use crate::pipe::preflight::{Preflight, preflight, prepare};
use crate::pipe::rate::bucket;
use crate::pipe::scope::Scope;
use crate::pipe::shared::Shared;
use crate::pipe::supervisor::{Signals, supervise};
use crate::pipe::view::View;
use crate::pipe::watch::write_refused;
use crate::pipe::worker::Worker;
use crate::plan::{Plan, TopicPartition};
use crate::report::Board;

/// How a run is to go.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Copy until stopped, without a fence.
    pub tail: bool,
    /// `--worker NAME`.
    pub worker: Option<String>,
}

/// What a run leaves behind for the summary.
pub struct Ran {
    /// The run's connections, and the ledger as it was last seen.
    pub shared: Arc<Shared>,
    /// How it ended.
    pub outcome: Outcome,
    /// The fence; `None` for a tail.
    pub fence: Option<Arc<Fence>>,
    /// This worker's name.
    pub worker: String,
    /// Target topic by source topic.
    pub names: BTreeMap<String, String>,
    /// Worth saying.
    pub warnings: Vec<String>,
}

/// How long a topic may exist without being shown: metadata travels within a second.
const UNSEEN: Duration = Duration::from_secs(30);

/// Looks at both clusters and makes what the target lacks; looks again where another worker was
/// quicker, since what it made may differ from what this one would have made.
fn look(
    plan: &Plan,
    clusters: &Clusters,
    worker: &str,
    options: &RunOptions,
    board: &Board,
) -> Result<(Preflight, Checked)> {
    let until = Instant::now() + UNSEEN;
    loop {
        board.wait("worker", "the look at both clusters before anything is written");
        let looked = preflight(plan, clusters).inspect_err(|error| {
            if matches!(error.kind, Kind::Refused(_))
                && let Err(unwritten) = write_refused(clusters, worker, error)
            {
                tracing::warn!(%unwritten, "the refusal could not be written into the ledger");
            }
        })?;
        if options.tail && looked.ledger.control.open_fence().is_some() {
            return Err(tail_excluded());
        }
        exclude(Mode::of(options.tail), plan, clusters, board)?;
        board.wait("worker", "the checks of both clusters");
        let checked = check(plan, clusters, &looked)?;
        board.wait("worker", "the target to create missing topics");
        match prepare(clusters, &looked)? {
            None => return Ok((looked, checked)),
            Some(topic) if Instant::now() >= until => {
                let what = format!("topic `{topic}` exists and cannot be seen");
                return Err(Error::cluster(Side::Target, what));
            }
            Some(topic) => tracing::debug!(topic, "made by somebody else; looking again"),
        }
    }
}

/// What a round begins with.
struct Round {
    clusters: Clusters,
    looked: Preflight,
    checked: Checked,
}

/// Connects and looks; `before` is the round before this one.
fn begin(
    plan: &Plan,
    worker: &str,
    options: &RunOptions,
    board: &Board,
    before: Option<&Shared>,
) -> Result<Round> {
    if let Some(before) = before {
        changes::prepare(before)?;
    }
    board.wait("worker", "both clusters to answer");
    let clusters = Clusters::connect(plan)?;
    let (looked, checked) = look(plan, &clusters, worker, options, board)?;
    board.go_on("worker");
    Ok(Round { clusters, looked, checked })
}

/// Checks, then copies to the fence or until stopped. Progress goes to `board`.
pub fn run(plan: Plan, options: &RunOptions, board: &Board) -> Result<Ran> {
    let worker = match &options.worker {
        Some(name) => Worker::named(name)?,
        None => Worker::on_this_machine(&plan.name)?,
    };
    let mut before: Option<(Arc<Shared>, Vec<String>)> = None;
    let mut signals: Option<Signals> = None;
    loop {
        let prior = before.take();
        let round = match (&prior, &mut signals) {
            (Some((shared, warnings)), Some(signals)) => {
                // From the second round on the signals are ours: they must not wait for a cluster.
                let (of, options, board, name) =
                    (shared.clone(), options.clone(), board.clone(), worker.name.clone());
                let look = move || begin(&of.plan, &name, &options, &board, Some(&of));
                match signals.unless_one_comes(look)? {
                    Some(round) => round?,
                    None => return Ok(ran(shared.clone(), Outcome::TailStopped, warnings.clone())),
                }
            }
            _ => begin(&plan, &worker.name, options, board, None)?,
        };
        let Round { clusters, looked, checked } = round;
        let mut warnings = looked.warnings;
        warnings.extend(checked.warnings);
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        // What a tail finds new is copied from its beginning.
        let fresh = prior.as_ref().map_or_else(BTreeSet::new, |(before, _)| {
            &sources(&looked.scope) - &sources(&before.scope)
        });
        // With its connections.
        drop(prior);
        let shared = Arc::new(Shared {
            view: View::new(looked.ledger.lanes, looked.ledger.control),
            board: board.clone(),
            bucket: bucket(plan.run.max_rate),
            worker: worker.name.clone(),
            tail: options.tail,
            fresh,
            scope: looked.scope,
            overrides: checked.overrides,
            bound: looked.bound,
            plan: plan.clone(),
            clock: Box::new(Wall),
            clusters,
        });
        let outcome = supervise(&shared, &mut signals)?;
        if outcome != Outcome::Changed {
            return Ok(ran(shared, outcome, warnings));
        }
        before = Some((shared, warnings));
    }
}

fn sources(scope: &Scope) -> BTreeSet<TopicPartition> {
    scope.pairs.iter().map(|pair| pair.source.clone()).collect()
}

fn ran(shared: Arc<Shared>, outcome: Outcome, warnings: Vec<String>) -> Ran {
    let pairs = shared.scope.pairs.iter();
    let names = pairs.map(|p| (p.source.topic.to_string(), p.target.topic.to_string())).collect();
    let (fence, worker) = (shared.view.fence(), shared.worker.clone());
    Ran { shared, outcome, fence, worker, names, warnings }
}
