//! From manifests alone.

use super::super::fixture::pairs;
use super::super::{Rules, coarse};
use super::{KEY, group, shown};
use crate::reconcile::policy::Policy;

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
