//! What the wrappers tell is what Kafka's own admin client tells.

use std::collections::BTreeMap;

use onceover::cluster::{Admin, ConfigSource, Connection};
use onceover::error::Side;
use onceover::plan::TopicPartition;

use crate::brokers::{Error, Record, shared};

fn source() -> Connection {
    Connection::new(Side::Source, &shared::clusters().source.bootstrap(), &BTreeMap::new(), "check")
}

fn admin() -> Admin {
    Admin::connect_for(&source(), "check-wrappers").expect("the source answers")
}

#[test]
fn a_cluster_describes_its_brokers_and_what_we_may_do() {
    let cluster = admin().cluster().expect("an answer");
    assert_eq!(cluster.controller, Some(1));
    let brokers: Vec<_> = cluster.brokers.iter().map(|one| (one.id, one.address.clone())).collect();
    assert_eq!(brokers, [(1, shared::clusters().source.broker_address(1))]);
    // Without an authorizer everything: Create, Alter, Describe, ClusterAction, ….
    let may = cluster.authorized.expect("a broker of today tells");
    assert!([5, 7, 8, 9].iter().all(|operation| may.contains(operation)), "{may:?}");
}

#[test]
fn configs_tell_who_set_them() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("check-configs", 1, &[("max.message.bytes", "20000")])?;
    let admin = admin();
    let names = ["check-configs", "check-no-such-topic"];
    let mut found = admin.configs_each(&names).expect("an answer");
    assert!(found.remove(names[1]).expect("one for each").is_err(), "topics fail one by one");
    let configs = found.remove(names[0]).expect("one for each").expect("its configs");
    let of = |name: &str| {
        let config = configs.iter().find(|config| config.name == name).expect("a config");
        (config.value.clone().unwrap_or_default(), config.source)
    };
    assert_eq!(of("max.message.bytes"), ("20000".into(), ConfigSource::Topic));
    // `log.retention.ms` is in the tests' `server.properties`.
    assert_eq!(of("retention.ms"), ("-1".into(), ConfigSource::Cluster));
    assert_eq!(of("segment.bytes").1, ConfigSource::Default);

    let mut brokers = admin.broker_configs(&[1]);
    let configs = brokers.remove(&1).expect("one for each").expect("its configs");
    let replicas = configs.iter().find(|one| one.name == "offsets.topic.replication.factor");
    let replicas = replicas.expect("a config");
    assert_eq!((replicas.value.as_deref(), replicas.source), (Some("1"), ConfigSource::Cluster));
    Ok(())
}

#[test]
fn topics_tell_leaders_replicas_and_our_rights() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("check-details", 2, &[])?;
    let found = admin().details(&["check-details", "check-no-such-topic"]).expect("an answer");
    assert_eq!(found["check-no-such-topic"], Ok(None));
    let topic = found["check-details"].clone().expect("no error").expect("it is there");
    assert_eq!(topic.partitions.len(), 2);
    for one in &topic.partitions {
        assert_eq!(
            (one.leader, &one.replicas[..], &one.in_sync[..]),
            (Some(1), &[1][..], &[1][..])
        );
    }
    let may = topic.authorized.expect("a broker of today tells");
    assert!([3, 4, 8].iter().all(|operation| may.contains(operation)), "{may:?}");
    assert!(!oracle.list_topics()?.contains(&"check-no-such-topic".to_owned()));
    Ok(())
}

#[test]
fn the_newest_record_is_the_one_with_the_greatest_timestamp() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("check-newest", 2, &[])?;
    let at = |time| Record::in_partition(0).value("v").at(time);
    oracle.produce("check-newest", &[at(1_000), at(9_000), at(5_000)])?;
    let admin = admin();
    let asked = [0, 1].map(|number| TopicPartition::new("check-newest", number));
    let found = admin.newest(&asked).expect("an answer").expect("brokers of today tell");
    assert_eq!((&found[&asked[0]], &found[&asked[1]]), (&Ok(Some(9_000)), &Ok(None)));
    Ok(())
}

#[test]
fn the_versions_of_requests_are_those_that_the_broker_knows() {
    let versions = admin().api_versions();
    // ListOffsets: 7 came with 3.0.
    assert!(versions.get(&2).is_some_and(|(_, highest)| *highest >= 10), "{versions:?}");
    assert!(versions.len() > 40, "{versions:?}");
}

#[test]
fn groups_are_listed_with_state_members_and_what_they_read() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("check-groups", 2, &[])?;
    oracle.alter_group_offsets("check-group", &[("check-groups", 1, 7)])?;
    let admin = admin();
    assert!(admin.groups().expect("an answer").contains("check-group"));
    let mut found = admin.describe_groups(&["check-group", "check-no-group"]).expect("an answer");
    let group = found.remove("check-group").expect("one for each").expect("no error");
    assert_eq!((group.state, group.members.len()), ("Empty", 0));
    assert!(group.authorized.expect("a broker of today tells").contains(&3));
    let read = admin.groups_partitions(&["check-group"]);
    assert_eq!(read["check-group"], Ok(vec![TopicPartition::new("check-groups", 1)]));
    Ok(())
}

#[test]
fn a_cluster_without_an_authorizer_shows_an_empty_list_of_acls() {
    assert_eq!(admin().acls(), Ok(Some(Vec::new())), "librdkafka tells now: use that");
}

#[test]
fn a_topic_gets_more_partitions_and_never_fewer() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("check-grow", 2, &[])?;
    let admin = admin();
    admin.grow_topic("check-grow", 5).expect("it grows");
    admin.grow_topic("check-grow", 5).expect("as another worker would, a moment later");
    assert_eq!(oracle.describe_topic("check-grow")?.partitions, 5);
    let error = admin.grow_topic("check-grow", 3).expect_err("it does not shrink");
    assert!(error.what.contains("check-grow"), "{error}");
    Ok(())
}
