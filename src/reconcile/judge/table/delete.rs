//! Where every record counts.

use super::super::{Rules, classify};
use super::{KEY, LEDGER, check, group, rows_of, shown};
use crate::reconcile::policy::Policy;

#[test]
fn with_a_ledger_every_kind_is_named_with_its_maker() {
    check(
        Policy::Delete,
        true,
        &[
            ("a b c | a@10 b@11 c@12", &[]),
            ("a b c | a@10 c@12", &["p0 missing: 1 missing [3/2 at 11/-] by target"]),
            ("a b! c | a@10 c@12", &["p0 missing: 1 missing [3/2 at 11/-] by pipe"]),
            ("a b | a@10 x:980@11", &["p0 changed: 1 changed (value) [2/2 at 11/101] by pipe"]),
            ("a b | a@10 b.1@11", &["p0 changed: 1 changed (headers) [2/2 at 11/101] by pipe"]),
            ("a b | a@10 b:7@11", &["p0 changed: 1 changed (timestamp) [2/2 at 11/101] by pipe"]),
            (
                "a b | x.1:7@10 b:7@11",
                &["p0 changed: 2 changed (value, headers, timestamp) [2/2 at 10/100] by pipe"],
            ),
            ("a b | a@10 b@11 x", &["p0 extra: 1 extra [2/3 at -/102] by later writer"]),
            ("a b | a@10 b@11 x@17", &["p0 extra: 1 extra [2/3 at -/102] by pipe"]),
            ("a b | a@10 b@11 a", &["p0 duplicated: 1 duplicated [2/3 at 10/102] by later writer"]),
            ("a b | a@10 b@11 a@10", &["p0 duplicated: 1 duplicated [2/3 at 10/102] by pipe"]),
            ("a b c | b@10 a@11 c@12", &["p0 reordered: 2 reordered [3/3 at 10/100] by pipe"]),
            ("a b c | b@11 a@10 c@12", &["p0 reordered: 2 reordered [3/3 at 10/100] by pipe"]),
            (
                "a b | a@10 b",
                &[
                    "p0 reordered: 1 reordered (equal records of another writer in place of the copies) \
               [2/2 at 11/101] by later writer",
                ],
            ),
            (
                "a b | a@10 ; | b",
                &["p0 moved: 1 moved to partition 1 [2/1 at 11/100] by later writer"],
            ),
            (
                "a b | a@10 b@11 ; | b",
                &["p1 duplicated: 1 duplicated from partition 0 [0/1 at -/100] by later writer"],
            ),
            // Everything behind a lost or doubled record has shifted in a copy of the copy.
            ("a b c d | a@10 c@11 d@12", &["p0 missing: 1 missing [4/3 at 11/-] by target"]),
            ("a b c | a@10 a@11 b@12 c", &["p0 duplicated: 1 duplicated [3/4 at 10/101] by pipe"]),
            // The pipe wrote a record twice, in place of another.
            (
                "a b | a@10 a@11",
                &["p0 changed: 1 changed (value, timestamp) [2/2 at 11/101] by pipe"],
            ),
            (
                "a b c d | a@10 x:980@11 d@13 y y a",
                &[
                    "p0 missing: 1 missing, 1 changed (value), 1 duplicated, 2 extra [4/6 at 12/-] by target",
                ],
            ),
            // Of what is behind the range nothing counts.
            ("a b c+ | a@10 b@11 x+", &[]),
            ("a b! | a@10 b+", &["p0 missing: 1 missing [2/1 at 11/-] by pipe"]),
        ],
    );
}

#[test]
fn without_a_ledger_every_kind_is_named() {
    check(
        Policy::Delete,
        false,
        &[
            ("a b c | a b c", &[]),
            ("a b c | a c", &["p0 missing: 1 missing [3/2 at 11/-]"]),
            ("a b c | ", &["p0 missing: 3 missing [3/0 at 10/-]"]),
            ("a b c | a x:980 c", &["p0 changed: 1 changed (value) [3/3 at 11/101]"]),
            ("a b c | a b.1 c", &["p0 changed: 1 changed (headers) [3/3 at 11/101]"]),
            ("a b c | a b:7 c", &["p0 changed: 1 changed (timestamp) [3/3 at 11/101]"]),
            ("a b c | a b c x", &["p0 extra: 1 extra [3/4 at -/103]"]),
            (" | x y", &["p0 extra: 2 extra [0/2 at -/100]"]),
            ("a b c | a b c b c", &["p0 duplicated: 2 duplicated [3/5 at 11/103]"]),
            ("a a b | a a a b", &["p0 duplicated: 1 duplicated [3/4 at 10/102]"]),
            ("a b c | a c b", &["p0 reordered: 2 reordered [3/3 at 11/101]"]),
            ("a b c | b c a", &["p0 reordered: 3 reordered [3/3 at 10/100]"]),
            ("a b | a ; | b", &["p0 moved: 1 moved to partition 1 [2/1 at 11/100]"]),
            ("a b | a b ; | b", &["p1 duplicated: 1 duplicated from partition 0 [0/1 at -/100]"]),
            ("a b | a ; b | b b", &["p0 moved: 1 moved to partition 1 [2/1 at 11/101]"]),
            (
                "a b c | a x:980 ; | b",
                &[
                    "p0 changed: 1 changed (value, timestamp), 1 moved to partition 1 [3/2 at 12/101]",
                ],
            ),
            (
                "a b c d | a ; | b c ; | d",
                &["p0 moved: 2 moved to partition 1, 1 moved to partition 2 [4/1 at 11/100]"],
            ),
            // Where something else differs, order is not judged.
            ("a b c | c b", &["p0 missing: 1 missing [3/2 at 10/-]"]),
            // A key in several partitions has no order.
            ("a b | b a ; c | c", &[]),
            ("a b | b a ; | c", &["p1 extra: 1 extra [0/1 at -/100]"]),
            // A double does not stand for a lost record.
            ("a b c x | a b c b", &["p0 missing: 1 missing, 1 duplicated [4/4 at 13/-]"]),
        ],
    );
}

