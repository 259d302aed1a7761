//! Every kind of difference in every policy, with and without a ledger, as tables.
//!
//! A record is written `VALUE[.HEADERS][:TIMESTAMP][@ORIGIN][+][!]`: a letter or `-` for a tombstone;
//! without a timestamp, one of its letter's own. Source offsets count from 10, target offsets from 100.
//! `@ORIGIN`: the source offset that the ledger names; with a ledger, a target record without it is
//! foreign. `+`: behind the range. `!`: a source record that no run names. Partitions are split by `;`, and
//! the two sides of each by `|`.

use super::fixture::{Small, pairs};
use super::{Judged, PartitionLines, Rules, classify, coarse, compare, leftovers};
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::reconcile::difference::Difference;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;
use crate::reconcile::policy::Policy;

const KEY: Option<&[u8]> = Some(b"k");
const LEDGER: [bool; 2] = [true, false];

fn line(token: &str, side: Side, offset: i64, ledger: bool) -> Line {
    let mut rest = token.chars().peekable();
    let letter = rest.next().expect("a value") as u8;
    let mut small = Small {
        key: Some(1),
        value: (letter != b'-').then_some(letter),
        headers: 0,
        timestamp: i64::from(letter) * 10,
    };
    let (mut origin, mut beyond, mut copied) = (None, false, true);
    while let Some(mark) = rest.next() {
        let mut digits = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let number = || digits.parse::<i64>().expect("a number");
        match mark {
            '.' => small.headers = number() as u8,
            ':' => small.timestamp = number(),
            '@' => origin = Some(number()),
            '+' => beyond = true,
            '!' => copied = false,
            other => panic!("`{other}` in `{token}`"),
        }
    }
    let place = match side {
        _ if beyond => Place::Beyond,
        Side::Target if ledger && origin.is_none() => Place::Foreign,
        _ => Place::Claimed,
    };
    let copied_to = (ledger && copied && side == Side::Source).then_some(100);
    Line { place, source_offset: origin.filter(|_| ledger), copied_to, ..small.line(side, offset) }
}

fn group(text: &str, ledger: bool) -> Vec<PartitionLines> {
    let side = |text: &str, side, first| -> Vec<Line> {
        (first..)
            .zip(text.split_whitespace())
            .map(|(at, token)| line(token, side, at, ledger))
            .collect()
    };
    let partition = |(partition, text): (i32, &str)| {
        let (source, target) = text.split_once('|').expect("two sides");
        PartitionLines {
            partition,
            source: side(source, Side::Source, 10),
            target: side(target, Side::Target, 100),
        }
    };
    (0..).zip(text.split(';')).map(partition).collect()
}

fn shown(rows: &[Difference]) -> Vec<String> {
    let offset = |offset: Option<i64>| offset.map_or("-".into(), |offset| offset.to_string());
    let row = |row: &Difference| {
        let made_by = row.made_by.map_or(String::new(), |made_by| format!(" by {made_by}"));
        format!(
            "p{} {}: {} [{}/{} at {}/{}]{made_by}",
            row.partition,
            row.kind,
            row.detail,
            row.source_records,
            row.target_records,
            offset(row.source_offset),
            offset(row.target_offset),
        )
    };
    rows.iter().map(row).collect()
}

/// Judges `text`; the first reading must see whatever the second one names.
fn rows_of(policy: Policy, ledger: bool, key: Option<&[u8]>, text: &str) -> Vec<String> {
    let (rules, group) = (Rules { policy, ledger }, group(text, ledger));
    let classified = classify(&rules, key, &group);
    let suspicious = compare(&rules, key, &pairs(&group)) == Judged::Suspicious;
    assert!(
        suspicious || classified.differences.is_empty(),
        "{text}: seen by the second reading only"
    );
    shown(&classified.differences)
}

fn check(policy: Policy, ledger: bool, table: &[(&str, &[&str])]) {
    for (text, expected) in table {
        let rows = rows_of(policy, ledger, KEY, text);
        assert_eq!(rows, *expected, "{policy:?}, ledger {ledger}: {text}");
    }
}

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

