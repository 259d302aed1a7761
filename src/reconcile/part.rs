//! One partition of a proof: what is read of it on both sides, and what each record is to the proof.

use std::sync::Arc;

use super::manifest::Place;
use super::policy::Policy;
use crate::error::Side;
use crate::ledger::{PartitionState, Runs};
use crate::plan::TopicPartition;

/// What is read of one side of a partition. Half-open ranges of that side's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// Log start offset when the pass began.
    pub log_start: i64,
    /// First offset that is read.
    pub from: i64,
    /// First offset that is compared; what lies before it is gone on the other side.
    pub common: i64,
    /// Where the range that is proved ends.
    pub to: i64,
    /// Where reading ends: on a compacted source behind `to`, so that newer records of a key are seen.
    pub until: i64,
}

impl Reach {
    /// Nothing: the partition is not there.
    pub const NOTHING: Self = Self { log_start: 0, from: 0, common: 0, to: 0, until: 0 };
}

/// One source partition and its copy.
#[derive(Debug, Clone)]
pub struct Part {
    /// Index of the source topic among the pass's topics.
    pub topic: u32,
    /// On the source.
    pub source: TopicPartition,
    /// On the target.
    pub target: TopicPartition,
    /// What counts.
    pub policy: Policy,
    /// Whether the target keeps timestamps (`message.timestamp.type=CreateTime`).
    pub timestamps_kept: bool,
    /// What is read of the source.
    pub source_reach: Reach,
    /// What is read of the target.
    pub target_reach: Reach,
    /// What the ledger says, if there is one.
    pub ledger: Option<Arc<Claim>>,
    /// Source and target offset up to which an earlier pass has proved it: this one goes on from there.
    pub proved_before: Option<(i64, i64)>,
}

/// What the ledger claims about a partition.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Where the partition stands.
    pub state: PartitionState,
    /// Target offset of every record ever carried.
    pub runs: Runs,
}

