//! An oracle of another kind: whole topics in memory, compared record by record, without a digest.
//!
//! It knows the tampering, and says by trying which places explain it: of two equal neighbours it does
//! not matter which one was lost.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use regex::Regex;

use super::fixture::{Small, pairs};
use super::{Classified, Judged, PartitionLines, Rules, classify, compare};
use crate::error::Side;
use crate::reconcile::difference::{Difference, Kind, MadeBy};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;
use crate::reconcile::policy::Policy;

/// A record of the target, and the source offset that the ledger names for its place.
type Copied = (Small, Option<i64>);

/// A topic on both sides; the offset on the source is twice the index, on the target 100 and the index.
#[derive(Debug, Clone)]
struct Topic {
    source: Vec<Vec<Small>>,
    target: Vec<Vec<Copied>>,
}

/// What was done to the target; indices are taken modulo what is there.
#[derive(Debug, Clone)]
enum Tampering {
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
enum Done {
    Nothing,
    Drop(usize, usize),
    Add(usize, usize),
    Change(usize, usize),
    Order(usize),
    Move(usize, usize, usize, usize),
}

const KEYS: [Option<u8>; 3] = [None, Some(1), Some(2)];

fn small() -> impl Strategy<Value = Small> {
    let value = prop_oneof![1 => Just(None), 4 => (0u8..3).prop_map(Some)];
    (prop::sample::select(&KEYS[..]), value, 0u8..2, 1i64..4)
        .prop_map(|(key, value, headers, timestamp)| Small { key, value, headers, timestamp })
}

fn topic() -> impl Strategy<Value = Topic> {
    prop::collection::vec(prop::collection::vec(small(), 0..7), 1..4).prop_map(|source| {
        let copy = |records: &Vec<Small>| {
            records.iter().enumerate().map(|(at, record)| (*record, Some(2 * at as i64))).collect()
        };
        Topic { target: source.iter().map(copy).collect(), source }
    })
}

fn tampering() -> impl Strategy<Value = Tampering> {
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
    fn tamper(&mut self, tampering: &Tampering) -> Done {
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

    fn lines(&self, key: Option<u8>, ledger: bool) -> Vec<PartitionLines> {
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

/// One key of a topic, with offsets: what the oracle sees.
struct Group {
    key: Option<u8>,
    source: Vec<Vec<(i64, Small)>>,
    target: Vec<Vec<(i64, Copied)>>,
    ledger: bool,
}

/// What a row must say; of several offsets one.
#[derive(Debug)]
struct Expected {
    partition: usize,
    kind: Kind,
    source: Vec<Option<i64>>,
    target: Vec<Option<i64>>,
    made_by: Option<MadeBy>,
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
    fn of(topic: &Topic, key: Option<u8>, ledger: bool) -> Self {
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
    fn clean(&self) -> bool {
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
    fn expected(&self, done: Done, topic: &Topic) -> Expected {
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

    /// Partition and kind of every row where only the last record counts, for any tampering.
    fn expected_of_last(&self) -> Vec<(i32, Kind)> {
        let live = |last: Option<Small>| last.filter(|record| record.value.is_some());
        let ends = |p: usize| {
            (live(self.sides(p).0.last().copied()), live(self.sides(p).1.last().copied()))
        };
        let mut gone: Vec<usize> = Vec::new();
        let mut come: Vec<usize> = Vec::new();
        let mut kinds: Vec<Option<Kind>> = vec![None; self.source.len()];
        for p in 0..self.source.len() {
            kinds[p] = match ends(p) {
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
            };
            gone.extend((kinds[p] == Some(Kind::Missing)).then_some(p));
            come.extend((kinds[p] == Some(Kind::Extra)).then_some(p));
        }
        for p in gone {
            if let Some(at) = come.iter().position(|q| ends(*q).1 == ends(p).0) {
                kinds[p] = Some(Kind::Moved);
                kinds[come.remove(at)] = None;
            }
        }
        let moved_in =
            |p: usize, kinds: &[Option<Kind>]| kinds[p].is_none() && ends(p).0 != ends(p).1;
        for p in 0..self.source.len() {
            if self.ledger {
                let source = self.sides(p).0;
                let mut named = self.target[p].clone();
                if kinds[p].is_some() || moved_in(p, &kinds) {
                    named.pop();
                }
                let claimed = self.target[p].iter().filter(|(_, r)| r.1.is_some());
                let had: Vec<Small> = source.into_iter().chain(claimed.map(|(_, r)| r.0)).collect();
                let foreign = named.iter().filter(|(_, (_, origin))| origin.is_none());
                let double = |(_, (record, _)): &(i64, Copied)| match had.contains(record) {
                    true => Kind::Duplicated,
                    false => Kind::Extra,
                };
                // The order of `Kind` is the precedence.
                kinds[p] = foreign.map(double).chain(kinds[p]).min();
            }
        }
        (0..).zip(kinds).filter_map(|(p, kind)| Some((p, kind?))).collect()
    }
}

static WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d+) (\w+)(?: to partition (\d+))?").expect("a pattern"));

/// Every record is accounted for: what was lost and added explains the numbers on both sides.
fn balance(rows: &[Difference], lines: &[PartitionLines]) -> Result<(), TestCaseError> {
    let mut surplus = vec![0i64; lines.len()];
    for row in rows {
        for said in WORDS.captures_iter(&row.detail) {
            let count: i64 = said[1].parse().expect("a count");
            surplus[row.partition as usize] += match &said[2] {
                "missing" | "moved" => -count,
                "duplicated" | "extra" => count,
                _ => 0,
            };
            if let Some(to) = said.get(3) {
                surplus[to.as_str().parse::<usize>().expect("a partition")] += count;
            }
        }
    }
    for (lines, surplus) in lines.iter().zip(surplus) {
        prop_assert_eq!(
            lines.target.len() as i64 - lines.source.len() as i64,
            surplus,
            "{:?}",
            rows
        );
    }
    Ok(())
}

fn check(topic: &Topic, done: &[Done], rules: Rules, key: Option<u8>) -> Result<(), TestCaseError> {
    let (lines, group) = (topic.lines(key, rules.ledger), Group::of(topic, key, rules.ledger));
    let bytes = key.map(|key| [key]);
    let bytes = bytes.as_ref().map(|key| &key[..]);
    let judged = compare(&rules, bytes, &pairs(&lines));
    let Classified { differences, untimed, superseded } = classify(&rules, bytes, &lines);
    prop_assert_eq!((untimed, superseded), (0, 0));
    let named: Vec<(i32, Kind)> = differences.iter().map(|row| (row.partition, row.kind)).collect();
    prop_assert!(named.is_sorted_by(|a, b| a.0 < b.0), "two rows for a partition: {:?}", named);
    for row in &differences {
        let lines = &lines[row.partition as usize];
        prop_assert_eq!(row.source_records, lines.source.len() as u64);
        prop_assert_eq!(row.target_records, lines.target.len() as u64);
    }
    prop_assert_eq!(judged == Judged::Clean, differences.is_empty());
    if rules.policy.compacts() && key.is_some() {
        prop_assert_eq!(named, group.expected_of_last());
        return Ok(());
    }
    prop_assert_eq!(judged == Judged::Clean, group.clean());
    balance(&differences, &lines)?;
    if let ([done], false) = (done, group.clean()) {
        let expected = group.expected(*done, topic);
        prop_assert_eq!(
            named,
            vec![(expected.partition as i32, expected.kind)],
            "{:?}",
            differences
        );
        let row = &differences[0];
        prop_assert!(expected.source.contains(&row.source_offset), "{:?}, not {:?}", row, expected);
        prop_assert!(expected.target.contains(&row.target_offset), "{:?}, not {:?}", row, expected);
        prop_assert_eq!(row.made_by, expected.made_by);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]
    #[test]
    fn random_tampering_is_named_as_the_oracle_names_it(
        topic in topic(), tamperings in prop::collection::vec(tampering(), 0..3),
    ) {
        let mut topic = topic;
        let done: Vec<Done> = tamperings.iter().map(|tampering| topic.tamper(tampering)).collect();
        for policy in [Policy::Delete, Policy::Compact, Policy::CompactDelete] {
            for (ledger, key) in [true, false].into_iter().flat_map(|ledger| KEYS.map(|key| (ledger, key))) {
                check(&topic, &done, Rules { policy, ledger }, key)?;
            }
        }
    }

    #[test]
    fn a_faithful_copy_has_no_rows_whatever_is_in_flight_or_has_no_timestamp(
        topic in topic(), in_flight in prop::collection::vec(0usize..4, 3), newer in topic(),
        ledger in any::<bool>(),
    ) {
        for key in KEYS {
            let mut zero = 0;
            let mut topic = topic.clone();
            for (source, target) in topic.source.iter_mut().zip(&mut topic.target) {
                for (source, target) in source.iter_mut().zip(target) {
                    if source.timestamp == 1 {
                        // The copy was written at 1, which is a timestamp that others have, too.
                        source.timestamp = 0;
                        target.0.timestamp = 2;
                        zero += u64::from(source.key == key);
                    }
                }
            }
            let mut lines = topic.lines(key, ledger);
            for (at, partition) in lines.iter_mut().enumerate().filter(|_| !ledger) {
                let late = partition.target.len().saturating_sub(in_flight[at]);
                partition.target[late..].iter_mut().for_each(|line| line.place = Place::Beyond);
                for record in newer.source.get(at).into_iter().flatten().filter(|r| r.key == key) {
                    let beyond = Line { place: Place::Beyond, ..record.line(Side::Target, 900) };
                    partition.target.push(beyond);
                }
            }
            let bytes = key.map(|key| [key]);
            let bytes = bytes.as_ref().map(|key| &key[..]);
            let rules = Rules { policy: Policy::Delete, ledger };
            let classified = classify(&rules, bytes, &lines);
            prop_assert_eq!(classified, Classified { untimed: zero, ..Classified::default() });
            let classified = classify(&Rules { policy: Policy::Compact, ..rules }, bytes, &lines);
            prop_assert_eq!(classified.differences, vec![]);
        }
    }
}
