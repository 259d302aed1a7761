//! One cluster: brokers, release, ACLs, who we are, and its topics of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::topics::{self, Looked, OFFSETS, TRANSACTION_LOG};
use super::{Depth, acls, versions};
use crate::check::facts::{BrokerFacts, ClusterFacts, Known, Sample, TopicFacts};
use crate::error::{Result, Side};
use crate::pipe::clusters::Clusters;
use crate::plan::{ClusterPlan, Plan};

/// What a look at one cluster found.
pub struct Site {
    /// For the rules; the rights come last.
    pub facts: ClusterFacts,
    /// The topics that were looked for.
    pub topics: BTreeMap<Arc<str>, Looked>,
    /// What we may do with the cluster, as numbers of the protocol; none where nobody tells.
    pub authorized: Option<BTreeSet<i32>>,
}

/// Looks at one cluster.
///
/// # Errors
/// It does not answer.
pub fn look(
    plan: &Plan,
    clusters: &Clusters,
    side: Side,
    names: &[Arc<str>],
    depth: Depth,
) -> Result<Site> {
    let admin = clusters.admin(side);
    let detail = admin.cluster()?;
    let ids: Vec<i32> = detail.brokers.iter().map(|broker| broker.id).collect();
    let mut configs = admin.broker_configs(&ids);
    let brokers = detail.brokers.into_iter().map(|broker| BrokerFacts {
        configs: match configs.remove(&broker.id) {
            Some(Ok(entries)) => Known::Known(
                entries.into_iter().filter_map(|entry| Some((entry.name, entry.value?))).collect(),
            ),
            Some(Err(error)) => Known::unknown(error.what),
            None => Known::unknown("the broker did not tell"),
        },
        id: broker.id,
    });
    let brokers = brokers.collect();
    let mut found = topics::look(clusters, side, names, depth);
    let mut internal = |name: &str| match found.remove(name) {
        Some(looked) => looked.facts,
        None => Known::unknown("only asked on the target"),
    };
    /// Describe.
    const DESCRIBE: i32 = 8;
    let may_see_acls = detail.authorized.as_ref().is_some_and(|may| may.contains(&DESCRIBE));
    let bootstrap = clusters.connection(side).bootstrap();
    let facts = ClusterFacts {
        side,
        id: Known::Known(clusters.id(side).to_owned()),
        brokers,
        version: versions::release(&admin.api_versions()),
        topics: admin.topics()?.into_iter().map(|topic| topic.name).collect(),
        transaction_log: internal(TRANSACTION_LOG),
        offsets_topic: internal(OFFSETS),
        clock_ahead_ms: Known::unknown(
            "no request tells a broker's clock: compare `date -u` on the brokers' machines",
        ),
        disks: Known::unknown(format!(
            "the client library has no request for it: `kafka-log-dirs.sh --bootstrap-server \
             {bootstrap} --describe` tells"
        )),
        principal: principal(plan.cluster(side)),
        rights: Vec::new(),
        acls: match depth {
            Depth::Again => Known::unknown("not looked at by a run that goes on"),
            _ => acls::facts(admin.acls(), may_see_acls),
        },
    };
    Ok(Site { facts, topics: found, authorized: detail.authorized })
}

impl Site {
    /// A topic that was looked for.
    pub fn topic(&self, name: &str) -> Option<&TopicFacts> {
        self.topics.get(name)?.facts.ok()?.as_ref()
    }

    /// Puts samples to their topics.
    pub fn take_samples(&mut self, samples: BTreeMap<Arc<str>, Known<Sample>>) {
        for (name, sample) in samples {
            let looked = self.topics.get_mut(&name);
            if let Some(Looked { facts: Known::Known(Some(topic)), .. }) = looked {
                topic.sample = sample;
            }
        }
    }

    /// All samples.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        let topics = self.topics.values().filter_map(|looked| looked.facts.ok()?.as_ref());
        topics.filter_map(|topic| topic.sample.ok())
    }
}

/// Bytes between two offsets, by the average of a sample. Holes in the offsets make it too large.
pub fn estimate(sample: &Known<Sample>, from: i64, to: i64) -> Known<u64> {
    let offsets = u64::try_from(to.saturating_sub(from)).unwrap_or(0);
    if offsets == 0 {
        return Known::Known(0);
    }
    match sample.get() {
        Ok(sample) if sample.records > 0 => {
            let bytes = u128::from(offsets) * u128::from(sample.bytes) / u128::from(sample.records);
            Known::Known(u64::try_from(bytes).unwrap_or(u64::MAX))
        }
        Ok(_) => Known::unknown("no record of it was seen"),
        Err(why) => Known::unknown(why),
    }
}

/// Who we are, as far as the plan tells: the broker may map names (`ssl.principal.mapping.rules`), and no
/// request tells what came of it.
fn principal(cluster: &ClusterPlan) -> Known<String> {
    let property = |name: &str| cluster.properties.get(name).map(String::as_str);
    let protocol = property("security.protocol").unwrap_or("plaintext").to_ascii_lowercase();
    let mechanism = property("sasl.mechanism").or(property("sasl.mechanisms")).unwrap_or("GSSAPI");
    match (protocol.as_str(), property("sasl.username")) {
        ("plaintext", _) => Known::Known("User:ANONYMOUS".into()),
        ("ssl", _)
            if property("ssl.certificate.location")
                .or(property("ssl.keystore.location"))
                .or(property("ssl.certificate.pem"))
                .is_none() =>
        {
            Known::Known("User:ANONYMOUS".into())
        }
        ("ssl", _) => Known::unknown("the client certificate's name, as the brokers map it"),
        (_, Some(user)) if mechanism == "PLAIN" || mechanism.starts_with("SCRAM-") => {
            Known::Known(format!("User:{user}"))
        }
        _ => Known::unknown(format!("with `{mechanism}` only the brokers know it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan_with;

    fn who(properties: &str) -> Known<String> {
        let plan = plan_with(&format!("topics.include = ['a']\n[source.properties]\n{properties}"));
        principal(&plan.source)
    }

    #[test]
    fn we_are_who_the_plan_says_and_unknown_where_only_the_brokers_know() {
        assert_eq!(who(""), Known::Known("User:ANONYMOUS".into()));
        let scram = "'security.protocol' = 'SASL_SSL'\n'sasl.mechanism' = 'SCRAM-SHA-512'\n\
                     'sasl.username' = 'mover'\n'sasl.password' = 'x'";
        assert_eq!(who(scram), Known::Known("User:mover".into()));
        let certificate = "'security.protocol' = 'SSL'\n'ssl.certificate.location' = '/c.pem'";
        assert!(who(certificate).ok().is_none());
    }

    #[test]
    fn an_empty_range_has_no_bytes_whatever_the_sample() {
        let none = Known::unknown("x");
        assert_eq!(estimate(&none, 5, 5), Known::Known(0));
        assert_eq!(estimate(&none, 5, 6), Known::unknown("x"));
        let sample = Sample { records: 4, bytes: 40, ..Sample::default() };
        assert_eq!(estimate(&Known::Known(sample), 0, 100), Known::Known(1_000));
    }
}
