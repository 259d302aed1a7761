//! The checks that a run makes before it writes anything: what fails stops it.
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
/// A check failed (exit 7); a cluster does not answer.
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
    decide(&judge(plan, &facts), Start { depth, begun })
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

/// How a run starts.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// What was looked at.
    depth: Depth,
    /// Whether the ledger has positions: it goes on, perhaps with something new.
    begun: bool,
}

/// What a run makes of the findings. Pure.
fn decide(findings: &[Finding], start: Start) -> Result<Checked> {
    let (stops, said): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| stops(finding, start));
    together(stops.into_iter().map(error).collect())?;
    let warnings = said.iter().filter(|finding| is_said(finding)).map(|finding| text(finding));
    let mut warnings: Vec<String> = warnings.collect();
    warnings.extend(unknown(&said, start.depth));
    Ok(Checked { warnings, overrides: overrides(findings, now_ms()) })
}

/// Checks that no run makes, since they take a sample of the records or more than a request or two, since
/// nothing answers them as yet (`clocks`, `disk-room`), or since the run answers them by itself
/// (`target-empty`): that they are unknown says nothing. `onceover check` makes them, or says why not.
const LEFT_TO_THE_VERB: [&str; 11] = [
    names::CLOCKS,
    names::DISK_ROOM,
    names::RETENTION_BYTES,
    names::RETENTION_RACE,
    names::DELETE_RETENTION,
    names::KEY_PARTITIONER,
    names::KEY_SPREAD,
    names::SCHEMA_IDS,
    names::GROUPS,
    names::REFUSALS,
    names::TARGET_EMPTY,
];

/// Those that a run which goes on does not make again.
const MADE_AT_THE_BEGINNING: [&str; 5] =
    [names::RIGHTS, names::CREATE_TOPIC, names::TIMESTAMP_BOUNDS, names::RETENTION, names::ACLS];

/// What could not be found out and should have been: one warning for each check, however many topics and
/// partitions it is about.
fn unknown(findings: &[&Finding], depth: Depth) -> Vec<String> {
    let left_out = |check: &str| {
        LEFT_TO_THE_VERB.contains(&check)
            || (depth == Depth::Again && MADE_AT_THE_BEGINNING.contains(&check))
    };
    let mut by_check: Vec<(&Finding, usize)> = Vec::new();
    let unknown = findings.iter().filter(|finding| finding.severity == Severity::Unknown);
    for finding in unknown.filter(|finding| !left_out(finding.check)) {
        match by_check.iter_mut().find(|(first, _)| first.check == finding.check) {
            Some((_, more)) => *more += 1,
            None => by_check.push((finding, 0)),
        }
    }
    let said = |(first, more): (&Finding, usize)| {
        let check = first.check;
        let first = match &first.topic {
            Some(_) => text(first),
            None => first.reason.clone(),
        };
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        format!(
            "check `{check}` could not be carried out, and the run goes on without it: {first}{more}"
        )
    };
    by_check.into_iter().map(said).collect()
}

/// Checks whose question a run answers better by itself, a moment later: whether the target holds records
/// of others (its refusals know the ledger, exit 5), and whether an open transaction ends in time (it waits
/// for `run.open_transaction_wait`, then exit 3; what lies before the transaction is copied meanwhile).
const ANSWERED_BY_THE_RUN: [&str; 2] = [names::TARGET_EMPTY, names::OPEN_TRANSACTIONS];

/// Checks that look at which brokers are alive. A run that goes on has passed them before, and has its own
/// patience for brokers that come back (exit 3 or 4, to be tried again): a worker that is started anew in an
/// outage must not be told that the plan is wrong.
const OF_BROKERS_ALIVE: [&str; 4] =
    [names::LEADERS, names::MIN_INSYNC, names::TRANSACTION_LOG, names::OFFSETS_TOPIC];

/// What stops a run.
fn stops(finding: &Finding, start: Start) -> bool {
    let by_itself = ANSWERED_BY_THE_RUN.contains(&finding.check);
    let patient = start.begun && OF_BROKERS_ALIVE.contains(&finding.check);
    finding.blocks && !by_itself && !patient
}

/// What a run says: what failed and does not stop it, and what the plan allowed.
fn is_said(finding: &Finding) -> bool {
    finding.check != names::TARGET_EMPTY
        && (finding.severity == Severity::Fail || finding.allowed.is_some())
}

/// What a finding that stops a run is as an error.
pub fn error(finding: &Finding) -> Error {
    let error = Error::check(finding.check, text(finding));
    match &finding.hint {
        Some(hint) => error.hint(hint.clone()),
        None => error,
    }
}

