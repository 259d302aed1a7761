//! Tiered storage.

use super::Look;
use crate::check::Rule;
use crate::check::effective::{OnTarget, on_source, on_target};
use crate::check::facts::{Facts, PairFacts};
use crate::check::verdict::{Verdict, Verdicts};

pub const TIERED: Rule = Rule::Pair(check);

const NAME: &str = "remote.storage.enable";

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    // Brokers without it (before 3.6) do not know the config; one that hides all of them does not tell.
    let source = match on_source(pair, NAME) {
        Ok(value) => value == "true",
        Err(_) if pair.source.configs.ok().is_some() => false,
        Err(why) => return Err(why.into()),
    };
    let there = match target.config(NAME) {
        Ok(value) => value == "true",
        Err(_) if target.tells_configs() => false,
        Err(why) => return Err(why.into()),
    };
    let both = format!("source `{NAME}={source}`, target `{NAME}={there}`");
    Ok(vec![match (source, there) {
        (true, true) if planned_without_support(&target, look.facts) => Verdict::fail(format!(
            "{both}, but the target's brokers have `remote.log.storage.system.enable=false`"
        ))
        .hint(format!("leave it out: `topics.config.exclude = [\"{NAME}\"]`")),
        (true, false) => {
            Verdict::warn(format!("{both}: the target keeps all of it on its brokers' disks"))
        }
        (false, true) => Verdict::info(both),
        _ => Verdict::pass(both),
    }])
}

fn planned_without_support(target: &OnTarget<'_>, facts: &Facts) -> bool {
    matches!(target, OnTarget::Planned(..))
        && facts
            .target
            .config("remote.log.storage.system.enable")
            .is_ok_and(|value| value == "false")
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{broker, create, facts, judged};
    use crate::check::names::TIERED_STORAGE;
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    const NAME: &str = super::NAME;

    #[test]
    fn a_tiered_source_needs_room_on_a_target_that_is_not() {
        let mut facts = facts();
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, NAME, "true");
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Warn);
        facts.pairs[0].set(Side::Target, NAME, "true");
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, NAME, "false");
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Info);
        facts.pairs[0].source.configs = Known::unknown("no right");
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Unknown);
    }

    #[test]
    fn a_tiered_topic_cannot_be_created_where_the_brokers_have_no_tier() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, NAME, "true");
        facts.pairs[0].target = Known::Known(None);
        facts.pairs[0].create = Some(create(6, &[(NAME, "true")]));
        facts.target.brokers = vec![broker(1, &[("remote.log.storage.system.enable", "false")])];
        assert_eq!(judged(&facts, TIERED_STORAGE)[0].severity, Fail);
    }
}
