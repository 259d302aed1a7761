//! Where only the last record of a key counts.

use super::super::fixture::pairs;
use super::super::{Judged, Rules, classify, compare};
use super::{KEY, LEDGER, check, group};
use crate::reconcile::policy::Policy;

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
