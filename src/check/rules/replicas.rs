//! Replicas: whether the target can take writes, and goes on taking them with a broker less.

use super::Look;
use crate::check::Rule;
use crate::check::effective::{OnTarget, on_source, on_target};
use crate::check::facts::{Known, PairFacts, TopicFacts};
use crate::check::verdict::{Verdict, Verdicts};

pub const MIN_INSYNC: Rule = Rule::Pair(check_min_insync);
pub const LEADERS: Rule = Rule::Pair(check_leaders);

const NAME: &str = "min.insync.replicas";

fn check_min_insync(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    let needed = usize::try_from(target.number(NAME)?).unwrap_or(0);
    let replicas = target.replicas()?;
    let brokers = look.facts.target.brokers.len();
    let there = matches!(target, OnTarget::There(_));
    let mut found = vec![judge(needed, replicas, brokers, there)];
    if let OnTarget::There(topic) = target
        && found[0].severity != crate::check::Severity::Fail
    {
        found.extend(behind(topic, needed)?);
    }
    if let Ok(of_source) = on_source(pair, NAME)
        && of_source.parse().is_ok_and(|of_source: usize| of_source > needed)
    {
        found.push(
            Verdict::warn(format!("source `{NAME}={of_source}`, target `{NAME}={needed}`"))
                .about("source"),
        );
    }
    Ok(found)
}

/// Judges `min.insync.replicas` against the replicas that a partition has and the brokers alive. A topic
/// that is `there` takes writes with a broker down; one that is not cannot be made.
pub fn judge(needed: usize, replicas: usize, brokers: usize, there: bool) -> Verdict {
    let counts = format!(
        "target `{NAME}={needed}`, {replicas} replicas per partition, {brokers} brokers alive"
    );
    if needed > replicas {
        Verdict::fail(format!("{counts}: no write can succeed"))
    } else if needed > brokers {
        Verdict::fail(format!("{counts}: no write can succeed now"))
    } else if replicas > brokers && !there {
        Verdict::fail(format!("{counts}: not every replica has a broker, it cannot be created"))
    } else if replicas > brokers {
        Verdict::warn(format!("{counts}: not every replica has a broker"))
    } else if replicas > 1 && needed == replicas {
        Verdict::warn(format!("{counts}: one broker down stops all writes"))
    } else if replicas == 1 && brokers > 1 {
        Verdict::warn(format!("{counts}: the loss of one broker is the loss of its records"))
    } else {
        Verdict::pass(counts)
    }
}

/// Partitions that cannot be written now.
fn behind(topic: &TopicFacts, needed: usize) -> Result<Option<Verdict>, String> {
    let partitions = topic.partitions.told("target partitions")?;
    let behind: Vec<_> = partitions.iter().filter(|one| one.isr.len() < needed).collect();
    Ok(behind.first().map(|first| {
        Verdict::fail(format!(
            "{} partitions have fewer than {needed} replicas in sync (partition {}: {} of {}): they take no \
             writes now",
            behind.len(),
            first.number,
            first.isr.len(),
            first.replicas.len()
        ))
        .about("in sync")
    }))
}

fn check_leaders(_: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let mut found = Vec::new();
    let target = pair.target.ok().and_then(Option::as_ref);
    for (side, topic) in [("source", Some(&pair.source)), ("target", target)] {
        let Some(topic) = topic else { continue };
        found.push(led(side, topic).unwrap_or_else(|why| Verdict::unknown(why).about(side)));
    }
    if let Known::Unknown(why) = &pair.target {
        found.push(Verdict::unknown(format!("target topic: {why}")).about("target"));
    }
    Ok(found)
}