#[test]
fn of_a_compacted_key_the_last_record_counts() {
    for policy in [Policy::Compact, Policy::CompactDelete] {
        for ledger in LEDGER {
            check(
                policy,
                ledger,
                &[
                    ("a b c | c@12", &[]),
                    ("c | a@8 b@9 c@10", &[]),
                    ("a - | ", &[]),
                    ("a - | a@10 -@11", &[]),
                    (" | a@10 -@11", &[]),
                    ("- | -:7@10", &[]),
                    // Superseded: not judged.
                    ("a b+ | x@10", &[]),
                    ("a | x@10 y+", &[]),
                ],
            );
        }
        check(
            policy,
            true,
            &[
                ("a b | ", &["p0 missing: 1 missing [2/0 at 11/-] by target"]),
                ("a b! | ", &["p0 missing: 1 missing [2/0 at 11/-] by pipe"]),
                (
                    "a b! | a@10",
                    &[
                        "p0 missing: 1 missing (the target's last record is the source's older one at offset 10) \
                 [2/1 at 11/100] by pipe",
                    ],
                ),
                // The older one is compacted away on the source, but the ledger names it.
                (
                    "b | a@7",
                    &[
                        "p0 missing: 1 missing (the target's last record is the source's older one at offset 7) \
                 [1/1 at 10/100] by target",
                    ],
                ),
                (
                    "a | a@10 -",
                    &[
                        "p0 missing: 1 missing (the target's last record is a tombstone) [1/2 at 10/101] by later \
                 writer",
                    ],
                ),
                ("a b | a@10 x:980@11", &["p0 changed: 1 changed (value) [2/2 at 11/101] by pipe"]),
                (
                    "a b | a@10 b@11 b:7",
                    &["p0 changed: 1 changed (timestamp) [2/3 at 11/102] by later writer"],
                ),
                (
                    "a b | a@10 b@11 a",
                    &["p0 changed: 1 changed (value, timestamp) [2/3 at 11/102] by later writer"],
                ),
                (" | a@10", &["p0 extra: 1 extra [0/1 at -/100] by pipe"]),
                (" | a", &["p0 extra: 1 extra [0/1 at -/100] by later writer"]),
                (" | -", &["p0 extra: 1 extra [0/1 at -/100] by later writer"]),
                (
                    "a - | a@10",
                    &[
                        "p0 extra: 1 extra (the source's last record is a tombstone) [2/1 at 11/100] by target",
                    ],
                ),
                ("a b | b@11 b", &["p0 duplicated: 1 duplicated [2/2 at 11/101] by later writer"]),
                ("b c | b@10 x c@11", &["p0 extra: 1 extra [2/3 at -/101] by later writer"]),
                (
                    "b c | b@10 x c@11 y",
                    &[
                        "p0 changed: 1 changed (value, timestamp), 1 extra [2/4 at 11/103] by later writer",
                    ],
                ),
                (
                    "a b | a@10 ; | b",
                    &["p0 moved: 1 moved to partition 1 [2/1 at 11/100] by later writer"],
                ),
            ],
        );
        check(
            policy,
            false,
            &[
                ("a b | ", &["p0 missing: 1 missing [2/0 at 11/-]"]),
                (
                    "a b | a",
                    &[
                        "p0 missing: 1 missing (the target's last record is the source's older one at offset 10) \
                 [2/1 at 11/100]",
                    ],
                ),
                (
                    "a | a -",
                    &[
                        "p0 missing: 1 missing (the target's last record is a tombstone) [1/2 at 10/101]",
                    ],
                ),
                ("a b | a b.2", &["p0 changed: 1 changed (headers) [2/2 at 11/101]"]),
                (
                    "- | a",
                    &[
                        "p0 extra: 1 extra (the source's last record is a tombstone) [1/1 at 10/100]",
                    ],
                ),
                ("a | - ; - | a", &["p0 moved: 1 moved to partition 1 [1/1 at 10/100]"]),
            ],
        );
    }
}

