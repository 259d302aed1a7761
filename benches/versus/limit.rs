//! The brokers alone: as fast as record batches can be fetched and dropped, and ready ones sent, at the
//! same time, by two clients that know nothing of each other and look into no batch.
//!
//! Spoken by hand (Fetch version 4, Produce version 7, one request under way for each connection), because
//! every client library takes batches apart.

use super::brokers::Error;
use super::contenders::Contender;
use super::moving::Moved;
use super::numbers::as_f64;
use super::rows::Row;
use super::stage::{Stage, create, delete, now_ms};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// For each direction.
const CONNECTIONS: usize = 2;
const FETCH_BYTES: i32 = 8 << 20;
const FETCH_PARTITION_BYTES: i32 = 1 << 20;
/// Ready batches are kept up to so many bytes for each connection and sent again and again.
const READY_BYTES: usize = 16 << 20;
const REQUEST_BYTES: usize = 1 << 20;
/// Fields of a batch's header, and its size.
const LENGTH: usize = 8;
const ATTRIBUTES: usize = 21;
const LAST_DELTA: usize = 23;
const COUNT: usize = 57;
const HEADER: usize = 61;
const CONTROL: i16 = 0x20;

/// A partition, and the next offset to be read.
#[derive(Clone, Debug)]
struct Place {
    topic: String,
    partition: i32,
    next: i64,
}

struct Batch {
    topic: String,
    partition: i32,
    records: u64,
    bytes: Vec<u8>,
}

/// None for transactional sources: their batches cannot be sent again.
pub fn attempt(
    stage: &Stage,
    row: &Row,
    records: u64,
    round: usize,
) -> Result<Option<Moved>, Error> {
    if row.per_transaction > 0 {
        return Ok(None);
    }
    let copy = Contender::Limit.copy_name(row.name, round);
    let topics: Vec<String> = row.topic_names().iter().map(|t| format!("{copy}.{t}")).collect();
    create(&stage.target_oracle, &topics, row.partitions)?;
    let shares = shares(row);
    let (source, target) = (stage.source.bootstrap(), stage.target.bootstrap());
    let mut ready = Vec::new();
    for share in &shares {
        ready.push(prepared(&source, share)?);
    }
    let per_writer = records / u64::try_from(CONNECTIONS).unwrap_or(1);
    let began = now_ms();
    let results: Vec<Result<(u64, f64), Error>> = std::thread::scope(|scope| {
        let readers = shares.iter().map(|share| scope.spawn(|| timed(|| drain(&source, share))));
        let readers: Vec<_> = readers.collect();
        let writers = ready.iter().map(|batches| {
            let (target, copy) = (&target, &copy);
            scope.spawn(move || timed(|| send(target, copy, batches, per_writer)))
        });
        let writers: Vec<_> = writers.collect();
        let joined = readers.into_iter().chain(writers).map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::new("a client of the limit panicked")))
        });
        joined.collect()
    });
    let seconds = as_f64(now_ms() - began) / 1000.0;
    let done: Vec<(u64, f64)> = results.into_iter().collect::<Result<_, _>>()?;
    delete(&stage.target_oracle, &copy)?;
    let read: u64 = done[..shares.len()].iter().map(|(count, _)| count).sum();
    if read != records {
        return Err(Error::new(format!("the limit has read {read} of {records} records")));
    }
    let cpu: f64 = done.iter().map(|(_, cpu)| cpu).sum::<f64>() * 1e6 / as_f64(records);
    let per_second = as_f64(records) / seconds;
    let moved = Moved {
        row: row.name,
        contender: Contender::Limit,
        round,
        records,
        bytes_per_record: row.bytes_per_record(),
        per_second,
        per_second_from_start: per_second,
        cpu,
        cpu_from_start: cpu,
        broker_cpu: f64::NAN,
        peak_mb: f64::NAN,
        ledger: None,
        duplicates: 0,
    };
    println!("  {}", moved.line());
    Ok(Some(moved))
}

/// The row's partitions, dealt to the connections.
fn shares(row: &Row) -> Vec<Vec<Place>> {
    let mut shares = vec![Vec::new(); CONNECTIONS];
    let names = row.topic_names();
    let all = names.iter().flat_map(|topic| (0..row.partitions).map(move |p| (topic, p)));
    for (n, (topic, p)) in all.enumerate() {
        let partition = i32::try_from(p).unwrap_or(i32::MAX);
        shares[n % CONNECTIONS].push(Place { topic: topic.clone(), partition, next: 0 });
    }
    shares.retain(|share| !share.is_empty());
    shares
}

