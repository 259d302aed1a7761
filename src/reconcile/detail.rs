//! The second reading: every record of a suspect, and what the judge says about them.

use std::sync::Arc;

use super::difference::Difference;
use super::fold::Digester;
use super::judge::{PartitionLines, PartitionPair, Rules, classify, coarse_because};
use super::key::{Key, KeyAt};
use super::line::Line;
use super::manifest::{Manifest, Seen};
use super::part::Part;
use super::read::Sink;
use super::spill::{Merged, Sorter, SpillDir};
use super::suspects::Suspects;
use crate::error::{Result, Side};
use crate::record::Record;

/// Why records of a key were not compared one by one.
pub(super) const TOO_MANY: &str =
    "it has more records than `reconcile.memory` allows to compare one by one";

/// One thread's share of the second reading.
pub struct Collect<'a> {
    side: Side,
    parts: &'a [Part],
    suspects: &'a Suspects,
    digester: Digester<'a>,
    /// Lines by key.
    pub sorter: Sorter,
}

impl<'a> Collect<'a> {
    /// Keeps the records of `suspects` within `budget` bytes.
    pub fn new(
        side: Side,
        parts: &'a [Part],
        suspects: &'a Suspects,
        digester: Digester<'a>,
        dir: &Arc<SpillDir>,
        budget: usize,
    ) -> Self {
        Self { side, parts, suspects, digester, sorter: Sorter::new(Arc::clone(dir), budget) }
    }
}

impl Sink for Collect<'_> {
    fn take(&mut self, part: usize, record: &Record<'_>) -> Result<()> {
        let this = &self.parts[part];
        if !self.suspects.contains(this.topic, self.digester.key(record.key)) {
            return Ok(());
        }
        let Some(line) = line(self.side, this, record, &mut self.digester) else { return Ok(()) };
        let at = KeyAt {
            topic: this.topic,
            key: self.digester.key(record.key),
            partition: this.source.partition,
        };
        Ok(self.sorter.add(at, &line)?)
    }

    fn end(&mut self, _part: usize, _position: i64) -> Result<()> {
        Ok(())
    }
}

/// What is kept of a record of a part; nothing where it does not count.
pub(super) fn line(
    side: Side,
    part: &Part,
    record: &Record<'_>,
    digester: &mut Digester<'_>,
) -> Option<Line> {
    let offset = record.offset;
    let (place, source_offset) = match side {
        Side::Source => (part.source_place(offset)?, None),
        Side::Target => part.target_place(offset)?,
    };
    let digest = digester.record(record, part.timestamps_kept);
    let (value, headers) = digester.parts(record);
    let copied_to = match (side, &part.ledger) {
        (Side::Source, Some(claim)) => claim.runs.to_target(offset),
        _ => None,
    };
    Some(Line {
        side,
        offset,
        source_offset,
        place,
        digest,
        value,
        headers,
        timestamp: record.timestamp.filter(|_| part.timestamps_kept),
        tombstone: record.value.is_none(),
        copied_to,
    })
}

/// What the judge made of one key of a topic.
pub struct Found {
    /// Index of the topic.
    pub topic: u32,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// Rows, one per partition at most.
    pub differences: Vec<Difference>,
    /// Records that are equal but for a timestamp that could not be written.
    pub untimed: u64,
    /// Partitions in which the key was not judged.
    pub superseded: u64,
}

/// Shows what became of each suspect, in the order of keys. Of a key with more than `most` records only
/// their manifests are compared.
pub fn judge_lines(
    mut source: Merged<Line>,
    mut target: Merged<Line>,
    most: usize,
    rules_of: &dyn Fn(u32) -> Rules,
    found: &mut dyn FnMut(Found) -> Result<()>,
) -> Result<()> {
    source.advance()?;
    target.advance()?;
    loop {
        let next = [source.entry(), target.entry()].into_iter().flatten().map(|(at, _)| at).min();
        let Some(first) = next.map(|at| at.to_owned()) else { return Ok(()) };
        let mut group = Group::new(most);
        group.gather(&mut source, &first)?;
        group.gather(&mut target, &first)?;
        let rules = rules_of(first.topic);
        found(group.judge(&rules, first))?;
    }
}

/// The lines of one key of a topic.
struct Group {
    partitions: Vec<PartitionLines>,
    manifests: Vec<PartitionPair>,
    lines: usize,
    most: usize,
}

impl Group {
    fn new(most: usize) -> Self {
        Self { partitions: Vec::new(), manifests: Vec::new(), lines: 0, most }
    }

    /// Takes all lines of the key of `first` from one side.
    fn gather(&mut self, side: &mut Merged<Line>, first: &Key) -> Result<()> {
        while let Some((at, line)) = side.entry()
            && at.topic == first.topic
            && at.key == first.key.as_deref()
        {
            let index = self.partitions.partition_point(|part| part.partition < at.partition);
            if self.partitions.get(index).is_none_or(|part| part.partition != at.partition) {
                let partition = at.partition;
                let lines = PartitionLines { partition, source: Vec::new(), target: Vec::new() };
                self.partitions.insert(index, lines);
                self.manifests
                    .insert(index, PartitionPair { partition, source: None, target: None });
            }
            let pair = &mut self.manifests[index];
            let (lines, manifest) = match line.side {
                Side::Source => (&mut self.partitions[index].source, &mut pair.source),
                Side::Target => (&mut self.partitions[index].target, &mut pair.target),
            };
            let (offset, digest) = (line.offset, line.digest);
            let seen = Seen { offset, digest, tombstone: line.tombstone, place: line.place };
            manifest.get_or_insert_with(Manifest::default).push(seen);
            self.lines += 1;
            if self.lines <= self.most {
                lines.push(line.clone());
            } else if self.lines == self.most + 1 {
                for part in &mut self.partitions {
                    (part.source, part.target) = (Vec::new(), Vec::new());
                }
            }
            side.advance()?;
        }
        Ok(())
    }

    fn judge(self, rules: &Rules, first: Key) -> Found {
        let key = first.key.as_deref();
        let (differences, untimed, superseded) = if self.lines > self.most {
            (coarse_because(TOO_MANY, rules, key, &self.manifests), 0, 0)
        } else {
            let classified = classify(rules, key, &self.partitions);
            (classified.differences, classified.untimed, classified.superseded)
        };
        Found { topic: first.topic, key: first.key, differences, untimed, superseded }
    }
}
