//! What the admin says is what Kafka's own admin client says.

use super::{SOON, sole_member, source, target};
use crate::brokers::{Error, Record, shared};
use onceover::cluster::{Admin, At, Class, Created, NewTopic};
use onceover::plan::TopicPartition;
use std::sync::Arc;

fn admin() -> Admin {
    Admin::connect(&target()).expect("the target answers")
}

#[test]
fn a_cluster_tells_its_id_and_size() {
    let admin = Admin::connect(&source()).expect("the source answers");
    assert_eq!(admin.cluster_id().as_deref(), Ok(shared::clusters().source.cluster_id()));
    assert_eq!(admin.brokers(), 1);
}

#[test]
fn topics_have_their_ids_and_a_name_without_a_topic_makes_none() -> Result<(), Error> {
    let oracle = &shared::clusters().target_oracle;
    let id = oracle.create_topic("admin-ids", 3, &[])?;
    let admin = admin();
    let found = admin.describe(&["admin-ids", "admin-none", "admin-ids"]).expect("an answer");
    let topic = found["admin-ids"].as_ref().expect("the topic is there");
    assert_eq!((topic.partitions, topic.id.as_deref()), (3, Some(id.as_str())));
    assert_eq!(found["admin-none"], None);
    assert!(admin.topics().expect("a list").contains(topic));
    assert!(!oracle.list_topics()?.contains(&"admin-none".to_owned()));
    Ok(())
}

#[test]
fn a_topic_made_anew_has_another_id() -> Result<(), Error> {
    let oracle = &shared::clusters().target_oracle;
    let name: Arc<str> = Arc::from("admin-anew");
    let ids = |admin: &Admin| {
        admin.start_topic_ids(&[Arc::clone(&name), Arc::from("admin-none")]).wait(SOON)
    };
    let admin = admin();
    oracle.create_topic(&name, 1, &[])?;
    let before = ids(&admin).expect("an answer");
    oracle.delete_topic(&name)?;
    oracle.create_topic(&name, 1, &[])?;
    let after = ids(&admin).expect("an answer");
    assert!(before.len() == 1 && after.len() == 1, "a topic that does not exist is left out");
    assert!(before[&name].is_some() && before[&name] != after[&name]);
    Ok(())
}

#[test]
fn a_topic_is_made_with_its_configurations_once() -> Result<(), Error> {
    let oracle = &shared::clusters().target_oracle;
    let configs = [("cleanup.policy", "compact"), ("max.message.bytes", "20000")];
    let topic = NewTopic {
        name: "admin-create".into(),
        partitions: 4,
        replication_factor: None,
        configs: configs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    };
    let admin = admin();
    assert_eq!(admin.create_topic(&topic, true), Ok(Created::Made));
    assert!(!oracle.list_topics()?.contains(&topic.name), "it was only to be validated");
    assert_eq!(admin.create_topic(&topic, false), Ok(Created::Made));
    assert_eq!(admin.create_topic(&topic, false), Ok(Created::Existed));
    let made = oracle.describe_topic(&topic.name)?;
    assert_eq!(made.partitions, 4);
    assert_eq!(made.configs, topic.configs.iter().cloned().collect());

    let seen = admin.configs(&["admin-create"]).expect("configurations");
    let explicit: Vec<_> = seen["admin-create"]
        .iter()
        .filter(|config| config.explicit)
        .map(|config| (config.name.clone(), config.value.clone().expect("not hidden")))
        .collect();
    assert_eq!(explicit, topic.configs);
    let retention = seen["admin-create"].iter().find(|config| config.name == "retention.ms");
    assert!(retention.is_some_and(|config| !config.explicit && config.value.is_some()));
    Ok(())
}

#[test]
fn an_impossible_topic_is_a_final_error_that_names_it() {
    let topic = NewTopic {
        name: "admin-impossible".into(),
        partitions: 1,
        replication_factor: Some(1),
        configs: vec![("retention.ms".into(), "soon".into())],
    };
    let error = admin().create_topic(&topic, false).expect_err("not a time");
    assert_eq!(error.class, Class::Final);
    assert!(error.what.contains("admin-impossible"), "{error}");
}

#[test]
fn log_start_log_end_and_last_stable_offset_are_three_things() -> Result<(), Error> {
    let oracle = &shared::clusters().source_oracle;
    oracle.create_topic("admin-offsets", 2, &[])?;
    let record = |at| [Record::in_partition(0).value("v").at(at)];
    for at in [1000, 2000, 3000] {
        oracle.produce("admin-offsets", &record(at))?;
    }
    let producer = oracle.transactional("admin-offsets", &[])?;
    producer.begin()?;
    producer.produce("admin-offsets", &record(4000))?;
    oracle.delete_records("admin-offsets", 0, 1)?;

    let admin = Admin::connect(&source()).expect("the source answers");
    let at = |partition| TopicPartition::new("admin-offsets", partition);
    let offset = |which| {
        let found = admin.offsets(&[at(0)], which).expect("an answer");
        found[&at(0)].clone().expect("an offset").offset
    };
    assert_eq!(offset(At::LogStart), 1);
    assert_eq!(offset(At::LogEnd), 4);
    assert_eq!(offset(At::LastStable), 3);
    assert_eq!(offset(At::Timestamp(2500)), 2);
    assert_eq!(offset(At::Timestamp(5000)), 4, "no record is that late: the log end");

    let found = admin.offsets(&[at(0), at(1), at(2)], At::LogEnd).expect("an answer");
    assert_eq!(found[&at(0)].as_ref().map(|end| end.leader_epoch), Ok(Some(0)));
    assert_eq!(found[&at(1)].as_ref().map(|end| end.offset), Ok(0));
    let missing = found[&at(2)].as_ref().expect_err("there is no such partition");
    assert!(missing.class == Class::Final && missing.what.contains("admin-offsets-2"), "{missing}");
    producer.abort()
}

#[test]
fn group_offsets_leave_out_partitions_without_one() -> Result<(), Error> {
    let oracle = &shared::clusters().target_oracle;
    oracle.create_topic("admin-group", 3, &[])?;
    oracle.alter_group_offsets("admin-group", &[("admin-group", 1, 7)])?;
    let at = |partition| TopicPartition::new("admin-group", partition);
    let admin = Admin::connect_for(&target(), "admin-group").expect("the target answers");
    let asked = [at(0), at(1), at(2)];
    let found = admin.group_offsets_now("admin-group", &asked).expect("an answer");
    let found = found.expect("no transaction is open");
    let committed = admin.group_offsets_committed("admin-group", &asked).expect("an answer");
    assert_eq!(committed, found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(at(1), 7)]);
    let admin = Admin::connect_for(&target(), "admin-no-such-group").expect("the target answers");
    let none = admin.group_offsets_committed("admin-no-such-group", &[at(0)]).expect("an answer");
    assert!(none.is_empty());
    Ok(())
}

#[test]
fn a_group_lists_its_members_and_what_they_own() {
    let (member, _events) = sole_member("admin-members", 3);
    let admin = admin();
    let members = admin.group_members("admin-members").expect("an answer");
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].instance_id.as_deref(), Some("w1"));
    assert_eq!(members[0].partitions.len(), 3);
    assert_eq!(member.identity().map(|(_, id)| id).as_ref(), Some(&members[0].member_id));
    assert_eq!(admin.group_members("admin-no-such-group"), Ok(Vec::new()));
}
