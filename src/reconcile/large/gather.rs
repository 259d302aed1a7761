//! Which records of a large key the judge must see. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::chunks::Unlike;
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::reconcile::judge::PartitionLines;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// Which of a key's records, given its partition, are to be kept.
pub(super) type Wanted<'a> = dyn Fn(i32, &Line) -> bool + Sync + 'a;

/// Where records that are wanted may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Only where the sides are unlike, and behind the range that is proved.
    Near,
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
        line.place == Place::Beyond
            || unlike
                .get(&partition)
                .is_some_and(|sides| sides[line.side as usize].contains(line.offset))
    };
    let Some(mut lines) = read(Where::Near, &inside)? else { return Ok(None) };
    let alone = alone(&lines);
    if !alone.is_empty() {
        let like =
            |partition: i32, line: &Line| alone.contains(&line.digest) && !inside(partition, line);
        let Some(more) = read(Where::Anywhere, &like)? else { return Ok(None) };
        lines.extend(more);
    }
    lines.sort_unstable_by_key(|(partition, line)| (*partition, line.offset));
    let mut found: Vec<PartitionLines> = partitions
        .iter()
        .map(|partition| PartitionLines {
            partition: *partition,
            source: Vec::new(),
            target: Vec::new(),
        })
        .collect();
    for (partition, line) in lines {
        if let Some(lines) = found.iter_mut().find(|lines| lines.partition == partition) {
            match line.side {
                Side::Source => lines.source.push(line),
                Side::Target => lines.target.push(line),
            }
        }
    }
    Ok(Some(found))
}

/// Digests of which one side has more records than the other.
fn alone(lines: &[(i32, Line)]) -> HashSet<RecordDigest> {
    let mut more: HashMap<RecordDigest, i64> = HashMap::new();
    for (_, line) in lines {
        *more.entry(line.digest).or_default() += match line.side {
            Side::Source => 1,
            Side::Target => -1,
        };
    }
    more.into_iter().filter(|(_, more)| *more != 0).map(|(digest, _)| digest).collect()
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
