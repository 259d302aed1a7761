//! Goes on behind an earlier clean pass, where what that one has seen still stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use super::look::there;
use super::part::Part;
use super::pass::Pass;
use super::scope::Scope;
use super::verified::{AtAnchor, SideNow, outdated};
use crate::cluster::{At, First};
use crate::digest::RecordDigest;
use crate::error::{Result, Side};
use crate::ledger::VerifiedPartition;
use crate::plan::TopicPartition;
use crate::report::audit::summary::Mode;

/// Leaves out of the scope what the ledger's `verified` entries say was proved; tells why not, where a
/// partition is read from its beginning.
pub(super) fn resume(pass: &Pass<'_>, scope: &mut Scope) -> Result<Mode> {
    let full = |reason: &str| Ok(Mode::Full { reason: reason.to_owned() });
    let Some(ledger) = &scope.ledger else { return full("without a ledger") };
    if ledger.control.verified.is_empty() {
        return full("no earlier proof");
    }
    if pass.options.full {
        return full("--full");
    }
    let earlier = ledger.control.verified.clone();
    let source = side_now(pass, Side::Source, scope, &earlier)?;
    let target = side_now(pass, Side::Target, scope, &earlier)?;
    let mut reasons = BTreeSet::new();
    for (index, part) in scope.parts.iter_mut().enumerate() {
        let Some((at, verified)) = earlier.get(&part.source) else {
            // New since: there is nothing to go on behind, which is no reason to doubt the rest.
            continue;
        };
        let Some(claim) = &part.ledger else { continue };
        let last_gap = claim.state.gaps.iter().max_by_key(|gap| (gap.to, gap.at));
        let sides = [&source[index], &target[index]];
        match outdated(verified, claim.state.start, part.policy.compacts(), last_gap, *at, sides) {
            Some(reason) => drop(reasons.insert(format!("`{}`: {reason}", part.source))),
            None => part.resume(verified.source.next, verified.target.next),
        }
    }
    let Some(first) = reasons.first() else { return Ok(Mode::Incremental) };
    // A partition that is not what it was says that its topic, at least, is to be doubted.
    let more = match reasons.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Ok(Mode::Full { reason: format!("{first}{more}") })
}

/// What stands at an offset, and its leader epoch where it is a record and the broker tells it.
pub(super) type Stands = (AtAnchor, Option<i32>);

/// All parts of one side as they are now, by index.
fn side_now(
    pass: &Pass<'_>,
    side: Side,
    scope: &Scope,
    earlier: &BTreeMap<TopicPartition, (i64, VerifiedPartition)>,
) -> Result<Vec<SideNow>> {
    let anchor = |part: &Part| Some(earlier.get(&part.source)?.1.side(side).anchor?.offset);
    let anchors: Vec<Option<i64>> = scope.parts.iter().map(anchor).collect();
    let read = pass.records_at(side, &scope.parts, &anchors)?;
    let epochs = pass.epochs(side, &scope.parts)?;
    let now = |(index, part): (usize, &Part)| SideNow {
        topic_id: scope.topic_id(side, part),
        epoch: epochs.get(part.at(side)).copied().flatten(),
        to: part.reach(side).to,
        at_anchor: anchors[index].map(|_| read[index].map_or(AtAnchor::Expired, |(at, _)| at)),
    };
    Ok(scope.parts.iter().enumerate().map(now).collect())
}

impl Pass<'_> {
    /// What stands at an offset of each part, and under which leader epoch; `None` where none is asked
    /// for, or the log begins behind it. Digests are those of anchors: whole records, never keyed.
    pub(super) fn records_at(
        &self,
        side: Side,
        parts: &[Part],
        offsets: &[Option<i64>],
    ) -> Result<Vec<Option<Stands>>> {
        let (mut asked, mut index) = (Vec::new(), Vec::new());
        for (number, (part, offset)) in parts.iter().zip(offsets).enumerate() {
            if let Some(offset) = offset.filter(|offset| *offset >= part.reach(side).log_start) {
                asked.push((part.at(side).clone(), offset));
                index.push(number);
            }
        }
        let mut found = vec![None; parts.len()];
        if asked.is_empty() {
            return Ok(found);
        }
        let mut scratch = Vec::new();
        let mut log = self.clusters.log(side).lock().unwrap_or_else(PoisonError::into_inner);
        log.first_at(&asked, &mut |asked, first| {
            found[index[asked]] = match first {
                First::Record(record) => {
                    let digest = RecordDigest::of(record, true, &mut scratch);
                    Some((AtAnchor::Found { offset: record.offset, digest }, record.leader_epoch))
                }
                First::None { .. } => Some((AtAnchor::Nothing, None)),
                First::Lost { .. } => None,
            };
        })?;
        Ok(found)
    }

    /// Leader epochs of the parts, where the brokers tell them.
    pub(super) fn epochs(
        &self,
        side: Side,
        parts: &[Part],
    ) -> Result<BTreeMap<TopicPartition, Option<i32>>> {
        let admin = self.clusters.admin(side);
        let mut epochs = BTreeMap::new();
        for (at, answer) in admin.offsets(&there(admin, side, parts)?, At::LogEnd)? {
            epochs.insert(at, answer?.leader_epoch);
        }
        Ok(epochs)
    }
}