#[test]
fn a_superseded_key_is_counted_per_partition() {
    let rules = Rules { policy: Policy::Compact, ledger: true };
    let group = group("a b+ | a@10 ; c | c@10 ; d | d@10 x+", true);
    assert_eq!(compare(&rules, KEY, &pairs(&group)), Judged::Superseded(2));
    let classified = classify(&rules, KEY, &group);
    assert_eq!((classified.superseded, classified.differences.len()), (2, 0));
}

#[test]
fn without_room_the_same_words_come_from_manifests() {
    let check = |policy, ledger, key, text: &str, expected: &[&str]| {
        let rows = coarse(&Rules { policy, ledger }, key, &pairs(&group(text, ledger)));
        let said = "not read again: more differing keys than memory allows";
        let rows: Vec<String> = shown(&rows).iter().map(|row| row.replace(said, "…")).collect();
        assert_eq!(rows, expected, "{policy:?}, ledger {ledger}: {text}");
    };
    for (text, row) in [
        ("a b | a b", None),
        ("a b c | a c", Some("p0 missing: 1 missing (…) [3/2 at -/-]")),
        ("a b c | ", Some("p0 missing: 3 missing (…) [3/0 at 10/-]")),
        ("a b | x b", Some("p0 changed: 1 changed (…) [2/2 at -/-]")),
        ("a b | b a", Some("p0 reordered: 2 reordered (…) [2/2 at -/-]")),
        ("a b | a b x", Some("p0 extra: 1 extra (…) [2/3 at -/-]")),
        ("a b | a b a", Some("p0 extra: 1 extra (…) [2/3 at -/-]")),
        ("a b | a b b", Some("p0 duplicated: 1 duplicated (…) [2/3 at -/-]")),
        ("a b | a b a b", Some("p0 duplicated: 2 duplicated (…) [2/4 at -/-]")),
        (" | x y", Some("p0 extra: 2 extra (…) [0/2 at -/100]")),
        ("a b | ; | a b", Some("p0 moved: 2 moved to partition 1 (…) [2/0 at 10/100]")),
        ("a b | b a ; c | c", None),
    ] {
        check(Policy::Delete, false, KEY, text, &Vec::from_iter(row));
    }
    check(
        Policy::Delete,
        true,
        KEY,
        "a | a@10 x",
        &["p0 extra: 1 extra (…) [1/2 at -/101] by later writer"],
    );
    check(
        Policy::Delete,
        true,
        KEY,
        "a | x@10",
        &["p0 changed: 1 changed (…) [1/1 at -/-] by pipe"],
    );
    check(
        Policy::Delete,
        false,
        None,
        "a b | b a ; c | c",
        &["p0 reordered: 2 reordered (…) [2/2 at -/-]"],
    );
    for (text, row) in [
        ("a b | b", None),
        ("a - | ", None),
        ("a b+ | x", None),
        ("a b | ", Some("p0 missing: 1 missing (…) [2/0 at 10/-]")),
        ("a b | x", Some("p0 changed: 1 changed (…) [2/1 at -/-]")),
        ("a - | x", Some("p0 extra: 1 extra (…) [2/1 at -/-]")),
        ("b | ; | b", Some("p0 moved: 1 moved to partition 1 (…) [1/0 at 10/100]")),
    ] {
        check(Policy::Compact, false, KEY, text, &Vec::from_iter(row));
    }
}

#[test]
fn multisets_are_compared_without_lines() {
    let of = |all: &[u128]| -> Vec<(RecordDigest, i64)> {
        all.iter().map(|digest| RecordDigest(*digest)).zip(10..).collect()
    };
    let left = leftovers(of(&[7, 3, 3, 9, 1]), of(&[3, 1, 8, 7, 8]));
    assert_eq!(left.source, [(RecordDigest(3), 12), (RecordDigest(9), 13)]);
    assert_eq!(left.target, [(RecordDigest(8), 12), (RecordDigest(8), 14)]);
}
