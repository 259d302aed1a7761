//! `cleanup.policy` means the same on both sides.

use super::{Look, answered, both};
use crate::check::effective::{on_source, on_target};
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::{Rule, names, policy};
use crate::plan::{Assume, Plan};

pub const POLICY: Rule = Rule::Pair(check);

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let source = on_source(pair, "cleanup.policy").map(str::to_owned);
    let target = match on_target(look.facts, pair) {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(target)) => target.config("cleanup.policy"),
        Err(why) => Err(why),
    };
    judge(look.plan, &pair.source.name, source, target)
}

/// Judges the policies of a topic pair, with the plan's answer for one that is not known.
pub fn judge(
    plan: &Plan,
    topic: &str,
    source: Result<String, String>,
    target: Result<String, String>,
) -> Verdicts {
    let (source, target, assume) = both(plan, names::CLEANUP_POLICY, topic, source, target, read)?;
    Ok(vec![compared(&source, &target).resting_on(assume)])
}

/// The plan's answer for a policy of a source topic that is not known.
pub fn answer<'p>(
    plan: &'p Plan,
    topic: &str,
    why: String,
) -> Result<(String, &'p Assume), Verdict> {
    answered(plan, names::CLEANUP_POLICY, topic, why, read)
}

fn read(value: Option<&str>) -> Result<String, &'static str> {
    value.map(str::to_owned).ok_or("is missing")
}

fn compared(source: &str, target: &str) -> Verdict {
    if policy(source) == policy(target) {
        return Verdict::pass(format!("both have `cleanup.policy={source}`"));
    }
    Verdict::fail(format!(
        "source has `cleanup.policy={source}`, target has `cleanup.policy={target}`"
    ))
    .hint("set the target topic's `cleanup.policy` to the source's before copying")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::facts::Known;
    use crate::check::fixture::{create, facts, judged};
    use crate::check::names::CLEANUP_POLICY;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown};
    use crate::error::Side;

    #[test]
    fn another_policy_fails_and_names_both() {
        let mut facts = facts();
        assert_eq!(judged(&facts, CLEANUP_POLICY)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, "cleanup.policy", "compact");
        let found = &judged(&facts, CLEANUP_POLICY)[0];
        assert_eq!(found.severity, Fail);
        assert_eq!(
            found.reason,
            "source has `cleanup.policy=compact`, target has `cleanup.policy=delete`"
        );
    }

    #[test]
    fn a_topic_to_be_created_gets_the_brokers_policy_unless_it_is_set() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "cleanup.policy", "compact");
        facts.pairs[0].target = Known::Known(None);
        facts.pairs[0].create = Some(create(6, &[("cleanup.policy", "compact")]));
        assert_eq!(judged(&facts, CLEANUP_POLICY)[0].severity, Pass);
        facts.pairs[0].create = Some(create(6, &[]));
        assert_eq!(judged(&facts, CLEANUP_POLICY)[0].severity, Fail);
    }

    #[test]
    fn a_hidden_policy_is_unknown_and_blocks() {
        let mut facts = facts();
        facts.pairs[0].source.configs = Known::unknown("no DescribeConfigs right");
        let found = &judged(&facts, CLEANUP_POLICY)[0];
        assert_eq!((found.severity, found.blocks), (Unknown, true));
    }

    proptest! {
        #[test]
        fn order_and_spaces_of_a_policy_mean_nothing(
            words in prop::sample::subsequence(vec!["compact", "delete"], 0..=2),
            spaces in 0usize..3,
            reversed: bool,
        ) {
            let blank = " ".repeat(spaces);
            let mut shown = words.clone();
            if reversed {
                shown.reverse();
            }
            let shown: Vec<_> = shown.iter().map(|word| format!("{blank}{word}{blank}")).collect();
            let verdict = compared(&words.join(","), &shown.join(","));
            prop_assert_eq!(verdict.severity, Pass);
        }
    }
}
