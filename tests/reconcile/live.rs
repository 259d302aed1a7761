//! Topics that are being written and copied while they are proved: records in flight are no differences.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::Signal;

use super::files::Proof;
use crate::brokers::{Error, Numbered, Oracle, Writing, shared};
use crate::pipe::harness::{Migration, eventually};

const TOPICS: [&str; 2] = ["live-delete", "live-compact"];

/// Writes to both topics until told to stop, now and then in transactions. Their markers bear the time of
/// day, and all records are far older: so logs begin new segments, and compaction runs meanwhile.
fn write_until(stop: &AtomicBool, source: &Oracle) -> Result<u64, Error> {
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        for topic in TOPICS {
            let numbered = Numbered {
                keys: 40,
                tombstone_every: 9,
                first: written,
                ..Numbered::new(topic, 2, 400)
            };
            let slowly = Writing {
                per_second: 2_000,
                per_transaction: if written % 800 == 0 { 100 } else { 0 },
                abort_every: 2,
                ..Writing::default()
            };
            source.produce_numbered(&numbered, &slowly)?;
        }
        written += 400;
    }
    Ok(written)
}

#[test]
fn topics_that_are_written_and_copied_all_the_time_are_proved_again_and_again() -> Result<(), Error>
{
    let source = &shared::clusters().source_oracle;
    source.create_topic(TOPICS[0], 2, &[])?;
    source.create_topic(TOPICS[1], 2, &[("cleanup.policy", "compact")])?;
    let migration = Migration::new("live", "topics.include = ['/live-(delete|compact)/']");
    let running = migration.start(&["--tail", "--json"]);
    let stop = AtomicBool::new(false);
    let (proved, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until(&stop, source));
        eventually("the pipe copies", || {
            let target = &shared::clusters().target_oracle;
            TOPICS.iter().all(|topic| {
                // There is no topic at first.
                let ends = target.list_offsets(topic).unwrap_or_default();
                !ends.is_empty() && ends.iter().all(|end| end.stable > 0)
            })
        });
        let proved = [&[][..], &[], &["--full"], &[], &[], &["--full"]]
            .map(|args: &[&str]| Proof::of(&migration, args, 0).is_clean());
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("writing does not panic").map(|written| (proved, written))
    })?;
    let compared = proved.each_ref().map(|proof| proof.number("/source/records_compared"));
    assert!(compared[5] > compared[2], "records came meanwhile: {compared:?}");
    let fences = proved.each_ref().map(|proof| proof.sum("fence"));
    assert!(fences.windows(2).all(|two| two[0] < two[1]), "each pass went further: {fences:?}");
    assert!(proved.iter().any(|proof| proof.sum("superseded") > 0), "the source was ahead");

    running.signal(Signal::SIGTERM);
    running.finish().expect(0);
    migration.run(&["--no-reconcile"]).expect(0);
    let last = Proof::of(&migration, &["--full"], 0).is_clean();
    let whole = last.partitions.iter().filter(|at| &at["topic"] == TOPICS[0]);
    assert_eq!(whole.map(|at| at.number("source_records")).sum::<u64>(), written);
    assert_eq!(last.sum("superseded"), 0);
    Ok(())
}
