//! Whether two folders are the two sides of one proof. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::scope_file::{ScopeFile, ScopePartition, other_secret};
use crate::error::{Error, Result, Side};
use crate::reconcile::policy::Policy;

/// Two sides that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    /// The source's.
    pub source: ScopeFile,
    /// The target's.
    pub target: ScopeFile,
}

/// How a partition can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparable {
    /// By buckets and by keys.
    Yes,
    /// By keys alone: the sides have different policies, so their buckets mean different things.
    ByKey,
    /// Not at all: one side was read from a later offset on.
    BeginsLater,
}

impl Sides {
    /// Puts them together, in any order.
    ///
    /// # Errors
    /// They do not belong together; the error names the first thing that differs.
    pub fn new(a: ScopeFile, b: ScopeFile) -> Result<Self> {
        let (source, target) = match (a.side, b.side) {
            (Side::Source, Side::Target) => (a, b),
            (Side::Target, Side::Source) => (b, a),
            (side, _) => {
                return Err(Error::usage(format!("both folders are of the {side}"))
                    .hint("give one of `--side source` and one of `--side target`"));
            }
        };
        let sides = Self { source, target };
        sides.check()?;
        Ok(sides)
    }

    fn check(&self) -> Result<()> {
        let Self { source, target } = self;
        same("plan", &source.plan, &target.plan)?;
        same("what the plan says of topics and keys", &source.plan_common, &target.plan_common)?;
        same("schema", &source.schema, &target.schema)?;
        if source.hashed.is_some() != target.hashed.is_some() {
            same("`reconcile.keys`", &source.hashed, &target.hashed)?;
        }
        if source.hashed != target.hashed {
            return Err(other_secret());
        }
        same("headers left out", &source.ignored_headers, &target.ignored_headers)?;
        if source.ranges_of.is_some() != target.ranges_of.is_some() {
            let (with, without) = match source.ranges_of {
                Some(_) => (Side::Source, Side::Target),
                None => (Side::Target, Side::Source),
            };
            let what = format!("the {with} was read by the ledger, the {without} without it");
            return Err(Error::usage(what).hint(format!(
                "read the {without} again with `--scope` and the {with}'s `scope.json`"
            )));
        }
        same("pass that took the ranges", &source.ranges_of, &target.ranges_of)?;
        same("choice of buckets", &source.only, &target.only)?;
        let by_ledger = source.ranges_of.is_some();
        if by_ledger {
            let at = |of: &ScopePartition| (of.topic.clone(), of.partition);
            let all = |side: &ScopeFile| side.partitions.iter().map(at).collect::<Vec<_>>();
            same("partitions", &all(source), &all(target))?;
        }
        for (one, other) in self.partitions().values().filter_map(|pair| pair.0.zip(pair.1)) {
            let at = format!("`{}-{}`", one.topic, one.partition);
            let differ = |what: &str, a: Option<i64>, b: Option<i64>| match (a, b) {
                (Some(a), Some(b)) if a != b => Err(apart(&format!("{what} of {at}"), &a, &b)),
                _ => Ok(()),
            };
            differ("start", one.start, other.start)?;
            differ("position", one.position, other.position)?;
            differ("target start", one.target_from, other.target_from)?;
            differ("target end", one.target_to, other.target_to)?;
            if one.timestamps_kept != other.timestamps_kept {
                let what = format!("timestamps of {at} count on one side alone");
                return Err(Error::usage(what).hint(
                    "the target does not keep them: read the source again with `--scope` and the target's \
                     `scope.json`",
                ));
            }
        }
        Ok(())
    }

    /// Whether the ledger gave the ranges.
    pub fn by_ledger(&self) -> bool {
        self.source.ranges_of.is_some()
    }

    /// Every partition, with what is known of it on the source and on the target.
    pub fn partitions(&self) -> BTreeMap<(&str, i32), Pair<'_>> {
        let mut pairs: BTreeMap<(&str, i32), Pair<'_>> = BTreeMap::new();
        for one in &self.source.partitions {
            pairs.entry((&one.topic, one.partition)).or_default().0 = Some(one);
        }
        for one in &self.target.partitions {
            pairs.entry((&one.topic, one.partition)).or_default().1 = Some(one);
        }
        pairs
    }

    /// The policy by which a topic's keys are judged.
    pub fn policies(&self) -> BTreeMap<&str, Policy> {
        let mut policies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in self.source.partitions.iter().chain(&self.target.partitions) {
            policies.entry(&one.topic).or_default().insert(one.policy.text());
        }
        let all = |texts: BTreeSet<&str>| {
            texts.into_iter().map(Policy::of).reduce(Policy::combined).unwrap_or(Policy::Delete)
        };
        policies.into_iter().map(|(topic, texts)| (topic, all(texts))).collect()
    }
}

