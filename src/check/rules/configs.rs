//! Every config that no other check judges: set by somebody, or different by the clusters' defaults.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Look;
use crate::check::Rule;
use crate::check::effective::on_target;
use crate::check::facts::{ConfigFacts, PairFacts, SetBy};
use crate::check::verdict::{Verdict, Verdicts};

pub const EXPLICIT: Rule = Rule::Pair(check_explicit);
pub const DEFAULTS: Rule = Rule::Pair(check_defaults);

/// Configs that have a check of their own.
const JUDGED_ELSEWHERE: &[&str] = &[
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
];

type Configs = BTreeMap<String, ConfigFacts>;

fn both<'f>(
    look: &Look<'f>,
    pair: &'f PairFacts,
) -> Result<Option<(&'f Configs, Cow<'f, Configs>)>, String> {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(None) };
    let source = pair.source.configs.told("source configs")?;
    Ok(Some((source, target.configs()?)))
}

fn explicit(config: Option<&ConfigFacts>) -> bool {
    config.is_some_and(|config| config.set_by == SetBy::Topic)
}

fn check_explicit(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some((source, target)) = both(look, pair)? else { return Ok(Vec::new()) };
    // What the plan wants there, whatever the source has.
    let wanted = look.plan.config_for(&pair.source.name, &BTreeMap::new());
    let is_set = |name: &str| explicit(source.get(name)) || explicit(target.get(name));
    let names = source.keys().chain(target.keys()).chain(wanted.keys());
    let names: std::collections::BTreeSet<&String> = names
        .filter(|name| is_set(name) || wanted.contains_key(*name))
        .filter(|name| !JUDGED_ELSEWHERE.contains(&name.as_str()))
        .collect();
    let (mut found, mut equal) = (Vec::new(), 0);
    for name in names {
        let there = target.get(name);
        let verdict = match wanted.get(name) {
            Some(wanted) => as_wanted(name, wanted, there),
            None if !look.plan.compares_config(name) => Some(Verdict::info("left out by the plan")),
            None => compared(name, source.get(name), there),
        };
        match verdict {
            Some(verdict) => found.push(verdict.about(name)),
            None => equal += 1,
        }
    }
    if found.iter().all(|one| one.severity == crate::check::Severity::Info) {
        found.push(Verdict::pass(match equal {
            0 => "nothing else is set explicitly".to_owned(),
            _ => format!("{equal} explicitly set configs are the same"),
        }));
    }
    Ok(found)
}

fn as_wanted(name: &str, wanted: &str, there: Option<&ConfigFacts>) -> Option<Verdict> {
    let value = there.and_then(|config| config.value.as_deref());
    (value != Some(wanted)).then(|| {
        Verdict::warn(format!(
            "the plan wants `{name}={wanted}`, the target has `{}`",
            value.unwrap_or("not told")
        ))
        .hint("`topics.config.override` holds for topics that are created; set this one on the target")
    })
}

fn compared(
    name: &str,
    source: Option<&ConfigFacts>,
    there: Option<&ConfigFacts>,
) -> Option<Verdict> {
    let value = |config: Option<&ConfigFacts>| config.and_then(|config| config.value.clone());
    let hidden = |config: Option<&ConfigFacts>| config.is_some_and(|config| config.sensitive);
    if hidden(source) || hidden(there) {
        return Some(Verdict::unknown("the broker hides its value"));
    }
    match (value(source), value(there)) {
        (Some(is), None) => Some(
            Verdict::warn(format!("source `{name}={is}`, and the target does not know it"))
                .hint(format!("leave it out: `topics.config.exclude = [\"{name}\"]`")),
        ),
        (None, Some(is)) => {
            Some(Verdict::info(format!("target `{name}={is}`, and the source does not know it")))
        }
        (Some(is), Some(there)) if is != there => {
            Some(Verdict::warn(format!("source `{name}={is}`, target `{name}={there}`")))
        }
        _ => None,
    }
}

