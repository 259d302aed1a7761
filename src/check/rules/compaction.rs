//! Compaction: deletions that may expire unread, and lags and segments that change when it happens.

use super::Look;
use super::race::{CopyTime, millis};
use crate::check::Rule;
use crate::check::compacted;
use crate::check::effective::{number_on_source, on_source, on_target};
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::{span, takes};
use crate::pipe::deletions::Late;

pub const DELETE_RETENTION: Rule = Rule::Pair(check_deletions);
pub const LAG: Rule = Rule::Pair(check_lag);
pub const SEGMENTS: Rule = Rule::Pair(check_segments);

fn check_deletions(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    const NAME: &str = "delete.retention.ms";
    if !compacted(on_source(pair, "cleanup.policy")?) {
        return Verdict::pass("source is not compacted: no deletions expire").into();
    }
    let source = number_on_source(pair, NAME)?;
    let mut found = Vec::new();
    match look.copy_time() {
        Err(why) => found.push(Verdict::unknown(format!("source `{NAME}={source}`; {why}"))),
        Ok(CopyTime { at_least, untold }) => {
            let reason = format!(
                "source `{NAME}={source}` ({}), the copy takes {} {}",
                span(source),
                if untold.is_some() { "at least" } else { "about" },
                takes(at_least)
            );
            found.push(match (Late::judge(0, millis(at_least), Some(source), true), untold) {
                (Some(_), _) => Verdict::fail(format!("{reason}: deletions may expire unread")),
                (None, None) => Verdict::pass(reason),
                (None, Some(why)) => Verdict::unknown(format!("{reason}; {why}")),
            });
        }
    }
    if let Ok(Some(target)) = on_target(look.facts, pair)
        && let Ok(there) = target.number(NAME)
        && there < source
    {
        found.push(
            Verdict::warn(format!(
                "source `{NAME}={source}` ({}), target `{NAME}={there}` ({}): consumers have less time to \
                 see a deletion",
                span(source),
                span(there)
            ))
            .about("target"),
        );
    }
    Ok(found)
}

fn check_lag(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    differences(look, pair, &["min.compaction.lag.ms", "max.compaction.lag.ms"])
}

fn check_segments(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    differences(
        look,
        pair,
        &["segment.bytes", "segment.ms", "segment.jitter.ms", "segment.index.bytes"],
    )
}

/// Configs that may differ, as information; those that one side does not tell are left out, unless none
/// can be compared.
fn differences(look: &Look<'_>, pair: &PairFacts, names: &[&str]) -> Verdicts {
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    let (mut found, mut compared, mut why) = (Vec::new(), 0, String::new());
    for name in names.iter().filter(|name| look.plan.compares_config(name)) {
        match (on_source(pair, name), target.config(name)) {
            (Ok(source), Ok(there)) => {
                compared += 1;
                if source != there {
                    let reason = format!("source `{name}={source}`, target `{name}={there}`");
                    found.push(Verdict::info(reason));
                }
            }
            (source, there) => {
                why = source.err().or(there.err()).unwrap_or_default();
            }
        }
    }
    if found.is_empty() {
        found.push(if compared > 0 || why.is_empty() {
            Verdict::pass("the same on both sides")
        } else {
            Verdict::unknown(why)
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, Rate};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::{COMPACTION_LAG, DELETE_RETENTION, SEGMENTS};
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_compacted_topic_whose_copy_takes_longer_than_its_deletions_are_kept_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, DELETE_RETENTION)[0].severity, Pass);
        facts.rate = Known::Known(Rate { bytes_per_second: 70.0 });
        assert_eq!(judged(&facts, DELETE_RETENTION)[0].severity, Pass);
        facts.pairs[0].set(Side::Source, "cleanup.policy", "compact");
        let found = &judged(&facts, DELETE_RETENTION)[0];
        assert_eq!(found.severity, Fail);
        assert_eq!(
            found.reason,
            "source `delete.retention.ms=86400000` (1 d 00 h), the copy takes about 23 h 48 min: \
             deletions may expire unread"
        );
        facts.rate = Known::unknown("give `--rate`");
        assert_eq!(judged(&facts, DELETE_RETENTION)[0].severity, Unknown);
    }

    #[test]
    fn deletions_that_the_target_keeps_for_less_time_are_a_warning() {
        let mut facts = facts();
        facts.pairs[0].set(Side::Source, "cleanup.policy", "compact,delete");
        facts.pairs[0].set(Side::Target, "delete.retention.ms", "1000");
        let found = judged(&facts, DELETE_RETENTION);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Warn, Pass]);
    }

    #[test]
    fn lags_and_segments_that_differ_are_information() {
        let mut facts = facts();
        for check in [COMPACTION_LAG, SEGMENTS] {
            assert_eq!(judged(&facts, check)[0].severity, Pass);
        }
        facts.pairs[0].set(Side::Source, "min.compaction.lag.ms", "5");
        facts.pairs[0].set(Side::Target, "segment.ms", "5");
        for check in [COMPACTION_LAG, SEGMENTS] {
            assert_eq!(judged(&facts, check)[0].severity, Info);
        }
        facts.pairs[0].source.configs = Known::unknown("no right");
        assert_eq!(judged(&facts, SEGMENTS)[0].severity, Unknown);
    }
}
