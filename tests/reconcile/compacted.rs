//! Faults in a copy of a compacted topic, where only the last record of a key counts.

use super::files::Row;
use super::tampered::{Tampered, of_key, sorted};
use crate::brokers::{Error, Fault, Numbered};

/// Takes the next keys whose last two records are tombstones, or not, as `wanted`.
struct Keys<'a> {
    numbered: &'a Numbered,
    next: u64,
}

impl Keys<'_> {
    /// The last record but one, and the last.
    fn ending(&mut self, wanted: [bool; 2]) -> [u64; 2] {
        loop {
            self.next += 1;
            let records = of_key(self.numbered, self.next);
            if let [.., before, last] = records[..]
                && [before, last].map(|id| self.numbered.is_tombstone(id)) == wanted
            {
                return [before, last];
            }
        }
    }
}

#[test]
fn of_a_compacted_topic_the_ends_of_keys_are_compared_and_nothing_else() -> Result<(), Error> {
    let numbered = Numbered {
        value_size: 34,
        keys: 100_000,
        tombstone_every: 10,
        ..Numbered::new("faults-compacted", 4, 1_000_000)
    };
    let mut keys = Keys { numbered: &numbered, next: 0 };
    let live = [false, false];
    let [older, dropped] = keys.ending(live);
    let [_, changed] = keys.ending(live);
    let [_, beside] = keys.ending(live);
    let [revived, tombstone] = keys.ending([false, true]);
    let [deleted, lost] = keys.ending([true, false]);
    // Compaction may have taken it on one side.
    let [in_the_middle, _] = keys.ending(live);
    // A tombstone that is gone on one side is as good as one that is there.
    let [_, removed] = keys.ending([true, true]);
    let faults = [
        (dropped, Fault::Drop),
        (changed, Fault::Value),
        (beside, Fault::Stranger),
        (tombstone, Fault::Drop),
        (lost, Fault::Drop),
        (in_the_middle, Fault::Drop),
        (removed, Fault::Drop),
    ];
    let copy = Tampered::make(numbered, &[("cleanup.policy", "compact")], &faults)?;
    let there = |id: u64| Some(copy.on_target(id, 0));
    let less = |row: Row| Row { target_records: row.source_records - 1, ..row };
    let expected = sorted(vec![
        less(Row {
            detail: format!(
                "1 missing (the target's last record is the source's older one at offset {})",
                copy.on_source(older)
            ),
            target_offset: there(older),
            ..copy.row(dropped, "missing")
        }),
        Row {
            detail: "1 changed (value)".into(),
            target_offset: there(changed),
            ..copy.row(changed, "changed")
        },
        Row {
            key: "stranger".into(),
            source_records: 0,
            target_records: 1,
            source_offset: None,
            target_offset: Some(copy.on_target(beside, 1)),
            ..copy.row(beside, "extra")
        },
        less(Row {
            detail: "1 extra (the source's last record is a tombstone)".into(),
            target_offset: there(revived),
            ..copy.row(tombstone, "extra")
        }),
        less(Row {
            detail: "1 missing (the target's last record is a tombstone)".into(),
            target_offset: there(deleted),
            ..copy.row(lost, "missing")
        }),
    ]);
    let proof = copy.prove();
    assert_eq!(proof.rows, expected);
    assert_eq!(proof.sum("superseded"), 0);
    assert!(proof.partitions.iter().all(|at| &at["cleanup_policy"] == "compact"));
    Ok(())
}
