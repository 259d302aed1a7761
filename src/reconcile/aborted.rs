//! Aborted copies: records of aborted transactions stay in the target's log, and a consumer that reads
//! uncommitted (the default of Kafka's Java client) sees them.

use super::part::Part;
use super::read::{Reading, Sink, Task, read_side};
use super::tally::Tally;
use crate::cluster::LogRange;
use crate::error::{Result, Side};
use crate::record::Record;

/// Counts records, committed or not, by part.
struct Count(Vec<u64>);

impl Sink for Count {
    fn take(&mut self, part: usize, _record: &Record<'_>) -> Result<()> {
        self.0[part] += 1;
        Ok(())
    }

    fn end(&mut self, _part: usize, _position: i64) -> Result<()> {
        Ok(())
    }
}

/// What is to be read again: from the first gap of a partition to its last.
fn tasks(parts: &[Part], tallies: &[Tally]) -> Vec<Task> {
    let task = |(index, (part, tally)): (usize, (&Part, &Tally))| {
        let (from, until) = tally.gaps.range?;
        let range = LogRange { at: part.target.clone(), from, until };
        Some(Task { part: index, range, shown: part.target.clone() })
    };
    parts.iter().zip(tallies).enumerate().filter_map(task).collect()
}

/// Aborted copies by part: what an uncommitted `reading` of the target counts where the committed one,
/// whose tallies these are, saw gaps, less what that one saw between them.
pub(super) fn aborted_copies(
    reading: &Reading<'_>,
    parts: &[Part],
    tallies: &[Tally],
) -> Result<Vec<u64>> {
    let make = |_| Count(vec![0; parts.len()]);
    let counted = read_side(Side::Target, reading, tasks(parts, tallies), &make)?;
    let all = |part: usize| counted.sinks.iter().map(|count| count.0[part]).sum::<u64>();
    let visible = tallies.iter().enumerate().map(|(part, tally)| (part, tally.gaps.inside));
    Ok(visible.map(|(part, inside)| all(part).saturating_sub(inside)).collect())
}
