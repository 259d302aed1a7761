//! One side's pass: read its cluster, fold, write the folder that travels. Writes nothing to any cluster.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::buckets::{self, BUCKETS, TopicBuckets};
use super::one_side::{OneScope, one_scope};
use super::only::Only;
use super::scope_file::{ReadCounts, SCHEMA, ScopeFile, ScopePartition, plan_common};
use super::side_summary::SideSummary;
use crate::cluster::{At, Isolation};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::OneSide;
use crate::pipe::shared::now_ms;
use crate::plan::Plan;
use crate::reconcile::aborted::aborted_copies;
use crate::reconcile::budget::Budget;
use crate::reconcile::compared::part_of;
use crate::reconcile::fold::{Digester, Fold};
use crate::reconcile::keying::Keying;
use crate::reconcile::look::{offsets_of, still_the_same};
use crate::reconcile::manifest::Manifest;
use crate::reconcile::part::Part;
use crate::reconcile::pass::{ATTEMPTS, Folded, keying, overtaken, tasks};
use crate::reconcile::read::{Reading, read_side};
use crate::reconcile::spill::{Merged, SpillDir, merge};
use crate::reconcile::tally::Tally;
use crate::report::audit::buckets::{BucketFile, read_differing};
use crate::report::audit::cell::KeyForm;
use crate::report::audit::{Folder, ManifestFile, Written, summary_json};
use crate::report::{Board, redact_json};

/// How one side is to be read.
#[derive(Debug, Clone)]
pub struct SideOptions {
    /// Which.
    pub side: Side,
    /// The other side's `scope.json`, which says what to read.
    pub scope: Option<PathBuf>,
    /// `buckets-differing.csv`, to read only those.
    pub only: Option<PathBuf>,
    /// Whole logs, although there may be a ledger.
    pub no_ledger: bool,
    /// Folder of the files.
    pub out: PathBuf,
    /// Folder below which sorted runs are spilled; the files' own if left out.
    pub spill: Option<PathBuf>,
    /// Who reads.
    pub worker: String,
}

/// Everything that the steps share.
struct SidePass<'a> {
    at: OneSide,
    board: &'a Board,
    keying: Keying,
    ignored: &'a [String],
    budget: Budget,
    spill: Arc<SpillDir>,
    only: Option<Only>,
}

/// Reads one side alone and writes its folder. Contacts the other cluster never, and is always a full
/// pass over its scope.
///
/// # Errors
/// Those of the cluster and of the disk; a scope that is not of this plan, this secret, or these topics.
pub fn read_side_alone(plan: &Plan, options: &SideOptions, board: &Board) -> Result<SideSummary> {
    let (started, clock) = (now_ms(), Instant::now());
    let keying = keying(plan)?;
    let given = options.scope.as_deref().map(ScopeFile::load).transpose()?;
    if let Some(given) = &given {
        given.made_with(plan, &keying)?;
    }
    let chosen = options.only.as_deref().map(read_differing).transpose()?;
    if chosen.is_some() && given.is_none() {
        let what = "`--buckets` needs `--scope`: both sides must read the same ranges again";
        return Err(Error::usage(what));
    }
    let folder = Folder::open_for(&options.out, &plan.name)?;
    let at = OneSide::connect(plan, options.side)?;
    let mut scope = one_scope(plan, &at, given.as_ref(), options.no_ledger, board)?;
    let pass = SidePass {
        at,
        board,
        keying,
        // The copy is onceover's own where there is a ledger: no header is left out.
        ignored: if scope.by_ledger { &[] } else { &plan.reconcile.ignore_headers },
        budget: Budget::of(plan.reconcile.memory),
        spill: SpillDir::create(options.spill.as_deref().unwrap_or(folder.path()))?,
        only: chosen.as_deref().map(|chosen| Only::new(chosen, &scope.parts)),
    };
    let folded = pass.first_reading(&mut scope.parts)?;
    let aborted = pass.aborted_copies(&scope.parts, &folded.tallies)?;
    let merged = merge(folded.runs, &pass.spill, pass.budget.limits())?;
    let mut files = pass.write(&scope, &folder, merged)?;
    let topics = scope.topics.iter().map(|topic| topic.of(options.side));
    still_the_same(options.side, &pass.at.admin, topics)?;

    let id = format!("{started}-{}", options.worker);
    let selection = chosen.map(|chosen| {
        let text: Vec<String> = chosen
            .iter()
            .map(|at| format!("{} {} {:?}", at.topic, at.partition, at.bucket))
            .collect();
        format!("{:x}", Sha256::digest(text.join("\n")))
    });
    let ranges_of = match &given {
        Some(given) => given.ranges_of.clone(),
        None => scope.by_ledger.then(|| id.clone()),
    };
    let file = ScopeFile {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        side: options.side,
        pass: id,
        ranges_of,
        plan: plan.name.clone(),
        plan_hash: plan.hash(),
        plan_common: plan_common(plan),
        hashed: pass.keying.check(),
        ignored_headers: pass.ignored.to_vec(),
        buckets: BUCKETS,
        only: selection,
        taken_at: scope.taken_at,
        source_cluster: scope.clusters[0].clone(),
        target_cluster: scope.clusters[1].clone(),
        partitions: partitions(options.side, &scope, &folded.tallies, &aborted),
        topics: scope.topics,
    };
    files.push(file.write(&folder)?);
    let sum = |of: fn(&Tally) -> u64| folded.tallies.iter().map(of).sum();
    let mut summary = SideSummary {
        scope: file,
        bytes: sum(|tally| tally.bytes),
        records: sum(|tally| tally.read),
        finished: now_ms(),
        elapsed: clock.elapsed(),
        left_out: scope.left_out,
        files,
        folder: folder.path().display().to_string(),
    };
    let redact = |text: &str| plan.redactor().redact(text).into_owned();
    let json = redact_json(summary.to_json(), &redact);
    summary.files.push(summary_json::write(&folder, &json)?);
    folder.publish(&summary.files)?;
    Ok(summary)
}

