//! What `onceover status` says of small ledgers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::check::Risk;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::ledger::{
    Anchor, Bind, BindPartition, Carry, CarryPartition, ControlState, Done, Entry, Fence, Found,
    Gap, Header, LaneState, ProvedSide, Refused, Role, Runs, Verified, VerifiedPartition,
};
use crate::plan::{TopicPartition, lane_of};

#[path = "status_proved_tests.rs"]
mod proved;

const NOON: i64 = 1_772_330_400_000;

fn header(role: Role) -> Entry {
    Entry::Header(Header {
        plan: "orders-eu".into(),
        generation: 1,
        lanes: 2,
        source_cluster: "old".into(),
        target_cluster: "new".into(),
        partition_role: role,
        tool: "0.1.0".into(),
        created: NOON,
    })
}

fn orders(partition: i32) -> TopicPartition {
    TopicPartition::new("orders", partition)
}

/// Control partition with a fence at 10 for both partitions of `orders`, and what follows.
fn control(more: Vec<Entry>) -> ControlState {
    let fence = Fence::new("f-1", NOON, "host-a", (0..2).map(|number| (orders(number), 10)));
    let mut state = ControlState::default();
    let entries = [header(Role::Control), Entry::Fence(fence)].into_iter().chain(more);
    for (offset, entry) in (0..).zip(entries) {
        state.apply(offset, entry).unwrap();
    }
    state
}

/// Both lanes, with one partition each: `orders-0` copied to 10 with a hole, `orders-1` bound.
fn lanes() -> Vec<LaneState> {
    (0..2u32)
        .map(|lane| {
            let number = (0..2).find(|number| lane_of("orders", *number, 2) == lane).unwrap();
            let mut state = LaneState::default();
            let mut apply = |entry| {
                let offset = state.next_offset;
                state.apply(offset, entry).unwrap();
            };
            apply(header(Role::Lane(lane)));
            apply(Entry::Bind(bind(number)));
            if number == 0 {
                apply(Entry::Gap(Gap {
                    topic: "orders".into(),
                    partition: 0,
                    from: 0,
                    to: 8,
                    reason: "expired".into(),
                    at: NOON,
                }));
                apply(Entry::Carry(carry()));
            }
            state
        })
        .collect()
}

fn bind(number: i32) -> Bind {
    Bind {
        worker: "host-a".into(),
        epoch: 1,
        naming: String::new(),
        start: "earliest".into(),
        partitions: vec![BindPartition {
            topic: "orders".into(),
            partition: number,
            topic_id: None,
            target_topic: "new.orders".into(),
            target_topic_id: None,
            start: 0,
            target_start: 0,
            found: Found::Empty,
        }],
    }
}

fn carry() -> Carry {
    let mut runs = Runs::default();
    let mut digest = SequenceDigest::EMPTY;
    for (source, target) in [(8, 0), (9, 1)] {
        runs.push(source, target);
        digest.push(RecordDigest(1));
    }
    Carry {
        seq: 1,
        part: 1,
        parts: 1,
        worker: "host-b".into(),
        epoch: 2,
        snapshot: None,
        at: NOON,
        partitions: vec![CarryPartition {
            topic: "orders".into(),
            partition: 0,
            first: 8,
            next: 10,
            runs,
            read: 2,
            written: 2,
            filtered: 0,
            dead: 0,
            bytes: 1_000,
            digest,
            anchor: Some(Anchor {
                offset: 9,
                epoch: None,
                digest: RecordDigest(1),
                timestamp: None,
            }),
            untimed: 1,
        }],
    }
}

fn ends() -> BTreeMap<TopicPartition, Option<i64>> {
    [(orders(0), Some(12)), (orders(1), Some(1_510))].into()
}

fn status(control: &ControlState, source: SourceEnds) -> Status {
    Status::new("orders-eu", "onceover-orders-eu-ledger", control, &lanes(), source)
}

