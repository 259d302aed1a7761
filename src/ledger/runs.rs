//! The exact map from source offsets to target offsets of one partition, coded as runs.
//!
//! Source and target offsets never agree (markers, aborted and compacted records take offsets), and
//! extrapolating between known pairs is the classic fault of offset migration (KAFKA-12468,
//! KAFKA-12635). A run is a stretch in which both sides advance by constant steps, so a source with a
//! hole at every record is one run, as one without holes is.

use std::fmt;

/// A stretch of records whose source and target offsets each advance by a constant step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Source offset of its first record.
    pub source: i64,
    /// Target offset of its first record.
    pub target: i64,
    /// From one record's source offset to the next one's; 1 in a run of one record.
    pub source_step: i64,
    /// From one record's target offset to the next one's; 1 in a run of one record.
    pub target_step: i64,
    /// How many records, at least 1.
    pub count: u64,
}

impl Run {
    /// Offsets of record `index`, below `count`.
    fn at(&self, index: u64) -> (i64, i64) {
        // A run's offsets were checked or pushed, so they fit; `index` is below a count that does.
        let index = index.cast_signed();
        (self.source + self.source_step * index, self.target + self.target_step * index)
    }

    fn last(&self) -> (i64, i64) {
        self.at(self.count - 1)
    }
}

/// Offsets that do not rise on both sides: the map would not be one of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRising {
    /// The pair that was mapped last, if any.
    pub after: Option<(i64, i64)>,
    /// The pair that came next: source offset, target offset.
    pub pair: (i64, i64),
}

impl fmt::Display for NotRising {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, target) = self.pair;
        match self.after {
            Some((s, t)) => write!(f, "{source} → {target} cannot follow {s} → {t}"),
            None => write!(f, "{source} → {target} has a negative offset"),
        }
    }
}

impl std::error::Error for NotRising {}

/// An exact map of source offsets to target offsets, both strictly rising.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    runs: Vec<Run>,
    /// How many records.
    len: u64,
    /// Coded bytes of all runs but the last, without commas.
    closed: usize,
}

/// The end of nothing: the first run is coded relative to it, that is with its offsets as they are.
const START: (i64, i64) = (-1, -1);

impl Runs {
    /// Adds a record: both offsets must be above the ones before.
    ///
    /// # Panics
    /// If one is not; where offsets come from outside use [`try_push`](Runs::try_push).
    pub fn push(&mut self, source: i64, target: i64) {
        if let Err(error) = self.try_push(source, target) {
            panic!("offsets must rise: {error}");
        }
    }

    /// Adds a record, or says that an offset is not above the one before.
    pub fn try_push(&mut self, source: i64, target: i64) -> Result<(), NotRising> {
        let (last_source, last_target) = self.rising((source, target))?;
        match self.runs.last_mut() {
            // The second record of a run decides its steps.
            Some(run) if run.count == 1 => {
                (run.source_step, run.target_step) = (source - last_source, target - last_target);
                run.count = 2;
            }
            Some(run)
                if source - last_source == run.source_step
                    && target - last_target == run.target_step =>
            {
                run.count += 1;
            }
            _ => self.open(Run { source, target, source_step: 1, target_step: 1, count: 1 }),
        }
        self.len += 1;
        Ok(())
    }

    /// Adds all runs of `other` behind these.
    pub fn append(&mut self, other: &Runs) -> Result<(), NotRising> {
        other.runs.iter().try_for_each(|run| self.push_run(*run))
    }

    /// Adds a whole run, as it is.
    fn push_run(&mut self, run: Run) -> Result<(), NotRising> {
        self.rising((run.source, run.target))?;
        self.open(run);
        self.len += run.count;
        Ok(())
    }

    fn open(&mut self, run: Run) {
        self.closed += self.last_coded();
        self.runs.push(run);
    }

    /// Returns the last pair if `pair` may follow it.
    fn rising(&self, pair: (i64, i64)) -> Result<(i64, i64), NotRising> {
        let end = self.end();
        if pair.0 > end.0 && pair.1 > end.1 {
            Ok(end)
        } else {
            Err(NotRising { after: self.last(), pair })
        }
    }

    fn end(&self) -> (i64, i64) {
        self.last().unwrap_or(START)
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many records it maps.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it maps no record.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Source and target offset of the first record.
    pub fn first(&self) -> Option<(i64, i64)> {
        self.runs.first().map(|run| (run.source, run.target))
    }

    /// Source and target offset of the last record.
    pub fn last(&self) -> Option<(i64, i64)> {
        self.runs.last().map(Run::last)
    }

    /// Every record's source and target offset, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.runs.iter().flat_map(|run| (0..run.count).map(|index| run.at(index)))
    }

