//! Timestamps: whether the target keeps them, and whether it takes them at all.

use super::Look;
use crate::check::Rule;
use crate::check::effective::{OnTarget, on_source, on_target};
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::{span, time};

pub const KIND: Rule = Rule::Pair(check_kind);
pub const BOUNDS: Rule = Rule::Pair(check_bounds);

const TYPE: &str = "message.timestamp.type";
const LOG_APPEND: &str = "LogAppendTime";

fn check_kind(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    let there = target.config(TYPE)?;
    let source = on_source(pair, TYPE);
    if there == LOG_APPEND {
        let source =
            source.map_or_else(|_| String::new(), |kind| format!("source `{TYPE}={kind}`, "));
        return Verdict::fail(format!(
            "{source}target `{TYPE}={there}`: every record gets the time of the copy"
        ))
        .into();
    }
    Ok(vec![match source? {
        kind if kind == LOG_APPEND => Verdict::warn(format!(
            "source `{TYPE}={kind}`, target `{TYPE}={there}`: the copy keeps the source's times, and \
             after the cutover those of producers count"
        ))
        .hint("set it on the target once nothing is copied there any more"),
        kind => Verdict::pass(format!("source `{TYPE}={kind}`, target `{TYPE}={there}`")),
    }])
}

/// How old and how far ahead a record may be on the target; the config's name and its limit.
fn bounds(target: &OnTarget<'_>) -> Result<[(&'static str, i64); 2], String> {
    const OLDER: &str = "message.timestamp.difference.max.ms";
    let bound = |name: &'static str| target.number(name).map(|limit| (name, limit));
    match (bound("message.timestamp.before.max.ms"), bound("message.timestamp.after.max.ms")) {
        (Ok(before), Ok(after)) => {
            // Brokers from 3.6 to 3.9 have both; the older name counts where it alone was set.
            let older = bound(OLDER).unwrap_or((OLDER, i64::MAX));
            let stricter = |one: (&'static str, i64)| {
                if one.1 == i64::MAX && older.1 < one.1 { older } else { one }
            };
            Ok([stricter(before), stricter(after)])
        }
        // Before 3.6 (KIP-937) one bound held for both directions.
        (before, _) => bound(OLDER).map(|older| [older, older]).map_err(|_| {
            before.err().unwrap_or_else(|| "the target tells no timestamp bounds".to_owned())
        }),
    }
}

fn check_bounds(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    if target.config(TYPE)? == LOG_APPEND {
        return Verdict::info(format!("target `{TYPE}={LOG_APPEND}`: bounds do not matter")).into();
    }
    let [before, after] = bounds(&target)?;
    let now = look.facts.now_ms;
    let mut found = Vec::new();
    if before.1 < i64::MAX {
        let (oldest, untold) = first(pair);
        let of = oldest.map(|oldest| (oldest, now.saturating_sub(oldest)));
        found.extend(within(before, of, untold, ["oldest", "old", "older"]));
    }
    if after.1 < i64::MAX {
        let (newest, untold) = last(pair);
        let of = newest.map(|newest| (newest, newest.saturating_sub(now)));
        found.extend(within(after, of, untold, ["newest", "ahead", "further ahead"]));
    }
    if found.is_empty() {
        found.push(Verdict::pass("the target has no timestamp bounds"));
    }
    Ok(found)
}

/// Judges the outermost record, its time and how far from now that is, by a bound of the target; `untold` is why
/// there may be one further out.
fn within(
    (name, limit): (&str, i64),
    outermost: Option<(i64, i64)>,
    untold: Option<String>,
    [most, far, further]: [&str; 3],
) -> Vec<Verdict> {
    let mut found = Vec::new();
    match outermost {
        Some((of, distance)) if distance > limit => found.push(Verdict::fail(format!(
            "the source's {most} record is of {} ({} {far}), target `{name}={limit}` takes {}",
            time(of),
            span(distance),
            span(limit)
        ))),
        _ if untold.is_some() => {}
        _ => found.push(Verdict::pass(format!(
            "nothing is {further} than target `{name}` ({})",
            span(limit)
        ))),
    }
    found.extend(untold.map(|why| Verdict::unknown(why).about(name)));
    found
}

/// A time of those partitions that tell it, and why one does not.
type Told = (Option<i64>, Option<String>);