#[test]
fn what_the_source_has_lost_and_what_no_run_has_seen_is_said() {
    let lost = status(&control(vec![]), Ok(BTreeMap::new()));
    assert_eq!((&lost.gone[..], lost.unseen()), (&["orders".to_owned()][..], 0));
    assert!(lost.render_text().contains("`orders` is in the ledger, and not on the source"));
    assert_eq!(lost.to_json()["source"]["gone"][0], "orders");

    let mut more = ends();
    more.insert(orders(2), Some(7));
    let more = status(&control(vec![]), Ok(more));
    assert_eq!((more.gone.len(), more.unseen()), (0, 1));
    let said = "1 partition of the source that no run has copied from yet";
    assert!(more.render_text().contains(said), "{}", more.render_text());
    assert_eq!(more.to_json()["source"]["unseen_partitions"], 1);

    let leaderless = ends().into_keys().map(|at| (at, None)).collect();
    let leaderless = status(&control(vec![]), Ok(leaderless));
    assert!(leaderless.gone.is_empty(), "its log end is not known: it is there");

    let silent = status(&control(vec![]), Err("no answer".into()));
    assert!(silent.gone.is_empty(), "what is not known is not gone");
}

#[test]
fn a_plan_on_its_way_shows_positions_fence_lag_and_workers() {
    let refused = Entry::Refused(Refused {
        word: "foreign-records".into(),
        what: "target orders-0 holds a committed record".into(),
        at: NOON,
        worker: "host-a".into(),
    });
    let text = status(&control(vec![refused]), Ok(ends())).render_text();
    let (zero, one) = (lane_of("orders", 0, 2), lane_of("orders", 1, 2));
    let lane_lines = match zero {
        0 => "     0           1             1  host-b\n     1           1             0  host-a",
        _ => "     0           1             0  host-a\n     1           1             1  host-b",
    };
    assert_eq!(
        text,
        format!(
            "\
orders-eu: copying, 1 of 2 partitions reached the fence

  ledger   onceover-orders-eu-ledger (generation 1, 2 lanes)
  fence    2026-03-01T02:00:00Z by host-a (f-1), open
  copied   2 records (1.0 kB)
  proved   nothing yet (`onceover reconcile` proves)
  lag      1,512 offsets
  untimed  1 record: the target shows the time of the copy
  gone     8 source offsets gone before they were copied

  topic   partition  lane  position  fence  log end    lag  records  proved  unproved  on the target
  orders          0     {zero}        10     10       12      2        2       -        10  new.orders
  orders          1     {one}         0     10    1,510  1,510        0       -         0  new.orders

  lane  partitions  transactions  last worker
{lane_lines}

refused:
  2026-03-01T02:00:00Z foreign-records (host-a): target orders-0 holds a committed record
"
        )
    );
}

#[test]
fn a_source_that_does_not_answer_is_said_and_its_columns_are_dashes() {
    let done = Entry::Done(Done {
        fence: "f-1".into(),
        at: NOON + 60_000,
        worker: "host-a".into(),
        records: 2,
        bytes: 1_000,
    });
    let status = status(&control(vec![done]), Err("no broker answered in 5 s".into()));
    let text = status.render_text();
    assert!(text.starts_with("orders-eu: copied up to the fence, not proved\n"), "{text}");
    assert!(
        text.contains("  source   did not answer, so no lag is known: no broker answered in 5 s\n")
    );
    assert!(
        text.contains("        10     10        -    -        2       -        10  new.orders\n"),
        "{text}"
    );
    assert!(text.contains("(f-1), reached 2026-03-01T02:01:00Z\n"));
    let json = status.to_json();
    assert_eq!(json["source"]["answered"], false);
    assert_eq!(json["lag"], Value::Null);
    assert_eq!(json["partitions"][0]["lag"], Value::Null);
    assert_eq!(json["stage"], "copied-not-proved");
}

#[test]
fn a_plan_without_a_ledger_says_so() {
    let status =
        Status::new("p", "onceover-p-ledger", &ControlState::default(), &[], Ok([].into()));
    assert_eq!(
        status.render_text(),
        "\
p: nothing was copied, there is no ledger

  ledger   onceover-p-ledger (not there)
  copied   0 records (0 B)
  lag      0 offsets
"
    );
}

