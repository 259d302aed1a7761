//! What a lane asks the clusters of the model.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::consumer::{error, record, show};
use super::log::Log;
use super::stage::{Fault, Point, Stage, World};
use crate::cluster::{
    At, Class, ClusterError, First, LogRange, OffsetAt, Reached, TopicConfig, TopicInfo,
};
use crate::error::Side;
use crate::ledger::{LedgerReader, Logs};
use crate::pipe::ask::{Ask, Offsets, PendingIds};
use crate::plan::TopicPartition;
use crate::record::Record;

/// How long the client tries on by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// A worker's connections.
#[derive(Clone)]
pub(super) struct Connections {
    stage: Arc<Stage>,
    actor: usize,
    ledger: Arc<LedgerReader>,
}

impl Connections {
    pub(super) fn new(stage: &Arc<Stage>, actor: usize, ledger: &str) -> Self {
        let logs = LedgerLogs { stage: stage.clone(), actor };
        let ledger = Arc::new(LedgerReader::over(Box::new(logs), Arc::from(ledger)));
        Self { stage: stage.clone(), actor, ledger }
    }
}

fn log(world: &World, side: Side, at: &TopicPartition) -> Log {
    let logs = match side {
        Side::Source => &world.source,
        Side::Target => &world.target.logs,
    };
    logs[at].clone()
}

fn committed(world: &World, partitions: &[TopicPartition]) -> BTreeMap<TopicPartition, i64> {
    let one = |at: &TopicPartition| Some((at.clone(), *world.target.offsets().get(at)?));
    partitions.iter().filter_map(one).collect()
}

fn fail(world: &mut World, actor: usize, side: Side) -> Result<(), ClusterError> {
    match world.fault(actor, Point::Ask) {
        None => Ok(()),
        Some(Fault::AskDenied) => Err(error(side, Class::Final, "not authorized")),
        Some(_) => {
            world.now += PATIENCE;
            Err(error(side, Class::Retriable, "no answer to a question"))
        }
    }
}

fn offset_of(log: &Log, at: At) -> i64 {
    match at {
        At::LogStart | At::Timestamp(_) => 0,
        At::LogEnd => log.end(),
        At::LastStable => log.stable(),
    }
}

fn offsets(
    stage: &Stage,
    actor: usize,
    side: Side,
    partitions: &[TopicPartition],
    at: At,
) -> Result<Offsets, ClusterError> {
    let mut world = stage.step(actor);
    fail(&mut world, actor, side)?;
    let one = |of: &TopicPartition| {
        let offset = offset_of(&log(&world, side, of), at);
        (of.clone(), Ok(OffsetAt { offset, leader_epoch: Some(0) }))
    };
    Ok(partitions.iter().map(one).collect())
}

impl Ask for Connections {
    fn describe(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        fail(&mut self.stage.step(self.actor), self.actor, side)?;
        let info = |name: &&str| {
            let name = (*name).to_owned();
            let id = Some(format!("id of {name} on the {side}"));
            (name.clone(), Some(TopicInfo { name, partitions: 8, replicas: 1, id }))
        };
        Ok(topics.iter().map(info).collect())
    }

    fn describe_known(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        self.describe(side, topics)
    }

    fn configs(
        &self,
        side: Side,
        _topics: &[&str],
    ) -> Result<BTreeMap<String, Vec<TopicConfig>>, ClusterError> {
        fail(&mut self.stage.step(self.actor), self.actor, side)?;
        Ok(BTreeMap::new())
    }

    fn offsets(
        &self,
        side: Side,
        partitions: &[TopicPartition],
        at: At,
    ) -> Result<Offsets, ClusterError> {
        offsets(&self.stage, self.actor, side, partitions, at)
    }

    fn first_at(
        &self,
        side: Side,
        at: &[(TopicPartition, i64)],
        each: &mut dyn FnMut(usize, First<'_>),
    ) -> Result<(), ClusterError> {
        let mut world = self.stage.step(self.actor);
        fail(&mut world, self.actor, side)?;
        for (index, (of, from)) in at.iter().enumerate() {
            let log = log(&world, side, of);
            match log.below(*from, log.stable()).next() {
                Some((offset, bytes)) => each(index, First::Record(&record(offset, bytes))),
                None => each(index, First::None { end: log.stable() }),
            }
        }
        Ok(())
    }

    fn source_ids(&self, topics: &[Arc<str>]) -> PendingIds {
        let (asked, topics) = (self.clone(), topics.to_vec());
        Box::new(move |_| {
            let names: Vec<&str> = topics.iter().map(AsRef::as_ref).collect();
            let found = asked.describe(Side::Source, &names)?;
            let id = |(name, info): (String, Option<TopicInfo>)| {
                (Arc::from(name), info.and_then(|info| info.id))
            };
            Ok(found.into_iter().map(id).collect())
        })
    }

    fn group_offsets(
        &self,
        _group: &str,
        partitions: &[TopicPartition],
    ) -> Result<Option<BTreeMap<TopicPartition, i64>>, ClusterError> {
        let mut world = self.stage.step(self.actor);
        fail(&mut world, self.actor, Side::Target)?;
        if world.target.unstable(partitions) {
            world.note("group offsets were open");
            return Ok(None);
        }
        Ok(Some(committed(&world, partitions)))
    }

    fn group_offsets_committed(
        &self,
        _group: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, i64>, ClusterError> {
        let mut world = self.stage.step(self.actor);
        fail(&mut world, self.actor, Side::Target)?;
        world.note("open group offsets were judged");
        Ok(committed(&world, partitions))
    }

    fn ledger(&self) -> &LedgerReader {
        &self.ledger
    }
}

/// The logs of the ledger.
struct LedgerLogs {
    stage: Arc<Stage>,
    actor: usize,
}

impl Logs for LedgerLogs {
    fn offsets(&self, partitions: &[TopicPartition], at: At) -> Result<Offsets, ClusterError> {
        offsets(&self.stage, self.actor, Side::Target, partitions, at)
    }

    fn read(
        &self,
        LogRange { at, from, until }: &LogRange,
        each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> Result<(), ClusterError> {
        let log = {
            let mut world = self.stage.step(self.actor);
            fail(&mut world, self.actor, Side::Target)?;
            log(&world, Side::Target, at)
        };
        show(log.below(*from, *until), each);
        if log.stable() >= *until {
            return Ok(());
        }
        self.stage.step(self.actor).now += PATIENCE;
        Err(error(Side::Target, Class::Retriable, "nothing came up to the end of the range"))
    }

    fn read_each(
        &self,
        ranges: &[LogRange],
        each: &mut dyn FnMut(usize, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Reached>, ClusterError> {
        for (index, range) in ranges.iter().enumerate() {
            self.read(range, &mut |record| each(index, record))?;
        }
        Ok(ranges.iter().map(|range| Reached::Position(range.until)).collect())
    }

    fn lacks(&self, _topic: &str) -> bool {
        false
    }
}
