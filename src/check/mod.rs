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
mod outlook;
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
pub use outlook::{Outlook, Risk, pace};
pub use planned::planned_configs;
pub use rules::race::Race;
pub use rules::{MissingAcl, expires, framed, missing_acls, schema_rows};
pub use verdict::{Finding, Severity, Verdict, Verdicts};

use crate::plan::Plan;
use catalogue::Check;
use facts::Facts;
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
                        let names = (&pair.source.name, &pair.target_name);
                        found.extend(findings(check, Some(names), rule(&look, pair)));
                    }
                }
            }
        }
    }
    allow::apply(plan, facts, &mut found);
    found
}

/// What a check said, about a source topic and its name on the target where it is about one.
fn findings(
    check: &'static Check,
    names: Option<(&Arc<str>, &Arc<str>)>,
    said: Verdicts,
) -> Vec<Finding> {
    let mut verdicts = said.unwrap_or_else(|verdict| vec![verdict]);
    verdicts.sort_by_key(|verdict| verdict.severity);
    let finding = |verdict: Verdict| Finding {
        check: check.name,
        severity: verdict.severity,
        topic: names.map(|(topic, _)| Arc::clone(topic)),
        target: names.map(|(_, target)| Arc::clone(target)),
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
    pub name: Arc<str>,
    /// Number of partitions.
    pub partitions: usize,
    /// `cleanup.policy` in effect; the error says why it is not known.
    pub cleanup_policy: Result<String, String>,
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

/// The checks without which a copy means nothing, on a source topic and the existing target topic: what
/// they find that must not be run like this.
pub fn compare(plan: &Plan, source: &TopicShape, target: &TopicShape) -> Vec<Finding> {
    let counts = rules::partitions::judge(
        plan,
        (&source.name, &target.name),
        Ok(source.partitions),
        Ok(target.partitions),
    );
    let policies = rules::policy::judge(
        plan,
        &source.name,
        source.cleanup_policy.clone(),
        target.cleanup_policy.clone(),
    );
    let mut found = Vec::new();
    for (name, said) in [(names::PARTITIONS, counts), (names::CLEANUP_POLICY, policies)] {
        let check = CATALOGUE.iter().filter(|check| check.name == name);
        let names = Some((&source.name, &target.name));
        found.extend(check.flat_map(|check| findings(check, names, said.clone())));
    }
    found.iter_mut().for_each(|finding| allow::apply_to_topic(plan, &source.name, finding));
    found.retain(|finding| finding.blocks);
    found
}

/// The plan's answer to what the `cleanup.policy` of a source topic is, where the source does not tell.
pub fn assumed_policy(plan: &Plan, topic: &str, why: String) -> Option<String> {
    rules::policy::answer(plan, topic, why).ok().map(|(policy, _)| policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(partitions: usize, cleanup_policy: &str) -> TopicShape {
        TopicShape { name: "t".into(), partitions, cleanup_policy: Ok(cleanup_policy.into()) }
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
        let words: Vec<_> = failures.iter().map(|one| one.check).collect();
        assert_eq!(words, ["partitions", "cleanup-policy"]);
        assert!(failures.iter().all(|one| one.severity == Severity::Fail && one.hint.is_some()));
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
    fn a_policy_that_nobody_tells_blocks_unless_it_is_assumed_and_then_it_is_judged() {
        let mut source = shape(6, "");
        source.cleanup_policy = Err("source configs: no right".into());
        let target = shape(6, "compact");
        let found = compare(&fixture::plan(""), &source, &target);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Unknown));
        assert!(found[0].hint.as_ref().is_some_and(|hint| hint.contains("`[[assume]]`")));
        let assume = |policy: &str| {
            fixture::plan(&format!(
                "[[assume]]\ncheck = 'cleanup-policy'\ntopics = ['t']\nvalue = '{policy}'\nreason = 'r'\n"
            ))
        };
        assert_eq!(compare(&assume("compact"), &source, &target), []);
        assert_eq!(compare(&assume("delete"), &source, &target)[0].severity, Severity::Fail);
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
