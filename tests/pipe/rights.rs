//! Rights that are missing, on a broker with an authorizer.

use super::harness::Migration;
use crate::brokers::{Cluster, Error, Numbered, Oracle, Writing, shared};

#[test]
fn a_topic_that_may_not_be_written_to_or_not_be_seen_ends_the_run_with_that_reason()
-> Result<(), Error> {
    let authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
    let target = Cluster::builder("rights-target")
        .heap_mb(256)
        .config("authorizer.class.name", authorizer)
        .config("allow.everyone.if.no.acl.found", "true")
        .start()?;
    let on_target = Oracle::start(&target.bootstrap())?;
    let (source, name) = (&shared::clusters().source, "rights-write");
    let on_source = &shared::clusters().source_oracle;
    on_source.create_topic(name, 2, &[])?;
    on_source.produce_numbered(&Numbered::new(name, 2, 500), &Writing::default())?;
    on_target.create_topic(name, 2, &[])?;
    on_target.deny("Topic", name, "Write")?;
    let rest = format!("topics.include = [\"{name}\"]");
    let migration = Migration::between(name, &source.bootstrap(), &target.bootstrap(), &rest);
    let refused = migration.run(&["--json"]).expect(7);
    assert_eq!(refused.error_kind(), "rights");
    let error = &refused.json()["error"];
    let message = error["message"].to_string();
    assert!(message.contains("Write on topic `rights-write` is missing"), "{message}");
    let hint = error["hint"].to_string();
    assert!(hint.contains("--operation Write --topic rights-write"), "{hint}");
    on_target.permit("Topic", name)?;

    // As soon as an ACL speaks of the topic, nobody else may even see it.
    on_target.deny_write(name)?;
    let ended = migration.run(&["--json"]).expect(4);
    let error = ended.json()["error"]["message"].to_string();
    assert!(error.contains("Topic authorization failed"), "{error}");
    assert!(!on_target.list_topics()?.contains(&migration.ledger()), "nothing is written");
    Ok(())
}
