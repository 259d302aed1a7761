//! CAN we move it: rules over a pair of topics. Pure.
//!
//! The full preflight is the verb `check` (not built yet); this much is part of the pipe.

pub mod facts;
pub mod gather;
mod murmur2;
pub mod sample;

use crate::error::Error;

/// A topic as one side shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicShape {
    /// Its name there.
    pub name: String,
    /// Number of partitions.
    pub partitions: usize,
    /// `cleanup.policy` in effect.
    pub cleanup_policy: String,
}

/// `cleanup.policy` is a list; its order and spaces mean nothing.
pub fn policy(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split(',').map(|word| word.trim().to_owned()).collect();
    words.sort();
    words.retain(|word| !word.is_empty());
    words
}

/// Whether compaction may remove records.
pub fn compacted(cleanup_policy: &str) -> bool {
    policy(cleanup_policy).iter().any(|word| word == "compact")
}

/// Compares a source topic with the existing target topic; one error for each rule that fails.
pub fn compare(source: &TopicShape, target: &TopicShape) -> Vec<Error> {
    let mut failures = Vec::new();
    if source.partitions != target.partitions {
        let hint = if target.partitions < source.partitions {
            format!(
                "partition counts must be equal, or keys change their partition: add what the target \
                 lacks, `kafka-topics.sh --bootstrap-server TARGET --alter --topic {} --partitions \
                 {}`",
                target.name, source.partitions
            )
        } else {
            "partition counts must be equal, or keys change their partition: copy into another topic \
             with `topics.rename`, or recreate the target topic with the source's count if nobody \
             needs what it holds"
                .to_owned()
        };
        failures.push(
            Error::check(
                "partitions",
                format!(
                    "source `{}` has {} partitions, target `{}` has {}",
                    source.name, source.partitions, target.name, target.partitions
                ),
            )
            .hint(hint),
        );
    }
    if policy(&source.cleanup_policy) != policy(&target.cleanup_policy) {
        failures.push(
            Error::check(
                "cleanup-policy",
                format!(
                    "source `{}` has `cleanup.policy={}`, target `{}` has `cleanup.policy={}`",
                    source.name, source.cleanup_policy, target.name, target.cleanup_policy
                ),
            )
            .hint("set the target topic's `cleanup.policy` to the source's before copying"),
        );
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(partitions: usize, cleanup_policy: &str) -> TopicShape {
        TopicShape { name: "t".into(), partitions, cleanup_policy: cleanup_policy.into() }
    }

    #[test]
    fn equal_topics_pass_whatever_the_order_of_their_policies() {
        assert!(compare(&shape(6, "compact,delete"), &shape(6, "delete, compact")).is_empty());
    }

    #[test]
    fn both_rules_are_reported_at_once() {
        let failures = compare(&shape(6, "compact"), &shape(5, "delete"));
        let words: Vec<_> = failures.iter().map(Error::word).collect();
        assert_eq!(words, ["partitions", "cleanup-policy"]);
        assert!(failures.iter().all(|error| error.exit_code() == 7 && error.hint.is_some()));
    }
}
