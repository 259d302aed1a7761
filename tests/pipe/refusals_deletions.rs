//! Deletions that may have expired before they were read: compacted source topics, and more than
//! their `delete.retention.ms` between two looks at their log end.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::harness::{Migration, eventually};
use super::refusals::{Case, PARTITIONS};
use crate::brokers::{Error, Numbered, Record, Writing, shared};

const COMPACTED: [(&str, &str); 1] = [("cleanup.policy", "compact")];
/// Any time at all is too long.
const AT_ONCE: [(&str, &str); 1] = [("delete.retention.ms", "0")];
/// So many that each record has its own: the brokers clean whenever they like, and find nothing.
const KEYS: u64 = 1 << 40;
const RECORD: &str = "run.on_gap = \"record\"";

/// A compacted source topic with a plan for it.
fn compacted(name: &str, more: &[(&str, &str)]) -> Result<Case, Error> {
    let clusters = shared::clusters();
    let migration = Migration::new(name, &format!("topics.include = [\"{name}\"]"));
    let (source, target) = (clusters.source_oracle.clone(), clusters.target_oracle.clone());
    source.create_topic(name, PARTITIONS, &[&COMPACTED, more].concat())?;
    Ok(Case { name: name.to_owned(), migration, source, target })
}

/// The same, copied and proved; and more on the source since.
fn copied(name: &str) -> Result<Case, Error> {
    let case = compacted(name, &[])?;
    case.keyed(200)?;
    case.goes_on()?;
    case.keyed(100)?;
    Ok(case)
}

impl Case {
    /// A compacted topic takes only records with keys.
    fn keyed(&self, count: u64) -> Result<(), Error> {
        let numbered = Numbered { keys: KEYS, ..Numbered::new(&self.name, PARTITIONS, count) };
        self.source.produce_numbered(&numbered, &Writing::default()).map(drop)
    }

    /// A gap at the end of every partition that moves no position.
    #[track_caller]
    fn has_recorded(&self) -> Result<(), Error> {
        let gaps = self.gaps_at_the_end()?;
        assert_eq!(gaps.len(), PARTITIONS, "{gaps:?}");
        Ok(())
    }

    /// All gaps, each of which lies at the end of its partition and moves no position.
    #[track_caller]
    fn gaps_at_the_end(&self) -> Result<Vec<Value>, Error> {
        let ends = self.source.list_offsets(&self.name)?;
        let gaps = self.entries("gap");
        for gap in &gaps {
            let partition = usize::try_from(gap["partition"].as_u64().expect("a number"));
            let end = ends[partition.expect("small")].latest;
            assert_eq!((&gap["from"], &gap["to"]), (&end.into(), &end.into()));
            assert_eq!(gap["reason"], "deletions may have expired before they were read");
        }
        Ok(gaps)
    }

    /// What the latest snapshot says about partition 0.
    #[track_caller]
    fn noted(&self) -> Value {
        let snapshots = self.entries("snapshot");
        let partitions = snapshots.iter().rev().flat_map(|one| one["partitions"].as_array());
        let mut first = partitions.flatten().filter(|one| one["partition"] == 0);
        first.next().expect("a snapshot")["state"].clone()
    }

    /// When partition 0 was complete, by the latest snapshot.
    #[track_caller]
    fn complete_since(&self) -> i64 {
        self.noted()["caught_up_at"].as_i64().expect("a time")
    }
}

#[test]
fn a_later_run_that_comes_too_late_is_refused_before_it_changes_anything() -> Result<(), Error> {
    let case = copied("deletions-later")?;
    case.source.set_topic_config(&case.name, &AT_ONCE)?;
    let words = case.refused("deletions-expired")?;
    let what = [
        "source `deletions-later-0` is compacted with `delete.retention.ms` of 0s",
        "passed since its copy began or was last complete",
        "also: source `deletions-later-1`",
    ];
    words.say(&what, "run.on_gap = \"record\"");
    words.say(&["may stay on the target"], "`delete.retention.ms` on the source is to be raised");
    Ok(())
}

#[test]
fn what_may_have_expired_is_recorded_once_and_makes_the_next_proof_a_full_one() -> Result<(), Error>
{
    let case = copied("deletions-record")?;
    case.source.set_topic_config(&case.name, &AT_ONCE)?;
    case.rewrite(RECORD);
    case.migration.run(&["--no-reconcile"]).expect(0);
    case.has_recorded()?;
    case.same()?;

    let proof = case.migration.verb("reconcile", &["--json"]).expect(0).json();
    let because = proof["full_because"].as_str().unwrap_or_default();
    let reason = "the ledger has a gap since the earlier pass: deletions may have expired";
    assert!(because.contains(reason), "{proof}");
    let proof = case.migration.verb("reconcile", &["--json"]).expect(0).json();
    assert_eq!(proof["mode"], "incremental", "{proof}");

    // Nothing came since: nothing was missed.
    case.migration.run(&["--no-reconcile"]).expect(0);
    case.has_recorded()?;
    Ok(())
}