#[test]
fn partitions_that_only_the_fence_or_the_source_knows_are_shown_without_a_position() {
    let mut ends = ends();
    ends.insert(TopicPartition::new("late", 0), Some(7));
    let status = Status::new(
        "p",
        "l",
        &control(vec![]),
        &[LaneState::default(), LaneState::default()],
        Ok(ends),
    );
    let shown: Vec<_> = status
        .partitions
        .iter()
        .map(|line| (line.at.to_string(), line.position, line.fence))
        .collect();
    assert_eq!(
        shown,
        [
            ("late-0".into(), None, None),
            ("orders-0".into(), None, Some(10)),
            ("orders-1".into(), None, Some(10))
        ]
    );
    assert_eq!(status.reached(), (0, 2));
    assert!(status.render_text().contains("0 offsets, and 3 partitions without a known lag"));
}

#[test]
fn the_json_has_a_stable_shape() {
    let json = status(&control(vec![]), Ok(ends())).to_json();
    let lane = lane_of("orders", 0, 2);
    assert_eq!(
        json["partitions"][0].to_string(),
        format!(
            r#"{{"topic":"orders","partition":0,"target_topic":"new.orders","lane":{lane},"position":10,"fence":10,"log_end":12,"lag":2,"records":2,"bytes":1000,"untimed":1,"gone":8,"proved":null,"unproved":10,"differences":null,"proof_at_ms":null,"retention":null}}"#
        )
    );
    assert_eq!(
        json["fence"].to_string(),
        r#"{"id":"f-1","worker":"host-a","taken_at":"2026-03-01T02:00:00Z","taken_at_ms":1772330400000,"done":false,"done_at_ms":null,"partitions":2,"reached":1}"#
    );
    let names: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "schema",
            "plan",
            "stage",
            "proved",
            "ledger",
            "fence",
            "source",
            "records",
            "bytes",
            "lag",
            "partitions",
            "lanes",
            "refused",
            "proof"
        ]
    );
}

#[test]
fn what_retention_takes_before_the_copy_is_there_is_said_partition_by_partition() {
    let mut status = status(&control(vec![]), Ok(ends()));
    assert!(!status.render_text().contains("  race "));
    let lost = Outlook {
        deleted_at: Some(NOON),
        reached_at: Some(NOON + 7_200_000),
        risk: Risk::Lost(NOON + 3_600_000),
    };
    let won = Outlook { risk: Risk::None, ..lost };
    status.take_outlooks(Ok([(orders(0), won), (orders(1), lost)].into()));
    let text = status.render_text();
    let row = "  race     orders-1: the source may delete its first uncopied record from \
               2026-03-01T02:00:00Z on, and overtakes the copy at 2026-03-01T03:00:00Z; the copy \
               reaches its end at 2026-03-01T04:00:00Z\n";
    assert!(text.contains(row), "{text}");
    assert!(!text.contains("orders-0:"), "{text}");
    let json = status.to_json();
    assert_eq!(json["partitions"][0]["retention"]["risk"], "none");
    assert_eq!(json["partitions"][1]["retention"]["lost_from_ms"], NOON + 3_600_000);
    let now = Outlook { reached_at: None, risk: Risk::Now, ..lost };
    status.take_outlooks(Ok([(orders(1), now)].into()));
    assert!(status.render_text().contains(
        "orders-1: the source may delete its first uncopied records at any moment; how fast the copy is \
         nobody knows\n"
    ));
    status.take_outlooks(Ok([(orders(1), Outlook::GONE)].into()));
    let gone = "  race     orders-1: the source has deleted its first uncopied records\n";
    assert!(status.render_text().contains(gone));
    assert_eq!(status.to_json()["partitions"][1]["retention"]["risk"], "gone");
    status.take_outlooks(Err("no right".into()));
    assert_eq!(status.to_json()["source"]["retention_error"], "no right");
    assert!(
        status
            .render_text()
            .contains("  race     what retention deletes next is not known: no right\n")
    );
}

#[test]
fn what_is_not_copied_is_estimated_by_what_is() {
    let status = status(&control(vec![]), Ok(ends()));
    let [copied, bound] = &status.partitions[..] else { panic!("two partitions") };
    // 1,000 bytes of 2 records; 2 and 1,510 offsets are left.
    assert_eq!(copied.bytes_behind(7), Some(1_000));
    assert_eq!(bound.bytes_behind(7), Some(10_570));
}
