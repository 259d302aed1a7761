//! A plan or a topic's shape that no longer fits what the ledger was begun with.

use super::harness::Migration;
use super::refusals::Case;
use crate::brokers::{Error, Isolation, Record, shared};

#[test]
fn bound_fields_cannot_change_and_can_be_set_back() -> Result<(), Error> {
    let case = Case::empty("refuse-bound")?;
    let bound = "run.lanes = 2";
    case.rewrite(bound);
    case.produce(100)?;
    case.goes_on()?;
    case.produce(100)?;

    case.rewrite("run.lanes = 3");
    let words = case.refused("bound-field-changed")?;
    words.say(&["a lane count of 2", "now it is 3"], "run.lanes");

    case.rewrite(&format!("{bound}\ntopics.start = \"latest\""));
    let words = case.refused("bound-field-changed")?;
    words.say(&["the start", "earliest", "latest"], "topics.start");

    let rename = "topics.rename = [{ from = 'refuse-bound', to = 'refuse-bound.new' }]";
    case.rewrite(&format!("{bound}\n{rename}"));
    let words = case.refused("bound-field-changed")?;
    words.say(&["the naming", "refuse-bound.new"], "topics.rename");

    // As the hints say.
    case.rewrite("run.lanes = \"auto\"");
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_plan_from_a_cluster_to_itself_fails_the_check() -> Result<(), Error> {
    let case = Case::copied("refuse-itself")?;
    let target = shared::clusters().target.bootstrap();
    case.migration.write(&target, &target, "topics.include = [\"refuse-itself\"]");
    let words = case.does_not_run(7, "same-cluster", &[])?;
    let id = shared::clusters().target.cluster_id();
    words.say(&["the same cluster", id], "`source.bootstrap` and `target.bootstrap`");
    Ok(())
}

#[test]
fn a_partition_that_the_target_lacks_fails_the_check_until_it_is_added() -> Result<(), Error> {
    let case = Case::copied("refuse-partition")?;
    case.source.add_partitions(&case.name, 3)?;
    case.source.produce(&case.name, &[Record::in_partition(2).value("new")])?;
    assert_eq!(case.migration.status()["source"]["unseen_partitions"], 1);
    let words = case.does_not_run(7, "partitions", &[])?;
    words.say(
        &["topic `refuse-partition`: source has 3 partitions, target has 2"],
        "kafka-topics.sh --bootstrap-server TARGET --alter --topic refuse-partition --partitions 3",
    );
    case.target.add_partitions(&case.name, 3)?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_partition_that_is_added_later_is_copied_from_its_beginning() -> Result<(), Error> {
    let case = Case::empty("refuse-partition-latest")?;
    case.produce(100)?;
    case.rewrite("topics.start = \"latest\"");
    case.migration.run(&[]).expect(0);
    for cluster in [&case.source, &case.target] {
        cluster.add_partitions(&case.name, 3)?;
    }
    let new = Record::in_partition(2).value("new").at(1_700_000_000_000);
    case.source.produce(&case.name, &[new.clone(), new])?;
    case.migration.run(&[]).expect(0);
    let arrived = case.target.digest(&case.name, Isolation::ReadCommitted)?;
    let counts: Vec<u64> = arrived.iter().map(|one| one.count).collect();
    assert_eq!(counts, [0, 0, 2]);
    Ok(())
}

#[test]
fn a_topic_with_another_cleanup_policy_fails_the_check_before_anything_is_made() -> Result<(), Error>
{
    let case = Case::empty("refuse-policy")?;
    case.target.create_topic(&case.name, 2, &[("cleanup.policy", "compact")])?;
    let words = case.does_not_run(7, "cleanup-policy", &[])?;
    words.say(&["`cleanup.policy=delete`", "`cleanup.policy=compact`"], "cleanup.policy");
    assert_eq!(case.holdings(&case.target)?.topics.len(), 1);
    case.target.set_topic_config(&case.name, &[("cleanup.policy", "delete")])?;
    case.produce(100)?;
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_tail_under_an_open_fence_is_a_usage_error_and_the_run_finishes_it() -> Result<(), Error> {
    let case = Case::empty("refuse-tail")?;
    case.produce(4_000)?;
    case.rewrite("run.max_rate = \"60KiB/s\"");
    let run = case.migration.start(&[]);
    case.has_begun();
    run.kill();

    case.rewrite("");
    let settled = || Migration::status(&case.migration)["fence"].clone();
    assert!(!settled().is_null());
    let finished = case.migration.run(&["--tail", "--json"]).expect(2);
    assert_eq!(finished.error_kind(), "usage");
    assert!(finished.stderr.contains("open fence"), "{}", finished.stderr);
    assert!(finished.stderr.contains("hint: "), "{}", finished.stderr);
    case.goes_on()?;
    Ok(())
}
