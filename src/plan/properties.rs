//! Properties of librdkafka in a plan: which ones are onceover's own, which are nobody's, and which
//! look like a secret.

use super::known_properties::{For, KNOWN, Known};
use super::nearest::nearest;
use crate::error::Side;

/// Why librdkafka does not take a property. It never carries the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyFault {
    /// There is no property of this name.
    Unknown,
    /// The property does not take this value.
    Invalid,
}

/// Properties that onceover sets itself, each with the reason, which ends the sentence "onceover sets
/// it itself: …". Everything that exactly-once, order, memory or the lanes' protocol rests on is here;
/// what only tunes a connection is not.
const OWNED: &[(&[&str], &str)] = &[
    (&["bootstrap.servers", "metadata.broker.list"], "write the addresses as `bootstrap`"),
    (
        &["transactional.id", "transaction.timeout.ms"],
        "each lane has a transactional id of its own for ever, and batches are sized by its time-out",
    ),
    (
        &["enable.idempotence", "enable.gapless.guarantee", "acks", "request.required.acks"],
        "exactly once needs an idempotent producer and the answer of all in-sync replicas",
    ),
    (
        &["max.in.flight", "max.in.flight.requests.per.connection", "queuing.strategy"],
        "the order of records depends on it",
    ),
    (
        &[
            "retries",
            "message.send.max.retries",
            "retry.backoff.ms",
            "retry.backoff.max.ms",
            "message.timeout.ms",
            "delivery.timeout.ms",
        ],
        "retries end with the transaction, and what they leave on the way is taken care of",
    ),
    (&["isolation.level"], "only committed records are copied"),
    (
        &[
            "auto.offset.reset",
            "enable.auto.commit",
            "auto.commit.enable",
            "auto.commit.interval.ms",
            "enable.auto.offset.store",
            "offset.store.method",
            "offset.store.path",
            "offset.store.sync.interval.ms",
        ],
        "positions are kept in the ledger, and a lost one is never guessed",
    ),
    (
        &[
            "group.id",
            "group.instance.id",
            "group.protocol",
            "group.protocol.type",
            "group.remote.assignor",
            "partition.assignment.strategy",
            "session.timeout.ms",
            "heartbeat.interval.ms",
            "max.poll.interval.ms",
        ],
        "workers share the lanes through a group whose settings must agree; a worker is named with \
         `--worker`",
    ),
    (&["allow.auto.create.topics"], "topics are created with their configs, or not at all"),
    (
        &["batch.size", "batch.num.messages", "message.max.bytes"],
        "batches stay below the target topics' own limits",
    ),
    (
        &[
            "queued.min.messages",
            "queued.max.messages.kbytes",
            "queue.buffering.max.messages",
            "queue.buffering.max.kbytes",
            "queue.buffering.backpressure.threshold",
        ],
        "use `run.memory`",
    ),
    (
        &["partitioner", "sticky.partitioning.linger.ms"],
        "records keep their partition, none is chosen",
    ),
    (
        &[
            "enable.partition.eof",
            "delivery.report.only.error",
            "produce.offset.report",
            "consume.callback.max.messages",
            "enabled_events",
            "log.queue",
            "internal.termination.signal",
            "topic.blacklist",
        ],
        "the pipe depends on what the client library reports",
    ),
    (&["plugin.library.paths", "interceptors"], "no foreign code runs between the clusters"),
];

/// Names that people bring along from Java clients, and what librdkafka has instead.
const FROM_JAVA: &[(&str, &str)] = &[
    ("sasl.jaas.config", "librdkafka takes `\"sasl.username\"` and `\"sasl.password\"` instead"),
    (
        "ssl.truststore.",
        "librdkafka takes `\"ssl.ca.location\"`, a PEM file, instead of a trust store",
    ),
    (
        "ssl.keystore.type",
        "librdkafka takes `\"ssl.keystore.location\"`, a PKCS#12 file, or \
        `\"ssl.certificate.location\"` and `\"ssl.key.location\"`, PEM files",
    ),
    ("ssl.keystore.key", "librdkafka takes `\"ssl.key.pem\"` or `\"ssl.key.location\"` instead"),
    ("ssl.keystore.certificate.chain", "librdkafka takes `\"ssl.certificate.pem\"` instead"),
    ("ssl.enabled.protocols", "librdkafka has no such setting, it takes what OpenSSL allows"),
    ("ssl.protocol", "librdkafka has no such setting, it takes what OpenSSL allows"),
    ("sasl.client.callback.handler.class", "librdkafka has no handler classes"),
    ("sasl.login.callback.handler.class", "librdkafka has no handler classes"),
    ("key.deserializer", "records are copied as bytes: leave it out"),
    ("value.deserializer", "records are copied as bytes: leave it out"),
    ("key.serializer", "records are copied as bytes: leave it out"),
    ("value.serializer", "records are copied as bytes: leave it out"),
    ("buffer.memory", "use `run.memory`"),
    ("max.poll.records", "use `run.memory` and `run.commit_bytes`"),
    ("default.api.timeout.ms", "librdkafka has `\"socket.timeout.ms\"`"),
];

