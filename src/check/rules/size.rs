//! Record sizes against the target's limits, and how records are compressed there.

use super::Look;
use crate::check::Rule;
use crate::check::effective::{number_on_source, on_source, on_target};
use crate::check::facts::PairFacts;
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::size;
use crate::plan::Plan;
use crate::report::numbers::bytes;

pub const SIZE: Rule = Rule::Pair(check_size);
pub const COMPRESSION: Rule = Rule::Pair(check_compression);

fn check_size(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    const NAME: &str = "max.message.bytes";
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    let (source, limit) = (number_on_source(pair, NAME)?, target.number(NAME)?);
    let both = format!("source `{NAME}={source}`, target `{NAME}={limit}`");
    let mut found = Vec::new();
    if source > limit {
        found.push(Verdict::fail(format!(
            "{both}: the source may hold batches up to {}, the target takes {}",
            size(source),
            size(limit)
        )));
    }
    let largest = pair.source.sample.ok().map_or(0, |sample| sample.largest);
    if i64::try_from(largest).is_ok_and(|largest| largest > limit) {
        found.push(Verdict::warn(format!(
            "a record of {} was seen, the target takes {}: it is sent alone and compressed, and is \
             refused if that does not make it small",
            bytes(largest),
            size(limit)
        )));
    }
    if found.is_empty() {
        found.push(Verdict::pass(both));
    }
    // Since KIP-74 a follower takes one batch that is larger, at the price of fetching it alone.
    if let Ok(replica) = look.facts.target.number("replica.fetch.max.bytes")
        && replica < limit.saturating_sub(12)
    {
        found.push(
            Verdict::info(format!(
                "target `replica.fetch.max.bytes={replica}` is below `{NAME}={limit}`: followers \
                 fetch larger batches one at a time"
            ))
            .about("replica.fetch.max.bytes"),
        );
    }
    Ok(found)
}

/// The codec that records are sent with, as the plan says.
fn sent_with(plan: &Plan) -> Option<&str> {
    let names = ["compression.type", "compression.codec"];
    let codec = names.iter().find_map(|name| plan.target.properties.get(*name))?;
    Some(codec.as_str()).filter(|codec| *codec != "none")
}

fn check_compression(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    const NAME: &str = "compression.type";
    let Some(target) = on_target(look.facts, pair)? else { return Ok(Vec::new()) };
    if !look.plan.compares_config(NAME) {
        return Verdict::info("left out by `topics.config.exclude`").into();
    }
    let (source, target) = (on_source(pair, NAME)?, target.config(NAME)?);
    let both = format!("source `{NAME}={source}`, target `{NAME}={target}`");
    Ok(vec![match (target.as_str(), sent_with(look.plan)) {
        ("producer", Some(codec)) => {
            Verdict::pass(format!("{both}: records are sent with {codec}"))
        }
        // What producers send there decides, and nobody knows that from outside.
        ("producer", None) if source == "producer" => Verdict::info(format!(
            "{both}: onceover sends uncompressed records unless told otherwise"
        )),
        ("producer", None) if source != "uncompressed" => Verdict::warn(format!(
            "{both}: onceover sends uncompressed records, the copy may take several times the room"
        )),
        _ if source == target => Verdict::pass(both),
        _ => Verdict::info(format!("{both}: the target's brokers compress anew")),
    }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, Sample};
    use crate::check::fixture::{facts, judged, judged_with, plan};
    use crate::check::names::{COMPRESSION, MESSAGE_SIZE};
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};
    use crate::error::Side;

    #[test]
    fn a_smaller_limit_on_the_target_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, MESSAGE_SIZE)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "max.message.bytes", "1000");
        assert_eq!(judged(&facts, MESSAGE_SIZE)[0].severity, Fail);
        facts.pairs[0].source.configs = Known::unknown("no right");
        assert_eq!(judged(&facts, MESSAGE_SIZE)[0].severity, Unknown);
    }

    #[test]
    fn a_raw_record_above_equal_limits_is_a_warning_for_its_batch_was_compressed() {
        let mut facts = facts();
        facts.pairs[0].source.sample =
            Known::Known(Sample { largest: 2_000_000, ..Sample::default() });
        let found = judged(&facts, MESSAGE_SIZE);
        assert_eq!(found[0].severity, Warn);
        assert!(
            found[0].reason.starts_with("a record of 2.0 MB was seen, the target takes 1.0 MB")
        );
    }

    #[test]
    fn replicas_that_fetch_less_than_the_limit_are_told() {
        let mut facts = facts();
        for side in [Side::Source, Side::Target] {
            facts.pairs[0].set(side, "max.message.bytes", "5000000");
        }
        let found = judged(&facts, MESSAGE_SIZE);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Info, Pass]);
    }

    #[test]
    fn a_compressed_source_that_is_sent_uncompressed_is_a_warning() {
        let mut facts = facts();
        assert_eq!(judged(&facts, COMPRESSION)[0].severity, Info);
        facts.pairs[0].set(Side::Source, "compression.type", "zstd");
        assert_eq!(judged(&facts, COMPRESSION)[0].severity, Warn);
        let sends = plan("[target.properties]\n'compression.type' = 'zstd'");
        assert_eq!(judged_with(&sends, &facts, COMPRESSION)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "compression.type", "zstd");
        assert_eq!(judged(&facts, COMPRESSION)[0].severity, Pass);
        facts.pairs[0].set(Side::Target, "compression.type", "lz4");
        assert_eq!(judged(&facts, COMPRESSION)[0].severity, Info);
    }
}
