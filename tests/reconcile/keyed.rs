//! Single faults among a million keyed records.

use super::files::Row;
use super::tampered::{Tampered, of_key, sorted};
use crate::brokers::{Error, Fault, Numbered};

#[test]
fn eight_faults_among_a_million_keyed_records_are_the_eight_rows() -> Result<(), Error> {
    let topic = "faults-keyed";
    let small = Numbered { value_size: 34, keys: 100_000, ..Numbered::new(topic, 4, 1_000_000) };
    let nth = |n: u64| 111_111 * n;
    let [dropped, inserted, value, headers, timestamp, swapped, doubled, moved] =
        [1, 2, 3, 4, 5, 6, 7, 8].map(nth);
    let later = |id: u64| {
        let of_key = of_key(&small, small.key_number(id).expect("keyed"));
        of_key.into_iter().find(|other| *other > id).expect("the key has a later record")
    };
    let swapped_with = later(swapped);
    let faults = [
        (dropped, Fault::Drop),
        (inserted, Fault::Insert),
        (value, Fault::Value),
        (headers, Fault::Headers),
        (timestamp, Fault::Timestamp),
        (swapped, Fault::Swap(swapped_with)),
        (swapped_with, Fault::Swap(swapped)),
        (doubled, Fault::Double),
        (moved, Fault::Move),
    ];
    let copy = Tampered::make(small, &[], &faults)?;
    let changed = |id: u64, part: &str| Row {
        detail: format!("1 changed ({part})"),
        target_offset: Some(copy.on_target(id, 0)),
        ..copy.row(id, "changed")
    };
    let less = |row: Row| Row { target_records: row.source_records - 1, ..row };
    let more = |row: Row| Row { target_records: row.source_records + 1, ..row };
    let there = |id: u64, n: usize| Some(copy.on_target(id, n));
    let expected = sorted(vec![
        less(copy.row(dropped, "missing")),
        more(Row {
            source_offset: None,
            target_offset: there(inserted, 1),
            ..copy.row(inserted, "extra")
        }),
        changed(value, "value"),
        changed(headers, "headers"),
        changed(timestamp, "timestamp"),
        Row {
            detail: "2 reordered".into(),
            target_offset: there(swapped, 0),
            ..copy.row(swapped, "reordered")
        },
        more(Row { target_offset: there(doubled, 1), ..copy.row(doubled, "duplicated") }),
        less(Row {
            detail: format!("1 moved to partition {}", (copy.row(moved, "").partition + 1) % 4),
            target_offset: there(moved, 0),
            ..copy.row(moved, "moved")
        }),
    ]);
    let proof = copy.prove();
    assert_eq!(proof.rows, expected);
    assert_eq!(proof.summary["result"], "different");
    assert_eq!((&proof.summary["ledger"], &proof.summary["mode"]), (&false.into(), &"full".into()));
    assert_eq!(proof.number("/source/records_read"), 1_000_000);
    assert_eq!((proof.sum("source_records"), proof.sum("target_records")), (1_000_000, 1_000_001));
    Ok(())
}
