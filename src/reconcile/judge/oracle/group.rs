//! What the oracle says of one key, by direct comparison.

use super::super::fixture::Small;
use super::topic::{Copied, Done, Topic};
use crate::reconcile::difference::{Kind, MadeBy};

/// One key of a topic, with offsets: what the oracle sees.
pub(super) struct Group {
    key: Option<u8>,
    pub(super) source: Vec<Vec<(i64, Small)>>,
    pub(super) target: Vec<Vec<(i64, Copied)>>,
    ledger: bool,
}

/// What a row must say; of several offsets one.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) partition: usize,
    pub(super) kind: Kind,
    pub(super) source: Vec<Option<i64>>,
    pub(super) target: Vec<Option<i64>>,
    pub(super) made_by: Option<MadeBy>,
}

fn alone(partition: &[(i64, Copied)]) -> Vec<Small> {
    partition.iter().map(|(_, (record, _))| *record).collect()
}

fn without<T: Clone>(all: &[T], at: usize) -> Vec<T> {
    let mut all = all.to_vec();
    all.remove(at);
    all
}

impl Group {
    pub(super) fn of(topic: &Topic, key: Option<u8>, ledger: bool) -> Self {
        let source = |records: &Vec<Small>| {
            (0..)
                .map(|at| 2 * at)
                .zip(records.iter().copied())
                .filter(|(_, r)| r.key == key)
                .collect()
        };
        let target = |records: &Vec<Copied>| {
            (100..).zip(records.iter().copied()).filter(|(_, (r, _))| r.key == key).collect()
        };
        Self {
            key,
            source: topic.source.iter().map(source).collect(),
            target: topic.target.iter().map(target).collect(),
            ledger,
        }
    }

    fn sides(&self, p: usize) -> (Vec<Small>, Vec<Small>) {
        (self.source[p].iter().map(|(_, record)| *record).collect(), alone(&self.target[p]))
    }

    fn foreign(&self, p: usize) -> bool {
        self.ledger && self.target[p].iter().any(|(_, (_, origin))| origin.is_none())
    }

    fn ordered(&self) -> bool {
        let held = (0..self.source.len()).filter(|p| self.sides(*p) != (vec![], vec![])).count();
        self.ledger || self.key.is_none() || held < 2
    }

    /// Whether nothing effective was done, where every record counts.
    pub(super) fn clean(&self) -> bool {
        (0..self.source.len()).all(|p| {
            let (mut source, mut target) = self.sides(p);
            if !self.ordered() {
                source.sort();
                target.sort();
            }
            source == target && !self.foreign(p)
        })
    }

    fn by(&self, who: MadeBy) -> Option<MadeBy> {
        self.ledger.then_some(who)
    }

    /// Source offsets whose loss explains partition `p`.
    fn lost(&self, p: usize) -> Vec<Option<i64>> {
        let (source, target) = self.sides(p);
        let explains = |at: &usize| without(&source, *at) == target;
        (0..source.len()).filter(explains).map(|at| Some(self.source[p][at].0)).collect()
    }

    /// Target offsets whose adding explains partition `p`.
    fn added(&self, p: usize) -> Vec<Option<i64>> {
        let (source, target) = self.sides(p);
        let explains = |at: &usize| without(&target, *at) == source;
        (0..target.len()).filter(explains).map(|at| Some(self.target[p][at].0)).collect()
    }

