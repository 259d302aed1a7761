//! Where both logs begin to hold the same, without a ledger: retention or `delete-records` may have moved
//! the log start on one side, and no offset tells which record of the other side comes first.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::part::Part;
use super::pass::{ATTEMPTS, Pass, overtaken};
use crate::cluster::{Isolation, LogRange, LogReader, Reached};
use crate::digest::RecordDigest;
use crate::error::{Result, Side};

/// Records at the beginning of a log that are looked for on the other side. More than one, because the
/// first ones may be missing there.
const HEAD: usize = 1_000;

/// Records at the beginning of a log: offset and digest.
type Head = Vec<(i64, RecordDigest)>;

/// Source and target offset of the first record that both sides hold, if there is one.
type Met = Option<(i64, i64)>;

/// Sets where comparing begins in each part whose log does not begin at 0 on both sides.
///
/// What lies before the first record that both sides hold has expired on the other side, if that one's
/// log start has moved at all; else it is missing or extra.
pub(super) fn align(pass: &Pass<'_>, parts: &mut [Part]) -> Result<()> {
    let mut aligned = false;
    for _ in 0..ATTEMPTS {
        aligned = align_once(pass, parts)?;
        if aligned {
            break;
        }
        pass.ask_log_starts(parts)?;
    }
    pass.board.go_on("proof");
    if aligned { Ok(()) } else { Err(overtaken(Side::Source)) }
}

/// Says whether everything was still there that was to be looked at.
fn align_once(pass: &Pass<'_>, parts: &mut [Part]) -> Result<bool> {
    let moved = |part: &Part| part.source_reach.log_start > 0 || part.target_reach.log_start > 0;
    let indexes: Vec<usize> = (0..parts.len()).filter(|index| moved(&parts[*index])).collect();
    if indexes.is_empty() {
        return Ok(true);
    }
    pass.board.wait(
        "proof",
        format!("the beginning that both sides share, of {} partitions", indexes.len()),
    );
    let source = heads(pass, Side::Source, parts, &indexes)?;
    let target = heads(pass, Side::Target, parts, &indexes)?;
    let (Some(source), Some(target)) = (source, target) else { return Ok(false) };
    let mut met: Vec<Met> =
        source.iter().zip(&target).map(|(source, target)| meet(source, target)).collect();
    // One log may begin far behind the other's first records.
    let Some(on_source) = search(pass, Side::Source, parts, &indexes, &met, &target)? else {
        return Ok(false);
    };
    fill(&mut met, on_source, |found| found);
    let Some(on_target) = search(pass, Side::Target, parts, &indexes, &met, &source)? else {
        return Ok(false);
    };
    fill(&mut met, on_target, |(on_target, of_source)| (of_source, on_target));
    for (index, met) in indexes.into_iter().zip(met) {
        begin_at(&mut parts[index], met);
    }
    Ok(true)
}

fn fill(met: &mut [Met], found: Vec<Met>, turn: impl Fn((i64, i64)) -> (i64, i64)) {
    for (met, found) in met.iter_mut().zip(found) {
        *met = met.or(found.map(&turn));
    }
}

/// `met`: source and target offset of the first record that both sides hold, if there is one.
fn begin_at(part: &mut Part, met: Option<(i64, i64)>) {
    let (source, target) = (&mut part.source_reach, &mut part.target_reach);
    let ends = (source.to, target.to);
    let (on_source, on_target) = met.unwrap_or(ends);
    let (source_moved, target_moved) = (source.log_start > 0, target.log_start > 0);
    if target_moved {
        source.common = source.common.max(on_source);
    }
    if source_moved {
        target.common = target.common.max(on_target);
    }
}

/// Offsets of the record that both heads hold and that lies nearest to both beginnings.
fn meet(source: &Head, target: &Head) -> Option<(i64, i64)> {
    let mut first: HashMap<RecordDigest, usize> = HashMap::new();
    for (index, (_, digest)) in target.iter().enumerate() {
        first.entry(*digest).or_insert(index);
    }
    let pairs =
        source.iter().enumerate().filter_map(|(i, (_, digest))| Some((i, *first.get(digest)?)));
    let (i, j) = pairs.min_by_key(|(i, j)| i + j)?;
    Some((source[i].0, target[j].0))
}

fn reader(pass: &Pass<'_>, side: Side) -> Result<LogReader> {
    let connection = pass.clusters.connection(side);
    Ok(LogReader::open_within(connection, Isolation::Committed, pass.budget.queue)?)
}

