//! Faults among records without keys: one row for each partition, that counts all.

use super::files::Row;
use super::tampered::Tampered;
use crate::brokers::{Error, Fault, Numbered};

/// Records go round the four partitions.
const fn in_partition(partition: u64, nth: u64) -> u64 {
    4 * nth + partition
}

#[test]
fn faults_among_a_million_keyless_records_are_a_row_for_each_partition() -> Result<(), Error> {
    let small = Numbered { value_size: 34, ..Numbered::new("faults-keyless", 4, 1_000_000) };
    let (first, second) = (in_partition(0, 30_000), in_partition(0, 200_000));
    let (moved, doubled) = (in_partition(0, 60_000), in_partition(0, 90_000));
    let (value, timestamp) = (in_partition(1, 5), in_partition(1, 100_000));
    let (swapped, with) = (in_partition(2, 70_000), in_partition(2, 180_000));
    let faults = [
        (first, Fault::Drop),
        (second, Fault::Drop),
        (moved, Fault::Move),
        (doubled, Fault::Double),
        (in_partition(0, 249_999), Fault::Insert),
        (value, Fault::Value),
        (timestamp, Fault::Timestamp),
        (in_partition(1, 240_000), Fault::Headers),
        (swapped, Fault::Swap(with)),
        (with, Fault::Swap(swapped)),
    ];
    let copy = Tampered::make(small, &[], &faults)?;
    let row = |id: u64, kind: &str, detail: &str| {
        let row = copy.row(id, kind);
        let (source_records, target_records) =
            copy.records(usize::try_from(row.partition).expect("a partition"));
        Row { source_records, target_records, detail: detail.into(), ..row }
    };
    let there = |id: u64| Some(copy.on_target(id, 0));
    let expected = [
        row(first, "missing", "2 missing, 1 moved to partition 1, 1 duplicated, 1 extra"),
        Row {
            target_offset: there(value),
            ..row(value, "changed", "3 changed (value, headers, timestamp)")
        },
        Row { target_offset: there(swapped), ..row(swapped, "reordered", "at least 2 reordered") },
    ];
    assert_eq!(copy.records(0), (250_000, 250_000 - 3 + 2));
    assert_eq!(copy.records(1), (250_000, 250_001));
    let proof = copy.prove();
    assert_eq!(proof.rows, expected);
    let verdicts: Vec<&str> = proof.partitions.iter().map(|at| &at["verdict"]).collect();
    assert_eq!(verdicts, ["different", "different", "different", "equal"]);
    Ok(())
}
