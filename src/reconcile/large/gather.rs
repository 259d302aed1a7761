//! Which records of a large key the judge must see. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::chunks::Unlike;
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::reconcile::judge::{PartitionLines, Timeless, timeless, unwritable};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// Which of a key's records, given its partition, are to be kept.
pub(super) type Wanted<'a> = dyn Fn(i32, &Line) -> bool + Sync + 'a;

/// Where records that are wanted may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Only where the sides are unlike.
    Near,
    /// Behind the range that is proved: what has arrived since.
    Behind,
    /// Wherever the key has records.
    Anywhere,
}

/// Records with their partitions; `None` if there is no room for all.
pub(super) type Kept = Option<Vec<(i32, Line)>>;

/// The records of a key that matter in `partitions`: those of stretches that are unlike, and all that
/// are like one of these that has no equal there.
pub(super) fn gather<E>(
    partitions: &[i32],
    unlike: &BTreeMap<i32, [Unlike; 2]>,
    mut read: impl FnMut(Where, &Wanted<'_>) -> Result<Kept, E>,
) -> Result<Option<Vec<PartitionLines>>, E> {
    let inside = |partition: i32, line: &Line| {
        line.place != Place::Beyond
            && unlike
                .get(&partition)
                .is_some_and(|sides| sides[line.side as usize].contains(line.offset))
    };
    let Some(mut lines) = read(Where::Near, &inside)? else { return Ok(None) };
    let lacking = alone(&lines);
    if !lacking.is_empty() {
        // On a live topic far more may have arrived than there is room for.
        let untimed: HashSet<Timeless> =
            lines.iter().filter_map(|(_, line)| unwritable(line)).collect();
        let arrived = |_: i32, line: &Line| {
            line.place == Place::Beyond
                && (lacking.contains(&line.digest) || untimed.contains(&timeless(line)))
        };
        let Some(late) = read(Where::Behind, &arrived)? else { return Ok(None) };
        lines.extend(late);
        let alone = alone(&lines);
        let like = |partition: i32, line: &Line| {
            line.place != Place::Beyond && alone.contains(&line.digest) && !inside(partition, line)
        };
        if !alone.is_empty() {
            let Some(more) = read(Where::Anywhere, &like)? else { return Ok(None) };
            lines.extend(more);
        }
    }
    lines.sort_unstable_by_key(|(partition, line)| (*partition, line.offset));
    let empty = |&partition: &i32| {
        (partition, PartitionLines { partition, source: Vec::new(), target: Vec::new() })
    };
    let mut found: BTreeMap<i32, PartitionLines> = partitions.iter().map(empty).collect();
    for (partition, line) in lines {
        if let Some(lines) = found.get_mut(&partition) {
            match line.side {
                Side::Source => lines.source.push(line),
                Side::Target => lines.target.push(line),
            }
        }
    }
    Ok(Some(found.into_values().collect()))
}

/// Digests of which one side has more records than the other, in some partition.
fn alone(lines: &[(i32, Line)]) -> HashSet<RecordDigest> {
    let mut more: HashMap<(i32, RecordDigest), i64> = HashMap::new();
    for (partition, line) in lines {
        *more.entry((*partition, line.digest)).or_default() += match line.side {
            Side::Source => 1,
            Side::Target => -1,
        };
    }
    more.into_iter().filter(|(_, more)| *more != 0).map(|((_, digest), _)| digest).collect()
}

/// The same from lines that are all in memory, cut into stretches of about `mean`; and how many readings
/// it took.
#[cfg(test)]
pub fn gathered(all: &[PartitionLines], mean: u64, ledger: bool) -> (Vec<PartitionLines>, u32) {
    use super::chunks::{Chunker, unlike, with_origin};

    let cut = |lines: &[Line]| {
        let mut chunker = Chunker::new(mean);
        for line in lines.iter().filter(|line| line.place != Place::Beyond) {
            let origin = match line.side {
                Side::Source => Some(line.offset),
                Side::Target => line.source_offset,
            };
            let as_what = if ledger { with_origin(line.digest, origin) } else { line.digest };
            chunker.push(line.offset, line.digest, as_what);
        }
        chunker.finish()
    };
    let unlike: BTreeMap<i32, [Unlike; 2]> = all
        .iter()
        .map(|lines| (lines.partition, unlike(&cut(&lines.source), &cut(&lines.target))))
        .collect();
    let partitions: Vec<i32> = all.iter().map(|lines| lines.partition).collect();
    let mut readings = 0;
    let found = gather::<()>(&partitions, &unlike, |_, wanted| {
        readings += 1;
        let lines = all.iter().flat_map(|lines| {
            let both = lines.source.iter().chain(&lines.target);
            both.map(|line| (lines.partition, line.clone()))
        });
        Ok(Some(lines.filter(|(partition, line)| wanted(*partition, line)).collect()))
    });
    (found.ok().flatten().unwrap_or_default(), readings)
}
