//! From Kafka 3.9 and from 2.8 (with ZooKeeper) to the newest: the check, and the pipe itself.

use onceover::check::Severity::{Fail, Info, Pass, Warn};
use onceover::check::names;

use super::checked;
use crate::brokers::distribution::Release;
use crate::brokers::{Cluster, Error, Isolation, Numbered, Oracle, Writing, shared};
use crate::pipe::harness::Migration;

const PARTITIONS: usize = 2;

struct Old {
    /// Held: dropped, the broker ends.
    _cluster: Cluster,
    oracle: Oracle,
    migration: Migration,
    name: String,
}

/// A source of an old release with a topic of records, some of them in transactions, some aborted.
fn old(release: Release, name: &str, configs: &[(&str, &str)]) -> Result<Old, Error> {
    let cluster = Cluster::builder(name).release(release).heap_mb(256).start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    oracle.create_topic(name, PARTITIONS, configs)?;
    let mut numbered = Numbered { keys: 50, ..Numbered::new(name, PARTITIONS, 3_000) };
    oracle.produce_numbered(&numbered, &Writing::default())?;
    numbered.first = numbered.count;
    let writing = Writing { per_transaction: 50, abort_every: 7, ..Writing::default() };
    oracle.produce_numbered(&numbered, &writing)?;
    let target = shared::clusters().target.bootstrap();
    let rest = format!("topics.include = ['{name}']");
    let migration = Migration::between(name, &cluster.bootstrap(), &target, &rest);
    Ok(Old { _cluster: cluster, oracle, migration, name: name.to_owned() })
}

impl Old {
    /// Copies; returns what the run warned of.
    fn is_copied(&self) -> Result<Vec<String>, Error> {
        let run = self.migration.run(&["--json"]).expect(0).json();
        let warnings = run["warnings"].as_array().expect("warnings").iter();
        let target = &shared::clusters().target_oracle;
        let digest = |oracle: &Oracle| oracle.digest(&self.name, Isolation::ReadCommitted);
        let (from, to) = (digest(&self.oracle)?, digest(target)?);
        assert_eq!(from, to);
        assert_eq!(from.iter().map(|one| one.count).sum::<u64>(), 6_000);
        Ok(warnings.map(|one| one.as_str().unwrap_or_default().to_owned()).collect())
    }
}

#[test]
fn from_3_9_to_the_newest() -> Result<(), Error> {
    let old = old(Release::V3_9, "check-old-39", &[])?;
    let checked = checked(&old.migration.plan);
    let version = checked.facts.source.version.ok().expect("a version");
    assert_eq!((version.major, version.minor), (3, 9));
    let version = checked.facts.target.version.ok().expect("a version");
    assert!((version.major, version.minor) >= (4, 1), "{version:?}");
    checked.is(names::CREATE_TOPIC, &old.name, Info);
    assert!(checked.findings.iter().all(|one| one.severity != Fail), "{:#?}", checked.findings);
    checked.is_whole(names::BROKER_VERSION, Pass);
    let warned = old.is_copied()?;
    assert_eq!(warned, [] as [&str; 0], "all that a run asks is told");
    Ok(())
}

#[test]
fn from_2_8_with_zookeeper_to_the_newest() -> Result<(), Error> {
    // Gone since 4.0: the target refuses it.
    let gone = [("message.format.version", "2.8-IV1")];
    let old = old(Release::V2_8, "check-old-28", &gone)?;
    let found = checked(&old.migration.plan);
    let version = found.facts.source.version.ok().expect("a version");
    assert_eq!((version.major, version.minor), (2, 8));
    found.is(names::CREATE_TOPIC, &old.name, Fail);
    found.is_whole(names::BROKER_VERSION, Warn);
    let partitions = found.facts.pairs[0].source.partitions.ok().expect("partitions");
    let newest = partitions[0].newest_ms.get().expect_err("brokers before 3.0 cannot tell");
    assert!(newest.contains("3.0"), "{newest}");
    assert_eq!(partitions[0].oldest_ms.ok(), Some(&Some(1_700_000_000_000)));

    let refused = old.migration.run(&["--json"]).expect(7);
    assert_eq!(refused.error_kind(), names::CREATE_TOPIC);
    let there = shared::clusters().target_oracle.list_topics()?;
    assert!(!there.iter().any(|topic| topic.contains("check-old-28")), "{there:?}");

    let (from, to) = (old._cluster.bootstrap(), shared::clusters().target.bootstrap());
    let rest = "topics.include = ['check-old-28']\n\
                topics.config.exclude = ['message.format.version']";
    old.migration.write(&from, &to, rest);
    checked(&old.migration.plan).is(names::CREATE_TOPIC, &old.name, Info);
    let warned = old.is_copied()?;
    let bounds: Vec<_> =
        warned.iter().filter(|one| one.contains(names::TIMESTAMP_BOUNDS)).collect();
    assert_eq!(bounds.len(), 1, "once, and not for each partition: {warned:?}");
    assert!(bounds[0].contains("could not be carried out"), "{warned:?}");
    Ok(())
}
