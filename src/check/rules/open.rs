//! Open transactions on the source: they hold the last stable offset, and all that lies behind it, back.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{PairFacts, PartitionFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::span;
use crate::report::numbers::counted;

pub const OPEN: Rule = Rule::Pair(check);

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let partitions = pair.source.partitions.told("source partitions")?;
    let mut found = Vec::new();
    for partition in partitions {
        let said = judge(look, pair, partition).unwrap_or_else(|why| Some(Verdict::unknown(why)));
        found.extend(said.map(|verdict| verdict.about(format!("partition {}", partition.number))));
    }
    if found.is_empty() {
        found.push(Verdict::pass("no open transaction holds records back"));
    }
    Ok(found)
}

fn judge(
    look: &Look<'_>,
    pair: &PairFacts,
    partition: &PartitionFacts,
) -> Result<Option<Verdict>, String> {
    let number = partition.number;
    let at = |what: &'static str| move |why: &str| format!("{what}: {why}");
    let stable = partition.last_stable.get().map_err(at("last stable offset"))?;
    let end = partition.log_end.get().map_err(at("log end"))?;
    if stable >= end {
        return Ok(None);
    }
    let held = counted(u64::try_from(end - stable).unwrap_or(0), "offset");
    let age = partition.open_since_ms.ok().copied().flatten();
    let age = age.map(|since| look.facts.now_ms.saturating_sub(since).max(0));
    let wait = i64::try_from(look.plan.run.open_transaction_wait.as_millis()).unwrap_or(i64::MAX);
    let hint = format!(
        "`kafka-transactions.sh --bootstrap-server SOURCE describe-producers --topic {} --partition \
         {number}` tells who; if nobody is there any more, `kafka-transactions.sh … abort` ends it",
        pair.source.name
    );
    let verdict = match age {
        Some(age) if age > wait => Verdict::fail(format!(
            "an open transaction holds {held} back for {}, longer than `run.open_transaction_wait` ({}): a \
             run to the fence would wait that long and end with exit code 3",
            span(age),
            span(wait)
        )),
        Some(age) => {
            Verdict::warn(format!("an open transaction holds {held} back for {}", span(age)))
        }
        None => Verdict::warn(format!(
            "an open transaction holds {held} back, nobody knows for how long"
        )),
    };
    Ok(Some(verdict.hint(hint)))
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{NOW, facts, judged};
    use crate::check::names::OPEN_TRANSACTIONS;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};

    #[test]
    fn a_transaction_that_is_open_for_longer_than_a_run_waits_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, OPEN_TRANSACTIONS)[0].severity, Pass);
        let part = &mut facts.pairs[0].source.parts()[3];
        part.last_stable = Known::Known(400);
        part.open_since_ms = Known::Known(Some(NOW - 60_000));
        let found = &judged(&facts, OPEN_TRANSACTIONS)[0];
        assert_eq!(found.severity, Warn);
        assert_eq!(found.reason, "an open transaction holds 600 offsets back for 1 min 00 s");
        assert!(found.hint.as_ref().unwrap().contains("--topic orders --partition 3`"));
        facts.pairs[0].source.parts()[3].open_since_ms = Known::Known(Some(NOW - 3_600_000));
        assert_eq!(judged(&facts, OPEN_TRANSACTIONS)[0].severity, Fail);
        facts.pairs[0].source.parts()[0].last_stable = Known::unknown("no answer");
        let found = judged(&facts, OPEN_TRANSACTIONS);
        let told: Vec<_> = found.iter().map(|one| (one.severity, one.about.as_deref())).collect();
        assert_eq!(told, [(Fail, Some("partition 3")), (Unknown, Some("partition 0"))]);
    }
}
