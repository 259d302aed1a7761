//! Keys with more records than memory has room to compare one by one: topics without keys, above all.
//!
//! More readings of both sides, each of which keeps little:
//!
//! 1. Digests of stretches ([`chunks`]) say where the sides are unlike: one reading for all such keys.
//! 2. There, every record of a key is kept. What has its equal there is matched.
//! 3. Of what has none, all records that are like it are kept: those that have arrived since, then wherever
//!    they lie. A double has its original elsewhere, a record that moved its new place.
//!
//! From these records the judge says what it would say from all of them.

mod chunks;
mod gather;
mod read;

#[cfg(test)]
pub use self::gather::gathered;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use self::chunks::{Chunk, Unlike, unlike};
use self::gather::{Kept, Wanted, Where, gather};
use self::read::{Cut, Index, Pick};
use super::compared::part_of;
use super::detail::{Found, TOO_MANY};
use super::judge::{Classified, PartitionLines, classify_some, coarse_because};
use super::line::Line;
use super::manifest::Manifest;
use super::part::Part;
use super::pass::{Pass, rules};
use super::scope::Scope;
use super::second::{Again, Reread};
use super::suspects::{Large, Span};
use crate::error::Side;

const SIDES: [Side; 2] = [Side::Source, Side::Target];

/// Bytes that a stretch takes while it is compared.
const CHUNK_BYTES: u64 = 128;
/// Shorter stretches would save little: about so many records are compared one by one for a difference.
const SHORTEST: u64 = 64;

/// Says what differs in each of `large`, in their order.
pub(super) fn judge_large(
    pass: &Pass<'_>,
    scope: &Scope,
    again: &Again<'_>,
    large: &[Large],
) -> Reread<Vec<Found>> {
    let mut found = Vec::new();
    if large.is_empty() {
        return Ok(found);
    }
    let all: u64 = large.iter().map(records).sum();
    let room = (pass.budget.lines * size_of::<Line>()) as u64;
    let mean = (all * CHUNK_BYTES / room.max(1)).max(SHORTEST);
    let cut = cut(pass, again, large, mean)?;
    let mut by_key: Vec<BTreeMap<usize, [Vec<Chunk>; 2]>> = vec![BTreeMap::new(); large.len()];
    for ((key, part), chunks) in cut {
        by_key[key].insert(part, chunks);
    }
    for (one, chunks) in large.iter().zip(by_key) {
        let unlike: BTreeMap<i32, [Unlike; 2]> = chunks
            .into_iter()
            .map(|(part, [source, target])| {
                (again.parts[part].source.partition, unlike(&source, &target))
            })
            .collect();
        let lines = lines(pass, again, one, &unlike)?;
        let (rules, key) = (rules(scope, one.topic), one.key.as_deref());
        let classified = match lines {
            Some(lines) => classify_some(&rules, key, &lines, &one.pairs),
            None => Classified {
                differences: coarse_because(TOO_MANY, &rules, key, &one.pairs),
                ..Classified::default()
            },
        };
        let Classified { differences, untimed, superseded } = classified;
        let (topic, key) = (one.topic, one.key.clone());
        found.push(Found { topic, key, differences, untimed, superseded });
    }
    Ok(found)
}

fn records(one: &Large) -> u64 {
    let of =
        |side: Option<Manifest>| side.map_or(0, |manifest| manifest.records() + manifest.foreign);
    one.pairs.iter().map(|pair| of(pair.source) + of(pair.target)).sum()
}

/// Where the records of `large` lie, by part.
fn spans(parts: &[Part], large: &[Large]) -> Vec<[Span; 2]> {
    let mut spans = vec![[Span::NOTHING; 2]; parts.len()];
    for one in large {
        for pair in &one.pairs {
            let at = part_of(parts, one.topic, pair.partition);
            Span::cover_pair(&mut spans[at], pair);
        }
    }
    spans
}

type Stretches = BTreeMap<(usize, usize), [Vec<Chunk>; 2]>;

/// First reading: stretches by key and part.
fn cut(pass: &Pass<'_>, again: &Again<'_>, large: &[Large], mean: u64) -> Reread<Stretches> {
    let index = Index::of(large);
    let spans = spans(again.parts, large);
    let make = |side| Cut {
        side,
        parts: again.parts,
        index: &index,
        digester: pass.digester(),
        mean,
        chunkers: BTreeMap::new(),
    };
    let range = |side: Side, part: usize| Some(again.range(side, part, spans[part][side as usize]));
    let sinks = again.read(pass, &range, &make)?;
    let mut stretches = Stretches::new();
    for (side, sinks) in SIDES.into_iter().zip(sinks) {
        for (at, chunker) in sinks.into_iter().flat_map(|sink| sink.chunkers) {
            stretches.entry(at).or_default()[side as usize] = chunker.finish();
        }
    }
    Ok(stretches)
}

/// The readings of one key: the records that matter, by partition; `None` if they are too many.
fn lines(
    pass: &Pass<'_>,
    again: &Again<'_>,
    one: &Large,
    unlike: &BTreeMap<i32, [Unlike; 2]>,
) -> Reread<Option<Vec<PartitionLines>>> {
    let most = pass.budget.lines;
    if unlike.values().flatten().map(|unlike| unlike.records).sum::<u64>() > most as u64 {
        return Ok(None);
    }
    let room = AtomicUsize::new(most);
    let spans = spans(again.parts, std::slice::from_ref(one));
    let partitions: Vec<i32> = one.pairs.iter().map(|pair| pair.partition).collect();
    gather(&partitions, unlike, |place, wanted| {
        let range = |side: Side, part: usize| {
            let this = &again.parts[part];
            let unlike = unlike.get(&this.source.partition).filter(|_| this.topic == one.topic)?;
            let span = match place {
                Where::Near => {
                    let at = unlike[side as usize].span()?;
                    Span { from: at.start, until: at.end }
                }
                // What has arrived since lies behind all records.
                Where::Behind => Span::NOTHING,
                Where::Anywhere => spans[part][side as usize],
            };
            Some(again.range(side, part, span))
        };
        pick(pass, again, one, &range, wanted, &room)
    })
}

/// Reads records of `one` that are wanted, on both sides; `None` if there is no room for all.
fn pick(
    pass: &Pass<'_>,
    again: &Again<'_>,
    one: &Large,
    range: &dyn Fn(Side, usize) -> Option<(i64, i64)>,
    wanted: &Wanted<'_>,
    room: &AtomicUsize,
) -> Reread<Kept> {
    let index = Index::of(std::slice::from_ref(one));
    let make = |side| Pick {
        side,
        parts: again.parts,
        index: &index,
        digester: pass.digester(),
        wanted,
        room,
        lines: Vec::new(),
        too_many: false,
    };
    let sinks = again.read(pass, range, &make)?;
    let sinks: Vec<Pick<'_>> = sinks.into_iter().flatten().collect();
    if sinks.iter().any(|sink| sink.too_many) {
        return Ok(None);
    }
    Ok(Some(sinks.into_iter().flat_map(|sink| sink.lines).collect()))
}
