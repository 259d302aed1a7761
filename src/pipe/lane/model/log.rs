//! A partition's log: records, control records, and which records a `read_committed` consumer sees.

use std::collections::BTreeMap;

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its transaction is open here: no marker was written yet.
    Open,
    Committed,
    Aborted,
}

#[derive(Debug, Clone)]
enum Item {
    Data { producer: Option<u64>, fate: Fate, bytes: Vec<u8> },
    Marker,
}

/// The producer is fenced: a newer epoch has written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StaleEpoch;

/// Offsets are indices. What a broker keeps per producer id is kept: the newest epoch, and where its
/// open transaction begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    items: Vec<Item>,
    open: BTreeMap<u64, i64>,
    epochs: BTreeMap<u64, u32>,
}

impl Log {
    /// The high watermark.
    pub(super) fn end(&self) -> i64 {
        i64::try_from(self.items.len()).expect("a short log")
    }

    /// The last stable offset.
    pub(super) fn stable(&self) -> i64 {
        self.open.values().copied().min().unwrap_or_else(|| self.end())
    }

    /// A record outside of transactions.
    pub(super) fn plain(&mut self, bytes: Vec<u8>) -> i64 {
        self.items.push(Item::Data { producer: None, fate: Fate::Committed, bytes });
        self.end() - 1
    }

    /// A record of a producer's transaction.
    pub(super) fn append(
        &mut self,
        producer: u64,
        epoch: u32,
        bytes: Vec<u8>,
    ) -> Result<i64, StaleEpoch> {
        self.newer(producer, epoch)?;
        let offset = self.end();
        self.items.push(Item::Data { producer: Some(producer), fate: Fate::Open, bytes });
        self.open.entry(producer).or_insert(offset);
        Ok(offset)
    }

    /// A transaction marker: decides about every open record of the producer, whatever transaction they
    /// were meant for. That is the flaw of the protocol before KIP-890.
    pub(super) fn mark(&mut self, producer: u64, epoch: u32, commit: bool) {
        let decided = if commit { Fate::Committed } else { Fate::Aborted };
        if let Some(first) = self.open.remove(&producer) {
            let first = usize::try_from(first).expect("an index");
            for item in &mut self.items[first..] {
                match item {
                    Item::Data { producer: Some(of), fate, .. } if *of == producer => {
                        *fate = decided;
                    }
                    _ => {}
                }
            }
        }
        self.items.push(Item::Marker);
        let newest = self.epochs.entry(producer).or_insert(epoch);
        *newest = epoch.max(*newest);
    }

    fn newer(&mut self, producer: u64, epoch: u32) -> Result<(), StaleEpoch> {
        let newest = self.epochs.entry(producer).or_insert(epoch);
        if epoch < *newest {
            return Err(StaleEpoch);
        }
        *newest = epoch;
        Ok(())
    }

    /// Committed records from `from` on, with their offsets. Those behind the last stable offset are
    /// among them; [`below`](Self::below) is what a consumer gets.
    pub(super) fn committed(&self, from: i64) -> impl Iterator<Item = (i64, &[u8])> {
        self.with_fate(Fate::Committed).filter(move |(offset, _)| *offset >= from)
    }

    /// Records that no marker decides yet.
    pub(super) fn undecided(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.with_fate(Fate::Open)
    }

    /// What a `read_committed` consumer gets from `from` on and below `until`.
    pub(super) fn below(&self, from: i64, until: i64) -> impl Iterator<Item = (i64, &[u8])> {
        let until = until.min(self.stable());
        self.committed(from).take_while(move |(offset, _)| *offset < until)
    }

    fn with_fate(&self, wanted: Fate) -> impl Iterator<Item = (i64, &[u8])> {
        (0..).zip(&self.items).filter_map(move |(offset, item)| match item {
            Item::Data { fate, bytes, .. } if *fate == wanted => Some((offset, bytes.as_slice())),
            _ => None,
        })
    }
}
