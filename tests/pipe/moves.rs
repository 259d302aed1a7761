//! The main job: topics arrive on the target as they are on the source.

use super::harness::Migration;
use crate::brokers::{Error, Isolation, Numbered, Writing, shared};

#[test]
fn a_topic_arrives_complete_and_a_second_run_copies_what_came_since() -> Result<(), Error> {
    let clusters = shared::clusters();
    let source = &clusters.source_oracle;
    let target = &clusters.target_oracle;
    source.create_topic("moves-orders", 6, &[("retention.ms", "-1")])?;
    source.produce_numbered(&Numbered::new("moves-orders", 6, 20_000), &Writing::default())?;

    let migration = Migration::new("moves", "topics.include = [\"moves-orders\"]");
    let first = migration.run(&["--json"]).expect(0);
    assert_eq!(first.json()["result"], "proved");
    assert!(migration.proof().join("partitions.csv").is_file());
    let same =
        |oracle: &crate::brokers::Oracle| oracle.digest("moves-orders", Isolation::ReadCommitted);
    assert_eq!(same(source)?, same(target)?);

    source.produce_numbered(&Numbered::new("moves-orders", 6, 5_000), &Writing::default())?;
    migration.run(&[]).expect(0);
    assert_eq!(same(source)?, same(target)?);
    Ok(())
}
