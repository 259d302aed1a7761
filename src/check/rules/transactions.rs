//! What the target's transactions rest on: time-outs, `__transaction_state`, `__consumer_offsets`.

use super::Look;
use super::replicas;
use crate::check::Rule;
use crate::check::facts::{ClusterFacts, Known, TopicFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::span;
use crate::pipe::shared::TRANSACTION_TIMEOUT;

pub const TIMEOUT: Rule = Rule::Whole(check_timeout);
pub const TRANSACTION_LOG: Rule = Rule::Whole(check_transaction_log);
pub const OFFSETS_TOPIC: Rule = Rule::Whole(check_offsets_topic);
pub const OFFSETS_RETENTION: Rule = Rule::Whole(check_offsets_retention);

fn check_timeout(look: &Look<'_>) -> Verdicts {
    const NAME: &str = "transaction.max.timeout.ms";
    let most = look.facts.target.number(NAME)?;
    let ours = i64::try_from(TRANSACTION_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    let reason = format!("target `{NAME}={most}`, onceover asks for {ours}");
    Ok(vec![if most < ours { Verdict::fail(reason).firm() } else { Verdict::pass(reason) }])
}

fn check_transaction_log(look: &Look<'_>) -> Verdicts {
    let target = &look.facts.target;
    let configs = ("transaction.state.log.replication.factor", "transaction.state.log.min.isr");
    internal(target, &target.transaction_log, "__transaction_state", configs)
}

fn check_offsets_topic(look: &Look<'_>) -> Verdicts {
    let target = &look.facts.target;
    let configs = ("offsets.topic.replication.factor", "min.insync.replicas");
    internal(target, &target.offsets_topic, "__consumer_offsets", configs)
}

/// Judges an internal topic; where it is not made yet, what the brokers would make.
fn internal(
    target: &ClusterFacts,
    topic: &Known<Option<TopicFacts>>,
    name: &str,
    (factor, min_isr): (&str, &str),
) -> Verdicts {
    let brokers = target.brokers.len();
    let there = topic.told(&format!("target `{name}`"))?;
    let Some(topic) = there else {
        let wanted = usize::try_from(target.number(factor)?).unwrap_or(0);
        let needed = usize::try_from(target.number(min_isr)?).unwrap_or(0);
        if wanted > brokers {
            return Verdict::fail(format!(
                "target `{name}` is not made yet, and cannot be: `{factor}={wanted}`, {brokers} brokers alive"
            ))
            .firm()
            .into();
        }
        let mut verdict = replicas::judge(needed, wanted, brokers, false);
        verdict.reason = format!("target `{name}` is not made yet: {}", verdict.reason);
        return Ok(vec![verdict]);
    };
    let told = |config: &str| {
        let configs = topic.configs.told(&format!("target `{name}` configs"))?;
        Ok::<_, String>(configs.get(config).and_then(|config| config.value.as_deref()))
    };
    let partitions = topic.partitions.told(&format!("target `{name}` partitions"))?;
    let fewest = partitions.iter().map(|one| one.replicas.len()).min().unwrap_or(0);
    let needed = told("min.insync.replicas");
    let needed = needed.map(|value| value.and_then(|value| value.parse().ok()).unwrap_or(1));
    let mut found = vec![match &needed {
        Ok(needed) => replicas::judge(*needed, fewest, brokers, true),
        Err(why) => Verdict::unknown(why.clone()),
    }];
    // Whatever is asked for, a write needs a leader.
    let needed = needed.unwrap_or(1);
    let stuck =
        partitions.iter().filter(|one| one.isr.len() < needed || one.leader.is_none()).count();
    if stuck > 0 {
        found.push(
            Verdict::fail(format!("{stuck} of {} partitions take no writes now", partitions.len()))
                .about("in sync"),
        );
    }
    if told("unclean.leader.election.enable") == Ok(Some("true")) {
        found.push(
            Verdict::warn(
                "`unclean.leader.election.enable=true`: a broker that is behind may become leader, and \
                 committed transactions or offsets are forgotten",
            )
            .about("unclean election"),
        );
    }
    Ok(found)
}

fn check_offsets_retention(look: &Look<'_>) -> Verdicts {
    const NAME: &str = "offsets.retention.minutes";
    /// Kafka's default since 2.0 (KIP-186).
    const WEEK: i64 = 7 * 24 * 60;
    let minutes = look.facts.target.number(NAME)?;
    let reason = format!("target `{NAME}={minutes}` ({})", span(minutes.saturating_mul(60_000)));
    Ok(vec![if minutes < WEEK {
        Verdict::warn(format!(
            "{reason}: offsets of groups that wait for their cutover expire early"
        ))
    } else {
        Verdict::pass(reason)
    }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{broker, facts, judged};
    use crate::check::names::{
        OFFSETS_RETENTION, OFFSETS_TOPIC, TRANSACTION_LOG, TRANSACTION_TIMEOUT,
    };
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};

    #[test]
    fn brokers_must_allow_the_transactions_time_out() {
        let mut facts = facts();
        assert_eq!(judged(&facts, TRANSACTION_TIMEOUT)[0].severity, Pass);
        facts.target.brokers = vec![broker(1, &[("transaction.max.timeout.ms", "30000")])];
        let found = &judged(&facts, TRANSACTION_TIMEOUT)[0];
        assert_eq!(found.severity, Fail);
        assert_eq!(
            found.reason,
            "target `transaction.max.timeout.ms=30000`, onceover asks for 60000"
        );
        facts.target.brokers[0].configs = Known::unknown("no DescribeConfigs right");
        assert_eq!(judged(&facts, TRANSACTION_TIMEOUT)[0].severity, Unknown);
    }

    #[test]
    fn a_transaction_log_that_cannot_be_made_or_written_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, TRANSACTION_LOG)[0].severity, Pass);
        let Known::Known(Some(log)) = &mut facts.target.transaction_log else { panic!() };
        log.parts()[0].isr = vec![1];
        assert_eq!(judged(&facts, TRANSACTION_LOG)[0].severity, Fail);
        let Known::Known(Some(log)) = &mut facts.target.transaction_log else { panic!() };
        log.configs = Known::unknown("no DescribeConfigs right");
        log.parts()[0].leader = None;
        let found = judged(&facts, TRANSACTION_LOG);
        assert_eq!((found[0].severity, found[1].severity), (Fail, Unknown));
        facts.target.transaction_log = Known::Known(None);
        assert_eq!(judged(&facts, TRANSACTION_LOG)[0].severity, Pass);
        facts.target.brokers.truncate(2);
        let found = &judged(&facts, TRANSACTION_LOG)[0];
        assert_eq!(found.severity, Fail);
        assert!(
            found.reason.contains("`transaction.state.log.replication.factor=3`, 2 brokers alive")
        );
        facts.target.transaction_log = Known::unknown("no right");
        assert_eq!(judged(&facts, TRANSACTION_LOG)[0].severity, Unknown);
    }

    #[test]
    fn unclean_election_of_the_offsets_topic_is_a_warning() {
        let mut facts = facts();
        assert_eq!(judged(&facts, OFFSETS_TOPIC)[0].severity, Pass);
        let Known::Known(Some(topic)) = &mut facts.target.offsets_topic else { panic!() };
        *topic = topic.clone().with(&[("unclean.leader.election.enable", "true")]);
        assert_eq!(judged(&facts, OFFSETS_TOPIC)[0].severity, Warn);
        facts.target.offsets_topic = Known::Known(None);
        facts.target.brokers.truncate(2);
        assert_eq!(judged(&facts, OFFSETS_TOPIC)[0].severity, Fail);
    }

    #[test]
    fn offsets_that_expire_within_a_week_are_a_warning() {
        let mut facts = facts();
        assert_eq!(judged(&facts, OFFSETS_RETENTION)[0].severity, Pass);
        facts.target.brokers = vec![broker(1, &[("offsets.retention.minutes", "1440")])];
        assert_eq!(judged(&facts, OFFSETS_RETENTION)[0].severity, Warn);
    }
}
