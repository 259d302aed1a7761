//! Refusals about the source's topics.

use super::harness::eventually;
use super::refusals::{Case, PARTITIONS};
use crate::brokers::{Error, Isolation, Numbered, Writing};

#[test]
fn records_that_were_deleted_before_they_were_copied_are_refused_or_recorded() -> Result<(), Error>
{
    let case = Case::copied("refuse-expired")?;
    case.produce(100)?;
    case.source.delete_records(&case.name, 1, 120)?;
    let words = case.refused("source-expired")?;
    let what = ["source `refuse-expired-1`", "starts at offset 120", "next offset to copy is 100"];
    words.say(&what, "run.on_gap = \"record\"");
    words.say(&["20 offsets were deleted"], "retention.ms");

    case.rewrite("run.on_gap = \"record\"");
    case.migration.run(&[]).expect(0);
    let gaps = case.entries("gap");
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!((&gaps[0]["from"], &gaps[0]["to"]), (&100.into(), &120.into()));
    let arrived = case.target.digest(&case.name, Isolation::ReadCommitted)?;
    assert_eq!((arrived[0].count, arrived[1].count), (150, 130));
    Ok(())
}

#[test]
fn a_log_that_begins_at_the_position_has_lost_nothing() -> Result<(), Error> {
    let case = Case::copied("refuse-expired-just")?;
    case.source.delete_records(&case.name, 0, 100)?;
    case.source.delete_records(&case.name, 1, 99)?;
    case.produce(100)?;
    case.migration.run(&[]).expect(0);
    assert!(case.entries("gap").is_empty());
    let arrived = case.target.digest(&case.name, Isolation::ReadCommitted)?;
    assert_eq!((arrived[0].count, arrived[1].count), (150, 150));
    Ok(())
}

#[test]
fn what_expires_before_the_first_carry_is_recorded_and_the_copy_goes_on() -> Result<(), Error> {
    let case = Case::empty("refuse-expired-first")?;
    case.goes_on()?;
    case.produce(200)?;
    case.source.delete_records(&case.name, 0, 30)?;
    case.source.delete_records(&case.name, 1, -1)?;
    case.goes_on()?;
    let mut gaps: Vec<_> = case.entries("gap").iter().map(|gap| gap["to"].as_i64()).collect();
    gaps.sort_unstable();
    assert_eq!(gaps, [Some(30), Some(100)]);

    // Partition 1 has still carried nothing.
    case.produce(100)?;
    case.source.delete_records(&case.name, 1, 110)?;
    case.migration.run(&[]).expect(0);
    let arrived = case.target.digest(&case.name, Isolation::ReadCommitted)?;
    assert_eq!((arrived[0].count, arrived[1].count), (120, 40));
    Ok(())
}

#[test]
fn records_that_expire_under_a_run_stop_it_and_the_next_one_records_the_gap() -> Result<(), Error> {
    let case = Case::empty("refuse-expired-running")?;
    let many = Numbered { value_size: 2_000, ..Numbered::new(&case.name, PARTITIONS, 2_000) };
    case.source.produce_numbered(&many, &Writing::default())?;
    case.rewrite("run.max_rate = \"100KiB/s\"");
    let run = case.migration.start(&["--json"]);
    case.has_begun();
    for partition in 0..2 {
        case.source.delete_records(&case.name, partition, -1)?;
    }
    let finished = run.finish().expect(5);
    assert_eq!(finished.error_kind(), "source-expired", "{}", finished.stderr);
    assert_eq!(case.entries("refused").len(), 1);

    case.rewrite("run.on_gap = \"record\"");
    // Nothing is left on the source that the copy could be compared with.
    let recorded = case.migration.run(&["--json"]).expect(1);
    assert_eq!(recorded.json()["result"], "not-proved");
    assert!(!case.entries("gap").is_empty());
    Ok(())
}

