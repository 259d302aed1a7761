//! The first reading: every record into the manifest of its key, and into its partition's tally.

use std::sync::Arc;

use super::key::KeyAt;
use super::keying::{HASHED_KEY, Keying};
use super::manifest::{Place, Seen};
use super::part::{Part, Reach};
use super::read::Sink;
use super::sites::Only;
use super::spill::{Collector, SpillDir};
use super::tally::{Gaps, Tally};
use crate::digest::RecordDigest;
use crate::error::{Result, Side};
use crate::record::{Header, Record};

/// How a record is named and digested.
#[derive(Debug)]
pub struct Digester<'a> {
    keying: &'a Keying,
    ignored: &'a [String],
    scratch: Vec<u8>,
    hashed: [u8; HASHED_KEY],
}

impl<'a> Digester<'a> {
    /// Leaves out headers with a name in `ignored`.
    pub fn new(keying: &'a Keying, ignored: &'a [String]) -> Self {
        Self { keying, ignored, scratch: Vec::new(), hashed: [0; HASHED_KEY] }
    }

    /// Digest of the whole record.
    pub fn record(&mut self, record: &Record<'_>, timestamp_kept: bool) -> RecordDigest {
        if self.ignored.is_empty() {
            return self.keying.digest(record, timestamp_kept, &mut self.scratch);
        }
        let kept = kept(record.headers, self.ignored);
        let record = Record { headers: &kept, ..*record };
        self.keying.digest(&record, timestamp_kept, &mut self.scratch)
    }

    /// Digest of key and value alone, and digest of the headers alone.
    pub fn parts(&mut self, record: &Record<'_>) -> (RecordDigest, RecordDigest) {
        let value = Record { headers: &[], ..*record };
        let value = self.keying.digest(&value, false, &mut self.scratch);
        let headers = kept(record.headers, self.ignored);
        let headers = Record { key: None, value: None, headers: &headers, ..*record };
        (value, self.keying.digest(&headers, false, &mut self.scratch))
    }

    /// What stands for the key.
    pub fn key<'k>(&'k mut self, key: Option<&'k [u8]>) -> Option<&'k [u8]> {
        self.keying.key(key, &mut self.hashed)
    }
}

fn kept<'r>(headers: &[Header<'r>], ignored: &[String]) -> Vec<Header<'r>> {
    let ignore = |name: &[u8]| ignored.iter().any(|ignored| ignored.as_bytes() == name);
    headers.iter().filter(|(name, _)| !ignore(name)).copied().collect()
}

/// One thread's share of the first reading.
pub struct Fold<'a> {
    side: Side,
    parts: &'a [Part],
    digester: Digester<'a>,
    only: Option<&'a Only>,
    /// By index of the part: which of its runs named the last target record.
    near: Vec<usize>,
    /// Manifests by key.
    pub collector: Collector,
    /// By index of the part; `None` for those of other threads.
    pub tallies: Vec<Option<Tally>>,
}

impl<'a> Fold<'a> {
    /// Folds records of `side` within `budget` bytes.
    pub fn new(
        side: Side,
        parts: &'a [Part],
        digester: Digester<'a>,
        dir: &Arc<SpillDir>,
        budget: usize,
    ) -> Self {
        let collector = Collector::new(Arc::clone(dir), budget);
        let (near, tallies) = (vec![0; parts.len()], vec![None; parts.len()]);
        Self { side, parts, digester, only: None, near, collector, tallies }
    }

    /// Leaves out keys of other buckets.
    #[must_use]
    pub fn only(self, only: Option<&'a Only>) -> Self {
        Self { only, ..self }
    }
}

fn begun<'t>(tally: &'t mut Option<Tally>, reach: &Reach) -> &'t mut Tally {
    tally.get_or_insert_with(|| Tally {
        gaps: Gaps::starting_at(reach.from.max(reach.log_start)),
        ..Tally::default()
    })
}

/// The shortest stretch of offsets that may hold more than the marker of a transaction. Without a
/// ledger it is not known who wrote between whose records.
fn shortest_gap(part: &Part) -> i64 {
    if part.ledger.is_some() { 2 } else { 1 }
}

impl Sink for Fold<'_> {
    fn take(&mut self, part: usize, record: &Record<'_>) -> Result<()> {
        let this = &self.parts[part];
        let tally = begun(&mut self.tallies[part], this.reach(self.side));
        tally.read(record.bytes());
        if let Some(only) = self.only
            && !only.has(part, self.digester.key(record.key))
        {
            return Ok(());
        }
        let offset = record.offset;
        let place = match self.side {
            Side::Source => this.source_place(offset),
            Side::Target => this.next_target_place(offset, &mut self.near[part]),
        };
        if self.side == Side::Target && place != Some(Place::Beyond) {
            tally.gaps.visible(offset, shortest_gap(this));
        }
        let Some(place) = place else {
            tally.expired += 1;
            return Ok(());
        };
        let digest = self.digester.record(record, this.timestamps_kept);
        let seen = Seen { offset, digest, tombstone: record.value.is_none(), place };
        tally.count(&seen);
        let at = KeyAt {
            topic: this.topic,
            key: self.digester.key(record.key),
            partition: this.source.partition,
        };
        Ok(self.collector.add(at, seen)?)
    }

    fn end(&mut self, part: usize, _position: i64) -> Result<()> {
        let this = &self.parts[part];
        // Also of a part without a record.
        let tally = begun(&mut self.tallies[part], this.reach(self.side));
        if self.side == Side::Target {
            tally.gaps.end(this.target_reach.to, shortest_gap(this));
        }
        Ok(())
    }

    fn done(&mut self) -> Result<()> {
        Ok(self.collector.settle()?)
    }
}
