//! What the comparison of manifests comes to: rows that are certain, and keys to be read again.

use super::detail::Found;
use super::difference::Difference;
use super::judge::{Judged, PartitionPair, Rules, coarse, compare};
use super::manifest::Manifest;
use super::part::Part;
use super::pass::{Pass, rules};
use super::read::unless_stopped;
use super::scope::Scope;
use super::spill::{Merged, join};
use super::suspects::{Large, Suspects};
use crate::error::{Error, Result, Side};
use crate::report::audit::cell::KeyForm;
use crate::report::audit::{DiffFile, Folder, ManifestFile, Written};

/// Both readings' results.
pub(super) struct Compared {
    /// Keys that are to be read again.
    pub suspects: Suspects,
    /// What is told of each key and partition.
    pub detail: Detail,
    /// Rows of keys that cannot be read again: there are more than memory takes.
    pub coarse: Vec<(u32, Option<Vec<u8>>, Difference)>,
    /// The manifests of both sides.
    pub manifests: [Written; 2],
}

/// Differences as they are found, in the order of keys.
pub(super) struct Detail {
    /// `diff.csv`.
    pub diff: DiffFile,
    /// Keys that differ, by part.
    pub differences: Vec<u64>,
    /// Keys that were not judged, by part.
    pub superseded: Vec<u64>,
    /// Keys and partitions that turned out not to be judged when they were read again.
    pub superseded_since: u64,
    /// Records that are equal but for a timestamp that could not be written.
    pub untimed: u64,
    /// Parts whose beginning expired between the two readings, with suspects in it perhaps.
    pub overtaken: Vec<bool>,
}

impl Detail {
    /// What became of a suspect.
    pub fn take(&mut self, scope: &Scope, found: Found) -> Result<()> {
        self.untimed += found.untimed;
        self.superseded_since += found.superseded;
        for difference in &found.differences {
            self.row(scope, found.topic, found.key.as_deref(), difference)?;
        }
        Ok(())
    }

    /// A difference that gets no row.
    fn count(&mut self, scope: &Scope, topic: u32, difference: &Difference) {
        self.differences[part_of(&scope.parts, topic, difference.partition)] += 1;
        self.diff.count(difference.kind);
    }

    /// A row of `diff.csv`.
    pub fn row(
        &mut self,
        scope: &Scope,
        topic: u32,
        key: Option<&[u8]>,
        difference: &Difference,
    ) -> Result<()> {
        self.differences[part_of(&scope.parts, topic, difference.partition)] += 1;
        self.diff.row(&scope.topics[topic as usize].source, key, difference)
    }
}

/// Index of a part: they are sorted by topic and partition.
pub(super) fn part_of(parts: &[Part], topic: u32, partition: i32) -> usize {
    parts.partition_point(|part| (part.topic, part.source.partition) < (topic, partition))
}

/// Walks both sides' manifests: writes them down, and judges each key.
pub(super) fn compare_manifests(
    pass: &Pass<'_>,
    scope: &Scope,
    folder: &Folder,
    form: KeyForm,
    [source, target]: [Merged<Manifest>; 2],
) -> Result<Compared> {
    let parts = scope.parts.len();
    let mut files = [
        ManifestFile::create(folder, Side::Source, form)?,
        ManifestFile::create(folder, Side::Target, form)?,
    ];
    let mut suspects = Suspects::new(pass.budget.suspects, parts);
    let mut coarse_rows = Vec::new();
    let mut detail = Detail {
        diff: DiffFile::create(folder, form, pass.plan.diff.max_rows)?,
        differences: vec![0; parts],
        superseded: vec![0; parts],
        superseded_since: 0,
        untimed: 0,
        overtaken: vec![false; parts],
    };
    join::<Error>(
        source,
        target,
        |side, at, manifest| {
            let topic = &scope.topics[at.topic as usize].source;
            files[side as usize].row(topic, at.key, at.partition, manifest)
        },
        |topic, key, pairs| {
            unless_stopped(pass.board)?;
            let rules = rules(scope, topic);
            let index = |pair: &PartitionPair| part_of(&scope.parts, topic, pair.partition);
            match compare(&rules, key, pairs) {
                Judged::Clean if !half_known(&scope.parts, index, pairs) => return Ok(()),
                Judged::Superseded(_) if !half_known(&scope.parts, index, pairs) => {
                    for pair in pairs {
                        let (source, target) = pair.sides();
                        let beyond = source.beyond > 0 || target.beyond > 0;
                        // A key that has only newer records is not in what is proved here.
                        let claimed = source.records() > 0 || target.records() > 0;
                        detail.superseded[index(pair)] += u64::from(beyond && claimed);
                    }
                    return Ok(());
                }
                _ => {}
            }
            if !suspect(&mut suspects, (&rules, pass.budget.lines), (topic, key), pairs, index) {
                for difference in coarse(&rules, key, pairs) {
                    // Rows of suspects come first; what can have no row any more is counted.
                    if (coarse_rows.len() as u64) < pass.plan.diff.max_rows {
                        coarse_rows.push((topic, key.map(<[u8]>::to_vec), difference));
                    } else {
                        detail.count(scope, topic, &difference);
                    }
                }
            }
            Ok(())
        },
    )?;
    let [source, target] = files;
    let manifests = [source.finish()?, target.finish()?];
    Ok(Compared { suspects, detail, coarse: coarse_rows, manifests })
}