/// With the CPU seconds of the thread that this runs on.
fn timed(work: impl FnOnce() -> Result<u64, Error>) -> Result<(u64, f64), Error> {
    let cpu = || {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts");
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64()
    };
    let before = cpu();
    work().map(|count| (count, cpu() - before))
}

/// Reads and drops everything; returns how many records there were.
fn drain(bootstrap: &str, share: &[Place]) -> Result<u64, Error> {
    let mut records = 0;
    read(bootstrap, share, |_, count, _| {
        records += count;
        true
    })?;
    Ok(records)
}

/// What a writer will send.
fn prepared(bootstrap: &str, share: &[Place]) -> Result<Vec<Batch>, Error> {
    let (mut batches, mut size) = (Vec::new(), 0);
    read(bootstrap, share, |place, records, bytes| {
        size += bytes.len();
        let (topic, partition) = (place.topic.clone(), place.partition);
        let mut bytes = bytes.to_vec();
        bytes[..LENGTH].fill(0); // a producer's base offset; the checksum does not cover it
        batches.push(Batch { topic, partition, records, bytes });
        size < READY_BYTES
    })?;
    Ok(batches)
}

/// Hands each data batch to `take` until that says false, or all partitions are read.
fn read(
    bootstrap: &str,
    share: &[Place],
    mut take: impl FnMut(&Place, u64, &[u8]) -> bool,
) -> Result<(), Error> {
    let mut connection = Connection::open(bootstrap)?;
    let mut places: BTreeMap<(String, i32), Place> =
        share.iter().map(|p| ((p.topic.clone(), p.partition), p.clone())).collect();
    let began = Instant::now();
    while !places.is_empty() {
        if began.elapsed() > Duration::from_secs(120) {
            return Err(Error::new("the limit does not get on"));
        }
        let answer = connection.ask(1, 4, &fetch(places.values()))?;
        let mut answer = Answer(&answer[4..]); // behind the throttle time
        for _ in 0..answer.i32()? {
            let topic = answer.text()?;
            for _ in 0..answer.i32()? {
                let partition = answer.i32()?;
                let error = answer.i16()?;
                let high_watermark = answer.i64()?;
                answer.take(8)?; // last stable offset
                let aborted = answer.i32()?.max(0);
                answer.take(16 * usize::try_from(aborted).unwrap_or(0))?;
                let size = usize::try_from(answer.i32()?).unwrap_or(0);
                let mut batches = answer.take(size)?;
                if error != 0 {
                    return Err(Error::new(format!("Fetch of {topic}-{partition}: error {error}")));
                }
                let key = (topic.clone(), partition);
                let Some(place) = places.get_mut(&key) else { continue };
                // The last one may be cut off.
                while let Some(length) = whole(batches) {
                    let (batch, rest) = batches.split_at(length);
                    batches = rest;
                    let base = i64::from_be_bytes(fixed(batch, 0));
                    let last = base + i64::from(i32::from_be_bytes(fixed(batch, LAST_DELTA)));
                    place.next = last + 1;
                    let control = i16::from_be_bytes(fixed(batch, ATTRIBUTES)) & CONTROL != 0;
                    let count = u32::from_be_bytes(fixed(batch, COUNT));
                    if !control && !take(place, u64::from(count), batch) {
                        return Ok(());
                    }
                }
                if place.next >= high_watermark {
                    places.remove(&key);
                }
            }
        }
    }
    Ok(())
}

fn whole(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < HEADER {
        return None;
    }
    let length = 12 + usize::try_from(i32::from_be_bytes(fixed(bytes, LENGTH))).ok()?;
    (length <= bytes.len()).then_some(length)
}

fn fixed<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

fn fetch<'a>(places: impl Iterator<Item = &'a Place>) -> Vec<u8> {
    let mut topics: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in places {
        topics.entry(&place.topic).or_default().push(place);
    }
    let mut body = Vec::new();
    body.extend((-1_i32).to_be_bytes()); // no replica
    body.extend(10_i32.to_be_bytes()); // ms
    body.extend(1_i32.to_be_bytes()); // byte at least
    body.extend(FETCH_BYTES.to_be_bytes());
    body.push(0); // read_uncommitted
    body.extend(length(topics.len()));
    for (topic, places) in topics {
        text(&mut body, topic);
        body.extend(length(places.len()));
        for place in places {
            body.extend(place.partition.to_be_bytes());
            body.extend(place.next.to_be_bytes());
            body.extend(FETCH_PARTITION_BYTES.to_be_bytes());
        }
    }
    body
}

