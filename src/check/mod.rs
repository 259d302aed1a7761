//! CAN we move it: one named check per rule. Facts are gathered, rules judge them, and what they find is
//! a report; only gathering touches the network.
//!
//! ```text
//!  clusters ─▶ gather ─▶ [Facts] ─▶ judge (CATALOGUE: rules/) ─▶ allow ─▶ [Finding]s ─▶ report, CSV, JSON
//!                plan ──────────────────┴─────────────────────────┘
//! ```

mod allow;
mod catalogue;
mod effective;
pub mod facts;
#[cfg(test)]
pub mod fixture;
pub mod gather;
mod murmur2;
mod planned;
pub mod resources;
mod rules;
pub mod sample;
pub mod verb;
mod verdict;
mod words;

use std::sync::Arc;

pub use allow::overrides;
pub use catalogue::{ASSUMABLE, CATALOGUE, Rule, names};
pub use planned::planned_configs;
pub use rules::{MissingAcl, framed, missing_acls, schema_rows};
pub use verdict::{Finding, Severity, Verdict, Verdicts};

use crate::error::Error;
use crate::plan::Plan;
use catalogue::Check;
use facts::{Facts, PairFacts};
use rules::Look;

/// Carries out every check; none stops another. In the order of the catalogue, then of the topics, the
/// worst first.
pub fn judge(plan: &Plan, facts: &Facts) -> Vec<Finding> {
    let look = Look::new(plan, facts);
    let mut found = Vec::new();
    for check in CATALOGUE {
        for rule in check.rules {
            match rule {
                Rule::Whole(rule) => found.extend(findings(check, None, rule(&look))),
                Rule::Pair(rule) => {
                    for pair in &facts.pairs {
                        found.extend(findings(check, Some(pair), rule(&look, pair)));
                    }
                }
            }
        }
    }
    allow::apply(plan, facts, &mut found);
    found
}

fn findings(check: &'static Check, pair: Option<&PairFacts>, said: Verdicts) -> Vec<Finding> {
    let mut verdicts = said.unwrap_or_else(|verdict| vec![verdict]);
    verdicts.sort_by_key(|verdict| verdict.severity);
    let finding = |verdict: Verdict| Finding {
        check: check.name,
        severity: verdict.severity,
        topic: pair.map(|pair| Arc::clone(&pair.source.name)),
        target: pair.map(|pair| Arc::clone(&pair.target_name)),
        about: verdict.about,
        reason: verdict.reason,
        hint: match verdict.severity {
            Severity::Pass | Severity::Info => verdict.hint,
            _ => verdict.hint.or_else(|| Some(check.hint.to_owned())),
        },
        firm: verdict.firm,
        allowed: None,
        assumed: verdict.assumed,
        blocks: false,
    };
    verdicts.into_iter().map(finding).collect()
}

/// A topic as one side shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicShape {
    /// Its name there.
    pub name: String,
    /// Number of partitions.
    pub partitions: usize,
    /// `cleanup.policy` in effect.
    pub cleanup_policy: String,
}

/// `cleanup.policy` is a list; its order and spaces mean nothing.
pub fn policy(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
    words.sort();
    words.retain(|word| !word.is_empty());
    words
}

/// Whether compaction may remove records.
pub fn compacted(cleanup_policy: &str) -> bool {
    policy(cleanup_policy).iter().any(|word| word == "compact")
}

/// The checks without which a copy means nothing, on a source topic and the existing target topic: one
/// error for each that fails and that the plan does not allow.
pub fn compare(plan: &Plan, source: &TopicShape, target: &TopicShape) -> Vec<Error> {
    let (of_source, of_target) =
        (format!("source `{}`", source.name), format!("target `{}`", target.name));
    let (of_source, of_target) = (of_source.as_str(), of_target.as_str());
    let counts = rules::partitions::judge(
        source.partitions,
        target.partitions,
        of_source,
        of_target,
        &target.name,
    );
    let policies =
        rules::policy::judge(&source.cleanup_policy, &target.cleanup_policy, of_source, of_target);
    [(names::PARTITIONS, counts), (names::CLEANUP_POLICY, policies)]
        .into_iter()
        .filter(|(name, verdict)| {
            let allowed = !verdict.firm && allow::allowed(plan, name, &source.name).is_some();
            verdict.severity == Severity::Fail && !allowed
        })
        .map(|(name, verdict)| {
            let error = Error::check(name, verdict.reason);
            match verdict.hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(partitions: usize, cleanup_policy: &str) -> TopicShape {
        TopicShape { name: "t".into(), partitions, cleanup_policy: cleanup_policy.into() }
    }

    #[test]
    fn equal_topics_pass_whatever_the_order_of_their_policies() {
        let (a, b) = (shape(6, "compact,delete"), shape(6, "delete, compact"));
        assert_eq!(compare(&fixture::plan(""), &a, &b), []);
    }

    #[test]
    fn both_rules_are_reported_at_once() {
        let plan = fixture::plan("");
        let failures = compare(&plan, &shape(6, "compact"), &shape(5, "delete"));
        let words: Vec<_> = failures.iter().map(Error::word).collect();
        assert_eq!(words, ["partitions", "cleanup-policy"]);
        assert!(failures.iter().all(|error| error.exit_code() == 7 && error.hint.is_some()));
    }

    #[test]
    fn what_the_plan_allows_is_no_failure_but_too_few_partitions_are() {
        let allow = |check: &str| {
            format!("[[check.allow]]\ncheck = '{check}'\ntopics = ['t']\nreason = 'r'\n")
        };
        let plan = fixture::plan(&(allow("partitions") + &allow("cleanup-policy")));
        assert_eq!(compare(&plan, &shape(6, "compact"), &shape(7, "delete")), []);
        let failures = compare(&plan, &shape(6, "compact"), &shape(5, "delete"));
        assert_eq!(failures.len(), 1);
    }

    #[test]
    fn healthy_clusters_fail_nothing_and_every_check_says_something() {
        let facts = fixture::facts();
        let found = judge(&fixture::plan(""), &facts);
        let bad: Vec<_> =
            found.iter().filter(|one| one.blocks || one.severity == Severity::Warn).collect();
        assert!(bad.is_empty(), "{bad:?}");
        let silent: Vec<_> = CATALOGUE
            .iter()
            .map(|check| check.name)
            .filter(|name| !found.iter().any(|one| one.check == *name))
            .collect();
        // Its topic is there.
        assert_eq!(silent, [names::CREATE_TOPIC]);
    }

    #[test]
    fn without_a_single_fact_no_check_passes() {
        let mut facts = fixture::facts();
        fixture::forget(&mut facts);
        let passed = judge(&fixture::plan(""), &facts);
        let passed: Vec<_> = passed.iter().filter(|one| one.severity == Severity::Pass).collect();
        let names: Vec<_> = passed.iter().map(|one| one.check).collect();
        // These look at names alone.
        assert_eq!(names, [names::SELECTION, names::NAME_COLLISION, names::RESERVED_NAME]);
    }
}
