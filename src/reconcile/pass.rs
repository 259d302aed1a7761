//! One pass of the proof: read both sides, compare, read again what differs, write the files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::aborted::aborted_copies;
use super::align::align;
use super::budget::Budget;
use super::compared::compare_manifests;
use super::fold::{Digester, Fold};
use super::judge::Rules;
use super::keying::Keying;
use super::look::{Offsets, offsets_of};
use super::manifest::Manifest;
use super::part::Part;
use super::proof::{Proof, finish};
use super::read::{Outcome, Reading, Task, read_both};
use super::resume::resume;
use super::scope::{Scope, scope};
use super::second::second_reading;
use super::spill::{Merged, Runs, SpillDir, Stored, merge};
use super::tally::Tally;
use crate::cluster::{At, Isolation, LogRange};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::pipe::shared::now_ms;
use crate::plan::{Keys, Plan, TopicPartition};
use crate::report::Board;
use crate::report::audit::cell::KeyForm;
use crate::report::audit::{Folder, ProofSummary};

/// How a pass is to go.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of the files.
    pub out: PathBuf,
    /// Folder below which sorted runs are spilled; the files' own if left out.
    pub spill: Option<PathBuf>,
    /// Read everything again, whatever was proved before.
    pub full: bool,
    /// Compare whole logs although there is a ledger.
    pub no_ledger: bool,
    /// Who proves, for the ledger.
    pub worker: String,
}

/// How often a pass begins anew when retention overtakes it.
pub(super) const ATTEMPTS: u32 = 3;

/// Everything that the steps of a pass share.
pub(super) struct Pass<'a> {
    pub plan: &'a Plan,
    pub clusters: &'a Clusters,
    pub options: &'a Options,
    pub board: &'a Board,
    pub keying: Keying,
    pub budget: Budget,
    pub spill: Arc<SpillDir>,
    /// Whether the ledger says what was copied.
    pub by_ledger: bool,
}

/// Proves what the plan has copied, or says what differs. Leaves the auditor's files, and `verified`
/// entries in the ledger: how far each partition is proved, or how many of its keys differ.
pub fn prove(
    plan: &Plan,
    clusters: &Clusters,
    options: &Options,
    board: &Board,
) -> Result<ProofSummary> {
    let began = (now_ms(), Instant::now());
    let folder = Folder::open_for(&options.out, &plan.name)?;
    let mut scope = scope(plan, clusters, options.no_ledger, board)?;
    let pass = Pass {
        plan,
        clusters,
        options,
        board,
        keying: keying(plan)?,
        budget: Budget::of(plan.reconcile.memory),
        spill: SpillDir::create(options.spill.as_deref().unwrap_or(folder.path()))?,
        by_ledger: scope.ledger.is_some(),
    };
    if !pass.by_ledger {
        align(&pass, &mut scope.parts)?;
    }
    // As a compacted key may have to be looked up from the beginning of its log.
    let whole = scope.parts.clone();
    let mode = resume(&pass, &mut scope)?;
    let form = if pass.keying.is_hashed() { KeyForm::Hashed } else { KeyForm::Plain };
    let [source, target] = pass.first_reading(&mut scope.parts)?;
    let tallies = [source.tallies, target.tallies];
    let merged = [pass.merged(source.runs)?, pass.merged(target.runs)?];
    let mut compared = compare_manifests(&pass, &scope, &folder, form, merged)?;
    if !compared.suspects.is_empty() {
        second_reading(&pass, &scope, &whole, &mut compared)?;
    }
    let uncommitted = pass.reading(Side::Target, Isolation::Uncommitted);
    let aborted = aborted_copies(&uncommitted, &scope.parts, &tallies[1])?;
    finish(&pass, folder, Proof { scope, mode, tallies, aborted, began }, compared)
}

/// How the plan wants keys to be named.
pub(super) fn keying(plan: &Plan) -> Result<Keying> {
    match (plan.reconcile.keys, &plan.reconcile.secret) {
        (Keys::Plain, _) => Ok(Keying::Plain),
        (Keys::Hashed, Some(secret)) => Ok(Keying::hashed(secret)),
        (Keys::Hashed, None) => Err(Error::usage("`reconcile.keys = \"hashed\"` needs a secret")),
    }
}

/// What the first reading of one side came to.
pub(super) struct Folded {
    pub runs: Vec<Runs<Manifest>>,
    /// By part.
    pub tallies: Vec<Tally>,
    /// Parts whose log lost what was to be read.
    pub lost: Vec<usize>,
}

impl Folded {
    /// Of the threads' shares.
    pub fn of(outcome: Outcome<Fold<'_>>, parts: usize) -> Result<Self> {
        let mut tallies = vec![None; parts];
        let mut runs = Vec::new();
        for sink in outcome.sinks {
            for (slot, tally) in tallies.iter_mut().zip(sink.tallies) {
                *slot = slot.take().or(tally);
            }
            runs.push(sink.collector.finish()?);
        }
        let tallies = tallies.into_iter().map(Option::unwrap_or_default).collect();
        let lost = outcome.lost.into_iter().map(|(part, _)| part).collect();
        Ok(Self { runs, tallies, lost })
    }
}

