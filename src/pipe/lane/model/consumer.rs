//! The source's consumer, over the model's logs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::stage::{Point, Stage};
use crate::cluster::{Class, ClusterError};
use crate::error::Side;
use crate::pipe::engine::{Batch, Polled, Source, StartAt};
use crate::plan::TopicPartition;
use crate::record::Record;

/// A client that gives up has waited so long.
pub(super) const GIVEN_UP: Duration = Duration::from_secs(10);

pub(super) fn error(side: Side, class: Class, what: &str) -> ClusterError {
    ClusterError::new(side, class, what)
}

/// The bytes of a record, shown as a consumer does.
pub(super) fn record(offset: i64, bytes: &[u8]) -> Record<'_> {
    Record {
        offset,
        leader_epoch: Some(0),
        timestamp: Some(1),
        key: None,
        value: Some(bytes),
        headers: &[],
    }
}

/// Shows records of a log to whoever reads it.
pub(super) fn show<'a>(
    found: impl Iterator<Item = (i64, &'a [u8])>,
    each: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
) {
    for (offset, bytes) in found {
        if each(&record(offset, bytes)).is_break() {
            return;
        }
    }
}

/// Some records of one partition.
#[derive(Debug)]
pub(super) struct Few {
    partition: usize,
    pub(super) records: Vec<(i64, Vec<u8>)>,
}

impl Batch for Few {
    fn partition(&self) -> usize {
        self.partition
    }

    fn len(&self) -> usize {
        self.records.len()
    }

    fn offset(&self, index: usize) -> i64 {
        self.records[index].0
    }

    fn visit(&self, see: &mut dyn FnMut(usize, &Record<'_>)) {
        for (index, (offset, bytes)) in self.records.iter().enumerate() {
            see(index, &record(*offset, bytes));
        }
    }
}

struct Reading {
    at: TopicPartition,
    next: i64,
    paused: bool,
    /// The end that was told.
    told: Option<i64>,
}

/// The source's consumer.
pub(super) struct Consumer {
    stage: Arc<Stage>,
    actor: usize,
    readings: Vec<Reading>,
    first: usize,
}

impl Consumer {
    pub(super) fn new(stage: &Arc<Stage>, actor: usize) -> Self {
        Self { stage: stage.clone(), actor, readings: Vec::new(), first: 0 }
    }
}

impl Source for Consumer {
    type Batch = Few;

    fn assign(&mut self, from: &[StartAt]) -> Result<(), ClusterError> {
        drop(self.stage.step(self.actor));
        let reading = |StartAt { at, offset, .. }: &StartAt| Reading {
            at: at.clone(),
            next: *offset,
            paused: false,
            told: None,
        };
        self.readings = from.iter().map(reading).collect();
        Ok(())
    }

    fn pause(&mut self, partition: usize) -> Result<(), ClusterError> {
        self.readings[partition].paused = true;
        Ok(())
    }

    fn poll(&mut self, wait: Duration) -> Result<Vec<Polled<Few>>, ClusterError> {
        let mut world = self.stage.step(self.actor);
        if world.fault(self.actor, Point::Poll).is_some() {
            world.now += GIVEN_UP;
            return Err(error(Side::Source, Class::Retriable, "no answer"));
        }
        let mut room = world.batch;
        let mut polled = Vec::new();
        let count = self.readings.len();
        self.first += 1;
        for partition in (0..count).map(|n| (n + self.first) % count) {
            let reading = &mut self.readings[partition];
            if reading.paused || room == 0 {
                continue;
            }
            let log = &world.source[&reading.at];
            let end = log.stable();
            let found = log.below(reading.next, end).take(room);
            let records: Vec<_> = found.map(|(at, bytes)| (at, bytes.to_vec())).collect();
            if let Some((last, _)) = records.last() {
                room -= records.len();
                reading.next = last + 1;
                polled.push(Polled::Records(Few { partition, records }));
            }
            if log.below(reading.next, end).next().is_none() && reading.told != Some(end) {
                reading.next = end;
                reading.told = Some(end);
                polled.push(Polled::End { partition, position: end });
            }
        }
        if polled.is_empty() {
            world.now += wait;
        }
        Ok(polled)
    }
}
