//! What is on the target before anything is copied: topics that are missing, that would be created, that
//! hold records, and the ledger.

use std::collections::BTreeMap;

use super::{Look, answered};
use crate::check::facts::{CreateFacts, Known, PairFacts, PartitionFacts, TopicFacts};
use crate::check::resources::topic_command;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::list;
use crate::check::{Rule, names};
use crate::error::Error;
use crate::pipe::bound::{check_ledger_configs, check_ledger_replicas};
use crate::pipe::preflight::ledger_topic;

pub const MISSING: Rule = Rule::Pair(check_missing);
pub const CREATE: Rule = Rule::Pair(check_create);
pub const EMPTY: Rule = Rule::Pair(check_empty);
pub const LEDGER: Rule = Rule::Whole(check_ledger);

fn check_missing(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let there = pair.target.told("target topic")?;
    Ok(vec![match (there, &pair.create) {
        (Some(_), _) => Verdict::pass("the target has it"),
        (None, Some(_)) => Verdict::info("the target has no such topic; it would be created"),
        (None, None) => {
            if look.plan.topics.create {
                plannable(&pair.source).map_err(|why| {
                    format!("the target has no such topic, and nobody knows what to create: {why}")
                })?;
            }
            Verdict::fail("the target has no such topic, and the plan creates none").firm()
        }
    }])
}

/// What a topic would be created from is known.
fn plannable(source: &TopicFacts) -> Result<(), String> {
    source.partitions.told("source partitions")?;
    source.configs.told("source configs").map(|_| ())
}

fn check_create(_: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let missing = matches!(pair.target, Known::Known(None));
    match pair.create.as_ref().filter(|_| missing) {
        None => Ok(Vec::new()),
        Some(create) => Ok(vec![created(create)]),
    }
}

fn created(create: &CreateFacts) -> Verdict {
    let configs: Vec<_> =
        create.configs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let factor = create.replication_factor;
    let factor =
        factor.map_or_else(|| "the target's default".to_owned(), |factor| factor.to_string());
    let what = format!(
        "{} partitions, replication factor {factor}, {}",
        create.partitions,
        if configs.is_empty() { "no configs of its own".to_owned() } else { configs.join(" ") }
    );
    match &create.verdict {
        Known::Known(Ok(())) => Verdict::info(format!("would be created with {what}")),
        Known::Known(Err(why)) => {
            let verdict =
                Verdict::fail(format!("the target refuses to create it: {why} ({what})")).firm();
            let guilty: Vec<_> =
                create.configs.keys().filter(|name| names_config(why, name)).collect();
            match guilty.as_slice() {
                [] => verdict,
                guilty => {
                    let names: Vec<_> = guilty.iter().map(|name| format!("\"{name}\"")).collect();
                    verdict.hint(format!(
                        "leave it out with `topics.config.exclude = [{}]`, or give it another value in \
                         `topics.config.override`",
                        names.join(", ")
                    ))
                }
            }
        }
        Known::Unknown(why) => Verdict::unknown(format!("would be created with {what}; {why}")),
    }
}

/// Whether a broker's text names a config, and not a longer one that only begins or ends so.
fn names_config(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let mut after = text[at + name.len()..].chars();
        // A full stop may end the broker's sentence.
        let after = match after.next() {
            Some('.') => after.next().is_some_and(part),
            next => next.is_some_and(part),
        };
        !before && !after
    })
}

fn check_empty(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let (holding, untold) = match &pair.target {
        Known::Known(None) => return Ok(Vec::new()),
        Known::Known(Some(topic)) => holding(topic, pair),
        Known::Unknown(why) => (Vec::new(), Some(format!("target topic: {why}"))),
    };
    match (holding.first(), untold) {
        (None, None) => Verdict::pass("nothing but the ledger's own copies").into(),
        (Some((first, records)), untold) => {
            let failed = Verdict::fail(format!(
                "{} of the target's partitions hold records that the ledger does not know (partition {first}: \
                 {records} offsets)",
                holding.len()
            ));
            Ok([failed.firm()].into_iter().chain(untold.map(Verdict::unknown)).collect())
        }
        (None, Some(why)) => {
            let (check, topic) = (names::TARGET_EMPTY, &pair.source.name);
            let ((), assume) = answered(look.plan, check, topic, why, |value| match value {
                None | Some("true" | "empty") => Ok(()),
                Some(_) => Err("is not `true`"),
            })?;
            Verdict::pass("empty").resting_on(Some(assume)).into()
        }
    }
}

