//! Rows from manifests alone, for more differing keys than memory has room to read again.
//!
//! The same words as [`super::classify`], as far as counts and sums tell. They cannot tell apart a
//! double and an extra in every case, see no timestamp that could not be written, and no record that
//! was in flight: such records are in these rows.

use super::compare::{live, order_claimed, same_last, same_records, superseded};
use super::tally::Tally;
use super::{PartitionPair, Rules};
use crate::reconcile::difference::{Difference, Kind, MadeBy};
use crate::reconcile::manifest::Manifest;

/// Makes the rows of a suspicious group without reading it again: at most one per partition, in the
/// order of `pairs`. Offsets are given only where the whole side differs; `made_by` only where a foreign
/// record or a claimed one tells it.
pub fn coarse(rules: &Rules, key: Option<&[u8]>, pairs: &[PartitionPair]) -> Vec<Difference> {
    coarse_because(NOT_READ, rules, key, pairs)
}

/// [`coarse`], and why nothing was read again.
pub fn coarse_because(
    why: &str,
    rules: &Rules,
    key: Option<&[u8]>,
    pairs: &[PartitionPair],
) -> Vec<Difference> {
    let last_only = rules.last_only(key);
    let ordered = order_claimed(*rules, key, pairs);
    let clean = |pair: &PartitionPair| match last_only {
        true => superseded(pair) || same_last(pair),
        false => same_records(pair, ordered),
    };
    let differing: Vec<&PartitionPair> = pairs.iter().filter(|pair| !clean(pair)).collect();
    let mut came = vec![false; differing.len()];
    let mut tallies = vec![Tally::default(); differing.len()];
    for (at, from) in differing.iter().enumerate() {
        let arrived = |to: &usize| !came[*to] && moved(last_only, from, differing[*to]);
        let Some(to) = (0..differing.len()).find(arrived) else { continue };
        came[to] = true;
        let ((source, _), (_, target)) = (from.sides(), differing[to].sides());
        let (source_offset, target_offset, count) = match last_only {
            true => (source.last_offset, target.last_offset, 1),
            false => (source.first_offset, target.first_offset, source.records()),
        };
        tallies[at].note_at(Kind::Moved, Some(source_offset), Some(target_offset), None);
        tallies[at].count_moved(differing[to].partition, count);
        tallies[at].remark(Kind::Moved, why.into());
    }
    for (at, pair) in differing.iter().enumerate().filter(|(at, _)| !came[*at]) {
        if tallies[at].is_empty() {
            let (kind, count) = if last_only { by_last(pair) } else { by_counts(pair) };
            note(&mut tallies[at], pair, kind, count);
            tallies[at].remark(kind, why.into());
        }
    }
    let row = |(pair, tally): (&&PartitionPair, &Tally)| {
        let (source, target) = pair.sides();
        let mut row = tally.difference(
            pair.partition,
            source.records(),
            target.records() + target.foreign,
        )?;
        row.made_by = made_by(*rules, row.kind, &target);
        Some(row)
    };
    differing.iter().zip(&tallies).filter_map(row).collect()
}

const NOT_READ: &str = "not read again: more differing keys than memory allows";

/// Whether all that the source has in `from` is all that the target has in `to`, and the reverse
/// sides have nothing.
fn moved(last_only: bool, from: &PartitionPair, to: &PartitionPair) -> bool {
    let ((source, stayed), (had, target)) = (from.sides(), to.sides());
    if last_only {
        let gone = live(&source).is_some() && live(&stayed).is_none();
        gone && live(&had).is_none() && live(&source) == live(&target) && target.foreign == 0
    } else {
        let gone = source.records() > 0 && stayed.records() + stayed.foreign == 0;
        gone && had.records() == 0 && source.sequence == target.sequence && target.foreign == 0
    }
}

/// Kind and number of records where the whole sequence counts.
fn by_counts(pair: &PartitionPair) -> (Kind, u64) {
    let (source, target) = pair.sides();
    let (has, claimed) = (source.records(), target.records());
    if claimed < has {
        (Kind::Missing, has - claimed)
    } else if claimed > has && doubles(&source, &target) {
        (Kind::Duplicated, claimed - has)
    } else if claimed > has {
        (Kind::Extra, claimed - has)
    } else if source.sum != target.sum {
        // At least one; how many is not known.
        (Kind::Changed, 1)
    } else if target.foreign > 0 {
        (Kind::Extra, target.foreign)
    } else {
        (Kind::Reordered, has)
    }
}

/// Whether what the target has more is the source's whole sequence again, or its last record: the sums
/// tell only these.
fn doubles(source: &Manifest, target: &Manifest) -> bool {
    let (has, more) = (source.records(), target.records() - source.records());
    let sum = target.sum.wrapping_sub(source.sum);
    let times = |digest: u128, n: u64| digest.wrapping_mul(u128::from(n));
    let whole = has > 0 && more % has == 0 && sum == times(source.sum, more / has);
    whole || source.last.is_some_and(|(last, _)| sum == times(last.0, more))
}

/// Kind and number of records where only the last one counts.
fn by_last(pair: &PartitionPair) -> (Kind, u64) {
    let (source, target) = pair.sides();
    match (live(&source), live(&target)) {
        (Some(here), Some(there)) if here != there => (Kind::Changed, 1),
        (Some(_), None) => (Kind::Missing, 1),
        (None, Some(_)) => (Kind::Extra, 1),
        _ => (Kind::Extra, target.foreign),
    }
}

fn note(tally: &mut Tally, pair: &PartitionPair, kind: Kind, count: u64) {
    let (source, target) = pair.sides();
    let offset = |offset: i64| (offset >= 0).then_some(offset);
    let whole_source = target.records() + target.foreign == 0;
    let whole_target = source.records() == 0;
    let foreign_only = kind == Kind::Extra && target.records() == source.records();
    let source_offset = offset(source.first_offset).filter(|_| whole_source);
    let target_offset = match (offset(target.first_offset), offset(target.first_foreign)) {
        (_, foreign) if foreign_only => foreign,
        (Some(claimed), Some(foreign)) => Some(claimed.min(foreign)).filter(|_| whole_target),
        (claimed, foreign) => claimed.or(foreign).filter(|_| whole_target),
    };
    tally.note_at(kind, source_offset, target_offset, None);
    tally.count(kind, count);
}

/// What the counts witness; who lost a record or moved it is told only by reading it again.
fn made_by(rules: Rules, kind: Kind, target: &Manifest) -> Option<MadeBy> {
    match kind {
        _ if !rules.ledger => None,
        Kind::Missing | Kind::Moved => None,
        Kind::Extra if target.foreign > 0 => Some(MadeBy::Writer),
        Kind::Changed if target.foreign > 0 => None,
        _ => Some(MadeBy::Pipe),
    }
}