#[test]
fn where_nothing_was_unread_nothing_is_refused() -> Result<(), Error> {
    let case = compacted("deletions-nothing", &[])?;
    case.keyed(200)?;
    case.goes_on()?;
    case.source.set_topic_config(&case.name, &AT_ONCE)?;
    case.goes_on()?;
    let before = case.complete_since();
    case.goes_on()?;
    assert!(case.complete_since() > before, "the end of a run is written down");
    assert!(case.entries("gap").is_empty());
    Ok(())
}

#[test]
fn a_first_copy_that_takes_longer_than_tombstones_live_is_refused_or_recorded() -> Result<(), Error>
{
    let case = compacted("deletions-slow", &[("delete.retention.ms", "1000")])?;
    // 1.2 MB at 200 KiB/s, of which the first two seconds' worth may come at once.
    let many =
        Numbered { value_size: 2_000, keys: KEYS, ..Numbered::new(&case.name, PARTITIONS, 600) };
    case.source.produce_numbered(&many, &Writing::default())?;
    let slow = "run.max_rate = \"200KiB/s\"";
    case.rewrite(slow);
    let before = case.holdings(&case.source)?;
    let finished = case.migration.run(&["--json"]).expect(5);
    assert_eq!(finished.error_kind(), "deletions-expired", "{}", finished.stderr);
    assert_eq!(case.entries("refused").len(), 1);
    assert_eq!(case.holdings(&case.source)?, before);
    case.refused("deletions-expired")?
        .say(&["source `deletions-slow-", "`delete.retention.ms` of 1s"], RECORD);

    case.rewrite(&format!("{slow}\n{RECORD}"));
    case.migration.run(&["--no-reconcile"]).expect(0);
    // The other partition may have been complete in time.
    assert!(!case.gaps_at_the_end()?.is_empty());
    case.same()
}

#[test]
fn a_tail_notes_while_it_is_idle_that_nothing_was_missed() -> Result<(), Error> {
    let case = compacted("deletions-idle", &[("delete.retention.ms", "8000")])?;
    // Both partitions end in a control record, which nobody is told of.
    let numbered = Numbered { keys: KEYS, ..Numbered::new(&case.name, PARTITIONS, 20) };
    let writing = Writing { per_transaction: 20, ..Writing::default() };
    case.source.produce_numbered(&numbered, &writing)?;
    let running = case.migration.start(&["--tail"]);
    let ledger = case.migration.ledger();
    eventually("there is a ledger", || case.target.list_offsets(&ledger).is_ok());
    eventually("the tail has begun", || !case.entries("snapshot").is_empty());
    let first = case.complete_since();
    // Longer than tombstones live: without the notes a start after a kill would be refused.
    eventually("time is noted", || case.complete_since() > first + 10_000);
    let end = case.source.list_offsets(&case.name)?[0].latest;
    assert_eq!(case.noted()["next"], end, "the control record is passed");
    // Nor is what comes after such an idle time.
    case.source.produce(&case.name, &[Record::in_partition(0).key("k").value("v").at(1)])?;
    eventually("the record arrives", || case.same_now());
    running.signal(Signal::SIGTERM);
    running.finish().expect(0);
    Ok(())
}

#[test]
fn a_tail_that_is_stopped_and_started_again_within_the_time_goes_on() -> Result<(), Error> {
    let case = compacted("deletions-again", &[])?;
    for round in 0..2 {
        case.keyed(100)?;
        let running = case.migration.start(&["--tail"]);
        eventually("all is there", || case.same_now());
        running.signal(Signal::SIGTERM);
        running.finish().expect(0);
        assert!(case.complete_since() > 0, "round {round}");
    }
    case.goes_on()?;
    assert!(case.entries("gap").is_empty());
    Ok(())
}

impl Case {
    fn same_now(&self) -> bool {
        let digest = |oracle: &crate::brokers::Oracle| {
            oracle.digest(&self.name, crate::brokers::Isolation::ReadCommitted).ok()
        };
        digest(&self.source).is_some_and(|source| digest(&self.target) == Some(source))
    }
}