/// Partitions that the ledger does not know and that are not empty, with their offsets; and why that
/// cannot be told of one.
fn holding(topic: &TopicFacts, pair: &PairFacts) -> (Vec<(i32, i64)>, Option<String>) {
    let partitions = match topic.partitions.told("target partitions") {
        Ok(partitions) => partitions,
        Err(why) => return (Vec::new(), Some(why)),
    };
    let (mut holding, mut untold) = (Vec::new(), None);
    for partition in partitions {
        match foreign(partition, pair) {
            Ok(0) => {}
            Ok(offsets) => holding.push((partition.number, offsets)),
            Err(why) => {
                untold
                    .get_or_insert_with(|| format!("target partition {}: {why}", partition.number));
            }
        }
    }
    (holding, untold)
}

/// How many offsets of a target partition are not ours.
fn foreign(partition: &PartitionFacts, pair: &PairFacts) -> Result<i64, String> {
    let copy = pair.copy.iter().find(|copy| copy.partition == partition.number);
    let bound = match copy {
        Some(copy) => copy.bound.told("whether the ledger knows it"),
        // The source has no such partition, so the ledger has none.
        None => pair.source.partitions.told("source partitions").map(|_| &false),
    };
    if bound == Ok(&true) {
        return Ok(0);
    }
    let offsets = partition.log_end.get()? - partition.log_start.get()?;
    // What is empty holds nothing of others, whoever wrote to it.
    if offsets > 0 { bound.map(|_| offsets) } else { Ok(0) }
}

