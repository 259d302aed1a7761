//! The checks that a run makes before it writes anything: those of topic pairs stop it, others are said.
//!
//! A run that goes on with its ledger asks only what takes a few requests: it was checked when it began,
//! and nobody wants to wait for a restart.

use crate::check::gather::{Depth, Options, Positions, gather_knowing};
use crate::check::{Finding, Severity, judge, names, overrides};
use crate::error::{Error, Result};
use crate::ledger::Override;
use crate::pipe::clusters::Clusters;
use crate::pipe::pairs::together;
use crate::pipe::preflight::Preflight;
use crate::pipe::scope::Scope;
use crate::pipe::shared::now_ms;
use crate::plan::{Plan, Selection, TopicPair};

/// What the checks of a run found, none of which stops it.
#[derive(Debug, Default)]
pub struct Checked {
    /// Worth saying.
    pub warnings: Vec<String>,
    /// What the plan takes responsibility for: goes into the ledger when the run begins.
    pub overrides: Vec<Override>,
}

/// Checks as much as the state of the ledger asks for. Writes nothing.
///
/// # Errors
/// A check of a topic pair failed (exit 7); a cluster does not answer.
pub fn check(plan: &Plan, clusters: &Clusters, looked: &Preflight) -> Result<Checked> {
    let lanes = &looked.ledger.lanes;
    let begun = lanes.iter().any(|lane| !lane.partitions.is_empty());
    let creates = looked.to_create.iter().any(|topic| topic.name == plan.ledger_topic());
    let positions = Positions::of(lanes, !creates);
    // What came new is checked like what a run begins with.
    let depth = if begun && looked.to_create.is_empty() { Depth::Again } else { Depth::Begin };
    let options = Options { depth, rate: None };
    let selection = selection(&looked.scope);
    let facts = gather_knowing(plan, clusters, options, &positions, selection)?;
    decide(&judge(plan, &facts))
}

/// The topics of a run; what selecting them found worth saying was said.
fn selection(scope: &Scope) -> Selection {
    let topics = scope.pairs.iter().map(|pair| TopicPair {
        source: pair.source.topic.clone(),
        target: pair.target.topic.clone(),
    });
    let mut topics: Vec<TopicPair> = topics.collect();
    topics.dedup();
    Selection { topics, warnings: Vec::new() }
}

/// What a run makes of the findings. Pure.
fn decide(findings: &[Finding]) -> Result<Checked> {
    let (stops, said): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| stops(finding));
    together(stops.into_iter().map(error).collect())?;
    let warnings = said.iter().filter(|finding| is_said(finding)).map(|finding| text(finding));
    let unknown = said.iter().filter(|finding| finding.severity == Severity::Unknown).count();
    tracing::debug!(unknown, "checks that a run does not make; `onceover check` makes all of them");
    Ok(Checked { warnings: warnings.collect(), overrides: overrides(findings, now_ms()) })
}

/// What stops a run: a topic pair that must not be copied like this. That the target holds records is
/// judged by the refusals, which know the ledger better.
fn stops(finding: &Finding) -> bool {
    finding.blocks && finding.topic.is_some() && finding.check != names::TARGET_EMPTY
}

/// What a run says: what failed, and what the plan allowed.
fn is_said(finding: &Finding) -> bool {
    finding.check != names::TARGET_EMPTY
        && (finding.severity == Severity::Fail || finding.allowed.is_some())
}

fn error(finding: &Finding) -> Error {
    let error = Error::check(finding.check, text(finding));
    match &finding.hint {
        Some(hint) => error.hint(hint.clone()),
        None => error,
    }
}

fn text(finding: &Finding) -> String {
    let mut text = match (&finding.topic, &finding.target) {
        (Some(source), Some(target)) if source != target => {
            format!("source `{source}`, target `{target}`: {}", finding.reason)
        }
        (Some(topic), _) => format!("topic `{topic}`: {}", finding.reason),
        (None, _) => format!("check `{}`: {}", finding.check, finding.reason),
    };
    if let Some(reason) = &finding.allowed {
        text.push_str(&format!(" (allowed by the plan: {reason})"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(check: &'static str, severity: Severity, topic: Option<&str>) -> Finding {
        Finding {
            check,
            severity,
            topic: topic.map(Into::into),
            target: topic.map(Into::into),
            about: None,
            reason: "because".into(),
            hint: Some("do this".into()),
            firm: false,
            allowed: None,
            assumed: None,
            blocks: severity == Severity::Fail,
        }
    }

    #[test]
    fn a_pair_that_fails_stops_a_run_and_a_cluster_that_fails_is_said() {
        let cluster = finding(names::TRANSACTION_LOG, Severity::Fail, None);
        let checked = decide(std::slice::from_ref(&cluster)).expect("it does not stop");
        assert_eq!(checked.warnings, ["check `transaction-log`: because"]);
        let pair = finding(names::RETENTION, Severity::Fail, Some("orders"));
        let error = decide(&[cluster, pair]).expect_err("it stops");
        assert_eq!((error.word(), error.exit_code()), (names::RETENTION, 7));
        assert_eq!(error.hint.as_deref(), Some("do this"));
    }

    #[test]
    fn what_the_plan_allows_is_said_with_its_reason_and_recorded() {
        let mut allowed = finding(names::RETENTION, Severity::Warn, Some("orders"));
        allowed.allowed = Some("agreed".into());
        let checked = decide(&[allowed]).expect("it is allowed");
        assert_eq!(checked.warnings, ["topic `orders`: because (allowed by the plan: agreed)"]);
        assert_eq!(checked.overrides.len(), 1);
        assert_eq!(checked.overrides[0].what, names::RETENTION);
    }

    #[test]
    fn records_on_the_target_are_for_the_refusals() {
        let empty = finding(names::TARGET_EMPTY, Severity::Fail, Some("orders"));
        assert_eq!(decide(&[empty]).expect("no stop").warnings, [] as [String; 0]);
    }
}
