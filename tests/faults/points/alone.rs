//! A refused record is looked for over a link on which one request for each record of what was read takes longer than
//! a transaction may: so in small transactions first.

use std::time::Duration;

use crate::brokers::{Error, Numbered, Record, shared};
use crate::faults::proxy::case::Case;

/// Sent one by one, five at a time, all of them would take 20 s.
const RECORDS: u64 = 2_000;
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// The time-out of a transaction, and of a record in it.
const TRANSACTION: Duration = Duration::from_secs(10);

#[test]
fn a_refused_record_is_found_where_single_requests_take_longer_than_a_transaction_may()
-> Result<(), Error> {
    let name = "alone-far";
    let mut case = Case::new(Numbered::new(name, 1, RECORDS), "run.lanes = 1\n")?;
    let (source, target) = (&shared::clusters().source_oracle, &shared::clusters().target_oracle);
    // The numbered records are younger than 20 years.
    let young = [("message.timestamp.before.max.ms", "631152000000")];
    target.create_topic(name, 1, &young)?;
    let old = Record::in_partition(0).key("k").value("of 1970").at(1_000);
    let at = source.produce(name, &[old])?;
    let milliseconds = TRANSACTION.as_millis().to_string();
    case.migration.set_env("ONCEOVER_TRANSACTION_TIMEOUT_MS", &milliseconds);
    case.target.round_trip(ROUND_TRIP);
    let finished = case.migration.run(&["--json"]).expect(4);
    let error = &finished.json()["error"];
    let said = error["message"].as_str().unwrap_or_default();
    assert!(said.contains(&format!("record {name}-0@{} for `{name}-0`", at[0])), "{error}");
    assert!(!finished.stderr.contains("timed out"), "{}", finished.stderr);
    // The guilty one alone is missing.
    case.is_complete()
}