    /// Target offset of exactly this source offset.
    pub fn to_target(&self, source: i64) -> Option<i64> {
        let run = self.runs[..self.runs.partition_point(|run| run.source <= source)].last()?;
        let index = exactly(source - run.source, run.source_step, run.count)?;
        Some(run.at(index).1)
    }

    /// Source offset of exactly this target offset.
    pub fn to_source(&self, target: i64) -> Option<i64> {
        let run = self.runs[..self.runs.partition_point(|run| run.target <= target)].last()?;
        let index = exactly(target - run.target, run.target_step, run.count)?;
        Some(run.at(index).0)
    }

    /// [`Runs::to_source`] for offsets that rise: `near` is where the last one was found (0 at first), so
    /// that the next one is looked for there and in the run behind it, and only then everywhere.
    pub fn to_source_near(&self, target: i64, near: &mut usize) -> Option<i64> {
        let begins = |run: usize| self.runs.get(run).is_some_and(|run| run.target <= target);
        let found = [*near, *near + 1].into_iter().find(|run| begins(*run) && !begins(run + 1));
        let found = match found {
            Some(found) => found,
            None => self.runs.partition_point(|run| run.target <= target).checked_sub(1)?,
        };
        *near = found;
        let run = self.runs.get(found)?;
        let index = exactly(target - run.target, run.target_step, run.count)?;
        Some(run.at(index).0)
    }

    /// Target offset of the first record at or after this source offset: where a consumer that would
    /// read `source` next goes on.
    pub fn translate_next(&self, source: i64) -> Option<i64> {
        self.next_at(source, |run| (run.source, run.source_step)).map(|(_, target)| target)
    }

    /// Source offset of the first record at or after this target offset.
    pub fn translate_source_next(&self, target: i64) -> Option<i64> {
        self.next_at(target, |run| (run.target, run.target_step)).map(|(source, _)| source)
    }

    /// The first pair at or after `at`, on the side of which `of` tells a run's first offset and step.
    fn next_at(&self, at: i64, of: impl Fn(&Run) -> (i64, i64)) -> Option<(i64, i64)> {
        let after = self.runs.partition_point(|run| of(run).0 <= at);
        let inside = self.runs[..after].last().and_then(|run| {
            let (first, step) = of(run);
            let distance = at - first;
            let index = (distance / step + i64::from(distance % step > 0)).cast_unsigned();
            (index < run.count).then(|| run.at(index))
        });
        inside.or_else(|| self.runs.get(after).map(|run| run.at(0)))
    }

    /// Bytes of its JSON form. Constant time: may be asked after every record.
    pub fn coded_len(&self) -> usize {
        let commas = self.runs.len().saturating_sub(1);
        2 + self.closed + self.last_coded() + commas
    }

    /// Cuts it into maps of at most `max_bytes` coded bytes each (but at least one run each), which
    /// [`append`](Runs::append)ed in order give it back.
    pub fn split(&self, max_bytes: usize) -> Vec<Runs> {
        let mut parts = Vec::new();
        let mut part = Runs::default();
        for run in &self.runs {
            let with_run = part.coded_len() + 1 + super::runs_json::coded_len(run, part.end());
            if !part.is_empty() && with_run > max_bytes {
                parts.push(std::mem::take(&mut part));
            }
            part.open(*run);
            part.len += run.count;
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }

    fn last_coded(&self) -> usize {
        match self.runs.as_slice() {
            [] => 0,
            [run] => super::runs_json::coded_len(run, START),
            [.., before, run] => super::runs_json::coded_len(run, before.last()),
        }
    }

    /// For the decoder: adds a run coded relative to the end of the one before, if it is one.
    pub(super) fn push_coded(&mut self, coded: &super::runs_json::Coded) -> Option<()> {
        let run = coded.decode(self.end())?;
        self.push_run(run).ok()
    }

    /// For the encoder: the runs with what each is relative to.
    pub(super) fn with_ends(&self) -> impl Iterator<Item = (&Run, (i64, i64))> {
        let ends = std::iter::once(START).chain(self.runs.iter().map(Run::last));
        self.runs.iter().zip(ends)
    }
}

/// Which record of a run lies exactly `distance` behind its first one.
fn exactly(distance: i64, step: i64, count: u64) -> Option<u64> {
    let index = (distance / step).cast_unsigned();
    (distance % step == 0 && index < count).then_some(index)
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
