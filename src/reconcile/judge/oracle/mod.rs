//! An oracle of another kind: whole topics in memory, compared record by record, without a digest.
//!
//! It knows the tampering, and says by trying which places explain it: of two equal neighbours it does
//! not matter which one was lost.

mod group;
mod topic;

use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::fixture::pairs;
use super::{Classified, Judged, PartitionLines, Rules, classify, classify_some, compare};
use crate::error::Side;
use crate::reconcile::difference::{Difference, Kind};
use crate::reconcile::large::gathered;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;
use crate::reconcile::policy::Policy;
use group::Group;
use topic::{Done, KEYS, Topic, tampering, topic};

static WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d+) (\w+)(?: to partition (\d+))?").expect("a pattern"));

/// Every record is accounted for: what was lost and added explains the numbers on both sides.
fn balance(rows: &[Difference], lines: &[PartitionLines]) -> Result<(), TestCaseError> {
    let mut surplus = vec![0i64; lines.len()];
    for row in rows {
        for said in WORDS.captures_iter(&row.detail) {
            let count: i64 = said[1].parse().expect("a count");
            surplus[row.partition as usize] += match &said[2] {
                "missing" | "moved" => -count,
                "duplicated" | "extra" => count,
                _ => 0,
            };
            if let Some(to) = said.get(3) {
                surplus[to.as_str().parse::<usize>().expect("a partition")] += count;
            }
        }
    }
    for (lines, surplus) in lines.iter().zip(surplus) {
        prop_assert_eq!(
            lines.target.len() as i64 - lines.source.len() as i64,
            surplus,
            "{:?}",
            rows
        );
    }
    Ok(())
}

