//! What the rules look at, read from both clusters. Nothing is written, nothing is made.
//!
//! One thing that fails (no rights, a broker that is too old, a request that the client library lacks) makes
//! that fact unknown, with its reason. Only a cluster that does not answer at all, and a plan that does not
//! fit what is there, end the look.
//!
//! - [`selected`](crate::pipe::pairs::selected) says which topics; [`ledger`] what is copied already.
//! - [`side`] looks at one cluster, [`topics`] at its topics, [`acls`] and [`rights`] at who may do what.
//! - [`pairs`] puts both sides together; [`creates`] asks the target what it would refuse.
//! - [`records`] reads a few records, [`groups`] lists consumer groups, [`registry`] compares schemas.

mod acls;
mod creates;
mod groups;
mod ledger;
mod pairs;
mod records;
mod registry;
mod rights;
mod side;
mod topics;
mod versions;

use std::thread;

use crate::check::facts::{Facts, Known, Rate, RefusalFacts};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::pipe::pairs::{Selected, selected};
use crate::pipe::preflight::refused;
use crate::pipe::shared::now_ms;
use crate::plan::{Plan, Selection};

pub use ledger::Positions;
use records::Samples;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Depth {
    /// What a run that goes on looks at: a handful of requests, no record.
    Again,
    /// What a run that begins looks at: what would be created, and how old the records are.
    Begin,
    /// Everything: a sample of the records, consumer groups, ACLs, schemas.
    #[default]
    Full,
}

/// How to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How much is looked at.
    pub depth: Depth,
    /// Bytes per second that the copy will make, as the user expects.
    pub rate: Option<u64>,
}

/// Looks at both clusters.
///
/// # Errors
/// A cluster does not answer; the plan selects nothing, or names that cannot be.
pub fn gather(plan: &Plan, clusters: &Clusters, options: Options) -> Result<Facts> {
    let positions = ledger::read(plan, clusters);
    let Selected { selection, .. } = selected(plan, clusters, &positions.topics())?;
    gather_knowing(plan, clusters, options, &positions, selection)
}

/// The same for a run, which has read its ledger and selected its topics already.
pub(crate) fn gather_knowing(
    plan: &Plan,
    clusters: &Clusters,
    options: Options,
    positions: &Positions,
    selection: Selection,
) -> Result<Facts> {
    let depth = options.depth;
    let names = topics::Names::of(plan, &selection);
    let (mut source, mut target) = thread::scope(|scope| {
        let source = scope.spawn(|| side::look(plan, clusters, Side::Source, &names.source, depth));
        let target = side::look(plan, clusters, Side::Target, &names.target, depth)?;
        let source = source.join().map_err(|_| Error::fault("the look at the source panicked"))?;
        Ok::<_, Error>((source?, target))
    })?;
    let sampled = match depth {
        Depth::Full => records::sample(clusters, &selection, &source),
        _ => Samples::default(),
    };
    source.take_samples(sampled.topics);
    let creates = match depth {
        Depth::Again => creates::Creates::not_asked(),
        _ => creates::ask(plan, clusters, &selection, &source, &target, positions),
    };
    let group_facts = match depth {
        Depth::Full => groups::look(plan, clusters, &selection),
        _ => Known::unknown("not looked at by a run"),
    };
    let schemas = match depth {
        Depth::Full => registry::compare(plan, source.samples()),
        _ => Known::unknown("not looked at by a run"),
    };
    let pairs =
        pairs::assemble(plan, clusters, &selection, &source, &target, &creates, positions, depth);
    let partitions = pairs.iter().map(|pair| pair.copy.len()).sum();
    let ledger = ledger::facts(plan, &target, &creates, positions, partitions);
    let ours = rights::Ours {
        plan,
        selection: &selection,
        creates: &creates,
        ledger_there: ledger.create.is_none(),
    };
    source.facts.rights = ours.look(Side::Source, clusters, &source, depth);
    target.facts.rights = ours.look(Side::Target, clusters, &target, depth);
    let refusals = match depth {
        Depth::Full => refusals(plan, clusters),
        _ => Known::unknown("a run judges them itself"),
    };
    Ok(Facts {
        refusals,
        source: source.facts,
        target: target.facts,
        pairs,
        selection_warnings: selection.warnings,
        ledger,
        groups: group_facts,
        schemas,
        now_ms: now_ms(),
        rate: rate(options.rate, sampled.rate),
    })
}

/// What the pipe itself would refuse, by the same look that it takes.
fn refusals(plan: &Plan, clusters: &Clusters) -> Known<Option<RefusalFacts>> {
    let facts = |error: Error| RefusalFacts {
        word: error.word().to_owned(),
        what: error.what,
        hint: error.hint,
    };
    match refused(plan, clusters) {
        Ok(error) => Known::Known(error.map(facts)),
        Err(error) => Known::unknown(error.what),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a rough number")]
fn rate(given: Option<u64>, measured: Option<f64>) -> Known<Rate> {
    match (given, measured) {
        (Some(rate), _) => Known::Known(Rate { bytes_per_second: rate as f64 }),
        (None, Some(rate)) => Known::Known(Rate { bytes_per_second: rate }),
        (None, None) => {
            Known::unknown("too little was read to tell how fast the copy will be: give a `--rate`")
        }
    }
}