#[test]
fn leftovers_are_paired_by_place_then_by_likeness() {
    check(
        Policy::Delete,
        false,
        &[
            // Between the same equal records, the one with the same value.
            ("a b c d | a c:7 d", &["p0 missing: 1 missing, 1 changed (timestamp) [4/3 at 11/-]"]),
            // Nothing in common, but the same place.
            (
                "a b c | a x.1:7 c",
                &["p0 changed: 1 changed (value, headers, timestamp) [3/3 at 11/101]"],
            ),
            // The same value at another place.
            ("b:1 a c | a c b:2", &["p0 changed: 1 changed (timestamp) [3/3 at 10/102]"]),
            // Neither place nor likeness.
            ("b a c | a c x.1:7", &["p0 missing: 1 missing, 1 extra [3/3 at 10/-]"]),
        ],
    );
}

#[test]
fn records_without_a_key_have_an_order_in_each_partition() {
    let rows = |text| rows_of(Policy::Delete, false, None, text);
    assert_eq!(rows("a b | b a ; c | c"), ["p0 reordered: 2 reordered [2/2 at 10/100]"]);
    assert_eq!(rows("a b | b ; c | a c"), ["p0 moved: 1 moved to partition 1 [2/1 at 10/100]"]);
    for policy in [Policy::Compact, Policy::CompactDelete] {
        for ledger in LEDGER {
            let rows = rows_of(policy, ledger, None, "a b! | b@11");
            let by = if ledger { " by target" } else { "" };
            assert_eq!(rows, [format!("p0 missing: 1 missing [2/1 at 10/-]{by}")]);
        }
    }
}

#[test]
fn records_in_flight_are_neither_missing_nor_extra() {
    check(
        Policy::Delete,
        false,
        &[
            ("a b | a b+", &[]),
            ("a b | a x+ b+ y+", &[]),
            ("a b c | a b+", &["p0 missing: 1 missing [3/2 at 12/-]"]),
            ("a b | a b b+", &[]),
            ("a b c | a c b+", &["p0 reordered: 2 reordered [3/3 at 11/101]"]),
            ("a b | a ; | b+", &["p0 moved: 1 moved to partition 1 [2/1 at 11/100]"]),
        ],
    );
}

#[test]
fn a_timestamp_that_cannot_be_written_is_counted_and_is_no_difference() {
    let untimed = |policy, ledger, text| {
        let group = group(text, ledger);
        let classified = classify(&Rules { policy, ledger }, KEY, &group);
        (classified.untimed, shown(&classified.differences))
    };
    for ledger in LEDGER {
        let untimed = |text| untimed(Policy::Delete, ledger, text);
        assert_eq!(untimed("a:0 b c:0 | a:5@10 b@11 c:6@12"), (2, vec![]));
        assert_eq!(untimed("a:0 a:5 | a:5@10 a:5@11"), (1, vec![]));
        assert_eq!(untimed("a:5 a:0 | a:5@10 a:9@11"), (1, vec![]));
        let by = if ledger { " by pipe" } else { "" };
        let changed = format!("p0 changed: 1 changed (headers) [1/1 at 10/100]{by}");
        assert_eq!(untimed("a:0 | a.1:5@10"), (0, vec![changed]));
    }
    assert_eq!(
        untimed(Policy::Delete, false, "a:0 b | b a:7+"),
        (1, vec!["p0 reordered: 2 reordered [2/2 at 10/100]".into()])
    );
    let moved = "p0 moved: 1 moved to partition 1 [1/0 at 10/100]".to_string();
    assert_eq!(untimed(Policy::Delete, false, "a:0 | ; | a:7"), (1, vec![moved.clone()]));
    let double = "p0 duplicated: 1 duplicated [1/2 at 10/101]".to_string();
    assert_eq!(untimed(Policy::Delete, false, "a:0 | a:7 a:8"), (1, vec![double]));
    assert_eq!(untimed(Policy::Compact, true, "b a:0 | a:5@11"), (1, vec![]));
    assert_eq!(untimed(Policy::Compact, false, "a:0 | ; | a:7"), (1, vec![moved]));
}
