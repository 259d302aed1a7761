//! A topic on both sides, and what can be done to it.

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::PartitionLines;
use super::super::fixture::Small;
use crate::error::Side;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// A record of the target, and the source offset that the ledger names for its place.
pub(super) type Copied = (Small, Option<i64>);

/// A topic on both sides; the offset on the source is twice the index, on the target 100 and the index.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) source: Vec<Vec<Small>>,
    pub(super) target: Vec<Vec<Copied>>,
}

/// What was done to the target; indices are taken modulo what is there.
#[derive(Debug, Clone)]
pub(super) enum Tampering {
    Drop(Index, Index),
    Add(Index, Index, Small),
    Value(Index, Index, Option<u8>),
    Headers(Index, Index, u8),
    Timestamp(Index, Index, i64),
    Swap(Index, Index, Index),
    Double(Index, Index, Index),
    Move(Index, Index, Index, Index),
}

/// The same with its places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Done {
    Nothing,
    Drop(usize, usize),
    Add(usize, usize),
    Change(usize, usize),
    Order(usize),
    Move(usize, usize, usize, usize),
}

pub(super) const KEYS: [Option<u8>; 3] = [None, Some(1), Some(2)];

fn small() -> impl Strategy<Value = Small> {
    let value = prop_oneof![1 => Just(None), 4 => (0u8..3).prop_map(Some)];
    (prop::sample::select(&KEYS[..]), value, 0u8..2, 1i64..4)
        .prop_map(|(key, value, headers, timestamp)| Small { key, value, headers, timestamp })
}

pub(super) fn topic() -> impl Strategy<Value = Topic> {
    prop::collection::vec(prop::collection::vec(small(), 0..7), 1..4).prop_map(|source| {
        let copy = |records: &Vec<Small>| {
            records.iter().enumerate().map(|(at, record)| (*record, Some(2 * at as i64))).collect()
        };
        Topic { target: source.iter().map(copy).collect(), source }
    })
}

pub(super) fn tampering() -> impl Strategy<Value = Tampering> {
    use Tampering::*;
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(p, i)| Drop(p, i)),
        (at(), at(), small()).prop_map(|(p, i, record)| Add(p, i, record)),
        (at(), at(), prop::option::of(0u8..9)).prop_map(|(p, i, value)| Value(p, i, value)),
        (at(), at(), 0u8..4).prop_map(|(p, i, headers)| Headers(p, i, headers)),
        (at(), at(), 1i64..9).prop_map(|(p, i, timestamp)| Timestamp(p, i, timestamp)),
        (at(), at(), at()).prop_map(|(p, i, j)| Swap(p, i, j)),
        (at(), at(), at()).prop_map(|(p, i, j)| Double(p, i, j)),
        (at(), at(), at(), at()).prop_map(|(p, i, q, j)| Move(p, i, q, j)),
    ]
}

impl Topic {
    pub(super) fn tamper(&mut self, tampering: &Tampering) -> Done {
        use Tampering::*;
        let (p, i) = match tampering {
            Drop(p, i) | Add(p, i, _) | Value(p, i, _) | Headers(p, i, _) | Timestamp(p, i, _) => {
                (p, i)
            }
            Swap(p, i, _) | Double(p, i, _) | Move(p, i, _, _) => (p, i),
        };
        let p = p.index(self.target.len());
        if let Add(_, _, record) = tampering {
            let i = i.index(self.target[p].len() + 1);
            self.target[p].insert(i, (*record, None));
            return Done::Add(p, i);
        }
        if self.target[p].is_empty() {
            return Done::Nothing;
        }
        let i = i.index(self.target[p].len());
        let before = self.target[p][i].0;
        let record = &mut self.target[p][i].0;
        match tampering {
            Add(..) => {}
            Drop(..) => {
                self.target[p].remove(i);
                return Done::Drop(p, i);
            }
            Value(_, _, value) => record.value = *value,
            Headers(_, _, headers) => record.headers = *headers,
            Timestamp(_, _, timestamp) => record.timestamp = *timestamp,
            Swap(_, _, j) => {
                let j = j.index(self.target[p].len());
                (self.target[p][i].0, self.target[p][j].0) = (self.target[p][j].0, before);
                return Done::Order(p);
            }
            Double(_, _, j) => {
                let j = j.index(self.target[p].len() + 1);
                self.target[p].insert(j, (before, None));
                return Done::Add(p, j);
            }
            Move(_, _, q, j) => {
                let q = q.index(self.target.len());
                self.target[p].remove(i);
                let j = j.index(self.target[q].len() + 1);
                self.target[q].insert(j, (before, None));
                return if p == q { Done::Order(p) } else { Done::Move(p, i, q, j) };
            }
        }
        if self.target[p][i].0 == before { Done::Nothing } else { Done::Change(p, i) }
    }

    pub(super) fn lines(&self, key: Option<u8>, ledger: bool) -> Vec<PartitionLines> {
        let partition = |(partition, (source, target)): (i32, (&Vec<Small>, &Vec<Copied>))| {
            let source =
                (0..).zip(source).filter(|(_, record)| record.key == key).map(|(at, record)| {
                    Line { copied_to: ledger.then_some(0), ..record.line(Side::Source, 2 * at) }
                });
            let target = (100..).zip(target).filter(|(_, (record, _))| record.key == key);
            let target = target.map(|(offset, (record, origin))| Line {
                source_offset: origin.filter(|_| ledger),
                place: if ledger && origin.is_none() { Place::Foreign } else { Place::Claimed },
                ..record.line(Side::Target, offset)
            });
            PartitionLines { partition, source: source.collect(), target: target.collect() }
        };
        (0..).zip(self.source.iter().zip(&self.target)).map(partition).collect()
    }
}
