//! Second reading where every record counts: the order in which the evidence is weighed.
//!
//! 1. Equal records of one partition are matched ([`super::matching`]); with a ledger first the pairs
//!    that it names. Records that reached the target after the pass began fill what would be missing.
//! 2. With a ledger: a pair that it names and that is not equal is `changed`.
//! 3. Equal records of different partitions: `moved` ([`super::across`]).
//! 4. A target record whose equal is matched already: `duplicated`.
//! 5. Without a ledger: what is left on both sides is paired as `changed`, as far as it belongs together
//!    (below).
//! 6. The rest is `missing` or `extra`.
//! 7. Where nothing of that was found, order: `reordered`. Where something was, order is not judged: what
//!    a lost or added record does to the places of others cannot be told from reordering.
//!
//! Without a ledger, two records belong together if they stand between the same equal records: first
//! those with two equal parts of value, headers and timestamp, then those with the same value, then the
//! same timestamp, then by rank. Of what is left, those that have two parts, the value or the timestamp
//! in common, wherever they stand.

use super::matching::{Left, Matched};
use super::pairing::meet;
use super::tally::Tally;
use super::witness::Witness;
use super::{Classified, PartitionLines, Rules, across, order};
use crate::reconcile::difference::{Kind, MadeBy};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// Says how the records of a group differ; so many partitions of it hold any.
pub(super) fn classify(
    rules: Rules,
    key: Option<&[u8]>,
    partitions: &[PartitionLines],
    holding: usize,
) -> Classified {
    let witness = Witness::of(rules);
    let mut found: Vec<Matched<'_>> =
        partitions.iter().map(|lines| Matched::of(rules, lines)).collect();
    let mut tallies = vec![Tally::default(); found.len()];
    for (matched, tally) in found.iter_mut().zip(&mut tallies) {
        changed_by_ledger(matched, tally, witness);
    }
    across::moved(&mut found, &mut tallies, witness);
    across::duplicated(&mut found, &mut tallies, witness);
    let ordered = rules.order_claimed(key, holding);
    for (matched, tally) in found.iter_mut().zip(&mut tallies) {
        if !rules.ledger {
            changed_by_place(matched, tally);
        }
        for left in &matched.source {
            let source = matched.source_line(left.line);
            tally.note(Kind::Missing, Some(source), None, witness.lacking(source));
        }
        for left in &matched.target {
            let target = matched.target_line(left.line);
            tally.note(Kind::Extra, None, Some(target), witness.wrote(target));
        }
        if tally.is_empty() && !matched.received {
            reordered(matched, tally, ordered, witness);
        }
    }
    let row = |(matched, tally): (&Matched<'_>, &Tally)| {
        let records = (matched.source_records(), matched.target_records());
        tally.difference(matched.lines.partition, records.0, records.1)
    };
    Classified {
        differences: found.iter().zip(&tallies).filter_map(row).collect(),
        untimed: found.iter().map(|matched| matched.untimed).sum(),
        superseded: 0,
    }
}

fn changed_by_ledger(matched: &mut Matched<'_>, tally: &mut Tally, witness: Witness) {
    let mut unequal = std::mem::take(&mut matched.unequal);
    for (at, to) in &unequal {
        tally.changed(
            matched.source_line(*at),
            matched.target_line(*to),
            witness.says(MadeBy::Pipe),
        );
    }
    matched.source.retain(|left| unequal.binary_search_by_key(&left.line, |pair| pair.0).is_err());
    unequal.sort_unstable_by_key(|pair| pair.1);
    matched.target.retain(|left| unequal.binary_search_by_key(&left.line, |pair| pair.1).is_err());
}

/// Two numbers that stand for what two records have in common.
type Common = (u128, u128);

/// What makes two leftovers belong together, the strongest first.
const ALIKE: [fn(&Line) -> Option<Common>; 5] = [
    |line| Some((line.value.0, line.headers.0)),
    |line| line.timestamp.map(|timestamp| (line.value.0, bits(timestamp))),
    |line| line.timestamp.map(|timestamp| (line.headers.0, bits(timestamp))),
    |line| Some((line.value.0, 0)),
    |line| line.timestamp.map(|timestamp| (bits(timestamp), 0)),
];

fn bits(timestamp: i64) -> u128 {
    u128::from(timestamp.cast_unsigned())
}

fn changed_by_place(matched: &mut Matched<'_>, tally: &mut Tally) {
    let PartitionLines { source, target, .. } = matched.lines;
    let (gone, come) = (&mut matched.source, &mut matched.target);
    let mut pair = |at: Left, to: Left| {
        tally.changed(&source[at.line as usize], &target[to.line as usize], None);
    };
    for alike in ALIKE {
        let of = |lines: &[Line], left: Left| {
            alike(&lines[left.line as usize]).map(|common| (left.slot, common))
        };
        meet(gone, come, |left| of(source, left), |left| of(target, left), &mut pair);
    }
    meet(gone, come, |left| Some(left.slot), |left| Some(left.slot), &mut pair);
    for alike in ALIKE {
        let of = |lines: &[Line], left: Left| alike(&lines[left.line as usize]);
        meet(gone, come, |left| of(source, left), |left| of(target, left), &mut pair);
    }
}

/// Every record has its equal: what is left to judge is places.
fn reordered(matched: &Matched<'_>, tally: &mut Tally, ordered: bool, witness: Witness) {
    let first = order::first_difference(matched).filter(|_| ordered);
    if let Some(order::Places { source, target, count }) = first {
        let made_by = witness.wrote(target);
        tally.note(Kind::Reordered, Some(source), Some(target), made_by);
        tally.count(Kind::Reordered, count);
    } else if let Some((at, to, count)) = matched.rewritten {
        let (source, target) = (matched.source_line(at), matched.target_line(to));
        debug_assert_eq!(
            target.place,
            Place::Foreign,
            "only another writer's records are rewritten"
        );
        tally.note(Kind::Reordered, Some(source), Some(target), witness.wrote(target));
        tally.count(Kind::Reordered, count);
        tally.remark(
            Kind::Reordered,
            "equal records of another writer in place of the copies".into(),
        );
    }
}
