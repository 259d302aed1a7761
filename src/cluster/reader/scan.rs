//! Which partitions of a reading are done: what each fetched batch, end or error means for them.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::position_is_gone;
use crate::cluster::class::{Call, Class, classify};
use crate::cluster::sys::code::Code;
use crate::cluster::sys::consume::{Fetched, Notice};
use crate::cluster::sys::fault::Fault;
use crate::plan::TopicPartition;
use crate::record::Record;

/// What a scan comes by in a partition.
pub(super) enum Seen<'a> {
    /// A visible record.
    Record(&'a Record<'a>),
    /// The end of the partition; the next offset to be read there.
    End(i64),
    /// The offset that comes next is not in the log; the client's words.
    Lost(String),
}

/// Which partitions are still being read.
pub(super) struct Scan {
    index: HashMap<(String, i32), usize>,
    from: Vec<i64>,
    done: Vec<bool>,
    /// How many are not done.
    pub(super) open: usize,
}

impl Scan {
    /// None is done yet.
    pub(super) fn of(start: &[(TopicPartition, i64)]) -> Scan {
        let key = |at: &TopicPartition| (at.topic.to_string(), at.partition);
        Scan {
            index: start.iter().enumerate().map(|(i, (at, _))| (key(at), i)).collect(),
            from: start.iter().map(|(_, offset)| *offset).collect(),
            done: vec![false; start.len()],
            open: start.len(),
        }
    }

    /// Says whether it was about a partition that is still being read.
    pub(super) fn take(
        &mut self,
        fetched: Fetched,
        see: &mut dyn FnMut(usize, Seen<'_>) -> bool,
    ) -> Result<bool, Fault> {
        let (topic, partition) = match &fetched {
            Fetched::Records(_, partition, messages) => (messages.topic().to_owned(), *partition),
            Fetched::Notice(Notice { topic: Some(topic), partition, .. }) => {
                (topic.clone(), *partition)
            }
            Fetched::Notice(notice) => {
                tracing::debug!(?notice, "not about a partition");
                return Ok(false);
            }
        };
        let Some(&index) = self.index.get(&(topic, partition)) else { return Ok(false) };
        if self.done[index] {
            return Ok(false);
        }
        let done = match fetched {
            Fetched::Records(_, _, messages) => {
                let mut done = false;
                let _stopped = messages.visit(&mut |_, record| {
                    if record.offset >= self.from[index] {
                        done = see(index, Seen::Record(record));
                    }
                    if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                done
            }
            Fetched::Notice(notice) if notice.code == Code::PARTITION_EOF => {
                notice.offset >= self.from[index] && see(index, Seen::End(notice.offset))
            }
            Fetched::Notice(notice) if position_is_gone(notice.code) => {
                see(index, Seen::Lost(notice.text))
            }
            Fetched::Notice(notice) => {
                let fault = Fault::new(notice.code, notice.text);
                if classify(Call::Fetch, &fault) != Class::Retriable {
                    return Err(fault);
                }
                tracing::debug!(?fault, "the client tries on");
                false
            }
        };
        if done {
            self.done[index] = true;
            self.open -= 1;
        }
        Ok(true)
    }
}