impl Part {
    /// The partition on one side.
    pub fn at(&self, side: Side) -> &TopicPartition {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// What is read of one side.
    pub fn reach(&self, side: Side) -> &Reach {
        match side {
            Side::Source => &self.source_reach,
            Side::Target => &self.target_reach,
        }
    }

    /// What the record at this source offset is to the proof; `None` where it does not count, because
    /// the target no longer holds what was copied at its place.
    pub fn source_place(&self, offset: i64) -> Option<Place> {
        let reach = &self.source_reach;
        (offset >= reach.common).then_some(if offset < reach.to {
            Place::Claimed
        } else {
            Place::Beyond
        })
    }

    /// What the record at this target offset is to the proof, and the source offset of the record that it
    /// is the copy of, by the ledger; `None` where it does not count, because the source no longer holds
    /// what it was copied from.
    pub fn target_place(&self, offset: i64) -> Option<(Place, Option<i64>)> {
        self.target_place_by(offset, |runs| runs.to_source(offset))
    }

    /// [`Part::target_place`] without the source offset, for offsets that rise; `near` is 0 at first.
    pub fn next_target_place(&self, offset: i64, near: &mut usize) -> Option<Place> {
        self.target_place_by(offset, |runs| runs.to_source_near(offset, near))
            .map(|(place, _)| place)
    }

    fn target_place_by(
        &self,
        offset: i64,
        to_source: impl FnOnce(&Runs) -> Option<i64>,
    ) -> Option<(Place, Option<i64>)> {
        let reach = &self.target_reach;
        let by_offset = |inside| if offset < reach.to { inside } else { Place::Beyond };
        let Some(claim) = &self.ledger else {
            return (offset >= reach.common).then(|| (by_offset(Place::Claimed), None));
        };
        match to_source(&claim.runs) {
            Some(source) => self.source_place(source).map(|place| (place, Some(source))),
            None => (offset >= reach.common).then(|| (by_offset(Place::Foreign), None)),
        }
    }

    /// Moves the beginning of what is compared up to these log start offsets: retention or
    /// `delete-records` has moved on while the pass was running.
    pub fn start_at(&mut self, source_log_start: i64, target_log_start: i64) {
        let source = &mut self.source_reach;
        source.log_start = source.log_start.max(source_log_start);
        source.common = source.common.max(source_log_start);
        let target = &mut self.target_reach;
        // A log that began there already at binding has lost no copy.
        let moved = target_log_start > target.log_start.max(target.from);
        target.log_start = target.log_start.max(target_log_start);
        target.common = target.common.max(target_log_start);
        if let Some(claim) = self.ledger.as_ref().filter(|_| moved) {
            let first = claim.runs.translate_source_next(target_log_start);
            let common = first.unwrap_or(self.source_reach.to);
            self.source_reach.common = self.source_reach.common.max(common);
        }
    }

    /// Leaves out what an earlier pass has proved: source offsets below `source`, target offsets below
    /// `target`.
    pub fn resume(&mut self, source: i64, target: i64) {
        self.proved_before = Some((source, target));
        for (reach, next) in [(&mut self.source_reach, source), (&mut self.target_reach, target)] {
            reach.from = next;
            reach.common = reach.common.max(next);
        }
    }

    /// Whether a log start offset lies above the first offset that the proof should have compared.
    pub fn expired(&self) -> bool {
        let lost = |reach: &Reach| reach.common > reach.from;
        lost(&self.source_reach) || lost(&self.target_reach)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ledger::Found;

    fn state() -> PartitionState {
        PartitionState {
            topic_id: None,
            target_topic: "t".into(),
            target_topic_id: None,
            start: 0,
            target_start: 0,
            found: Found::Empty,
            next: 10,
            target_next: 21,
            anchor: None,
            records: 10,
            read: 10,
            filtered: 0,
            dead: 0,
            bytes: 0,
            untimed: 0,
            digest: crate::digest::SequenceDigest::EMPTY,
            gaps: Vec::new(),
            caught_up_at: None,
        }
    }

    /// Ten records, at every second target offset from 2 on.
    pub fn part() -> Part {
        let mut runs = Runs::default();
        (0..10).for_each(|source| runs.push(source, 2 + 2 * source));
        let reach = |to| Reach { to, until: to, ..Reach::NOTHING };
        Part {
            topic: 0,
            source: TopicPartition::new("s", 0),
            target: TopicPartition::new("t", 0),
            policy: Policy::Delete,
            timestamps_kept: true,
            source_reach: reach(10),
            target_reach: reach(25),
            ledger: Some(Arc::new(Claim { state: state(), runs })),
            proved_before: None,
        }
    }

    #[test]
    fn a_target_record_is_what_the_ledger_says_it_is() {
        let part = part();
        assert_eq!(part.target_place(4), Some((Place::Claimed, Some(1))));
        assert_eq!(part.target_place(5), Some((Place::Foreign, None)));
        assert_eq!(part.target_place(24), Some((Place::Foreign, None)));
        assert_eq!(part.target_place(25), Some((Place::Beyond, None)), "not read to its end");
        let mut near = 0;
        for offset in 0..30 {
            let place = part.target_place(offset).map(|(place, _)| place);
            assert_eq!(part.next_target_place(offset, &mut near), place);
        }
    }

    #[test]
    fn what_one_side_has_lost_at_its_beginning_does_not_count_on_the_other() {
        let mut part = part();
        part.start_at(3, 0);
        assert_eq!(part.target_place(6), None, "source record 2 is gone");
        assert_eq!(part.target_place(8), Some((Place::Claimed, Some(3))));
        part.start_at(3, 11);
        assert_eq!(part.source_place(4), None, "its copy at 10 is gone");
        assert_eq!(part.source_place(5), Some(Place::Claimed));
        assert!(part.expired());
        part.start_at(3, 100);
        assert_eq!(part.source_place(9), None, "nothing is left on the target");
    }

    #[test]
    fn a_target_that_began_behind_0_at_binding_has_lost_no_copy() {
        let mut part = part();
        // Records 0 to 4 were never carried.
        let mut runs = Runs::default();
        (5..10).for_each(|source| runs.push(source, 60 + source));
        part.ledger = Some(Arc::new(Claim { state: state(), runs }));
        part.target_reach = Reach { from: 60, common: 60, to: 80, until: 80, ..Reach::NOTHING };
        part.start_at(0, 60);
        assert_eq!(part.source_place(0), Some(Place::Claimed));
        assert!(!part.expired());
        part.start_at(0, 66);
        assert_eq!(part.source_place(5), None);
        assert_eq!(part.source_place(6), Some(Place::Claimed));
    }

    #[test]
    fn without_a_ledger_offsets_alone_decide() {
        let mut part = Part { ledger: None, ..part() };
        part.target_reach.common = 2;
        assert_eq!(part.target_place(1), None);
        assert_eq!(part.target_place(5), Some((Place::Claimed, None)));
        assert_eq!(part.target_place(25), Some((Place::Beyond, None)));
    }
}
