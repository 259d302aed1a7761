//! Audits of migrations that MirrorMaker 2 has done.

use super::files::Proof;
use crate::brokers::mirror::Builder;
use crate::brokers::{Error, Isolation, MirrorMaker, Numbered, Oracle, Writing, shared};
use crate::pipe::harness::Migration;

const RECORDS: u64 = 10_000;

fn write(topic: &str, first: u64) -> Result<(), Error> {
    let numbered = Numbered {
        keys: 500,
        headers: 2,
        tombstone_every: 50,
        first,
        ..Numbered::new(topic, 3, RECORDS)
    };
    shared::clusters().source_oracle.produce_numbered(&numbered, &Writing::default()).map(drop)
}

/// A topic of the source, and who shall mirror it.
fn mirror(topic: &str) -> Result<Builder, Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic(topic, 3, &[])?;
    write(topic, 0)?;
    let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
    Ok(MirrorMaker::builder(&source, &target, &[topic]))
}

fn count(oracle: &Oracle, topic: &str) -> Result<u64, Error> {
    let digests = oracle.digest(topic, Isolation::ReadCommitted)?;
    Ok(digests.iter().map(|one| one.count).sum())
}

fn audit(topic: &str, code: i32) -> Proof {
    let migration = Migration::new(topic, &format!("topics.include = [\"{topic}\"]"));
    Proof::of(&migration, &["--no-ledger"], code)
}

#[test]
fn a_mirrormaker_2_migration_is_proved() -> Result<(), Error> {
    let topic = "audit-whole";
    let mut mirroring = mirror(topic)?.start()?;
    mirroring.wait_for(&shared::clusters().target_oracle, topic, RECORDS)?;
    mirroring.stop()?;
    let proof = audit(topic, 0).is_clean();
    assert_eq!(proof.summary["ledger"], false);
    assert_eq!((proof.sum("source_records"), proof.sum("target_records")), (RECORDS, RECORDS));
    Ok(())
}

#[test]
fn what_a_killed_mirrormaker_2_has_copied_again_is_duplicated_and_nothing_else() -> Result<(), Error>
{
    let topic = "audit-killed";
    let target = &shared::clusters().target_oracle;
    // It has stored no offset when it is killed.
    let mut mirroring = mirror(topic)?.config("offset.flush.interval.ms", "600000").start()?;
    mirroring.wait_for(target, topic, RECORDS)?;
    write(topic, RECORDS)?;
    let again = mirroring.kill();
    let before = count(target, topic)?;
    let mut mirroring = again.start()?;
    mirroring.wait_for(target, topic, before + 2 * RECORDS)?;
    mirroring.stop()?;
    let surplus = count(target, topic)? - 2 * RECORDS;
    assert!(surplus >= RECORDS, "it has copied again: {surplus}");

    let proof = audit(topic, 1);
    assert_eq!(proof.rows.len(), 500, "every key");
    for row in &proof.rows {
        let more = row.target_records - row.source_records;
        assert_eq!((&*row.kind, &row.detail), ("duplicated", &format!("{more} duplicated")));
        assert!(row.source_offset < row.target_offset, "{row:?}");
    }
    let doubles: u64 = proof.rows.iter().map(|row| row.target_records - row.source_records).sum();
    assert_eq!(doubles, surplus);
    assert_eq!(proof.number("/differences_by_kind/duplicated"), 500);
    Ok(())
}
