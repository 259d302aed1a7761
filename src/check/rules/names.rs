//! Names: collisions on the target, topics that belong to somebody's machinery, and what the selection
//! of topics found worth saying.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{Known, PairFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::plan::{Pattern, metric_name, warned_about};
use crate::report::numbers::counted;

pub const COLLISION: Rule = Rule::Pair(check_collision);
pub const RESERVED: Rule = Rule::Pair(check_reserved);
pub const SELECTION: Rule = Rule::Whole(check_selection);

/// That no two source topics become one there, the selection sees to (`Plan::select`).
fn check_collision(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let name = &*pair.target_name;
    if matches!(pair.target, Known::Known(None)) {
        let in_metrics = metric_name(name);
        let mut beside = look.facts.target.topics.iter();
        let beside = beside.find(|topic| *topic != name && metric_name(topic) == in_metrics);
        if let Some(beside) = beside {
            return Verdict::fail(format!(
                "the target has `{beside}`, and Kafka cannot tell `.` and `_` apart in its metrics: it \
                 refuses to create `{name}` beside it"
            ))
            .firm()
            .into();
        }
    }
    Verdict::pass("no other topic has this name on the target").into()
}

fn check_reserved(_: &Look<'_>, pair: &PairFacts) -> Verdicts {
    Ok(vec![match warned_about(&pair.source.name) {
        Some(why) => Verdict::warn(format!("it will be copied, but {why}")),
        None => Verdict::pass("an ordinary name"),
    }])
}

fn check_selection(look: &Look<'_>) -> Verdicts {
    // `reserved-name` says these, topic by topic.
    let told = |warning: &str| {
        let whys = look.facts.pairs.iter().filter_map(|pair| warned_about(&pair.source.name));
        whys.into_iter().any(|why| warning.ends_with(why))
    };
    let warnings = look.facts.selection_warnings.iter().filter(|warning| !told(warning));
    let mut found: Vec<_> = warnings.map(Verdict::warn).collect();
    let allow = look.plan.allow.iter().map(|one| ("check.allow", &one.check, &one.topics));
    let assume = look.plan.assume.iter().map(|one| ("assume", &one.check, &one.topics));
    for (field, check, topics) in allow.chain(assume) {
        let matches = |pattern: &Pattern| {
            look.facts.pairs.iter().any(|pair| pattern.matches(&pair.source.name))
        };
        found.extend(topics.iter().filter(|pattern| !matches(pattern)).map(|pattern| {
            Verdict::warn(format!(
                "`{field}` of `{check}`: `{pattern}` matches no topic of the plan"
            ))
        }));
    }
    if found.is_empty() {
        let topics = look.facts.pairs.len();
        found.push(Verdict::pass(format!("the plan selects {}", counted(topics as u64, "topic"))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{facts, judged, judged_with, pair, plan};
    use crate::check::names::{NAME_COLLISION, RESERVED_NAME, SELECTION};
    use crate::check::verdict::Severity::{Fail, Pass, Warn};

    #[test]
    fn names_that_differ_in_dots_and_underscores_collide() {
        let mut facts = facts();
        assert_eq!(judged(&facts, NAME_COLLISION)[0].severity, Pass);
        facts.pairs[0].target_name = "a.b".into();
        facts.target.topics.insert("a_b".into());
        // One that is there already is there.
        assert_eq!(judged(&facts, NAME_COLLISION)[0].severity, Pass);
        facts.pairs[0].target = Known::Known(None);
        assert_eq!(judged(&facts, NAME_COLLISION)[0].severity, Fail);
    }

    #[test]
    fn a_permission_for_a_topic_that_is_not_there_is_a_warning() {
        let plan =
            plan("[[check.allow]]\ncheck = 'acls'\ntopics = ['order', 'orders']\nreason = 'r'");
        let found = judged_with(&plan, &facts(), SELECTION);
        assert_eq!((found.len(), found[0].severity), (1, Warn));
        assert_eq!(
            found[0].reason,
            "`check.allow` of `acls`: `order` matches no topic of the plan"
        );
    }

    #[test]
    fn machinery_is_a_warning_and_is_said_once() {
        let mut facts = facts();
        assert_eq!(judged(&facts, RESERVED_NAME)[0].severity, Pass);
        assert_eq!(judged(&facts, SELECTION)[0].severity, Pass);
        facts.pairs.push(pair("app-store-changelog", 1));
        let why = crate::plan::warned_about("app-store-changelog").unwrap();
        facts.selection_warnings = vec![
            format!("`app-store-changelog` will be copied, but {why}"),
            "`x` matches nothing".into(),
        ];
        assert_eq!(judged(&facts, RESERVED_NAME)[0].severity, Warn);
        let found = judged(&facts, SELECTION);
        assert_eq!((found.len(), &*found[0].reason), (1, "`x` matches nothing"));
    }
}
