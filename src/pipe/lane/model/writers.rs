//! Those who write to the source: numbered records, plain and in transactions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::stage::Stage;
use crate::pipe::gather::Pair;

/// Every record has the next number. A transaction is a producer of its own.
pub(super) struct Writers {
    stage: Arc<Stage>,
    pairs: Vec<Pair>,
    records: u64,
    transactions: BTreeMap<u64, (u64, Vec<usize>)>,
    began: u64,
}

impl Writers {
    pub(super) fn new(stage: &Arc<Stage>, pairs: &[Pair]) -> Self {
        Self {
            stage: stage.clone(),
            pairs: pairs.to_vec(),
            records: 0,
            transactions: BTreeMap::new(),
            began: 0,
        }
    }

    fn record(&mut self) -> Vec<u8> {
        self.records += 1;
        self.records.to_be_bytes().to_vec()
    }

    /// Outside of transactions.
    pub(super) fn append(&mut self, partition: usize, count: usize) {
        for _ in 0..count {
            let bytes = self.record();
            let at = &self.pairs[partition].source;
            self.stage.world().source.get_mut(at).expect("a partition").plain(bytes);
        }
    }

    /// In the producer's transaction, which is begun where none is open.
    pub(super) fn transact(&mut self, producer: u64, partition: usize, count: usize) {
        if !self.transactions.contains_key(&producer) {
            self.began += 1;
            self.transactions.insert(producer, (self.began, Vec::new()));
        }
        for _ in 0..count {
            let bytes = self.record();
            let (transaction, partitions) =
                self.transactions.get_mut(&producer).expect("opened above");
            partitions.push(partition);
            let at = &self.pairs[partition].source;
            let mut world = self.stage.world();
            let log = world.source.get_mut(at).expect("a partition");
            log.append(*transaction, 0, bytes).expect("nobody fences it");
        }
    }

    /// Ends the producer's transaction, if one is open.
    pub(super) fn end(&mut self, producer: u64, commit: bool) {
        let Some((transaction, mut partitions)) = self.transactions.remove(&producer) else {
            return;
        };
        partitions.sort_unstable();
        partitions.dedup();
        let mut world = self.stage.world();
        world.note(if commit { "source commits" } else { "source aborts" });
        for partition in partitions {
            let at = &self.pairs[partition].source;
            world.source.get_mut(at).expect("a partition").mark(transaction, 0, commit);
        }
    }
}
