//! Reading: batches of records, ends of partitions, positions with epochs.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;

use super::client::Client;
use super::code::Code;
use super::fault::Fault;
use super::list::PartitionList;
use super::message::Messages;
use super::request::Queue;

/// A consumer that is told what to read.
pub(crate) struct Consumer {
    buffer: Vec<*mut rd::rd_kafka_message_t>,
    queue: Queue,
}

// SAFETY: the buffer holds no message between calls.
unsafe impl Send for Consumer {}

/// A partition as a number pair: cheap to look up per batch. Valid until the next assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    topic: usize,
    partition: i32,
}

/// What came from the queue.
pub(crate) enum Fetched {
    /// Consecutive records of one partition.
    Records(Place, i32, Messages),
    /// An error, or the end of a partition.
    Notice(Notice),
}

/// An error about a partition or the whole consumer; [`Code::PARTITION_EOF`] is one.
#[derive(Debug)]
pub(crate) struct Notice {
    /// Topic, where it is about one.
    pub topic: Option<String>,
    /// Partition, where it is about one.
    pub partition: i32,
    /// What.
    pub code: Code,
    /// For an end of partition the next offset to read.
    pub offset: i64,
    /// librdkafka's words.
    pub text: String,
}

/// How long messages are gathered once the first is there.
const GATHER: Duration = Duration::from_millis(1);

impl Consumer {
    /// Takes at most `limit` messages per call; none without a `group.id`.
    pub(crate) fn new(client: &Arc<Client>, limit: usize) -> Option<Consumer> {
        let queue = Queue::consumer(client)?;
        Some(Consumer { buffer: vec![std::ptr::null_mut(); limit.max(1)], queue })
    }

    /// Its client.
    pub(crate) fn client(&self) -> &Arc<Client> {
        self.queue.client()
    }

    /// Waits at most `wait` for the first message, takes what else is there, and shows all of it.
    pub(crate) fn take(&mut self, wait: Duration, each: &mut dyn FnMut(Fetched)) {
        // The batch call waits until its array is full or its time is over; so it waits for one
        // message only when there is none.
        let mut count = self.fill(0, self.buffer.len(), Duration::ZERO);
        if count == 0 && !wait.is_zero() {
            count = self.fill(0, 1, wait);
        }
        // A busy source hands over a few messages at a time: a millisecond makes many of them.
        if count > 0 && count < self.buffer.len() && !wait.is_zero() {
            count += self.fill(count, self.buffer.len(), GATHER);
        }
        let mut run: Vec<NonNull<rd::rd_kafka_message_t>> = Vec::new();
        for index in 0..count {
            let Some(message) = NonNull::new(self.buffer[index]) else { continue };
            // SAFETY: a message that the call has just handed over.
            let code = unsafe { Code::read(&raw const (*message.as_ptr()).err) };
            if let Some(&first) = run.first()
                // SAFETY: both are live.
                && (!code.is_ok() || unsafe { place(first) != place(message) })
            {
                let rest = count - index;
                self.hand_over(std::mem::replace(&mut run, Vec::with_capacity(rest)), each);
            }
            if code.is_ok() {
                run.push(message);
            } else {
                // SAFETY: ours; destroyed after it was read.
                let notice = unsafe {
                    let notice = read_notice(message, code);
                    rd::rd_kafka_message_destroy(message.as_ptr());
                    notice
                };
                each(Fetched::Notice(notice));
            }
        }
        if !run.is_empty() {
            self.hand_over(run, each);
        }
    }

    fn hand_over(&self, run: Vec<NonNull<rd::rd_kafka_message_t>>, each: &mut dyn FnMut(Fetched)) {
        // SAFETY: at least one live message, all ours and of one partition.
        let (place, messages) =
            unsafe { (place(run[0]), Messages::new(run, Arc::clone(self.queue.client()))) };
        each(Fetched::Records(place, place.partition, messages));
    }

    fn fill(&mut self, from: usize, to: usize, wait: Duration) -> usize {
        let room = &mut self.buffer[from..to];
        // SAFETY: a live queue and an array of the told length.
        let count = unsafe {
            rd::rd_kafka_consume_batch_queue(
                self.queue.raw(),
                super::millis(wait),
                room.as_mut_ptr(),
                room.len(),
            )
        };
        usize::try_from(count).unwrap_or(0)
    }

    /// Reads nothing any more; what was fetched is void from here on.
    pub(crate) fn unassign(&self) -> Result<(), Fault> {
        // SAFETY: a live client; null is an empty assignment.
        let code = unsafe { rd::rd_kafka_assign(self.client().raw(), std::ptr::null()) };
        Fault::check(Code::from(code))
    }

    /// Reads exactly these partitions from their offsets.
    pub(crate) fn assign(&self, from: &PartitionList) -> Result<(), Fault> {
        // SAFETY: a live client and list; the list is copied.
        let code = unsafe { rd::rd_kafka_assign(self.client().raw(), from.raw()) };
        Fault::check(Code::from(code))
    }

    /// Seeks, checking leader epochs; each entry of the list gets its own code.
    pub(crate) fn seek(&self, to: &mut PartitionList, wait: Duration) -> Result<(), Fault> {
        // SAFETY: a live client and list; the error is ours.
        unsafe {
            Fault::take(rd::rd_kafka_seek_partitions(
                self.client().raw(),
                to.raw(),
                super::millis(wait),
            ))
        }
    }

    /// Stops fetching partitions; what was fetched of them is not delivered.
    pub(crate) fn pause(&self, partitions: &PartitionList) -> Result<(), Fault> {
        // SAFETY: a live client and list.
        let code = unsafe { rd::rd_kafka_pause_partitions(self.client().raw(), partitions.raw()) };
        Fault::check(Code::from(code))
    }
}

/// # Safety
/// `message` is live.
unsafe fn place(message: NonNull<rd::rd_kafka_message_t>) -> Place {
    // SAFETY: the caller's promise.
    let message = unsafe { message.as_ref() };
    Place { topic: message.rkt as usize, partition: message.partition }
}

/// # Safety
/// `message` is a live message with an error.
unsafe fn read_notice(message: NonNull<rd::rd_kafka_message_t>, code: Code) -> Notice {
    // SAFETY: the caller's promise; the payload of an error is its text.
    unsafe {
        let raw = message.as_ref();
        let topic = (!raw.rkt.is_null()).then(|| {
            CStr::from_ptr(rd::rd_kafka_topic_name(raw.rkt)).to_string_lossy().into_owned()
        });
        let text = super::text(rd::rd_kafka_message_errstr(message.as_ptr()));
        Notice { topic, partition: raw.partition, code, offset: raw.offset, text }
    }
}