/// Why a property is not the plan's to set; `None` if it is.
pub fn owned(name: &str) -> Option<&'static str> {
    if name.ends_with("_cb") {
        return Some("the pipe depends on what the client library reports");
    }
    OWNED.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// All properties that are not the plan's to set.
#[cfg(test)]
pub(super) fn owned_names() -> impl Iterator<Item = &'static str> {
    OWNED.iter().flat_map(|(names, _)| *names).copied()
}

/// Whether the name alone says that the value is nobody's business.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let word = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let only_points = [".location", ".file", ".url", ".id", ".keytab", ".type"];
    word(&["password", "passphrase", "secret", "jaas"])
        || (word(&["token", "credential", "key", "private", "oauthbearer.config", "extensions"])
            && !only_points.iter().any(|end| name.ends_with(end)))
}

/// Whether only producers read the property: on the source it would do nothing.
pub(super) fn only_for_producers(name: &str) -> bool {
    known(name).is_some_and(|(_, whose, _)| *whose == For::Producer)
}

/// What to say about a name that librdkafka does not have.
pub(super) fn instead_of(name: &str) -> Option<String> {
    if let Some((_, hint)) = FROM_JAVA.iter().find(|(java, _)| name.starts_with(java)) {
        return Some((*hint).to_string());
    }
    let near = nearest(name, KNOWN.iter().map(|(name, ..)| *name))?;
    Some(match owned(near) {
        None => format!("did you mean `\"{near}\"`?"),
        Some(why) => format!("if you mean `\"{near}\"`, onceover sets that itself: {why}"),
    })
}

/// What the property accepts, where the table knows it.
pub(super) fn accepts(name: &str) -> Option<&'static str> {
    known(name).map(|(_, _, accepts)| *accepts).filter(|accepts| !accepts.is_empty())
}

/// Judges a property by the table alone, without librdkafka: for tests, and where no client is at hand.
pub fn check_by_table(name: &str, value: &str, _: Side) -> Result<(), PropertyFault> {
    let Some((_, _, accepts)) = known(name) else { return Err(PropertyFault::Unknown) };
    let good = if accepts.is_empty() {
        true
    } else if let Some((low, high)) = accepts.split_once("..") {
        value.parse::<i64>().is_ok_and(|value| {
            low.parse().is_ok_and(|low: i64| low <= value)
                && high.parse().is_ok_and(|high: i64| value <= high)
        })
    } else {
        // Only `debug` takes several words.
        value
            .split(',')
            .all(|value| accepts.split(", ").any(|word| word.eq_ignore_ascii_case(value.trim())))
    };
    if good { Ok(()) } else { Err(PropertyFault::Invalid) }
}

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|(known, ..)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exactly_once_rests_on_is_owned() {
        for name in [
            "transactional.id",
            "isolation.level",
            "enable.idempotence",
            "group.id",
            "group.instance.id",
            "enable.auto.commit",
            "auto.offset.reset",
            "acks",
            "bootstrap.servers",
            "batch.size",
            "allow.auto.create.topics",
            "enable.partition.eof",
            "stats_cb",
        ] {
            assert!(owned(name).is_some(), "{name}");
        }
        for name in ["security.protocol", "client.id", "linger.ms", "compression.type", "debug"] {
            assert_eq!(owned(name), None, "{name}");
        }
    }

    #[test]
    fn every_owned_property_exists() {
        let hidden = ["enabled_events", "interceptors"];
        for name in OWNED.iter().flat_map(|(names, _)| *names) {
            assert!(known(name).is_some() || hidden.contains(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_known_by_name_and_paths_are_none() {
        for name in [
            "sasl.password",
            "ssl.key.pem",
            "ssl.key.password",
            "ssl.keystore.password",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.config",
            "sasl.jaas.config",
            "my.token",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "sasl.username",
            "ssl.key.location",
            "ssl.ca.location",
            "sasl.kerberos.keytab",
            "sasl.oauthbearer.token.endpoint.url",
            "socket.keepalive.enable",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn a_suggestion_says_when_it_is_an_owned_property() {
        assert_eq!(instead_of("sasl.pasword"), Some("did you mean `\"sasl.password\"`?".into()));
        assert!(instead_of("group.ids").is_some_and(|hint| hint.contains("sets that itself")));
        assert!(instead_of("ssl.truststore.location").is_some_and(|hint| hint.contains("PEM")));
    }

    #[test]
    fn the_table_judges_ranges_and_words() {
        let judge = |name, value| check_by_table(name, value, Side::Target);
        assert_eq!(judge("linger.ms", "5"), Ok(()));
        assert_eq!(judge("linger.ms", "-5"), Err(PropertyFault::Invalid));
        assert_eq!(judge("security.protocol", "SASL_SSL"), Ok(()));
        assert_eq!(judge("security.protocol", "TLS"), Err(PropertyFault::Invalid));
        assert_eq!(judge("lingr.ms", "5"), Err(PropertyFault::Unknown));
    }
}
