//! The second reading: every record of a suspect, on both sides.

use super::compared::Compared;
use super::detail::{Collect, Found, judge_lines};
use super::large::judge_large;
use super::look::Offsets;
use super::part::Part;
use super::pass::{ATTEMPTS, Pass, overtaken, rules, tasks};
use super::read::{Sink, read_both, unless_stopped};
use super::scope::Scope;
use super::spill::SpillError;
use super::suspects::Span;
use crate::cluster::{At, Isolation};
use crate::error::{Error, Result, Side};

/// Why a reading was broken off.
pub(super) enum Halt {
    /// Retention of this side was faster.
    Overtaken(Side),
    /// There is no going on.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What was read again.
pub(super) type Reread<T> = std::result::Result<T, Halt>;

/// What holds while suspects are read again.
pub(super) struct Again<'a> {
    /// As they are read now.
    pub parts: &'a [Part],
    /// Last stable offsets of both sides: earlier ones would call records missing that have just arrived.
    pub ends: [Offsets; 2],
}

impl Again<'_> {
    /// What is read again of a part whose suspects lie in `span`.
    pub fn range(&self, side: Side, part: usize, span: Span) -> (i64, i64) {
        let part = &self.parts[part];
        again(part, side, span, self.ends[side as usize].get(part.at(side)).copied())
    }

    /// Reads both sides; `range` tells what of each part, if anything.
    pub fn read<S: Sink>(
        &self,
        pass: &Pass<'_>,
        range: &dyn Fn(Side, usize) -> Option<(i64, i64)>,
        make: &(impl Fn(Side) -> S + Sync),
    ) -> Reread<[Vec<S>; 2]> {
        let [of_source, of_target] = [Side::Source, Side::Target]
            .map(|side| tasks(pass.board, side, self.parts, |index, _| range(side, index)));
        let readings =
            [Side::Source, Side::Target].map(|side| pass.reading(side, Isolation::Committed));
        let [source, target] =
            read_both([(&readings[0], of_source), (&readings[1], of_target)], make)?;
        for (side, lost) in [(Side::Source, &source.lost), (Side::Target, &target.lost)] {
            if !lost.is_empty() {
                return Err(Halt::Overtaken(side));
            }
        }
        Ok([source.sinks, target.sinks])
    }
}

/// Reads suspects again, and lets the judge decide. Where retention is faster, it begins anew behind it.
pub(super) fn second_reading(
    pass: &Pass<'_>,
    scope: &Scope,
    whole: &[Part],
    compared: &mut Compared,
) -> Result<()> {
    // Compacted keys are looked up from the beginning of their logs, whatever was proved before.
    let mut parts: Vec<Part> = scope
        .parts
        .iter()
        .zip(whole)
        .map(|(part, whole)| if part.policy.compacts() { whole } else { part }.clone())
        .collect();
    let mut overtaken_on = Side::Source;
    for _ in 0..ATTEMPTS {
        pass.refresh_log_starts(&mut parts)?;
        pass.board.wait("proof", format!("{} keys to be read again", compared.suspects.len()));
        let read = read_again(pass, scope, &parts, compared);
        pass.board.go_on("proof");
        match read {
            Ok(()) => return Ok(()),
            Err(Halt::Failed(error)) => return Err(error),
            Err(Halt::Overtaken(side)) => overtaken_on = side,
        }
        tracing::warn!("retention has overtaken the second reading; it begins anew");
    }
    Err(overtaken(overtaken_on))
}

/// Nothing is told before all is read.
fn read_again(
    pass: &Pass<'_>,
    scope: &Scope,
    parts: &[Part],
    compared: &mut Compared,
) -> Reread<()> {
    let Compared { suspects, detail, .. } = compared;
    let again = Again { parts, ends: pass.offsets_now(parts, At::LastStable)? };
    let of_large = judge_large(pass, scope, &again, &suspects.large)?;
    let make =
        |side| Collect::new(side, parts, suspects, pass.digester(), &pass.spill, pass.budget.table);
    let range = |side: Side, part: usize| {
        Some(again.range(side, part, suspects.spans(part)?[side as usize]))
    };
    let sinks = again.read(pass, &range, &make)?;
    for (index, (now, then)) in parts.iter().zip(&scope.parts).enumerate() {
        let moved = |side| now.reach(side).log_start > then.reach(side).log_start;
        detail.overtaken[index] =
            suspects.touch(index, now) && (moved(Side::Source) || moved(Side::Target));
    }
    let mut merged = Vec::new();
    for sinks in sinks {
        let runs: std::result::Result<_, SpillError> =
            sinks.into_iter().map(|sink| sink.sorter.finish()).collect();
        merged.push(pass.merged(runs.map_err(Error::from)?)?);
    }
    let [source, target] =
        merged.try_into().unwrap_or_else(|_| unreachable!("two sides were read"));
    let most = pass.budget.lines;
    // Both come in the order of keys.
    let mut of_large = of_large.into_iter().peekable();
    judge_lines(source, target, most, &|topic| rules(scope, topic), &mut |found| {
        unless_stopped(pass.board)?;
        let before = |large: &Found| (large.topic, &large.key) < (found.topic, &found.key);
        while let Some(large) = of_large.next_if(before) {
            detail.take(scope, large)?;
        }
        detail.take(scope, found)
    })?;
    for found in of_large {
        detail.take(scope, found)?;
    }
    Ok(())
}

/// What is read again of a part: where its suspects lie; on a compacted topic everything up to now,
/// because a newer record may have replaced one; without a ledger what has arrived on the target since.
fn again(part: &Part, side: Side, span: Span, end: Option<i64>) -> (i64, i64) {
    let reach = part.reach(side);
    let now = end.unwrap_or(reach.until).max(reach.until);
    if part.policy.compacts() {
        (reach.from, now)
    } else if side == Side::Target && part.ledger.is_none() {
        (span.from.min(reach.to), now)
    } else {
        (span.from.max(reach.from), span.until.min(reach.until))
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::tests::part;
    use super::super::policy::Policy;
    use super::*;

    #[test]
    fn suspects_are_read_where_they_lie_and_further_only_where_more_can_have_come() {
        let span = Span { from: 4, until: 7 };
        let (ours, end) = (part(), Some(90));
        let of = |part: &Part, side| again(part, side, span, end);
        assert_eq!(of(&ours, Side::Source), (4, 7));
        assert_eq!(of(&ours, Side::Target), (4, 7));
        let compacted = Part { policy: Policy::Compact, ..part() };
        assert_eq!(of(&compacted, Side::Source), (0, 90), "a newer record may have replaced it");
        let others = Part { ledger: None, ..part() };
        assert_eq!(of(&others, Side::Source), (4, 7));
        assert_eq!(of(&others, Side::Target), (4, 90), "it may have arrived since");
        let nowhere = Span { from: i64::MAX, until: i64::MIN };
        assert_eq!(again(&others, Side::Target, nowhere, end), (25, 90), "only behind the end");
        let (from, until) = again(&ours, Side::Target, nowhere, end);
        assert!(from >= until, "nothing is read");
    }
}