/// The oldest of the partitions' first uncopied records.
pub fn first(pair: &PairFacts) -> Told {
    let (mut oldest, mut untold) = (None, None);
    for copy in &pair.copy {
        match copy.from_ms.get() {
            // Records without a timestamp (−1) have no age.
            Ok(of) => oldest = oldest.into_iter().chain(of.filter(|of| *of >= 0)).min(),
            Err(why) => untold = Some(format!("age of the oldest record: {why}")),
        }
    }
    (oldest, untold)
}

fn last(pair: &PairFacts) -> Told {
    let partitions = match pair.source.partitions.get() {
        Ok(partitions) => partitions,
        Err(why) => return (None, Some(format!("source partitions: {why}"))),
    };
    let (mut newest, mut untold) = (None, None);
    for partition in partitions {
        match partition.newest_ms.get() {
            Ok(of) => newest = newest.max(*of),
            Err(why) => untold = Some(format!("time of the newest record: {why}")),
        }
    }
    (newest, untold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::facts::Known;
    use crate::check::fixture::{DAY, NOW, facts, judged};
    use crate::check::names::{TIMESTAMP_BOUNDS, TIMESTAMP_TYPE};
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_target_with_times_of_its_own_fails_whatever_the_source_has() {
        let mut facts = facts();
        assert_eq!(judged(&facts, TIMESTAMP_TYPE)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, TYPE, LOG_APPEND);
        assert_eq!(judged(&facts, TIMESTAMP_TYPE)[0].severity, Warn);
        facts.pairs[0].set(Side::Target, TYPE, LOG_APPEND);
        let found = &judged(&facts, TIMESTAMP_TYPE)[0];
        assert_eq!((found.severity, found.firm), (Fail, false));
        assert_eq!(judged(&facts, TIMESTAMP_BOUNDS)[0].severity, Info);
    }

    #[test]
    fn records_older_than_the_targets_bound_fail() {
        let mut facts = facts();
        assert!(judged(&facts, TIMESTAMP_BOUNDS).iter().all(|one| one.severity == Pass));
        facts.pairs[0].set(Side::Target, "message.timestamp.before.max.ms", "3600000");
        let found = judged(&facts, TIMESTAMP_BOUNDS);
        assert_eq!(found[0].severity, Fail);
        assert!(
            found[0].reason.contains("(1 d 00 h old)")
                && found[0].reason.contains("takes 1 h 00 min")
        );
        facts.pairs[0].copy[0].from_ms = Known::unknown("no Read right");
        let found = judged(&facts, TIMESTAMP_BOUNDS);
        let severities: Vec<_> = found.iter().map(|one| one.severity).collect();
        assert_eq!(severities, [Fail, Unknown, Pass], "the other partitions are still too old");
        assert_eq!(found[1].about.as_deref(), Some("message.timestamp.before.max.ms"));
        facts.pairs[0].copy.truncate(1);
        assert_eq!(judged(&facts, TIMESTAMP_BOUNDS)[0].severity, Unknown);
    }

    #[test]
    fn a_source_that_tells_no_newest_time_hides_no_record_that_is_too_old() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Target, "message.timestamp.before.max.ms", "3600000");
        for part in facts.pairs[0].source.parts() {
            part.newest_ms = Known::unknown("needs 3.0");
        }
        let found = judged(&facts, TIMESTAMP_BOUNDS);
        let severities: Vec<_> = found.iter().map(|one| one.severity).collect();
        assert_eq!(severities, [Fail, Unknown]);
    }

    #[test]
    fn records_from_the_future_fail_on_a_kafka_4_target() {
        let mut facts = facts();
        facts.pairs[0].source.parts()[3].newest_ms = Known::Known(Some(NOW + DAY));
        let found = judged(&facts, TIMESTAMP_BOUNDS);
        assert_eq!(found[0].severity, Fail);
        assert!(found[0].reason.contains("1 d 00 h ahead"), "{}", found[0].reason);
    }

    #[test]
    fn the_one_bound_of_older_brokers_holds_in_both_directions() {
        let mut facts = facts();
        let Known::Known(configs) = &mut facts.pairs[0].side(Side::Target).configs else {
            panic!()
        };
        configs.retain(|name, _| !name.starts_with("message.timestamp."));
        facts.pairs[0].set(Side::Target, TYPE, "CreateTime");
        assert_eq!(judged(&facts, TIMESTAMP_BOUNDS)[0].severity, Unknown);
        facts.pairs[0].set(Side::Target, "message.timestamp.difference.max.ms", "3600000");
        let found = judged(&facts, TIMESTAMP_BOUNDS);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Fail, Pass]);
    }
}
