//! A third cluster: another one behind the same address, and one that lost a disk.

use std::fs;

use super::harness::Migration;
use super::refusals::Case;
use crate::brokers::{Cluster, Error, Numbered, Oracle, Writing, shared};

/// What a replaced disk does to a partition: the log starts again at 0, and the topic id stays.
fn lose(cluster: &Cluster, topics: &[&str]) -> Result<(), Error> {
    cluster.stop(1)?;
    for topic in topics {
        for partition in 0..2 {
            let log = cluster.logs_dir().join("data-1").join(format!("{topic}-{partition}"));
            fs::remove_dir_all(&log).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        }
    }
    cluster.restart(1)
}

#[test]
fn another_cluster_and_a_lost_disk_are_noticed() -> Result<(), Error> {
    let third = Cluster::builder("third").start()?;
    let oracle = Oracle::start(&third.bootstrap())?;
    let clusters = shared::clusters();
    let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());

    let other = Case::copied("refuse-other-cluster")?;
    other.migration.write(&third.bootstrap(), &target, "topics.include = ['refuse-other-cluster']");
    let words = other.refused("bound-field-changed")?;
    let ids = [clusters.source.cluster_id(), third.cluster_id()];
    words.say(&["source cluster", ids[0], ids[1]], "leads to another cluster");
    other.rewrite("");
    other.goes_on()?;

    let shorter = moved("refuse-disk-short", &third.bootstrap(), &target, &oracle)?;
    let replaced = moved("refuse-disk-other", &third.bootstrap(), &target, &oracle)?;
    let lost = moved("refuse-disk-target", &source, &third.bootstrap(), &clusters.source_oracle)?;
    lose(&third, &["refuse-disk-short", "refuse-disk-other", "refuse-disk-target"])?;

    let error = refused(&shorter, "source-not-same-log");
    assert!(error.contains("its log ends at 0, below the position 50"), "{error}");

    let others = Numbered { seed: 1, first: 1_000, ..Numbered::new("refuse-disk-other", 2, 300) };
    oracle.produce_numbered(&others, &Writing::default())?;
    let error = refused(&replaced, "source-not-same-log");
    assert!(error.contains("the record at offset 49 is not the one that was copied"), "{error}");

    let error = refused(&lost, "target-lost-records");
    assert!(error.contains("target `refuse-disk-target-0` ends at offset 0"), "{error}");
    Ok(())
}

/// A topic of 50 records in each partition, moved.
fn moved(name: &str, source: &str, target: &str, oracle: &Oracle) -> Result<Migration, Error> {
    oracle.create_topic(name, 2, &[])?;
    oracle.produce_numbered(&Numbered::new(name, 2, 100), &Writing::default())?;
    let include = format!("topics.include = ['{name}']");
    let migration = Migration::between(name, source, target, &include);
    migration.run(&[]).expect(0);
    Ok(migration)
}

fn refused(migration: &Migration, kind: &str) -> String {
    let finished = migration.run(&["--json"]).expect(5);
    assert_eq!(finished.error_kind(), kind, "{}", finished.stderr);
    finished.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
}
