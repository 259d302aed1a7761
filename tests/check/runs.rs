//! What a run makes of the checks: it refuses before it writes, and records what the plan allows.

use onceover::check::names;

use crate::brokers::{Error, shared};
use crate::pipe::refusals::Case;

#[test]
fn a_run_whose_check_fails_writes_nothing_and_one_that_is_allowed_records_it_once()
-> Result<(), Error> {
    let case = Case::empty("check-run-allow")?;
    case.produce(200)?;
    let append = [("message.timestamp.type", "LogAppendTime")];
    shared::clusters().target_oracle.create_topic(&case.name, 2, &append)?;
    let words = case.does_not_run(7, names::TIMESTAMP_TYPE, &[])?;
    words.say(&["check-run-allow"], "");
    let holdings = case.holdings(&case.target)?;
    assert!(!holdings.topics.contains_key(&case.migration.ledger()), "no ledger is made");

    let allow = |reason: &str| {
        case.rewrite(&format!(
            "[[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['check-run-allow']\n\
             reason = '{reason}'"
        ));
    };
    allow("nobody looks at them");
    let run = case.migration.run(&["--json"]).expect(0);
    assert!(run.stdout.contains("nobody looks at them"), "{}", run.stdout);
    case.migration.run(&["--json"]).expect(0);
    let recorded = case.entries("override");
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    assert_eq!(recorded[0]["what"], names::TIMESTAMP_TYPE);
    assert_eq!(recorded[0]["topics"][0], "check-run-allow");
    assert!(recorded[0]["reason"].as_str().is_some_and(|why| why.contains("nobody looks")));

    allow("asked again");
    case.migration.run(&["--json"]).expect(0);
    assert_eq!(case.entries("override").len(), 2, "another reason is another entry");
    Ok(())
}

#[test]
fn what_a_run_would_be_refused_for_is_a_failed_check() -> Result<(), Error> {
    let case = Case::copied("check-run-refused")?;
    super::checked(&case.migration.plan).is_whole(names::REFUSALS, onceover::check::Severity::Pass);
    case.target.produce(&case.name, &[crate::pipe::refusals::foreign()])?;
    let checked = super::checked(&case.migration.plan);
    checked.is_whole(names::REFUSALS, onceover::check::Severity::Fail);
    let (_, reason) = checked.says(names::REFUSALS, None);
    assert!(reason.contains("foreign-records"), "{reason}");
    Ok(())
}
