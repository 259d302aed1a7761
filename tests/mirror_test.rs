//! MirrorMaker 2 does what proofs of its migrations rely on.

use crate::brokers::{Error, Isolation, MirrorMaker, Numbered, Writing, shared};

const RECORDS: u64 = 20_000;

fn keyed(topic: &str) -> Numbered {
    Numbered { keys: 500, headers: 2, tombstone_every: 50, ..Numbered::new(topic, 3, RECORDS) }
}

/// Writes the records of [`keyed`] into a new topic of the source, and starts to mirror it.
fn mirrored(topic: &str) -> Result<(Numbered, MirrorMaker), Error> {
    let clusters = shared::clusters();
    let numbered = keyed(topic);
    clusters.source_oracle.create_topic(topic, numbered.partitions, &[])?;
    clusters.source_oracle.produce_numbered(&numbered, &Writing::default())?;
    let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
    let mirror = MirrorMaker::builder(&source, &target, &[topic]).start()?;
    Ok((numbered, mirror))
}

#[test]
fn a_mirrormaker_2_migration_of_20_000_keyed_records_arrives_whole() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (numbered, mut mirror) = mirrored("mirror-whole")?;
    mirror.wait_for(&clusters.target_oracle, "mirror-whole", RECORDS)?;
    mirror.stop()?;
    assert_eq!(clusters.target_oracle.check_numbered(&numbered)?, [""; 0]);
    let committed = Isolation::ReadCommitted;
    assert_eq!(
        clusters.target_oracle.digest("mirror-whole", committed)?,
        clusters.source_oracle.digest("mirror-whole", committed)?,
    );
    Ok(())
}