impl SidePass<'_> {
    fn reading(&self, isolation: Isolation) -> Reading<'_> {
        let connection = &self.at.connection;
        Reading { connection, isolation, queue_bytes: self.budget.queue, board: Some(self.board) }
    }

    /// Reads everything once. Where retention is faster, it begins anew behind it.
    fn first_reading(&self, parts: &mut [Part]) -> Result<Folded> {
        for _ in 0..ATTEMPTS {
            let side = self.at.side;
            let tasks = tasks(self.board, side, parts, |index, part| {
                let chosen = self.only.as_ref().is_none_or(|only| only.any(index));
                let reach = part.reach(side);
                chosen.then_some((reach.from, reach.until))
            });
            let make = |side| {
                let digester = Digester::new(&self.keying, self.ignored);
                Fold::new(side, parts, digester, &self.spill, self.budget.table)
                    .only(self.only.as_ref())
            };
            let outcome = read_side(side, &self.reading(Isolation::Committed), tasks, &make)?;
            let folded = Folded::of(outcome, parts.len())?;
            if folded.lost.is_empty() {
                return Ok(folded);
            }
            tracing::warn!("retention has overtaken the reading; it begins anew");
            let starts = offsets_of(&self.at.admin, side, parts, At::LogStart)?;
            for part in parts.iter_mut() {
                let start = starts.get(part.at(side)).copied().unwrap_or(0);
                match side {
                    Side::Source => part.start_at(start, 0),
                    Side::Target => part.start_at(0, start),
                }
            }
        }
        Err(overtaken(self.at.side))
    }

    fn aborted_copies(&self, parts: &[Part], tallies: &[Tally]) -> Result<Vec<u64>> {
        // Of some keys alone, gaps say nothing.
        if self.at.side == Side::Source || self.only.is_some() {
            return Ok(vec![0; parts.len()]);
        }
        aborted_copies(&self.reading(Isolation::Uncommitted), parts, tallies)
    }

    /// Walks the manifests once: into their file, and into buckets.
    fn write(
        &self,
        scope: &OneScope,
        folder: &Folder,
        mut merged: Merged<Manifest>,
    ) -> Result<Vec<Written>> {
        let form = if self.keying.is_hashed() { KeyForm::Hashed } else { KeyForm::Plain };
        let mut manifests = ManifestFile::create(folder, self.at.side, form)?;
        let mut file = BucketFile::create(folder)?;
        let mut topic = 0;
        let mut here = TopicBuckets::new();
        let mut flush = |topic: u32, here: &mut TopicBuckets| -> Result<()> {
            for (at, bucket) in std::mem::take(here) {
                file.row(&scope.topics[topic as usize].source, at, &bucket)?;
            }
            Ok(())
        };
        while merged.advance()? {
            let Some((at, manifest)) = merged.entry() else { break };
            if at.topic != topic {
                flush(topic, &mut here)?;
                topic = at.topic;
            }
            let part = &scope.parts[part_of(&scope.parts, at.topic, at.partition)];
            buckets::add(&mut here, part.policy, at.key, at.partition, manifest);
            let name = &scope.topics[at.topic as usize].source;
            manifests.row(name, at.key, at.partition, manifest)?;
        }
        flush(topic, &mut here)?;
        Ok(vec![file.finish()?, manifests.finish()?])
    }
}

fn partitions(
    side: Side,
    scope: &OneScope,
    tallies: &[Tally],
    aborted: &[u64],
) -> Vec<ScopePartition> {
    let [source_known, target_known] = scope.known;
    let one = |(index, part): (usize, &Part)| {
        let (source, target) = (&part.source_reach, &part.target_reach);
        let tally = &tallies[index];
        ScopePartition {
            topic: part.source.topic.to_string(),
            partition: part.source.partition,
            policy: part.policy,
            timestamps_kept: part.timestamps_kept,
            start: source_known.then_some(source.from),
            position: source_known.then_some(source.to),
            compared_from: scope.by_ledger.then_some(source.common.min(source.to)),
            target_from: target_known.then_some(target.from),
            target_to: target_known.then_some(target.to),
            ledger: scope.counts[index],
            read: ReadCounts {
                log_start: part.reach(side).log_start,
                records: tally.records,
                tombstones: tally.tombstones,
                digest: tally.digest,
                expired: tally.expired,
                foreign: tally.foreign,
                aborted_copies: aborted[index],
            },
        }
    };
    scope.parts.iter().enumerate().map(one).collect()
}