/// What is to be read of each part that `range` does not leave out, from its log start on.
pub(super) fn tasks(
    board: &Board,
    side: Side,
    parts: &[Part],
    range: impl Fn(usize, &Part) -> Option<(i64, i64)>,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let Some((from, until)) = range(index, part) else { continue };
        let from = from.max(part.reach(side).log_start);
        if from >= until {
            continue;
        }
        let at = part.at(side).clone();
        let shown = TopicPartition::new(format!("{side} {}", at.topic), at.partition);
        board.scope(&shown, from, until);
        tasks.push(Task { part: index, range: LogRange { at, from, until }, shown });
    }
    tasks
}

impl Pass<'_> {
    /// How records are named and digested.
    pub(super) fn digester(&self) -> Digester<'_> {
        Digester::new(&self.keying, self.ignored_headers())
    }

    /// Headers that are left out on both sides. With a ledger the copy is onceover's own: none is.
    pub(super) fn ignored_headers(&self) -> &[String] {
        if self.by_ledger { &[] } else { &self.plan.reconcile.ignore_headers }
    }

    pub(super) fn reading(&self, side: Side, isolation: Isolation) -> Reading<'_> {
        let connection = self.clusters.connection(side);
        Reading { connection, isolation, queue_bytes: self.budget.queue, board: Some(self.board) }
    }

    /// Reads everything once. Where retention is faster, it begins anew behind it.
    fn first_reading(&self, parts: &mut [Part]) -> Result<[Folded; 2]> {
        let mut overtaken_on = Side::Source;
        for _ in 0..ATTEMPTS {
            let folded = self.fold(parts)?;
            let sides = [Side::Source, Side::Target].into_iter().zip(&folded);
            match sides.map(|(side, folded)| (side, folded.lost.len())).find(|(_, lost)| *lost > 0)
            {
                None => return Ok(folded),
                Some((side, _)) => overtaken_on = side,
            }
            tracing::warn!("retention has overtaken the reading; it begins anew");
            self.refresh_log_starts(parts)?;
        }
        Err(overtaken(overtaken_on))
    }

    fn fold(&self, parts: &[Part]) -> Result<[Folded; 2]> {
        let tasks = [Side::Source, Side::Target].map(|side| {
            let whole = |part: &Part| (part.reach(side).from, part.reach(side).until);
            tasks(self.board, side, parts, |_, part| Some(whole(part)))
        });
        let readings =
            [Side::Source, Side::Target].map(|side| self.reading(side, Isolation::Committed));
        let [of_source, of_target] = tasks;
        let make = |side| Fold::new(side, parts, self.digester(), &self.spill, self.budget.table);
        let outcomes = read_both([(&readings[0], of_source), (&readings[1], of_target)], &make)?;
        let [source, target] = outcomes;
        Ok([Folded::of(source, parts.len())?, Folded::of(target, parts.len())?])
    }

    pub(super) fn merged<T: Stored>(&self, runs: Vec<Runs<T>>) -> Result<Merged<T>> {
        Ok(merge(runs, &self.spill, self.budget.limits())?)
    }

    /// Asks for log starts again: what has expired meanwhile does not count on the other side either.
    pub(super) fn refresh_log_starts(&self, parts: &mut [Part]) -> Result<()> {
        self.ask_log_starts(parts)?;
        // Without a ledger no offset tells what has gone with them.
        if self.by_ledger { Ok(()) } else { align(self, parts) }
    }

    /// The same by what is known of offsets alone.
    pub(super) fn ask_log_starts(&self, parts: &mut [Part]) -> Result<()> {
        let [source, target] = self.offsets_now(parts, At::LogStart)?;
        for part in parts {
            let of = |starts: &Offsets, at| starts.get(at).copied().unwrap_or(0);
            part.start_at(of(&source, &part.source), of(&target, &part.target));
        }
        Ok(())
    }

    /// Offsets as they are now, by side.
    pub(super) fn offsets_now(&self, parts: &[Part], at: At) -> Result<[Offsets; 2]> {
        let ask = |side| offsets_of(self.clusters.admin(side), side, parts, at);
        Ok([ask(Side::Source)?, ask(Side::Target)?])
    }
}

pub(super) fn overtaken(side: Side) -> Error {
    Error::cluster(side, "retention deletes records faster than they are read")
        .hint("raise `retention.ms` or `retention.bytes` of the topic while it is proved")
}

/// The rules for a topic's keys: its partitions have the same policy.
pub(super) fn rules(scope: &Scope, topic: u32) -> Rules {
    let first = scope.parts.partition_point(|part| part.topic < topic);
    Rules { policy: scope.parts[first].policy, ledger: scope.ledger.is_some() }
}