/// Notes a key that is to be read again; `false` if there is no room for it. One of which every record
/// counts, and that has more than `most`, is a large one.
fn suspect(
    suspects: &mut Suspects,
    (rules, most): (&Rules, usize),
    (topic, key): (u32, Option<&[u8]>),
    pairs: &[PartitionPair],
    part_of: impl Fn(&PartitionPair) -> usize,
) -> bool {
    let records = |pair: &PartitionPair| {
        let (source, target) = pair.sides();
        source.records() + target.records() + target.foreign + target.beyond
    };
    if rules.last_only(key) || pairs.iter().map(records).sum::<u64>() <= most as u64 {
        return suspects.add(topic, key, pairs, part_of);
    }
    let (key, pairs) = (key.map(<[u8]>::to_vec), pairs.to_vec());
    suspects.add_large(Large { topic, key, pairs })
}

/// Whether a tombstone faces nothing in a pass that goes on behind an earlier one: an older value may
/// lie before it on the side that lacks the tombstone, so the key is looked up from the beginning.
fn half_known(
    parts: &[Part],
    index: impl Fn(&PartitionPair) -> usize,
    pairs: &[PartitionPair],
) -> bool {
    pairs.iter().any(|pair| {
        let part = &parts[index(pair)];
        let (source, target) = pair.sides();
        part.policy.compacts()
            && part.proved_before.is_some()
            && source.beyond == 0
            && target.beyond == 0
            && source.last.is_some() != target.last.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{Place, Seen};
    use super::super::part::tests::part;
    use super::super::policy::Policy;
    use super::*;
    use crate::digest::RecordDigest;

    fn seen(place: Place) -> Option<Manifest> {
        let mut manifest = Manifest::default();
        manifest.push(Seen { offset: 5, digest: RecordDigest(1), tombstone: true, place });
        Some(manifest)
    }

    #[test]
    fn a_tombstone_that_faces_nothing_is_looked_up_only_behind_an_earlier_pass() {
        let mut compacted = Part { policy: Policy::Compact, ..part() };
        let half = |part: &Part, source, target| {
            let pair = PartitionPair { partition: 0, source, target };
            half_known(std::slice::from_ref(part), |_| 0, &[pair])
        };
        let claimed = seen(Place::Claimed);
        assert!(!half(&compacted, claimed, None), "everything was read");
        compacted.resume(3, 3);
        assert!(half(&compacted, claimed, None) && half(&compacted, None, claimed));
        assert!(!half(&compacted, claimed, claimed));
        let mut newer = claimed;
        if let (Some(newer), Some(beyond)) = (&mut newer, seen(Place::Beyond)) {
            newer.absorb(&beyond);
        }
        assert!(!half(&compacted, newer, None), "it is superseded");
        let mut other = part();
        other.resume(3, 3);
        assert!(!half(&other, claimed, None), "all its records count");
    }
}