/// Sends ready batches, round and round, until there are enough records.
fn send(bootstrap: &str, copy: &str, batches: &[Batch], records: u64) -> Result<u64, Error> {
    let mut connection = Connection::open(bootstrap)?;
    let (mut sent, mut next) = (0, 0);
    while sent < records {
        // One batch for a partition at most: a request must not name one twice.
        let mut request: BTreeMap<(&str, i32), &Batch> = BTreeMap::new();
        let mut size = 0;
        while size < REQUEST_BYTES && sent < records {
            let batch = &batches[next % batches.len()];
            if request.contains_key(&(batch.topic.as_str(), batch.partition)) {
                break;
            }
            request.insert((&batch.topic, batch.partition), batch);
            (sent, size, next) = (sent + batch.records, size + batch.bytes.len(), next + 1);
        }
        let answer = connection.ask(0, 7, &produce(copy, request.values().copied()))?;
        let mut answer = Answer(answer);
        for _ in 0..answer.i32()? {
            let topic = answer.text()?;
            for _ in 0..answer.i32()? {
                let partition = answer.i32()?;
                let error = answer.i16()?;
                answer.take(24)?;
                if error != 0 {
                    return Err(Error::new(format!(
                        "Produce to {topic}-{partition}: error {error}"
                    )));
                }
            }
        }
    }
    Ok(sent)
}

fn produce<'a>(copy: &str, batches: impl Iterator<Item = &'a Batch>) -> Vec<u8> {
    let mut topics: BTreeMap<&str, Vec<&Batch>> = BTreeMap::new();
    for batch in batches {
        topics.entry(&batch.topic).or_default().push(batch);
    }
    let mut body = Vec::new();
    body.extend((-1_i16).to_be_bytes()); // no transaction
    body.extend((-1_i16).to_be_bytes()); // acks of all
    body.extend(30_000_i32.to_be_bytes());
    body.extend(length(topics.len()));
    for (topic, batches) in topics {
        text(&mut body, &format!("{copy}.{topic}"));
        body.extend(length(batches.len()));
        for batch in batches {
            body.extend(batch.partition.to_be_bytes());
            body.extend(length(batch.bytes.len()));
            body.extend(&batch.bytes);
        }
    }
    body
}

fn length(n: usize) -> [u8; 4] {
    i32::try_from(n).expect("requests are small").to_be_bytes()
}

fn text(body: &mut Vec<u8>, text: &str) {
    body.extend(i16::try_from(text.len()).expect("names are short").to_be_bytes());
    body.extend(text.as_bytes());
}

struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    fn open(bootstrap: &str) -> Result<Connection, Error> {
        let failed = |error| Error::new(format!("cannot connect to {bootstrap}: {error}"));
        let stream = TcpStream::connect(bootstrap).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(failed)?;
        Ok(Connection { stream, answer: Vec::new() })
    }

    /// The answer behind its correlation id.
    fn ask(&mut self, api: i16, version: i16, body: &[u8]) -> Result<&[u8], Error> {
        let mut head = Vec::new();
        head.extend(api.to_be_bytes());
        head.extend(version.to_be_bytes());
        head.extend(1_i32.to_be_bytes()); // correlation id: one request at a time
        text(&mut head, "limit");
        let failed = |error| Error::new(format!("the broker: {error}"));
        self.stream.write_all(&length(head.len() + body.len())).map_err(failed)?;
        self.stream.write_all(&head).map_err(failed)?;
        self.stream.write_all(body).map_err(failed)?;
        let mut size = [0; 4];
        self.stream.read_exact(&mut size).map_err(failed)?;
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(0).max(4);
        if self.answer.len() < size {
            self.answer.resize(size, 0);
        }
        self.stream.read_exact(&mut self.answer[..size]).map_err(failed)?;
        Ok(&self.answer[4..size])
    }
}

/// What is not read yet of an answer.
struct Answer<'a>(&'a [u8]);

impl<'a> Answer<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], Error> {
        let cut = || Error::new("the broker's answer is cut off");
        let (taken, rest) = self.0.split_at_checked(size).ok_or_else(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn i16(&mut self) -> Result<i16, Error> {
        Ok(i16::from_be_bytes(fixed(self.take(2)?, 0)))
    }

    fn i32(&mut self) -> Result<i32, Error> {
        Ok(i32::from_be_bytes(fixed(self.take(4)?, 0)))
    }

    fn i64(&mut self) -> Result<i64, Error> {
        Ok(i64::from_be_bytes(fixed(self.take(8)?, 0)))
    }

    fn text(&mut self) -> Result<String, Error> {
        let size = usize::try_from(self.i16()?).unwrap_or(0);
        Ok(String::from_utf8_lossy(self.take(size)?).into_owned())
    }
}