fn text(finding: &Finding) -> String {
    let subject = match (&finding.topic, finding.renamed()) {
        (Some(source), Some(target)) => {
            finding.subject(Some(format!("source `{source}`, target `{target}`")))
        }
        (Some(topic), None) => finding.subject(Some(format!("topic `{topic}`"))),
        // What such a check is about besides, its reason says.
        (None, _) => format!("check `{}`", finding.check),
    };
    let mut text = format!("{subject}: {}", finding.reason);
    if let Some(reason) = &finding.allowed {
        text.push_str(&format!(" (allowed by the plan: {reason})"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Start = Start { depth: Depth::Begin, begun: false };
    const GROWN: Start = Start { depth: Depth::Begin, begun: true };
    const AGAIN: Start = Start { depth: Depth::Again, begun: true };

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
    fn every_failed_check_stops_a_run_whether_of_a_topic_or_of_a_cluster() {
        for (check, topic) in [(names::TRANSACTION_LOG, None), (names::RETENTION, Some("orders"))] {
            let found = [finding(check, Severity::Fail, topic)];
            let error = decide(&found, FIRST).expect_err("it stops");
            assert_eq!((error.word(), error.exit_code()), (check, 7));
            assert_eq!(error.hint.as_deref(), Some("do this"));
            let found = [finding(check, Severity::Warn, topic)];
            assert_eq!(decide(&found, FIRST).expect("no stop").warnings, [] as [String; 0]);
        }
    }

    #[test]
    fn an_open_transaction_is_said_and_the_run_waits_for_it() {
        let open = finding(names::OPEN_TRANSACTIONS, Severity::Fail, Some("orders"));
        let checked = decide(&[open], FIRST).expect("it does not stop");
        assert_eq!(checked.warnings, ["topic `orders`: because"]);
    }

    #[test]
    fn what_a_check_is_about_besides_its_topic_is_said() {
        let mut open = finding(names::RETENTION_RACE, Severity::Fail, Some("orders"));
        open.about = Some("partition 3".into());
        let error = decide(&[open.clone()], FIRST).expect_err("it stops");
        assert_eq!(error.what, "topic `orders` partition 3: because");
        open.target = Some("pay.orders".into());
        let error = decide(&[open], FIRST).expect_err("it stops");
        assert_eq!(error.what, "source `orders`, target `pay.orders` partition 3: because");
    }

    #[test]
    fn what_could_not_be_found_out_is_said_once_for_each_check() {
        let unknown = |check, topic| finding(check, Severity::Unknown, topic);
        let found = [
            unknown(names::MIN_INSYNC, Some("a")),
            unknown(names::MIN_INSYNC, Some("b")),
            unknown(names::MIN_INSYNC, Some("c")),
            unknown(names::RIGHTS, None),
            unknown(names::KEY_SPREAD, Some("a")),
        ];
        let at_first = [
            "check `min-insync` could not be carried out, and the run goes on without it: topic `a`: \
             because (and 2 more)",
            "check `rights` could not be carried out, and the run goes on without it: because",
        ];
        assert_eq!(decide(&found, FIRST).expect("no stop").warnings, at_first);
        assert_eq!(decide(&found, AGAIN).expect("no stop").warnings, at_first[..1]);
    }

    #[test]
    fn brokers_that_are_down_stop_a_run_that_begins_and_not_one_that_goes_on() {
        for check in OF_BROKERS_ALIVE {
            let found = [finding(check, Severity::Fail, None)];
            assert!(decide(&found, FIRST).is_err(), "{check}");
            for goes_on in [AGAIN, GROWN] {
                let said = decide(&found, goes_on).expect("no stop").warnings;
                assert_eq!(said.len(), 1, "{check}");
            }
        }
        let other = [finding(names::TIMESTAMP_TYPE, Severity::Fail, Some("orders"))];
        assert!(decide(&other, AGAIN).is_err());
    }

    #[test]
    fn what_the_plan_allows_is_said_with_its_reason_and_recorded() {
        let mut allowed = finding(names::RETENTION, Severity::Warn, Some("orders"));
        allowed.allowed = Some("agreed".into());
        let checked = decide(&[allowed], FIRST).expect("it is allowed");
        assert_eq!(checked.warnings, ["topic `orders`: because (allowed by the plan: agreed)"]);
        assert_eq!(checked.overrides.len(), 1);
        assert_eq!(checked.overrides[0].what, names::RETENTION);
    }

    #[test]
    fn records_on_the_target_are_for_the_refusals() {
        let empty = finding(names::TARGET_EMPTY, Severity::Fail, Some("orders"));
        assert_eq!(decide(&[empty], FIRST).expect("no stop").warnings, [] as [String; 0]);
    }
}
