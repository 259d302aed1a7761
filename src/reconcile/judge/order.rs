//! Whether records that are all on both sides stand in the same order.

use super::counts;
use super::matching::Matched;
use super::same::same;
use crate::reconcile::line::Line;

/// Where two orders differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    /// Source record of the first place that differs.
    pub(super) source: &'a Line,
    /// Target record of that place.
    pub(super) target: &'a Line,
    /// At how many places the sides differ.
    pub(super) count: u64,
}

/// Compares place by place; both sides have the same number of records. A record that was in flight
/// stands where it arrived.
pub(super) fn first_difference<'a>(matched: &Matched<'a>) -> Option<Places<'a>> {
    let source = matched.lines.source.iter().filter(|line| counts(line));
    let mut arrived = matched.arrived.clone();
    arrived.sort_unstable();
    let target = (0u32..).zip(&matched.lines.target);
    let target = target.filter(|(to, line)| counts(line) || arrived.binary_search(to).is_ok());
    let mut differing = source.zip(target.map(|(_, line)| line)).filter(|(a, b)| !same(a, b));
    let (source, target) = differing.next()?;
    Some(Places { source, target, count: 1 + differing.count() as u64 })
}