fn check(topic: &Topic, done: &[Done], rules: Rules, key: Option<u8>) -> Result<(), TestCaseError> {
    let (lines, group) = (topic.lines(key, rules.ledger), Group::of(topic, key, rules.ledger));
    let bytes = key.map(|key| [key]);
    let bytes = bytes.as_ref().map(|key| &key[..]);
    let judged = compare(&rules, bytes, &pairs(&lines));
    let Classified { differences, untimed, superseded } = classify(&rules, bytes, &lines);
    prop_assert_eq!((untimed, superseded), (0, 0));
    let named: Vec<(i32, Kind)> = differences.iter().map(|row| (row.partition, row.kind)).collect();
    prop_assert!(named.is_sorted_by(|a, b| a.0 < b.0), "two rows for a partition: {:?}", named);
    for row in &differences {
        let lines = &lines[row.partition as usize];
        prop_assert_eq!(row.source_records, lines.source.len() as u64);
        prop_assert_eq!(row.target_records, lines.target.len() as u64);
    }
    prop_assert_eq!(judged == Judged::Clean, differences.is_empty());
    if rules.policy.compacts() && key.is_some() {
        prop_assert_eq!(named, group.expected_of_last());
        return Ok(());
    }
    prop_assert_eq!(judged == Judged::Clean, group.clean());
    balance(&differences, &lines)?;
    if let ([done], false) = (done, group.clean()) {
        let expected = group.expected(*done, topic);
        prop_assert_eq!(
            named,
            vec![(expected.partition as i32, expected.kind)],
            "{:?}",
            differences
        );
        let row = &differences[0];
        prop_assert!(expected.source.contains(&row.source_offset), "{:?}, not {:?}", row, expected);
        prop_assert!(expected.target.contains(&row.target_offset), "{:?}, not {:?}", row, expected);
        prop_assert_eq!(row.made_by, expected.made_by);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn random_tampering_is_named_as_the_oracle_names_it(
        topic in topic(), tamperings in prop::collection::vec(tampering(), 0..3),
    ) {
        let mut topic = topic;
        let done: Vec<Done> = tamperings.iter().map(|tampering| topic.tamper(tampering)).collect();
        for policy in [Policy::Delete, Policy::Compact, Policy::CompactDelete] {
            for (ledger, key) in [true, false].into_iter().flat_map(|ledger| KEYS.map(|key| (ledger, key))) {
                check(&topic, &done, Rules { policy, ledger }, key)?;
            }
        }
    }

    #[test]
    fn a_faithful_copy_has_no_rows_whatever_is_in_flight_or_has_no_timestamp(
        topic in topic(), in_flight in prop::collection::vec(0usize..4, 3), newer in topic(),
        ledger in any::<bool>(),
    ) {
        for key in KEYS {
            let mut zero = 0;
            let mut topic = topic.clone();
            for (source, target) in topic.source.iter_mut().zip(&mut topic.target) {
                for (source, target) in source.iter_mut().zip(target) {
                    if source.timestamp == 1 {
                        // The copy was written at 1, which is a timestamp that others have, too.
                        source.timestamp = 0;
                        target.0.timestamp = 2;
                        zero += u64::from(source.key == key);
                    }
                }
            }
            let mut lines = topic.lines(key, ledger);
            for (at, partition) in lines.iter_mut().enumerate().filter(|_| !ledger) {
                let late = partition.target.len().saturating_sub(in_flight[at]);
                partition.target[late..].iter_mut().for_each(|line| line.place = Place::Beyond);
                for record in newer.source.get(at).into_iter().flatten().filter(|r| r.key == key) {
                    let beyond = Line { place: Place::Beyond, ..record.line(Side::Target, 900) };
                    partition.target.push(beyond);
                }
            }
            let bytes = key.map(|key| [key]);
            let bytes = bytes.as_ref().map(|key| &key[..]);
            let rules = Rules { policy: Policy::Delete, ledger };
            let classified = classify(&rules, bytes, &lines);
            prop_assert_eq!(classified, Classified { untimed: zero, ..Classified::default() });
            let classified = classify(&Rules { policy: Policy::Compact, ..rules }, bytes, &lines);
            prop_assert_eq!(classified.differences, vec![]);
        }
    }

    #[test]
    fn from_the_records_that_matter_the_judge_says_what_it_says_from_all(
        mut topic in topic(), tamperings in prop::collection::vec(tampering(), 0..4), mean in 1u64..4,
        ledger: bool, zero: bool, in_flight in 0usize..4,
    ) {
        for tampering in &tamperings {
            topic.tamper(tampering);
        }
        // librdkafka has written another time for these. That such a record arrived late, behind others, only
        // all records can tell: its digest is no part of the sequence that the copy has.
        let zero = zero && (ledger || in_flight == 0);
        for record in topic.source.iter_mut().flatten().filter(|record| zero && record.timestamp == 1) {
            record.timestamp = 0;
        }
        let rules = Rules { policy: Policy::Delete, ledger };
        for key in KEYS {
            let mut lines = topic.lines(key, ledger);
            for partition in lines.iter_mut().filter(|_| !ledger) {
                let late = partition.target.len().saturating_sub(in_flight);
                partition.target[late..].iter_mut().for_each(|line| line.place = Place::Beyond);
            }
            let bytes = key.map(|key| [key]);
            let bytes = bytes.as_ref().map(|key| &key[..]);
            let (some, readings) = gathered(&lines, mean, ledger);
            let shown = |lines: &[PartitionLines]| lines.iter().map(|l| l.source.len() + l.target.len()).sum::<usize>();
            prop_assert!(shown(&some) <= shown(&lines) && readings <= 3);
            // Of records that are equal in all, any may stand for the others. How many records stand at other
            // places is the one thing that cannot be told.
            let first_equal = |of: &[Line], offset: Option<i64>| {
                let digest = of.iter().find(|line| Some(line.offset) == offset)?.digest;
                of.iter().find(|line| line.digest == digest).map(|line| line.offset)
            };
            let uncounted = |mut classified: Classified| {
                for row in &mut classified.differences {
                    let lines = &lines[row.partition as usize];
                    row.source_offset = first_equal(&lines.source, row.source_offset);
                    if row.kind != Kind::Moved {
                        row.target_offset = first_equal(&lines.target, row.target_offset);
                    }
                    if row.kind == Kind::Reordered {
                        row.detail = WORDS.replace(&row.detail, "").replace("at least ", "");
                        if zero {
                            // For the same reason as above: where the order breaks first, and by whom.
                            (row.source_offset, row.target_offset, row.made_by) = (None, None, None);
                        }
                    }
                }
                classified
            };
            let all = uncounted(classify(&rules, bytes, &lines));
            let told = uncounted(classify_some(&rules, bytes, &some, &pairs(&lines)));
            prop_assert_eq!(told, all, "from {:?}", some);
        }
    }
}
