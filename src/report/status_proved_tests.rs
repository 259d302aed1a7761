//! How far a plan is proved, as its status tells it.

use super::*;

fn done() -> Entry {
    Entry::Done(Done {
        fence: "f-1".into(),
        at: NOON + 60_000,
        worker: "host-a".into(),
        records: 2,
        bytes: 1_000,
    })
}

/// A proof of these partitions: up to which source offset, and how many keys differ.
fn verified(at: i64, partitions: &[(i32, i64, u64)]) -> Entry {
    let side = |next| ProvedSide { next, topic_id: None, epoch: None, anchor: None };
    let partition = |&(partition, next, differences): &(i32, i64, u64)| VerifiedPartition {
        topic: "orders".into(),
        partition,
        from: 0,
        records: 2,
        differences,
        digest: None,
        source: side(next),
        target: side(2),
    };
    Entry::Verified(Verified {
        pass: "p-1".into(),
        at,
        worker: "host-a".into(),
        plan: "hash".into(),
        partitions: partitions.iter().map(partition).collect(),
    })
}

#[test]
fn a_plan_is_proved_when_its_fence_is_reached_and_no_position_is_behind_a_proof() {
    let control = control(vec![done(), verified(NOON, &[(0, 10, 0), (1, 0, 0)])]);
    let status = status(&control, Ok(ends()));
    let text = status.render_text();
    assert!(text.starts_with("orders-eu: copied up to the fence, and proved\n"), "{text}");
    assert!(
        text.contains(
            "  proved   up to the position of every partition, at 2026-03-01T02:00:00Z\n"
        ),
        "{text}"
    );
    assert!(text.contains("        2      10         0  new.orders\n"), "{text}");
    let json = status.to_json();
    assert_eq!((&json["stage"], &json["proved"]), (&"proved".into(), &true.into()));
    assert_eq!(
        json["proof"].to_string(),
        r#"{"at":"2026-03-01T02:00:00Z","at_ms":1772330400000,"partitions":2,"proved":2,"different":0,"unproved":0}"#
    );
}

#[test]
fn what_came_after_the_proof_is_told_in_offsets_and_the_plan_is_not_proved() {
    let control = control(vec![done(), verified(NOON, &[(0, 7, 0), (1, 0, 0)])]);
    let status = status(&control, Ok(ends()));
    let text = status.render_text();
    assert!(text.starts_with("orders-eu: copied up to the fence, not proved\n"), "{text}");
    assert!(
        text.contains("  proved   1 of 2 partitions up to the position, 3 offsets to go, at 2026"),
        "{text}"
    );
    let json = status.to_json();
    assert_eq!((&json["stage"], &json["proved"]), (&"copied-not-proved".into(), &false.into()));
    assert_eq!(json["partitions"][0]["unproved"], 3);
}

#[test]
fn an_open_fence_is_copying_whatever_was_proved_before() {
    let control = control(vec![verified(NOON, &[(0, 10, 0), (1, 0, 0)])]);
    let status = status(&control, Ok(ends()));
    assert_eq!(status.stage, Stage::Copying);
    assert!(status.proved().everything());
}

#[test]
fn a_later_proof_with_differences_takes_the_earlier_one_back() {
    let proofs = [verified(NOON, &[(0, 10, 0), (1, 0, 0)]), verified(NOON + 60_000, &[(0, 10, 2)])];
    let control = control([done()].into_iter().chain(proofs).collect());
    let status = status(&control, Ok(ends()));
    let text = status.render_text();
    assert!(
        text.starts_with(
            "orders-eu: copied up to the fence, and the last proof found DIFFERENCES\n"
        ),
        "{text}"
    );
    assert!(text.contains(", 1 partition with differences, 10 offsets to go, at 2026"), "{text}");
    let json = status.to_json();
    assert_eq!(json["stage"], "copied-not-proved");
    assert_eq!(json["partitions"][0]["proved"], Value::Null);
    assert_eq!(json["partitions"][0]["differences"], 2);
}
