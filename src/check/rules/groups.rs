//! Consumer groups of the source, and their state.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{GroupFacts, Known};
use crate::check::verdict::{Verdict, Verdicts};
use crate::report::numbers::counted;

pub const GROUPS: Rule = Rule::Whole(check);

fn check(look: &Look<'_>) -> Verdicts {
    let groups = look.facts.groups.told("source groups")?;
    // One that has read nothing of the plan has nothing to move.
    let in_scope = |group: &&GroupFacts| group.topics.ok().is_none_or(|topics| !topics.is_empty());
    let found: Vec<_> = groups.iter().filter(in_scope).map(told).collect();
    Ok(if found.is_empty() {
        vec![Verdict::info("no group has offsets of the plan's topics")]
    } else {
        found
    })
}

fn told(group: &GroupFacts) -> Verdict {
    let members = group
        .members
        .ok()
        .map_or_else(|| "members not known".into(), |members| counted(*members as u64, "member"));
    let topics = match &group.topics {
        Known::Known(topics) => {
            format!("offsets of {} of the plan", counted(topics.len() as u64, "topic"))
        }
        Known::Unknown(why) => format!("its topics are not known: {why}"),
    };
    match &group.state {
        Known::Known(state) => {
            let reason = format!("{state}, {members}, {topics}");
            match state.as_str() {
                "Empty" | "Stable" => Verdict::info(reason),
                _ => Verdict::warn(reason),
            }
        }
        Known::Unknown(why) => Verdict::unknown(format!("its state is not known: {why}; {topics}")),
    }
    .about(&*group.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::fixture::{facts, judged};
    use crate::check::names::GROUPS;
    use crate::check::verdict::Severity::{Info, Unknown, Warn};

    fn group(state: &str, topics: &[&str]) -> GroupFacts {
        GroupFacts {
            name: "billing".into(),
            state: Known::Known(state.into()),
            members: Known::Known(2),
            topics: Known::Known(
                topics.iter().map(|topic| (*topic).into()).collect::<BTreeSet<_>>(),
            ),
        }
    }

    #[test]
    fn groups_in_scope_are_listed_with_their_state() {
        let mut facts = facts();
        assert_eq!(judged(&facts, GROUPS)[0].severity, Info);
        facts.groups = Known::Known(vec![group("Stable", &["orders"]), group("Empty", &[])]);
        let found = judged(&facts, GROUPS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].about.as_deref(), Some("billing"));
        assert_eq!(found[0].reason, "Stable, 2 members, offsets of 1 topic of the plan");
        facts.groups = Known::Known(vec![group("PreparingRebalance", &["orders"])]);
        assert_eq!(judged(&facts, GROUPS)[0].severity, Warn);
        facts.groups = Known::unknown("no Describe right");
        assert_eq!(judged(&facts, GROUPS)[0].severity, Unknown);
    }
}
