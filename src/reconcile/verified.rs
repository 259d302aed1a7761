//! What an earlier pass has proved, and whether it still holds. Pure.

use crate::digest::RecordDigest;
use crate::ledger::{Anchor, GapRange, VerifiedPartition};

/// What stands now where an earlier pass noted an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtAnchor {
    /// The log begins behind it.
    Expired,
    /// The first record at or after it.
    Found {
        /// Its offset.
        offset: i64,
        /// Its digest, with its timestamp.
        digest: RecordDigest,
    },
    /// No record at or after it.
    Nothing,
}

/// One side of a partition as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideNow {
    /// Topic id, where the brokers have ids.
    pub topic_id: Option<String>,
    /// Leader epoch, where known.
    pub epoch: Option<i32>,
    /// Where the range ends that can be proved now: the ledger's position, the target's end.
    pub to: i64,
    /// What stands at the earlier pass's anchor; `None` if it noted none.
    pub at_anchor: Option<AtAnchor>,
}

/// Says why a pass must read a partition from its beginning again, or nothing if it may go on behind
/// `earlier`. `start` is the first source offset in scope, `compacts` whether compaction may have taken
/// the anchor, `last_gap` where the pipe last found records or deletions gone before they were copied.
/// `verified_at` is when the earlier pass began.
pub fn outdated(
    earlier: &VerifiedPartition,
    start: i64,
    compacts: bool,
    last_gap: Option<&GapRange>,
    verified_at: i64,
    now: [&SideNow; 2],
) -> Option<String> {
    if earlier.differences > 0 {
        return Some("the earlier pass found differences".into());
    }
    if earlier.from != start {
        return Some(format!("the earlier pass began at offset {}, not {start}", earlier.from));
    }
    // By its place, whatever the clocks of prover and lane say; by time where it lies at the very end of
    // what was proved, and nobody knows which of the two came first.
    if let Some(gap) = last_gap
        && (gap.to > earlier.source.next || gap.at >= verified_at)
    {
        return Some(format!("the ledger has a gap since the earlier pass: {}", gap.reason));
    }
    let gone = now.map(|side| side.at_anchor == Some(AtAnchor::Expired));
    if gone[0] != gone[1] {
        let side = if gone[0] { "source" } else { "target" };
        return Some(format!(
            "the {side} no longer holds the end of what the earlier pass has proved"
        ));
    }
    let sides = [("source", &earlier.source), ("target", &earlier.target)];
    sides.into_iter().zip(now).find_map(|((side, then), now)| {
        if let (Some(then), Some(now)) = (&then.topic_id, &now.topic_id)
            && then != now
        {
            return Some(format!("the {side} topic was created anew"));
        }
        if now.to < then.next {
            return Some(format!("the {side} ends before what the earlier pass has proved"));
        }
        if let (Some(then), Some(now)) = (then.epoch, now.epoch)
            && now < then
        {
            return Some(format!("the {side}'s leader epoch has fallen"));
        }
        // Retention that has taken the end on both sides says nothing.
        let same = |anchor: &Anchor| match now.at_anchor {
            None | Some(AtAnchor::Expired) => true,
            Some(AtAnchor::Nothing) => compacts,
            Some(AtAnchor::Found { offset, digest }) => {
                if offset == anchor.offset {
                    digest == anchor.digest
                } else {
                    compacts
                }
            }
        };
        (!then.anchor.as_ref().is_none_or(same))
            .then(|| format!("the {side} has another record where the earlier pass ended"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::ProvedSide;

    fn anchor() -> Anchor {
        Anchor { offset: 9, epoch: Some(1), digest: RecordDigest(7), timestamp: None }
    }

    fn earlier() -> VerifiedPartition {
        let side = ProvedSide {
            next: 10,
            topic_id: Some("id".into()),
            epoch: Some(1),
            anchor: Some(anchor()),
        };
        VerifiedPartition {
            topic: "t".into(),
            partition: 0,
            from: 0,
            records: 10,
            differences: 0,
            digest: None,
            source: side.clone(),
            target: side,
        }
    }

    fn now() -> SideNow {
        let found = AtAnchor::Found { offset: 9, digest: RecordDigest(7) };
        SideNow { topic_id: Some("id".into()), epoch: Some(2), to: 20, at_anchor: Some(found) }
    }

    fn judge(source: &SideNow, target: &SideNow, compacts: bool) -> Option<String> {
        outdated(&earlier(), 0, compacts, None, 100, [source, target])
    }

    #[test]
    fn a_pass_goes_on_where_everything_is_as_it_was() {
        assert_eq!(judge(&now(), &now(), false), None);
        let expired = SideNow { at_anchor: Some(AtAnchor::Expired), ..now() };
        assert_eq!(judge(&expired, &expired, false), None, "retention takes old records");
        for (source, target) in [(&expired, &now()), (&now(), &expired)] {
            assert!(judge(source, target, false).is_some(), "what was proved is gone on one side");
        }
        let unknown = SideNow { topic_id: None, epoch: None, ..now() };
        assert_eq!(judge(&unknown, &unknown, false), None, "old brokers tell less");
    }

    #[test]
    fn whatever_has_changed_asks_for_a_full_pass() {
        let other = AtAnchor::Found { offset: 9, digest: RecordDigest(8) };
        let changed = [
            SideNow { topic_id: Some("new".into()), ..now() },
            SideNow { epoch: Some(0), ..now() },
            SideNow { to: 9, ..now() },
            SideNow { at_anchor: Some(other), ..now() },
            SideNow { at_anchor: Some(AtAnchor::Nothing), ..now() },
        ];
        for side in &changed {
            assert!(
                judge(side, &now(), false).is_some_and(|why| why.contains("source")),
                "{side:?}"
            );
            assert!(
                judge(&now(), side, false).is_some_and(|why| why.contains("target")),
                "{side:?}"
            );
        }
        let gap = |to, at| GapRange { from: to, to, reason: "it went".into(), at };
        let with =
            |gap: &GapRange| outdated(&earlier(), 0, false, Some(gap), 100, [&now(), &now()]);
        assert!(outdated(&earlier(), 5, false, None, 100, [&now(), &now()]).is_some());
        assert!(with(&gap(10, 100)).is_some_and(|why| why.contains("it went")));
        assert!(with(&gap(11, 99)).is_some(), "whatever the lane's clock says");
        assert_eq!(with(&gap(10, 99)), None);
        let found = VerifiedPartition { differences: 1, ..earlier() };
        assert!(outdated(&found, 0, false, None, 100, [&now(), &now()]).is_some());
    }

    #[test]
    fn compaction_may_take_the_anchor_but_not_change_it() {
        let later = AtAnchor::Found { offset: 12, digest: RecordDigest(8) };
        let compacted = SideNow { at_anchor: Some(later), ..now() };
        assert_eq!(judge(&compacted, &now(), true), None);
        assert!(judge(&compacted, &now(), false).is_some());
        let other = AtAnchor::Found { offset: 9, digest: RecordDigest(8) };
        assert!(judge(&SideNow { at_anchor: Some(other), ..now() }, &now(), true).is_some());
    }
}