fn led(side: &str, topic: &TopicFacts) -> Result<Verdict, String> {
    let partitions = topic.partitions.told(&format!("{side} partitions"))?;
    let without = partitions.iter().filter(|one| one.leader.is_none());
    let without: Vec<_> = without.map(|one| one.number.to_string()).collect();
    let behind = partitions.iter().filter(|one| one.isr.len() < one.replicas.len()).count();
    let of = partitions.len();
    Ok(if !without.is_empty() {
        let which = crate::check::words::list(&without);
        Verdict::fail(format!(
            "{side}: {} of {of} partitions have no leader ({which})",
            without.len()
        ))
    } else if behind > 0 {
        Verdict::warn(format!(
            "{side}: {behind} of {of} partitions have replicas that are not in sync"
        ))
    } else {
        Verdict::pass(format!("{side}: all partitions have a leader and their replicas in sync"))
    }
    .about(side))
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::check::facts::Known;
    use crate::check::fixture::{create, facts, judged};
    use crate::check::names::{LEADERS, MIN_INSYNC};
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn more_in_sync_replicas_than_replicas_fail_and_may_be_allowed() {
        let mut facts = facts();
        assert_eq!(judged(&facts, MIN_INSYNC)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "min.insync.replicas", "4");
        let found = &judged(&facts, MIN_INSYNC)[0];
        assert_eq!((found.severity, found.firm), (Fail, false));
        assert_eq!(
            found.reason,
            "target `min.insync.replicas=4`, 3 replicas per partition, 3 brokers alive: no write can succeed"
        );
        facts.pairs[0].set(Side::Target, "min.insync.replicas", "3");
        assert_eq!(judged(&facts, MIN_INSYNC)[0].severity, Warn);
    }

    #[test]
    fn partitions_that_take_no_writes_now_fail() {
        let mut facts = facts();
        facts.pairs[0].side(Side::Target).parts()[4].isr = vec![1];
        let found = judged(&facts, MIN_INSYNC);
        assert_eq!(found[0].severity, Fail);
        assert!(found[0].reason.contains("(partition 4: 1 of 3)"), "{}", found[0].reason);
    }

    #[test]
    fn a_topic_with_a_broker_down_takes_writes_until_too_few_are_alive_and_one_replica_on_one_broker_is_all_there_is()
     {
        assert_eq!(judge(2, 3, 2, true).severity, Warn);
        assert_eq!(judge(2, 3, 2, false).severity, Fail, "it cannot be created");
        assert_eq!(judge(2, 3, 1, true).severity, Fail);
        assert_eq!(judge(1, 1, 1, true).severity, Pass);
        assert_eq!(judge(1, 1, 1, false).severity, Pass);
    }

    #[test]
    fn a_planned_topic_has_the_targets_default_replication() {
        let mut facts = facts();
        facts.pairs[0].target = Known::Known(None);
        facts.pairs[0].create = Some(create(6, &[]));
        assert_eq!(judged(&facts, MIN_INSYNC)[0].severity, Pass);
        let mut one = create(6, &[]);
        one.replication_factor = Some(1);
        facts.pairs[0].create = Some(one.clone());
        assert_eq!(judged(&facts, MIN_INSYNC)[0].severity, Fail);
        one.configs.insert("min.insync.replicas".into(), "1".into());
        facts.pairs[0].create = Some(one);
        assert_eq!(judged(&facts, MIN_INSYNC)[0].severity, Warn);
        facts.target.brokers.truncate(2);
        facts.pairs[0].create = Some(create(6, &[]));
        assert!(judged(&facts, MIN_INSYNC)[0].reason.contains("not every replica has a broker"));
    }

    #[test]
    fn partitions_without_a_leader_fail_on_either_side() {
        let mut facts = facts();
        assert!(judged(&facts, LEADERS).iter().all(|one| one.severity == Pass));
        facts.pairs[0].source.parts()[0].leader = None;
        facts.pairs[0].side(Side::Target).parts()[0].isr.pop();
        let found = judged(&facts, LEADERS);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Fail, Warn]);
        facts.pairs[0].target = Known::unknown("no right");
        assert_eq!(judged(&facts, LEADERS)[1].severity, Unknown);
    }
}
