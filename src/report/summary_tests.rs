//! Tests of [`summary`](super).

use std::time::Instant;

use super::*;
use crate::report::pace::tests::snapshot;

fn summary(outcome: Outcome) -> Summary {
    let parts = [
        ("customers", 0, 1_000, 1_000, 900, 90_000),
        ("orders", 0, 500_000, 500_000, 500_000, 128_000_000),
        ("orders", 0, 500_000, 500_000, 499_999, 128_000_000),
    ];
    let mut last = snapshot(Instant::now(), 5_500, &parts);
    last.transactions = 12;
    Summary {
        fence: Some(FenceTime { id: "f-1".into(), taken_at: 1_772_330_400_000 }),
        ..Summary::new("orders-eu", "host-0", outcome, &last, |topic| topic.to_owned())
    }
}

#[test]
fn a_finished_run_says_copied_not_proved_first() {
    assert_eq!(
        summary(Outcome::CopiedNotProved).render_text(),
        "\
orders-eu: copied, not proved
Every committed source record below the fence was committed to the target. `onceover reconcile` compares both sides.

  fence         2026-03-01T02:00:00Z (f-1)
  worker        host-0 (what follows is what it moved)
  records       1,000,899
  bytes         256.1 MB
  elapsed       5.5 s
  rate          181,982 records/s, 46.6 MB/s
  transactions  12

  topic      partitions  records     bytes
  customers           1      900   90.0 kB
  orders              2  999,999  256.0 MB
"
    );
}

#[test]
fn renamed_untimed_and_missing_have_columns_and_warnings_only_where_there_are_any() {
    let parts = [("a", 0, 5, 10, 5, 100), ("b", 0, 10, 10, 10, 100)];
    let mut last = snapshot(Instant::now(), 10_000, &parts);
    last.partitions.values_mut().next().unwrap().untimed = 3;
    let name = |topic: &str| format!("new.{topic}");
    let mut summary = Summary::new("p", "w", Outcome::Stopped(2), &last, name);
    summary.warnings.push("something else".into());
    assert_eq!(
        summary.render_text(),
        "\
p: stopped before the end, not proved
Everything counted here is committed. The same command goes on from here.

  worker        w (what follows is what it moved)
  records       15
  bytes         200 B
  elapsed       10 s
  rate          1.5 records/s, 20 B/s
  transactions  0

  topic  on the target  partitions  records  bytes  untimed  offsets left
  a      new.a                   1        5  100 B        3             5
  b      new.b                   1       10  100 B        0             0

warning: 3 records had timestamp 0: the target shows the time of the copy instead: `a` (3)
warning: something else
"
    );
    assert_eq!(summary.exit_code(), 130);
}

#[test]
fn the_json_has_raw_numbers_and_the_same_verdict() {
    let json = summary(Outcome::CopiedNotProved).to_json();
    assert_eq!(
        json.to_string(),
        r#"{"schema":1,"result":"copied-not-proved","proved":false,"exit":0,"plan":"orders-eu","worker":"host-0","fence":{"id":"f-1","taken_at":"2026-03-01T02:00:00Z","taken_at_ms":1772330400000},"elapsed_ms":5500,"records":1000899,"bytes":256090000,"records_per_second":181982,"bytes_per_second":46561818,"transactions":12,"renewals":0,"untimed":0,"topics":[{"topic":"customers","target":"customers","partitions":1,"records":900,"bytes":90000,"untimed":0,"offsets_left":0},{"topic":"orders","target":"orders","partitions":2,"records":999999,"bytes":256000000,"untimed":0,"offsets_left":0}],"warnings":[],"prover":null,"proof":null}"#
    );
    assert_eq!(summary(Outcome::TailStopped).to_json()["result"], "tail-stopped");
    assert_eq!(summary(Outcome::Stopped(15)).to_json()["exit"], 143);
}

#[test]
fn a_run_that_found_nothing_to_do_has_no_table_and_no_division_by_zero() {
    let last = snapshot(Instant::now(), 0, &[]);
    let text = Summary::new("p", "w", Outcome::CopiedNotProved, &last, str::to_owned).render_text();
    assert!(text.ends_with("  rate          0 records/s, 0 B/s\n  transactions  0\n"), "{text}");
}
