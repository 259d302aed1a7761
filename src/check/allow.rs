//! What the plan takes responsibility for: failed checks that are allowed, unknown ones that are answered
//! by hand, and the ledger entries that remember both. Pure.

use std::collections::BTreeMap;

use super::catalogue::ASSUMABLE;
use super::facts::Facts;
use super::verdict::{Finding, Severity};
use crate::ledger::Override;
use crate::plan::{Allow, Plan};

/// The plan's permission for a check to fail on a topic.
fn allowed<'p>(plan: &'p Plan, check: &str, topic: &str) -> Option<&'p Allow> {
    plan.allow
        .iter()
        .find(|one| one.check == check && one.topics.iter().any(|pattern| pattern.matches(topic)))
}

/// The plan's permission for a check that is not about one topic: it must hold for every topic of the plan.
fn allowed_for_all<'p>(plan: &'p Plan, facts: &Facts, check: &str) -> Option<&'p Allow> {
    let permissions = facts.pairs.iter().map(|pair| allowed(plan, check, &pair.source.name));
    permissions.collect::<Option<Vec<_>>>()?.first().copied()
}

/// Allows what the plan allows, and says what still blocks a run.
pub fn apply(plan: &Plan, facts: &Facts, found: &mut [Finding]) {
    for finding in found {
        apply_to(finding, |finding| match &finding.topic {
            Some(topic) => allowed(plan, finding.check, topic),
            None => allowed_for_all(plan, facts, finding.check),
        });
    }
}

/// The same for a finding about a topic.
pub fn apply_to_topic(plan: &Plan, topic: &str, finding: &mut Finding) {
    apply_to(finding, |finding| allowed(plan, finding.check, topic));
}

fn apply_to<'p>(finding: &mut Finding, permission: impl FnOnce(&Finding) -> Option<&'p Allow>) {
    if finding.severity == Severity::Fail
        && !finding.firm
        && let Some(permission) = permission(finding)
    {
        finding.severity = Severity::Warn;
        finding.allowed = Some(permission.reason.clone());
        finding.hint = None;
    }
    finding.blocks = match finding.severity {
        Severity::Fail => true,
        Severity::Unknown => ASSUMABLE.contains(&finding.check),
        _ => false,
    };
}

/// The ledger's entries for everything that the plan's `[[check.allow]]` and `[[assume]]` decided in
/// these findings: one for each check and reason, with its topics. Without topics: of the plan as a
/// whole.
pub fn overrides(found: &[Finding], at: i64) -> Vec<Override> {
    let mut by_reason: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for finding in found {
        let reasons = [
            finding.allowed.as_ref().map(|reason| format!("allowed: {reason}")),
            finding.assumed.as_ref().map(|reason| format!("assumed: {reason}")),
        ];
        for reason in reasons.into_iter().flatten() {
            let topics = by_reason.entry((finding.check, reason)).or_default();
            topics.extend(finding.topic.as_ref().map(ToString::to_string));
        }
    }
    by_reason
        .into_iter()
        .map(|((check, reason), mut topics)| {
            topics.sort();
            topics.dedup();
            Override { what: check.to_owned(), topics, reason, at }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::fixture::{facts, pair, plan};
    use crate::check::{judge, names};
    use crate::error::Side;

    const LOG_APPEND: (&str, &str) = ("message.timestamp.type", "LogAppendTime");

    fn append_times(topics: &[&str]) -> Facts {
        let mut facts = facts();
        facts.pairs = topics.iter().map(|topic| pair(topic, 2)).collect();
        for pair in &mut facts.pairs {
            pair.set(Side::Target, LOG_APPEND.0, LOG_APPEND.1);
        }
        facts
    }

    #[test]
    fn what_is_allowed_warns_blocks_nothing_and_goes_into_the_ledger() {
        let plan = plan(
            "[[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['/a.*/']\nreason = 'nobody looks'",
        );
        let found = judge(&plan, &append_times(&["a1", "a2", "b"]));
        let of = |topic: &str| {
            let mut of = found.iter().filter(|one| one.check == names::TIMESTAMP_TYPE);
            of.find(|one| one.topic.as_deref() == Some(topic)).unwrap()
        };
        assert_eq!((of("a1").severity, of("a1").blocks), (Severity::Warn, false));
        assert_eq!((of("b").severity, of("b").blocks), (Severity::Fail, true));
        assert_eq!(
            overrides(&found, 7),
            [Override {
                what: "timestamp-type".into(),
                topics: vec!["a1".into(), "a2".into()],
                reason: "allowed: nobody looks".into(),
                at: 7,
            }]
        );
    }

    #[test]
    fn what_is_not_about_one_topic_is_allowed_only_for_all_of_them() {
        let mut facts = append_times(&["a", "b"]);
        facts.target.disks = crate::check::facts::Known::Known(Vec::new());
        let room = |topics: &str| {
            let plan = plan(&format!(
                "[[check.allow]]\ncheck = 'disk-room'\ntopics = {topics}\nreason = 'r'"
            ));
            let found = judge(&plan, &facts);
            found.iter().find(|one| one.check == names::DISK_ROOM).unwrap().blocks
        };
        assert!(room("['a']"));
        assert!(!room("['/.*/']"));
    }

    proptest! {
        #[test]
        fn an_allow_touches_only_its_own_check_and_topics(
            topics in prop::collection::btree_set("[a-c]{1,2}", 1..6),
            allowed in "[a-c]{1,2}",
        ) {
            let names: Vec<_> = topics.iter().map(String::as_str).collect();
            let facts = append_times(&names);
            let before = judge(&plan(""), &facts);
            let permission =
                format!("[[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['{allowed}']\nreason = 'r'");
            let after = judge(&plan(&permission), &facts);
            prop_assert_eq!(before.len(), after.len());
            // That a pattern matches nothing is told there.
            let told = |found: &(&Finding, &Finding)| found.0.check != names::SELECTION;
            for (before, after) in before.iter().zip(&after).filter(told) {
                let touched = before.check == names::TIMESTAMP_TYPE
                    && before.topic.as_deref() == Some(allowed.as_str());
                if touched {
                    prop_assert_eq!(after.severity, Severity::Warn);
                } else {
                    prop_assert_eq!(before, after);
                }
            }
        }
    }
}
