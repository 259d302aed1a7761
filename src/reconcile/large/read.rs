//! What the readings of large keys keep.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chunks::{Chunker, with_origin};
use super::gather::Wanted;
use crate::error::{Result, Side};
use crate::reconcile::detail::line;
use crate::reconcile::fold::Digester;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;
use crate::reconcile::part::Part;
use crate::reconcile::read::Sink;
use crate::reconcile::suspects::{Large, group};
use crate::record::Record;

/// Large keys by what stands for them.
pub(super) struct Index(HashMap<u128, usize>);

impl Index {
    pub(super) fn of(large: &[Large]) -> Self {
        let place = |(at, one): (usize, &Large)| (group(one.topic, one.key.as_deref()), at);
        Self(large.iter().enumerate().map(place).collect())
    }

    fn get(&self, part: &Part, record: &Record<'_>, digester: &mut Digester<'_>) -> Option<usize> {
        self.0.get(&group(part.topic, digester.key(record.key))).copied()
    }
}

/// Cuts the records of each large key and part into stretches.
pub(super) struct Cut<'a> {
    pub(super) side: Side,
    pub(super) parts: &'a [Part],
    pub(super) index: &'a Index,
    pub(super) digester: Digester<'a>,
    /// Mean length of a stretch.
    pub(super) mean: u64,
    /// By key and part.
    pub(super) chunkers: BTreeMap<(usize, usize), Chunker>,
}

impl Sink for Cut<'_> {
    fn take(&mut self, part: usize, record: &Record<'_>) -> Result<()> {
        let this = &self.parts[part];
        let Some(key) = self.index.get(this, record, &mut self.digester) else { return Ok(()) };
        let offset = record.offset;
        let placed = match self.side {
            Side::Source => this.source_place(offset).map(|place| (place, Some(offset))),
            Side::Target => this.target_place(offset),
        };
        let Some((place, origin)) = placed else { return Ok(()) };
        if place != Place::Beyond {
            let digest = self.digester.record(record, this.timestamps_kept);
            let by_ledger = this.ledger.is_some();
            let as_what = if by_ledger { with_origin(digest, origin) } else { digest };
            let mean = self.mean;
            let chunker = self.chunkers.entry((key, part)).or_insert_with(|| Chunker::new(mean));
            chunker.push(offset, digest, as_what);
        }
        Ok(())
    }

    fn end(&mut self, _part: usize, _position: i64) -> Result<()> {
        Ok(())
    }
}

/// Keeps those records of one large key that are wanted, while there is room.
pub(super) struct Pick<'a> {
    pub(super) side: Side,
    pub(super) parts: &'a [Part],
    pub(super) index: &'a Index,
    pub(super) digester: Digester<'a>,
    pub(super) wanted: &'a Wanted<'a>,
    /// Records that may still be kept, by all threads of both sides.
    pub(super) room: &'a AtomicUsize,
    /// With their partition.
    pub(super) lines: Vec<(i32, Line)>,
    /// Whether there was more than room.
    pub(super) too_many: bool,
}

impl Sink for Pick<'_> {
    fn take(&mut self, part: usize, record: &Record<'_>) -> Result<()> {
        let this = &self.parts[part];
        if self.too_many || self.index.get(this, record, &mut self.digester).is_none() {
            return Ok(());
        }
        let Some(line) = line(self.side, this, record, &mut self.digester) else { return Ok(()) };
        let partition = this.source.partition;
        if (self.wanted)(partition, &line) {
            let less = |room: usize| room.checked_sub(1);
            match self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
                Ok(_) => self.lines.push((partition, line)),
                Err(_) => self.too_many = true,
            }
        }
        Ok(())
    }

    fn end(&mut self, _part: usize, _position: i64) -> Result<()> {
        Ok(())
    }
}
