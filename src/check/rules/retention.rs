//! Retention: what the target would delete of what it has just been given.

use super::Look;
use super::timestamps::first;
use crate::check::effective::{number_on_source, on_source, on_target};
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::{size, span};
use crate::check::{Rule, policy};
use crate::report::numbers::bytes;

pub const TIME: Rule = Rule::Pair(check_time);
pub const BYTES: Rule = Rule::Pair(check_bytes);

const FOR_EVER: i64 = i64::MAX;

/// Whether records expire at all under a policy.
pub fn expires(cleanup_policy: &str) -> bool {
    policy(cleanup_policy).iter().any(|word| word == "delete")
}

/// A limit, where −1 is none.
fn limit(value: i64) -> i64 {
    if value < 0 { FOR_EVER } else { value }
}

/// The limits of both sides: for ever where nothing expires.
fn limits(look: &Look<'_>, pair: &PairFacts, name: &str) -> Result<Option<[i64; 2]>, Verdict> {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(None) };
    let source = match on_source(pair, "cleanup.policy") {
        Ok(text) if !expires(text) => FOR_EVER,
        _ => limit(number_on_source(pair, name)?),
    };
    let target = match target.config("cleanup.policy") {
        Ok(text) if !expires(&text) => FOR_EVER,
        _ => limit(target.number(name)?),
    };
    Ok(Some([source, target]))
}

fn check_time(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some([source, target]) = limits(look, pair, "retention.ms")? else { return Ok(Vec::new()) };
    let show = |limit| if limit == FOR_EVER { "for ever".to_owned() } else { span(limit) };
    let both = format!("source keeps records {}, target {}", show(source), show(target));
    if source == target {
        return Verdict::pass(both).into();
    }
    if target > source {
        return Verdict::info(both).into();
    }
    let (oldest, untold) = first(pair);
    let age = oldest.map_or(0, |oldest| look.facts.now_ms.saturating_sub(oldest));
    let mut found = Vec::new();
    if age > target {
        found.push(Verdict::fail(format!(
            "{both}: it would delete at once what is older, and the oldest record is {} old",
            span(age)
        )));
    } else if untold.is_none() {
        let reason = format!("{both}; the oldest record is {} old", span(age.max(0)));
        found.push(Verdict::warn(reason));
    }
    found.extend(untold.map(|why| Verdict::unknown(format!("{both}; {why}"))));
    Ok(found)
}

fn check_bytes(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some([source, target]) = limits(look, pair, "retention.bytes")? else {
        return Ok(Vec::new());
    };
    let show = |limit| if limit == FOR_EVER { "any size".to_owned() } else { size(limit) };
    let both = format!("source keeps {} per partition, target {}", show(source), show(target));
    if target == FOR_EVER {
        return Ok(vec![if source == target { Verdict::pass(both) } else { Verdict::info(both) }]);
    }
    let largest = pair.copy.iter().filter_map(|copy| copy.bytes.ok()).max().copied().unwrap_or(0);
    let untold = pair.copy.iter().find_map(|copy| copy.bytes.get().err());
    let over = i64::try_from(largest).is_ok_and(|largest| largest > target);
    let sized = format!("{both}; the largest partition has about {} uncompressed", bytes(largest));
    let untold = untold.map(|why| Verdict::unknown(format!("{both}; size of the source: {why}")));
    if let Some(untold) = untold.clone().filter(|_| !over) {
        return Err(untold);
    }
    let judged = match (over, target < source) {
        (true, true) => {
            Verdict::fail(format!("{sized}: the target would delete its oldest records"))
        }
        // Equal limits, and the source's batches are compressed.
        (true, false) => Verdict::warn(format!(
            "{sized}: uncompressed copies may take more room than the target keeps"
        )),
        (false, true) => Verdict::warn(sized),
        (false, false) => Verdict::pass(both),
    };
    Ok([judged].into_iter().chain(untold).collect())
}

#[cfg(test)]
mod tests {
    use crate::check::facts::Known;
    use crate::check::fixture::{DAY, NOW, facts, judged};
    use crate::check::names::{RETENTION, RETENTION_BYTES};
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn data_that_the_target_would_delete_at_once_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, RETENTION)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "retention.ms", "3600000");
        let found = &judged(&facts, RETENTION)[0];
        assert_eq!(found.severity, Fail);
        assert_eq!(
            found.reason,
            "source keeps records 7 d 00 h, target 1 h 00 min: it would delete at once what is older, \
             and the oldest record is 1 d 00 h old"
        );
    }

    #[test]
    fn a_shorter_retention_above_the_oldest_records_age_is_a_warning_a_longer_one_none() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Target, "retention.ms", &(2 * DAY).to_string());
        assert_eq!(judged(&facts, RETENTION)[0].severity, Warn);
        facts.pairs[0].copy[2].from_ms = Known::unknown("no Read right");
        assert_eq!(judged(&facts, RETENTION)[0].severity, Unknown);
        facts.pairs[0].set(Side::Target, "retention.ms", "3600000");
        let found = judged(&facts, RETENTION);
        assert_eq!((found[0].severity, found[1].severity), (Fail, Unknown), "others are too old");
        facts.pairs[0].set(Side::Target, "retention.ms", "-1");
        assert_eq!(judged(&facts, RETENTION)[0].severity, Info);
    }

    #[test]
    fn what_is_past_its_retention_on_both_sides_is_no_difference() {
        let mut facts = facts();
        facts.pairs[0].copy[0].from_ms = Known::Known(Some(NOW - 30 * DAY));
        assert_eq!(judged(&facts, RETENTION)[0].severity, Pass);
    }

    #[test]
    fn a_compacted_source_keeps_for_ever() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "cleanup.policy", "compact");
        facts.pairs[0].copy[0].from_ms = Known::Known(Some(NOW - 30 * DAY));
        assert_eq!(judged(&facts, RETENTION)[0].severity, Fail);
    }

    #[test]
    fn a_partition_larger_than_the_target_keeps_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, RETENTION_BYTES)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "retention.bytes", "1000");
        assert_eq!(judged(&facts, RETENTION_BYTES)[0].severity, Fail);
        facts.pairs[0].set(Side::Source, "retention.bytes", "1000");
        assert_eq!(judged(&facts, RETENTION_BYTES)[0].severity, Warn);
        facts.pairs[0].copy[0].bytes = Known::unknown("no sample");
        assert_eq!(judged(&facts, RETENTION_BYTES)[0].severity, Unknown);
        facts.pairs[0].set(Side::Source, "retention.bytes", "2000");
        let found = judged(&facts, RETENTION_BYTES);
        assert_eq!((found[0].severity, found[1].severity), (Fail, Unknown));
    }
}