/// A partition on source and target.
pub type Pair<'a> = (Option<&'a ScopePartition>, Option<&'a ScopePartition>);

/// How a partition can be compared.
pub fn comparable(pair: Pair<'_>) -> Comparable {
    match pair {
        (Some(source), Some(target)) if source.compared_from != target.compared_from => {
            // Without a ledger only one side knows source offsets.
            match (source.compared_from, target.compared_from) {
                (Some(_), Some(_)) => Comparable::BeginsLater,
                _ => Comparable::Yes,
            }
        }
        (Some(source), Some(target)) if source.policy != target.policy => Comparable::ByKey,
        _ => Comparable::Yes,
    }
}

fn same<T: PartialEq + Debug>(what: &str, source: &T, target: &T) -> Result<()> {
    if source == target { Ok(()) } else { Err(apart(what, source, target)) }
}

fn apart(what: &str, source: &impl Debug, target: &impl Debug) -> Error {
    let what = format!(
        "the folders do not belong together: {what} differs: source {source:?}, target {target:?}"
    );
    Error::usage(what)
        .hint("read the source with `--scope` and the `scope.json` of the target's folder that you compare")
}

#[cfg(test)]
mod tests {
    use super::super::scope_file::tests::scope;
    use super::*;

    fn error(change: impl Fn(&mut ScopeFile)) -> String {
        let mut target = scope(Side::Target);
        change(&mut target);
        Sides::new(scope(Side::Source), target).unwrap_err().to_string()
    }

    #[test]
    fn two_sides_of_one_pass_belong_together_in_any_order() {
        let (source, target) = (scope(Side::Source), scope(Side::Target));
        let sides = Sides::new(target.clone(), source.clone()).unwrap();
        assert_eq!(sides, Sides::new(source, target).unwrap());
        assert_eq!(sides.partitions().len(), 1);
    }

    #[test]
    fn what_does_not_belong_together_is_refused_and_named() {
        assert!(error(|side| side.side = Side::Source).contains("both folders are of the source"));
        assert!(
            error(|side| side.plan = "x".into()).contains(r#"plan differs: source "orders-eu""#)
        );
        assert!(error(|side| side.plan_common = "x".into()).contains("topics and keys differs"));
        assert!(error(|side| side.hashed = Some("x".into())).contains("`reconcile.keys` differs"));
        assert!(
            error(|side| side.ranges_of = Some("x".into())).contains("took the ranges differs")
        );
        assert!(error(|side| side.ranges_of = None).contains("the target without it"));
        assert!(error(|side| side.only = Some("x".into())).contains("choice of buckets"));
        assert!(error(|side| side.partitions.clear()).contains("partitions differs"));
        assert!(error(|side| side.ignored_headers.clear()).contains("headers left out"));
        assert!(
            error(|side| side.partitions[0].position = Some(11))
                .contains("position of `orders-3` differs: source 10, target 11")
        );
        assert!(error(|side| side.partitions[0].timestamps_kept = false).contains("timestamps"));
        let (mut source, mut target) = (scope(Side::Source), scope(Side::Target));
        (source.hashed, target.hashed) = (Some("x".into()), Some("y".into()));
        let error = Sides::new(source, target).unwrap_err();
        assert!(error.what.contains("different secrets"), "{error}");
    }

    #[test]
    fn a_partition_that_begins_later_on_one_side_is_not_compared() {
        let sides = Sides::new(scope(Side::Source), scope(Side::Target)).unwrap();
        let of = |change: fn(&mut ScopePartition)| {
            let mut source = sides.source.partitions[0].clone();
            change(&mut source);
            comparable((Some(&source), Some(&sides.target.partitions[0])))
        };
        assert_eq!(of(|_| {}), Comparable::Yes);
        assert_eq!(of(|one| one.compared_from = Some(5)), Comparable::BeginsLater);
        assert_eq!(of(|one| one.policy = Policy::Delete), Comparable::ByKey);
    }
}