fn check_ledger(look: &Look<'_>) -> Verdicts {
    let (plan, ledger) = (look.plan, &look.facts.ledger);
    let name = plan.ledger_topic();
    let Some(topic) = ledger.topic.told(&format!("ledger `{name}`"))? else {
        let Some(create) = &ledger.create else {
            let lanes = ledger.partitions_needed.saturating_sub(1);
            let command = topic_command(&ledger_topic(plan, lanes));
            return Verdict::fail(format!(
                "target has no ledger topic `{name}`, and the plan creates none"
            ))
            .firm()
            .hint(format!("set `ledger.create = true`, or create it: `{command}`"))
            .into();
        };
        return Ok(vec![created(create)]);
    };
    let mut found = Vec::new();
    let wrong = |error: Error| {
        let verdict = Verdict::fail(error.what).firm();
        match error.hint {
            Some(hint) => verdict.hint(hint),
            None => verdict,
        }
    };
    let partitions = topic.partitions.told(&format!("ledger `{name}`"));
    match topic.configs.told(&format!("ledger `{name}`")) {
        Ok(configs) => {
            let told = configs.iter();
            let told =
                told.filter_map(|(name, config)| Some((name.clone(), config.value.clone()?)));
            let configs: BTreeMap<String, String> = told.collect();
            found.extend(check_ledger_configs(name, &configs).err().map(wrong));
            let min_insync =
                configs.get("min.insync.replicas").and_then(|value| value.parse().ok());
            let replicas = partitions.iter().flat_map(|all| all.iter());
            if let Some(replicas) = replicas.map(|one| one.replicas.len()).min() {
                let brokers = look.facts.target.brokers.len();
                match check_ledger_replicas(name, replicas, min_insync, brokers) {
                    Ok(warning) => found.extend(warning.map(Verdict::warn)),
                    Err(error) => found.push(wrong(error)),
                }
            }
        }
        Err(why) => found.push(Verdict::unknown(why).about("configs")),
    }
    let partitions = match partitions {
        Ok(partitions) => partitions,
        Err(why) => {
            found.push(Verdict::unknown(why).about("partitions"));
            return Ok(found);
        }
    };
    let begun: Vec<_> = partitions.iter().filter(|one| one.log_start.ok() > Some(&0)).collect();
    if !begun.is_empty() {
        let numbers: Vec<_> = begun.iter().map(|one| one.number.to_string()).collect();
        found.push(
            Verdict::fail(format!(
                "ledger `{name}` has lost entries: partitions {}",
                list(&numbers)
            ))
            .firm(),
        );
    }
    let untold = partitions.iter().filter_map(|one| {
        let why = one.log_start.told("whether it has lost entries is not known").err()?;
        Some(Verdict::unknown(why).about(format!("partition {}", one.number)))
    });
    found.extend(untold);
    if partitions.len() < 2 {
        found.push(
            Verdict::fail(format!("ledger topic `{name}` has {} partition(s)", partitions.len()))
                .firm()
                .hint("a ledger has one partition per lane, and one more for control entries"),
        );
    }
    if found.is_empty() {
        found.push(Verdict::pass(format!(
            "`{name}` is there, with {} partitions",
            partitions.len()
        )));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{create, facts, judged, judged_with, plan, topic};
    use crate::check::names::{CREATE_TOPIC, LEDGER_TOPIC, MISSING_TOPIC, TARGET_EMPTY};
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_missing_topic_fails_unless_it_would_be_created() {
        let mut facts = facts();
        assert_eq!(judged(&facts, MISSING_TOPIC)[0].severity, Pass);
        facts.pairs[0].target = Known::Known(None);
        assert_eq!(judged(&facts, MISSING_TOPIC)[0].severity, Fail);
        assert_eq!(judged(&facts, CREATE_TOPIC), []);
        let configs = std::mem::replace(
            &mut facts.pairs[0].source.configs,
            Known::unknown("no DescribeConfigs right"),
        );
        let found = &judged(&facts, MISSING_TOPIC)[0];
        assert_eq!(found.severity, Unknown);
        assert!(found.reason.ends_with("source configs: no DescribeConfigs right"), "{found:?}");
        let none = plan("topics.create = false");
        assert_eq!(judged_with(&none, &facts, MISSING_TOPIC)[0].severity, Fail);
        facts.pairs[0].source.configs = configs;
        facts.pairs[0].create = Some(create(6, &[("flush.ms", "5")]));
        assert_eq!(judged(&facts, MISSING_TOPIC)[0].severity, Info);
        let found = &judged(&facts, CREATE_TOPIC)[0];
        assert_eq!(found.severity, Info);
        assert_eq!(
            found.reason,
            "would be created with 6 partitions, replication factor the target's default, flush.ms=5"
        );
    }

    #[test]
    fn a_refusal_names_the_plan_line_that_leaves_the_config_out() {
        let mut facts = facts();
        facts.pairs[0].target = Known::Known(None);
        let mut create = create(6, &[("flush.ms", "5"), ("flush.ms.more", "5")]);
        create.verdict = Known::Known(Err("Unknown topic config name: flush.ms.".into()));
        facts.pairs[0].create = Some(create);
        let found = &judged(&facts, CREATE_TOPIC)[0];
        assert_eq!((found.severity, found.firm), (Fail, true));
        assert!(found.hint.as_ref().unwrap().contains("`topics.config.exclude = [\"flush.ms\"]`"));
    }

    #[test]
    fn a_target_with_records_fails_unless_the_ledger_knows_them() {
        let mut facts = facts();
        assert_eq!(judged(&facts, TARGET_EMPTY)[0].severity, Pass);
        facts.pairs[0].side(Side::Target).parts()[2].log_end = Known::Known(7);
        let found = &judged(&facts, TARGET_EMPTY)[0];
        assert_eq!((found.severity, found.firm), (Fail, true));
        assert!(found.reason.ends_with("(partition 2: 7 offsets)"));
        facts.pairs[0].side(Side::Target).parts()[4].log_end = Known::unknown("no answer");
        let found = judged(&facts, TARGET_EMPTY);
        assert_eq!((found[0].severity, found[1].severity), (Fail, Unknown));
        facts.pairs[0].side(Side::Target).parts()[4].log_end = Known::Known(0);
        facts.pairs[0].copy[2].bound = Known::Known(true);
        assert_eq!(judged(&facts, TARGET_EMPTY)[0].severity, Pass);
    }

    #[test]
    fn records_that_an_unreadable_ledger_may_know_are_unknown_and_can_be_assumed() {
        let mut facts = facts();
        for copy in &mut facts.pairs[0].copy {
            copy.bound = Known::unknown("ledger `l-0` cannot be read");
        }
        assert_eq!(judged(&facts, TARGET_EMPTY)[0].severity, Pass, "it is empty");
        facts.pairs[0].side(Side::Target).parts()[2].log_end = Known::Known(7);
        let found = judged(&facts, TARGET_EMPTY);
        assert_eq!((found.len(), found[0].severity, found[0].firm), (1, Unknown, false));
        assert_eq!(
            found[0].reason,
            "target partition 2: whether the ledger knows it: ledger `l-0` cannot be read"
        );
        let seen = plan("[[assume]]\ncheck = 'target-empty'\ntopics = ['orders']\nreason = 'seen'");
        assert_eq!(judged_with(&seen, &facts, TARGET_EMPTY)[0].severity, Pass);
        facts.pairs[0].copy.clear();
        facts.pairs[0].source.partitions = Known::unknown("no Describe right");
        assert_eq!(judged(&facts, TARGET_EMPTY)[0].severity, Unknown, "nor is the source known");
    }

    #[test]
    fn that_a_target_is_empty_can_be_assumed() {
        let mut facts = facts();
        facts.pairs[0].side(Side::Target).parts()[2].log_end = Known::unknown("no Describe right");
        let found = &judged(&facts, TARGET_EMPTY)[0];
        assert_eq!((found.severity, found.blocks), (Unknown, true));
        let seen = plan("[[assume]]\ncheck = 'target-empty'\ntopics = ['orders']\nreason = 'seen'");
        let found = &judged_with(&seen, &facts, TARGET_EMPTY)[0];
        assert_eq!((found.severity, found.assumed.as_deref()), (Pass, Some("seen")));
    }

    #[test]
    fn the_ledger_topic_must_be_set_up_as_one() {
        let mut facts = facts();
        assert_eq!(judged(&facts, LEDGER_TOPIC)[0].severity, Info);
        facts.ledger.create = None;
        let found = &judged(&facts, LEDGER_TOPIC)[0];
        assert_eq!(found.severity, Fail);
        assert!(found.hint.as_ref().unwrap().contains("--partitions 9"), "{:?}", found.hint);
        let good = [("retention.ms", "-1"), ("retention.bytes", "-1")];
        let mut ledger = topic("onceover-t-ledger", 9, 5).with(&good);
        facts.ledger.topic = Known::Known(Some(ledger.clone()));
        assert_eq!(judged(&facts, LEDGER_TOPIC)[0].severity, Pass);
        ledger.parts()[3].log_start = Known::unknown("no answer");
        facts.ledger.topic = Known::Known(Some(ledger.clone()));
        let found = judged(&facts, LEDGER_TOPIC);
        assert_eq!((found.len(), found[0].severity), (1, Unknown));
        assert_eq!(found[0].about.as_deref(), Some("partition 3"));
        let mut lost = ledger.clone();
        lost.configs = Known::unknown("no DescribeConfigs right");
        lost.parts()[4].log_start = Known::Known(7);
        facts.ledger.topic = Known::Known(Some(lost));
        let severities: Vec<_> =
            judged(&facts, LEDGER_TOPIC).iter().map(|one| one.severity).collect();
        assert_eq!(severities, [Fail, Unknown, Unknown], "hidden configs hide no lost entries");
        for part in ledger.parts() {
            part.replicas = vec![1];
            part.log_start = Known::Known(0);
        }
        let ledger = ledger.with(&[("min.insync.replicas", "1")]);
        facts.ledger.topic = Known::Known(Some(ledger.clone()));
        assert_eq!(judged(&facts, LEDGER_TOPIC)[0].severity, Warn);
        facts.ledger.topic = Known::Known(Some(ledger.with(&[("retention.ms", "5")])));
        assert_eq!(judged(&facts, LEDGER_TOPIC)[0].severity, Fail);
        facts.ledger.topic = Known::unknown("no right");
        assert_eq!(judged(&facts, LEDGER_TOPIC)[0].severity, Unknown);
    }
}
