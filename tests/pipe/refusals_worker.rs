//! Two processes with one plan, of which one must give way.

use super::refusals::Case;
use crate::brokers::Error;

#[test]
fn a_second_process_with_the_same_worker_name_takes_over() -> Result<(), Error> {
    let case = Case::empty("refuse-takeover")?;
    case.produce(6_000)?;
    case.rewrite("run.max_rate = \"40KiB/s\"");
    let first = case.migration.start(&["--worker", "rack-1", "--json"]);
    case.has_begun();
    case.rewrite("");
    let second = case.migration.start(&["--worker", "rack-1", "--json"]);
    let first = first.finish().expect(6);
    assert_eq!(first.error_kind(), "taken-over");
    assert!(first.stderr.contains("rack-1"), "{}", first.stderr);
    assert!(first.stderr.contains("hint: "), "{}", first.stderr);
    second.finish().expect(0);
    case.same()
}

#[test]
fn a_worker_with_another_plan_is_refused_and_disturbs_nobody() -> Result<(), Error> {
    let case = Case::empty("refuse-beside")?;
    case.produce(3_000)?;
    case.rewrite("run.max_rate = \"80KiB/s\"");
    let first = case.migration.start(&["--worker", "one", "--json"]);
    case.has_begun();
    case.rewrite("topics.start = \"latest\"");
    let second = case.migration.run(&["--worker", "two", "--json"]).expect(5);
    assert_eq!(second.error_kind(), "bound-field-changed");
    first.finish().expect(0);
    case.same()
}