    /// The row for one tampering, where every record counts and the group is not clean.
    pub(super) fn expected(&self, done: Done, topic: &Topic) -> Expected {
        let has = |p: usize, record: &Small| self.source[p].iter().find(|(_, had)| had == record);
        let anywhere = |record: &Small| (0..self.source.len()).any(|p| has(p, record).is_some());
        match done {
            Done::Nothing => panic!("nothing was done, and something was seen"),
            Done::Drop(p, i) => Expected {
                partition: p,
                kind: Kind::Missing,
                source: if self.ledger { vec![Some(2 * i as i64)] } else { self.lost(p) },
                target: vec![None],
                made_by: self.by(MadeBy::Target),
            },
            Done::Add(p, at) => {
                let record = topic.target[p][at].0;
                let original = has(p, &record).map(|(offset, _)| *offset);
                Expected {
                    partition: p,
                    kind: if anywhere(&record) { Kind::Duplicated } else { Kind::Extra },
                    source: vec![original],
                    target: if self.ledger { vec![Some(100 + at as i64)] } else { self.added(p) },
                    made_by: self.by(MadeBy::Writer),
                }
            }
            // Without a ledger, a record that was changed to the equal of another is a double of that.
            Done::Change(p, i) if !self.ledger && anywhere(&topic.target[p][i].0) => Expected {
                partition: p,
                kind: Kind::Missing,
                source: vec![Some(2 * i as i64)],
                target: vec![None],
                made_by: None,
            },
            Done::Change(p, i) => Expected {
                partition: p,
                kind: Kind::Changed,
                source: vec![Some(2 * i as i64)],
                target: vec![Some(100 + i as i64)],
                made_by: self.by(MadeBy::Pipe),
            },
            Done::Order(p) => {
                let (source, target) = self.sides(p);
                // In place, but by another writer.
                let foreign = self.target[p].iter().position(|(_, (_, origin))| origin.is_none());
                let at = (0..source.len()).find(|at| source[*at] != target[*at]);
                let at = at.or(foreign).expect("a place that differs");
                let writer = self.target[p][at].1.1.is_none();
                Expected {
                    partition: p,
                    kind: Kind::Reordered,
                    source: match source[at] == target[at] {
                        true => self.source[p]
                            .iter()
                            .filter(|(_, r)| *r == target[at])
                            .map(|r| Some(r.0))
                            .collect(),
                        false => vec![Some(self.source[p][at].0)],
                    },
                    target: vec![Some(self.target[p][at].0)],
                    made_by: self.by(if writer { MadeBy::Writer } else { MadeBy::Pipe }),
                }
            }
            Done::Move(p, i, q, j) => Expected {
                partition: p,
                kind: Kind::Moved,
                source: if self.ledger { vec![Some(2 * i as i64)] } else { self.lost(p) },
                target: if self.ledger { vec![Some(100 + j as i64)] } else { self.added(q) },
                made_by: self.by(MadeBy::Writer),
            },
        }
    }

    /// The two ends of partition `p`; a tombstone is none.
    fn ends(&self, p: usize) -> (Option<Small>, Option<Small>) {
        let live = |last: Option<&Small>| last.copied().filter(|record| record.value.is_some());
        let (source, target) = self.sides(p);
        (live(source.last()), live(target.last()))
    }

    /// What the ends of partition `p` say.
    fn kind_of_last(&self, p: usize) -> Option<Kind> {
        match self.ends(p) {
            (source, target) if source == target => None,
            (Some(_), None) => Some(Kind::Missing),
            (None, _) => Some(Kind::Extra),
            (Some(_), Some(target)) => {
                let origin = self.target[p].last().expect("an end").1.1;
                let last = self.source[p].last().expect("an end").0;
                let older = match self.ledger {
                    true => origin.is_some_and(|origin| origin < last),
                    false => self.sides(p).0.contains(&target),
                };
                Some(if older { Kind::Missing } else { Kind::Changed })
            }
        }
    }

    /// What other writers left in partition `p`, without its last record if that is told of already.
    fn kinds_of_foreign(&self, p: usize, without_last: bool) -> Vec<Kind> {
        let claimed = self.target[p].iter().filter(|(_, (_, origin))| origin.is_some());
        let claimed = claimed.map(|(_, (record, _))| *record);
        let had: Vec<Small> = self.sides(p).0.into_iter().chain(claimed).collect();
        let named = self.target[p].len() - usize::from(without_last && !self.target[p].is_empty());
        let foreign = self.target[p][..named].iter().filter(|(_, (_, origin))| origin.is_none());
        let kind = |(_, (record, _)): &(i64, Copied)| match had.contains(record) {
            true => Kind::Duplicated,
            false => Kind::Extra,
        };
        foreign.map(kind).collect()
    }

    /// Partition and kind of every row where only the last record counts, for any tampering.
    pub(super) fn expected_of_last(&self) -> Vec<(i32, Kind)> {
        let ends: Vec<Option<Kind>> =
            (0..self.source.len()).map(|p| self.kind_of_last(p)).collect();
        let mut kinds = ends.clone();
        for p in (0..ends.len()).filter(|p| ends[*p] == Some(Kind::Missing)) {
            let here =
                |q: &usize| kinds[*q] == Some(Kind::Extra) && self.ends(*q).1 == self.ends(p).0;
            if let Some(q) = (0..ends.len()).find(here) {
                kinds[p] = Some(Kind::Moved);
                kinds[q] = None;
            }
        }
        // The order of `Kind` is the precedence.
        let gravest = |(p, kind): (usize, Option<Kind>)| {
            let foreign = self.ledger.then(|| self.kinds_of_foreign(p, ends[p].is_some()));
            foreign.into_iter().flatten().chain(kind).min()
        };
        let kinds = kinds.into_iter().enumerate().map(gravest);
        (0..).zip(kinds).filter_map(|(p, kind)| Some((p, kind?))).collect()
    }
}
