//! The table that keeps every line.

use std::hint::black_box;
use std::ops::Range;

use super::arena::Arena;
use super::chunks::Chunks;
use super::stored::Stored;
use super::table::{Full, Table, chunk_shift};
use super::varint::Bytes;
use crate::reconcile::key::KeyAt;
use crate::reconcile::line::Line;

/// Key length that stands for no key.
const NO_KEY: u32 = u32::MAX;

/// 20 bytes; the encoded line lies in the arena.
struct Row {
    key_start: u32,
    key_len: u32,
    /// Where the line begins; later lines begin later.
    start: u32,
    topic: u32,
    partition: i32,
}

impl Row {
    fn at<'a>(&self, bytes: &'a Arena) -> KeyAt<'a> {
        let key =
            (self.key_len != NO_KEY).then(|| bytes.get(self.key_start, self.key_len as usize));
        KeyAt { topic: self.topic, key, partition: self.partition }
    }
}

/// Lines in the order of adding. Lines of one key that follow each other share the key's bytes.
pub struct LineTable {
    bytes: Arena,
    rows: Chunks<Row>,
    encoded: Vec<u8>,
    budget: usize,
}

impl LineTable {
    /// Appends a line; nothing has changed if the table is full.
    pub fn push(&mut self, at: KeyAt<'_>, line: &Line) -> Result<(), Full> {
        let last = self.rows.len().checked_sub(1).map(|last| self.rows.get(last));
        let shared = last
            .filter(|row| row.at(&self.bytes).key == at.key)
            .map(|row| (row.key_start, row.key_len));
        self.encoded.clear();
        line.encode(&mut self.encoded);
        let key = at.key.unwrap_or_default();
        let needed = self.encoded.len() + if shared.is_some() { 0 } else { key.len() };
        self.afford(needed)?;
        self.bytes.make(needed);
        // The line first: an address reaches no further than a chunk of the usual size, a key may.
        let start = self.bytes.put(&self.encoded);
        let (key_start, key_len) = shared.unwrap_or_else(|| {
            let len = if at.key.is_some() { key.len() as u32 } else { NO_KEY };
            (self.bytes.put(key), len)
        });
        let (topic, partition) = (at.topic, at.partition);
        self.rows.push(Row { key_start, key_len, start, topic, partition });
        Ok(())
    }

    fn afford(&mut self, needed: usize) -> Result<(), Full> {
        let fits = |table: &Self| {
            let cost = table.bytes.cost(needed)? + table.rows.cost();
            Some(cost == 0 || table.bytes() + cost <= table.budget)
        };
        if fits(self) != Some(true) {
            self.bytes.release();
            self.rows.release();
        }
        if self.rows.len() == 0 || fits(self) == Some(true) { Ok(()) } else { Err(Full) }
    }
}

impl Table for LineTable {
    type Payload = Line;

    fn new(budget: usize) -> Self {
        let shift = chunk_shift(budget);
        Self {
            bytes: Arena::new(shift),
            rows: Chunks::new(1 << shift),
            encoded: Vec::with_capacity(Line::MAX),
            budget,
        }
    }

    fn bytes(&self) -> usize {
        self.bytes.bytes() + self.rows.bytes() + Line::MAX
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        // Where a line begins tells the order of adding: a sort that needs no memory is stable.
        let order = |a: &Row, b: &Row| a.at(bytes).cmp(&b.at(bytes)).then(a.start.cmp(&b.start));
        self.rows.chunks_mut().iter_mut().for_each(|chunk| chunk.sort_unstable_by(order));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    fn seal(&mut self) {
        self.bytes.release();
        self.rows.release();
    }

    fn chunks(&self) -> usize {
        self.rows.chunks().len()
    }

    fn at(&self, chunk: usize, row: usize) -> Option<KeyAt<'_>> {
        self.rows.chunks()[chunk].get(row).map(|row| row.at(&self.bytes))
    }

    fn warm(&self, chunk: usize, rows: Range<usize>) {
        let mut touched = 0;
        for row in self.rows.chunks()[chunk].iter().take(rows.end).skip(rows.start) {
            touched ^= row.at(&self.bytes).key.and_then(|key| key.first()).copied().unwrap_or(0);
            touched ^= self.bytes.get(row.start, 1)[0];
        }
        black_box(touched);
    }

    fn payload(&self, chunk: usize, row: usize) -> Line {
        let start = self.rows.chunks()[chunk][row].start;
        Line::decode(&mut Bytes(self.bytes.from(start))).expect("the table encoded it itself")
    }
}
