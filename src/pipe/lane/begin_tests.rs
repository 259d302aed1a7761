//! Tests of [`begin`](super).

use super::*;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::ledger::{Anchor, GapRange};

/// 100 records from offset 0 on, and aborted ones up to 151.
fn state(epoch: Option<i32>) -> PartitionState {
    let digest = RecordDigest(7);
    PartitionState {
        topic_id: None,
        target_topic: "orders".into(),
        target_topic_id: None,
        start: 0,
        target_start: 0,
        found: Found::Empty,
        next: 151,
        target_next: 101,
        anchor: Some(Anchor { offset: 99, epoch, digest, timestamp: None }),
        records: 100,
        read: 100,
        filtered: 0,
        dead: 0,
        bytes: 0,
        untimed: 0,
        digest: SequenceDigest::EMPTY,
        gaps: Vec::new(),
        caught_up_at: None,
    }
}

#[test]
fn reading_goes_on_right_behind_the_last_record_where_its_epoch_holds() {
    assert_eq!(resume(&state(Some(3)), 0), (100, Some(3)));
    assert_eq!(resume(&state(Some(3)), 100), (100, Some(3)));
    // Of a later epoch, perhaps: held to the last record's, such an offset would look truncated.
    assert_eq!(resume(&state(Some(3)), 120), (120, None), "what expired cannot be read");
    assert_eq!(resume(&state(Some(3)), 200), (151, None), "a gap is another rule's");
    let gap = GapRange { from: 100, to: 130, reason: "expired".into(), at: 0 };
    let gapped = PartitionState { gaps: vec![gap], ..state(Some(3)) };
    assert_eq!(resume(&gapped, 0), (130, None), "records lay in the gap");
}

#[test]
fn without_an_epoch_there_is_nothing_to_hold_and_the_position_counts() {
    assert_eq!(resume(&state(None), 0), (151, None));
    let nothing = PartitionState { anchor: None, ..state(None) };
    assert_eq!(resume(&nothing, 0), (151, None));
}
