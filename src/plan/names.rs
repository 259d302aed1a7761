//! What may be a plan's name or a topic's, and which topics are somebody's internals.

/// The longest plan name: with prefix and suffix it must fit into a topic name, and be read by people.
pub const MAX_PLAN_NAME: usize = 64;

/// Kafka's limit for topic names (`org.apache.kafka.common.internals.Topic`).
pub const MAX_TOPIC_NAME: usize = 249;

/// Starts every name that onceover makes on the target, unless `ledger.prefix` says otherwise.
pub const DEFAULT_PREFIX: &str = "onceover-";

/// Ends every ledger's default name.
pub const LEDGER_SUFFIX: &str = "-ledger";

/// Why a text cannot be a plan's name (or a wave's): names of topics, groups and transactional ids are
/// made of it, and some services forbid dots and leading underscores there.
pub fn plan_name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("must not be empty".into());
    }
    if name.len() > MAX_PLAN_NAME {
        return Some(format!("must not be longer than {MAX_PLAN_NAME} characters"));
    }
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.chars().position(|c| !legal(c)).map(|at| {
        format!("only `a-z`, `0-9` and `-` may be in it, position {} is something else", at + 1)
    })
}

/// Whether a character may be in a topic name.
pub fn is_topic_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Why a text cannot be a topic's name.
pub fn topic_name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a topic name must not be empty".into());
    }
    if name == "." || name == ".." {
        return Some("`.` and `..` are no topic names".into());
    }
    if name.len() > MAX_TOPIC_NAME {
        return Some(format!("a topic name must not be longer than {MAX_TOPIC_NAME} characters"));
    }
    name.chars().position(|c| !is_topic_char(c)).map(|at| {
        format!(
            "only `a-z`, `A-Z`, `0-9`, `.`, `_` and `-` may be in a topic name, position {} is \
             something else",
            at + 1
        )
    })
}

/// Names that a cluster cannot tell apart in its metrics, and so refuses side by side, share this.
pub fn metric_name(topic: &str) -> String {
    topic.replace('.', "_")
}

/// Whether a topic belongs to the brokers: these are never moved.
pub fn is_internal(topic: &str) -> bool {
    topic.starts_with("__")
}

/// Whether a topic is named as a ledger is. Ledgers are never moved.
pub fn looks_like_a_ledger(topic: &str, prefix: &str) -> bool {
    [prefix, DEFAULT_PREFIX]
        .iter()
        .any(|prefix| topic.strip_prefix(prefix).is_some_and(|rest| rest.ends_with(LEDGER_SUFFIX)))
}

/// What a topic probably is, where copying it is rarely what one wants.
pub fn warned_about(topic: &str) -> Option<&'static str> {
    let ends = |suffix: &str| topic.ends_with(suffix);
    let starts = |prefix: &str| topic.starts_with(prefix);
    if topic == "_schemas" || starts("_schema_encoders") {
        Some(
            "a schema registry keeps its schemas there, and copies of its ids may not fit the target's",
        )
    } else if ends("-changelog") || ends("-repartition") {
        Some("Kafka Streams makes it anew, and its state belongs to one application on one cluster")
    } else if starts("connect-") {
        Some("Kafka Connect keeps its configs, offsets and status there, for one cluster")
    } else if starts("mm2-") || ends(".checkpoints.internal") || topic == "heartbeats" {
        Some("MirrorMaker 2 keeps its own state there")
    } else if starts("_confluent") {
        Some("Confluent's services keep their own state there")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names_are_kafkas() {
        for good in ["orders", "a.b_c-D9", "...", &"x".repeat(249)] {
            assert_eq!(topic_name_fault(good), None, "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "päx", &"x".repeat(250)] {
            assert!(topic_name_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn plan_names_are_lower_case() {
        for good in ["orders-eu", "a", "2026-01", &"x".repeat(64)] {
            assert_eq!(plan_name_fault(good), None, "{good}");
        }
        for bad in ["", "Orders", "a.b", "a_b", &"x".repeat(65)] {
            assert!(plan_name_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn ledgers_of_any_plan_are_known_by_name() {
        assert!(looks_like_a_ledger("onceover-orders-eu-ledger", DEFAULT_PREFIX));
        assert!(looks_like_a_ledger("acme.onceover-orders-ledger", "acme.onceover-"));
        assert!(looks_like_a_ledger("onceover-orders-ledger", "acme.onceover-"));
        assert!(!looks_like_a_ledger("general-ledger", DEFAULT_PREFIX));
    }
}
