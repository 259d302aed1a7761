//! Partition counts are equal, or keys change their partition.

use super::{Look, both};
use crate::check::effective::on_target;
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::{Rule, names};
use crate::plan::Plan;

pub const PARTITIONS: Rule = Rule::Pair(check);

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let source = pair.source.partitions.told("source partitions").map(Vec::len);
    let target = match on_target(look.facts, pair) {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(target)) => target.partitions(),
        Err(why) => Err(why),
    };
    judge(look.plan, (&pair.source.name, &pair.target_name), source, target)
}

/// Judges the counts of a topic pair, with the plan's answer for one that is not known.
pub fn judge(
    plan: &Plan,
    (topic, name): (&str, &str),
    source: Result<usize, String>,
    target: Result<usize, String>,
) -> Verdicts {
    let count = |value: Option<&str>| value.and_then(|count| count.parse().ok());
    let (source, target, assume) = both(plan, names::PARTITIONS, topic, source, target, |value| {
        count(value).ok_or("is no number")
    })?;
    Ok(vec![compared(source, target, name).resting_on(assume)])
}

fn compared(source: usize, target: usize, name: &str) -> Verdict {
    let counts = format!("source has {source} partitions, target has {target}");
    if source == target {
        return Verdict::pass(format!("both have {source} partitions"));
    }
    if target < source {
        // Records would have no place to go.
        return Verdict::fail(counts).firm().hint(format!(
            "partition counts must be equal, or keys change their partition: add what the target \
             lacks, `kafka-topics.sh --bootstrap-server TARGET --alter --topic {name} --partitions \
             {source}`"
        ));
    }
    Verdict::fail(counts).hint(
        "partition counts must be equal, or keys change their partition: copy into another topic \
         with `topics.rename`, or recreate the target topic with the source's count if nobody \
         needs what it holds",
    )
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{facts, judged, plan};
    use crate::check::names::PARTITIONS;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown};
    use crate::error::Side;

    #[test]
    fn equal_counts_pass_others_fail_and_too_few_can_not_be_allowed() {
        let mut facts = facts();
        assert_eq!(judged(&facts, PARTITIONS)[0].severity, Pass);
        for (count, firm) in [(5, true), (7, false)] {
            let mut more = facts.pairs[0].source.parts().clone();
            more.resize(count, more[0].clone());
            *facts.pairs[0].side(Side::Target).parts() = more;
            let found = &judged(&facts, PARTITIONS)[0];
            assert_eq!((found.severity, found.firm), (Fail, firm));
            assert_eq!(found.reason, format!("source has 6 partitions, target has {count}"));
        }
    }

    #[test]
    fn what_is_not_known_can_be_assumed_and_is_judged_like_a_fact() {
        let mut facts = facts();
        facts.pairs[0].target = Known::unknown("no Describe right");
        let found = &judged(&facts, PARTITIONS)[0];
        assert_eq!((found.severity, found.blocks), (Unknown, true));
        for (value, severity) in [("6", Pass), ("5", Fail), ("'many'", Unknown)] {
            let plan = plan(&format!(
                "[[assume]]\ncheck = 'partitions'\ntopics = ['orders']\nvalue = {value}\nreason = 'seen'"
            ));
            let found = &crate::check::judge(&plan, &facts);
            let found = found.iter().find(|one| one.check == PARTITIONS).unwrap();
            assert_eq!(found.severity, severity, "{value}");
            assert_eq!(found.assumed.is_some(), severity != Unknown);
        }
    }
}