#[test]
fn a_source_topic_that_was_created_anew_is_refused_smaller_and_larger() -> Result<(), Error> {
    let case = Case::copied("refuse-source-anew")?;
    let was = case.source.describe_topic(&case.name)?.id;
    case.source.delete_topic(&case.name)?;
    let is = case.source.create_topic(&case.name, PARTITIONS, &[])?;
    case.produce(50)?;
    let words = case.refused("source-not-same-log")?;
    let what = ["source `refuse-source-anew-0`", "not the log that was copied", &was, &is];
    words.say(&what, "new plan name");
    case.produce(400)?;
    case.refused("source-not-same-log")?.say(&what, "new plan name");
    Ok(())
}

#[test]
fn a_source_topic_that_is_created_anew_under_a_run_stops_it() -> Result<(), Error> {
    let case = Case::empty("refuse-source-swap")?;
    let many = Numbered { value_size: 2_000, ..Numbered::new(&case.name, PARTITIONS, 2_000) };
    case.source.produce_numbered(&many, &Writing::default())?;
    case.rewrite("run.max_rate = \"100KiB/s\"");
    let run = case.migration.start(&["--json"]);
    case.has_begun();
    case.source.delete_topic(&case.name)?;
    case.source.create_topic(&case.name, PARTITIONS, &[])?;
    let other = Numbered { seed: 7, count: 4_000, ..many };
    case.source.produce_numbered(&other, &Writing::default())?;
    let finished = run.finish().expect(5);
    assert_eq!(finished.error_kind(), "source-not-same-log", "{}", finished.stderr);
    Ok(())
}

#[test]
fn a_source_topic_that_is_created_anew_under_an_idle_tail_stops_it() -> Result<(), Error> {
    // Empty before and after: nothing but the topic's id tells, and nothing is ever committed.
    let case = Case::empty("refuse-source-idle")?;
    let tail = case.migration.start(&["--tail", "--json"]);
    let ledger = case.migration.ledger();
    eventually("there is a ledger", || case.target.list_offsets(&ledger).is_ok());
    let bound = || {
        case.entries("bind")
            .iter()
            .flat_map(|bind| bind["partitions"].as_array().cloned())
            .flatten()
            .count()
    };
    eventually("all is bound", || bound() == PARTITIONS);
    let was = case.source.describe_topic(&case.name)?.id;
    case.source.delete_topic(&case.name)?;
    let is = case.source.create_topic(&case.name, PARTITIONS, &[])?;
    let finished = tail.finish().expect(5);
    assert_eq!(finished.error_kind(), "source-not-same-log", "{}", finished.stderr);
    let message = finished.json()["error"]["message"].to_string();
    let why = format!("its topic id was {was} and is {is}");
    assert!(message.contains(&why), "{message}");
    assert_eq!(case.entries("refused").len(), 1);
    Ok(())
}

#[test]
fn a_source_topic_that_is_gone_is_missed_also_under_a_pattern() -> Result<(), Error> {
    let case = Case::empty("refuse-source-gone")?;
    case.source.create_topic("refuse-source-gone.b", 1, &[])?;
    case.migration.rewrite("topics.include = ['/refuse-source-gone(\\.b)?/']");
    case.produce(100)?;
    case.goes_on()?;
    case.source.delete_topic("refuse-source-gone.b")?;
    case.produce(100)?;
    let words = case.refused("source-not-same-log")?;
    words.say(&["source topic `refuse-source-gone.b` is gone"], "topics.exclude");

    let excluded = "topics.include = ['/refuse-source-gone(\\.b)?/']\n\
                    topics.exclude = ['refuse-source-gone.b']";
    case.migration.rewrite(excluded);
    case.goes_on()?;
    Ok(())
}

#[test]
fn a_source_topic_that_is_gone_is_named_where_the_plan_names_it() -> Result<(), Error> {
    let case = Case::copied("refuse-source-gone-1")?;
    case.source.delete_topic(&case.name)?;
    let words = case.refused("source-not-same-log")?;
    words.say(&["source topic `refuse-source-gone-1` is gone"], "out of the plan");
    Ok(())
}
