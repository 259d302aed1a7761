//! Keys: who put them where they are, and whether one lies in several partitions.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{PairFacts, Sample};
use crate::check::verdict::{Verdict, Verdicts};
use crate::report::numbers::count;

pub const PARTITIONER: Rule = Rule::Pair(check_partitioner);
pub const SCATTERED: Rule = Rule::Pair(check_scattered);

/// The sample of a topic with keys in more than one partition; else what there is to say.
fn keyed(pair: &PairFacts) -> Result<&Sample, Verdict> {
    let partitions = pair.source.partitions.told("source partitions")?;
    if partitions.len() == 1 {
        return Err(Verdict::pass("one partition"));
    }
    let sample = pair.source.sample.told("sample of the source")?;
    if sample.keyed == 0 {
        return Err(Verdict::info(format!("no keys in {} sampled records", count(sample.records))));
    }
    Ok(sample)
}

fn check_partitioner(_: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let sample = keyed(pair)?;
    let Sample { keyed, murmur2, crc32, keys, .. } = *sample;
    let of = format!("{} sampled records with {} keys", count(keyed), count(keys));
    Ok(vec![if murmur2 == keyed {
        Verdict::pass(format!("{of} lie where Java's murmur2 partitioner puts them"))
    } else if crc32 == keyed {
        Verdict::warn(format!(
            "{of} lie where librdkafka's CRC32 partitioner puts them: a Java producer would put them elsewhere"
        ))
    } else {
        Verdict::warn(format!(
            "of {of}, {} lie where Java's murmur2 and {} where librdkafka's CRC32 partitioner puts them",
            count(murmur2),
            count(crc32)
        ))
    }])
}

fn check_scattered(_: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let sample = keyed(pair)?;
    let (keys, scattered) = (count(sample.keys), sample.scattered_keys);
    Ok(vec![if scattered == 0 {
        Verdict::pass(format!("each of {keys} sampled keys lies in one partition"))
    } else {
        let [one, other] = *sample.scattered_in.first_chunk().unwrap_or(&[-1, -1]);
        Verdict::warn(format!(
            "{} of {keys} sampled keys lie in several partitions (one of them in {one} and {other}): they have \
             no order as a whole",
            count(scattered)
        ))
    }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, Sample};
    use crate::check::fixture::{facts, judged, pair};
    use crate::check::names::{KEY_PARTITIONER, KEY_SPREAD};
    use crate::check::verdict::Severity::{Info, Pass, Unknown, Warn};

    #[test]
    fn keys_agree_with_java_with_librdkafka_or_with_neither() {
        let mut facts = facts();
        assert_eq!(judged(&facts, KEY_PARTITIONER)[0].severity, Info);
        let mut of = |murmur2, crc32| {
            let sample = Sample { keyed: 9, keys: 5, murmur2, crc32, ..Sample::default() };
            facts.pairs[0].source.sample = Known::Known(sample);
            let found = judged(&facts, KEY_PARTITIONER).remove(0);
            (found.severity, found.reason)
        };
        assert_eq!(of(9, 2).0, Pass);
        let (severity, reason) = of(1, 9);
        assert!(severity == Warn && reason.contains("librdkafka's CRC32 partitioner puts them:"));
        let (severity, reason) = of(4, 3);
        assert!(severity == Warn && reason.starts_with("of 9 sampled records with 5 keys, 4 lie"));
        facts.pairs[0].source.sample = Known::unknown("no Read right");
        assert_eq!(judged(&facts, KEY_PARTITIONER)[0].severity, Unknown);
        facts.pairs[0] = pair("orders", 1);
        assert_eq!(judged(&facts, KEY_PARTITIONER)[0].severity, Pass);
    }

    #[test]
    fn a_key_in_several_partitions_is_a_warning() {
        let mut facts = facts();
        let sample = Sample { keyed: 9, keys: 5, ..Sample::default() };
        facts.pairs[0].source.sample = Known::Known(sample.clone());
        assert_eq!(judged(&facts, KEY_SPREAD)[0].severity, Pass);
        let sample = Sample { scattered_keys: 2, scattered_in: vec![1, 4], ..sample };
        facts.pairs[0].source.sample = Known::Known(sample);
        let found = &judged(&facts, KEY_SPREAD)[0];
        assert_eq!(found.severity, Warn);
        assert!(
            found.reason.contains("2 of 5 sampled keys") && found.reason.contains("in 1 and 4")
        );
    }
}