fn check_defaults(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    /// Defaults that can cost records.
    const MATTERS: &str = "unclean.leader.election.enable";
    let Some((source, target)) = both(look, pair)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (name, config) in source {
        let there = target.get(name);
        if JUDGED_ELSEWHERE.contains(&name.as_str())
            || !look.plan.compares_config(name)
            || explicit(Some(config))
            || explicit(there)
        {
            continue;
        }
        let (Some(is), Some(there)) = (&config.value, there.and_then(|there| there.value.as_ref()))
        else {
            continue;
        };
        if is != there {
            let reason =
                format!("source `{name}={is}`, target `{name}={there}`, by the clusters' defaults");
            let verdict =
                if name == MATTERS { Verdict::warn(reason) } else { Verdict::info(reason) };
            found.push(verdict.about(name));
        }
    }
    if found.is_empty() {
        found.push(Verdict::pass(
            "the clusters' defaults are the same where the topic sets nothing",
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{ConfigFacts, Known, SetBy};
    use crate::check::fixture::{facts, judged, judged_with, plan};
    use crate::check::names::{CONFIGS, DEFAULTS};
    use crate::check::verdict::Severity::{Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_set_config_is_equal_different_unknown_to_the_target_or_left_out() {
        let mut facts = facts();
        assert_eq!(judged(&facts, CONFIGS)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, "flush.ms", "5");
        let found = &judged(&facts, CONFIGS)[0];
        assert_eq!((found.severity, found.about.as_deref()), (Warn, Some("flush.ms")));
        assert_eq!(found.reason, "source `flush.ms=5`, and the target does not know it");
        facts.pairs[0].set(Side::Target, "flush.ms", "6");
        assert_eq!(judged(&facts, CONFIGS)[0].reason, "source `flush.ms=5`, target `flush.ms=6`");
        let excludes = plan("topics.config.exclude = ['flush.ms']");
        let found = judged_with(&excludes, &facts, CONFIGS);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Info, Pass]);
        facts.pairs[0].set(Side::Target, "flush.ms", "5");
        assert_eq!(judged(&facts, CONFIGS)[0].reason, "1 explicitly set configs are the same");
    }

    #[test]
    fn what_the_plan_overrides_is_compared_with_the_plan() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "flush.ms", "5");
        facts.pairs[0].set(Side::Target, "flush.ms", "5");
        let wants = plan("topics.config.override = { 'flush.ms' = '7' }");
        let found = judged_with(&wants, &facts, CONFIGS);
        assert_eq!(found[0].reason, "the plan wants `flush.ms=7`, the target has `5`");
    }

    #[test]
    fn a_hidden_value_is_unknown() {
        let mut facts = facts();
        let hidden = ConfigFacts { value: None, set_by: SetBy::Topic, sensitive: true };
        let Known::Known(configs) = &mut facts.pairs[0].source.configs else { panic!() };
        configs.insert("vendor.secret".into(), hidden);
        assert_eq!(judged(&facts, CONFIGS)[0].severity, Unknown);
    }

    #[test]
    fn defaults_that_differ_are_told_and_unclean_election_is_a_warning() {
        let mut facts = facts();
        assert_eq!(judged(&facts, DEFAULTS)[0].severity, Pass);
        for (name, severity) in [("unclean.leader.election.enable", Warn), ("flush.messages", Info)]
        {
            facts.pairs[0].source.set(&[(name, "false")], SetBy::Default);
            facts.pairs[0].side(Side::Target).set(&[(name, "true")], SetBy::Cluster);
            let found = judged(&facts, DEFAULTS);
            assert_eq!(
                found.iter().find(|one| one.about.as_deref() == Some(name)).unwrap().severity,
                severity
            );
        }
        facts.pairs[0].source.configs = Known::unknown("no right");
        assert_eq!(judged(&facts, DEFAULTS)[0].severity, Unknown);
    }
}