fn whole(part: &Part, side: Side) -> LogRange {
    let reach = part.reach(side);
    LogRange { at: part.at(side).clone(), from: reach.from.max(reach.log_start), until: reach.to }
}

fn heads(
    pass: &Pass<'_>,
    side: Side,
    parts: &[Part],
    indexes: &[usize],
) -> Result<Option<Vec<Head>>> {
    let mut heads: Vec<Head> = vec![Vec::new(); indexes.len()];
    let ranges: Vec<LogRange> = indexes.iter().map(|index| whole(&parts[*index], side)).collect();
    let mut digester = pass.digester();
    let reached = reader(pass, side)?.read_each(&ranges, &mut |range, record| {
        let kept = parts[indexes[range]].timestamps_kept;
        heads[range].push((record.offset, digester.record(record, kept)));
        if heads[range].len() < HEAD { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(whole_again(&reached).then_some(heads))
}

/// Retention has taken nothing while it was read.
fn whole_again(reached: &[Reached]) -> bool {
    reached.iter().all(|reached| matches!(reached, Reached::Position(_)))
}

/// Looks through one side's logs for any record of the other side's heads, where they did not meet: its
/// offset on this side, and that in the head.
fn search(
    pass: &Pass<'_>,
    side: Side,
    parts: &[Part],
    indexes: &[usize],
    met: &[Met],
    heads: &[Head],
) -> Result<Option<Vec<Met>>> {
    let open: Vec<usize> = (0..indexes.len()).filter(|i| met[*i].is_none()).collect();
    let ranges: Vec<LogRange> = open.iter().map(|i| whole(&parts[indexes[*i]], side)).collect();
    let wanted: Vec<HashMap<RecordDigest, i64>> = open
        .iter()
        .map(|i| heads[*i].iter().rev().map(|(offset, digest)| (*digest, *offset)).collect())
        .collect();
    let mut found = vec![None; indexes.len()];
    let mut digester = pass.digester();
    let reached = reader(pass, side)?.read_each(&ranges, &mut |range, record| {
        let kept = parts[indexes[open[range]]].timestamps_kept;
        match wanted[range].get(&digester.record(record, kept)) {
            None => ControlFlow::Continue(()),
            Some(offset) => {
                found[open[range]] = Some((record.offset, *offset));
                ControlFlow::Break(())
            }
        }
    })?;
    Ok(whole_again(&reached).then_some(found))
}

#[cfg(test)]
mod tests {
    use super::super::part::Reach;
    use super::*;

    fn head(from: i64, digests: &[u128]) -> Head {
        (from..).zip(digests.iter().copied().map(RecordDigest)).collect()
    }

    #[test]
    fn heads_meet_at_the_first_record_that_both_hold() {
        let long = head(0, &[1, 2, 3, 4, 5]);
        assert_eq!(meet(&long, &long), Some((0, 0)));
        assert_eq!(meet(&long, &head(40, &[3, 4])), Some((2, 40)), "the target begins later");
        assert_eq!(meet(&head(40, &[3, 4]), &long), Some((40, 2)), "the source begins later");
        assert_eq!(meet(&long, &head(0, &[2, 3])), Some((1, 0)), "one is missing");
        assert_eq!(meet(&long, &head(0, &[9])), None);
        assert_eq!(meet(&head(0, &[]), &long), None);
    }

    fn part(source_start: i64, target_start: i64) -> Part {
        let reach =
            |start| Reach { log_start: start, from: start, common: start, to: 100, until: 100 };
        let (source_reach, target_reach) = (reach(source_start), reach(target_start));
        Part { source_reach, target_reach, ledger: None, ..super::super::part::tests::part() }
    }

    #[test]
    fn only_what_the_other_sides_log_start_may_have_passed_has_expired() {
        let begin = |source_start, target_start, met| {
            let mut part = part(source_start, target_start);
            begin_at(&mut part, met);
            (part.source_reach.common, part.target_reach.common)
        };
        assert_eq!(begin(0, 30, Some((40, 30))), (40, 30), "the target's retention took 40");
        assert_eq!(begin(30, 0, Some((30, 40))), (30, 40), "the source's did");
        assert_eq!(begin(30, 0, Some((31, 0))), (30, 0), "the first one is missing, not expired");
        assert_eq!(begin(0, 30, Some((0, 31))), (0, 30), "the first one is extra, not expired");
        assert_eq!(begin(30, 0, None), (30, 100), "nothing of the target is on the source");
    }
}
