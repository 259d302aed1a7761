//! Writing one sorted run.
//!
//! A run file is its entries, then their number and an xxh3-64 of all bytes before (8 bytes each,
//! little-endian). An entry is: 0 if its key is that of the entry before; else 1 for no key, or the
//! key's length + 2; topic; partition (signed); the key's bytes; and then the payload. All integers are
//! varints.

use std::fs::{self, File};
use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::current::CurrentKey;
use super::dir::SpillDir;
use super::error::SpillError;
use super::stored::Stored;
use super::table::{InOrder, Table};
use super::varint;
use crate::reconcile::key::KeyAt;

/// First integer of an entry: the key of the entry before.
pub const SAME_KEY: u64 = 0;
/// First integer of an entry: no key. Greater ones are a key's length and [`KEY_LENGTH`].
pub const NO_KEY: u64 = 1;
/// What is added to a key's length.
pub const KEY_LENGTH: u64 = 2;

/// Bytes of the end: the number of entries, and the checksum.
pub const END: usize = 16;

/// A finished run file; removed when it is dropped.
#[derive(Debug)]
pub struct RunFile {
    /// Removed after its last file.
    dir: Arc<SpillDir>,
    path: PathBuf,
    /// Entries.
    pub entries: u64,
    /// Bytes before the end.
    pub bytes: u64,
    /// Length of the longest key.
    pub longest_key: usize,
}

impl RunFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes entries that come in the order of their keys.
pub struct RunWriter<T> {
    run: RunFile,
    file: File,
    buffer: Vec<u8>,
    checksum: Xxh3,
    last: Option<CurrentKey>,
    payload: PhantomData<T>,
}

impl<T: Stored> RunWriter<T> {
    /// A new file in `dir`, written in pieces of about `buffer` bytes.
    pub fn new(dir: &Arc<SpillDir>, buffer: usize) -> Result<Self, SpillError> {
        let (path, file) = dir.new_run()?;
        Ok(Self {
            run: RunFile { dir: dir.clone(), path, entries: 0, bytes: 0, longest_key: 0 },
            file,
            buffer: Vec::with_capacity(buffer),
            checksum: Xxh3::new(),
            last: None,
            payload: PhantomData,
        })
    }

    /// Appends an entry.
    pub fn push(&mut self, at: KeyAt<'_>, payload: &T) -> Result<(), SpillError> {
        let key = at.key.unwrap_or_default();
        let longest = 3 * varint::MAX + key.len() + T::MAX;
        if self.buffer.len() + longest > self.buffer.capacity() {
            self.flush()?;
        }
        if self.last.as_ref().is_some_and(|last| last.at() == at) {
            varint::put(&mut self.buffer, SAME_KEY);
        } else {
            let last = self.last.get_or_insert_default();
            debug_assert!(self.run.entries == 0 || last.at() < at, "runs are sorted");
            last.set(at);
            let first = at.key.map_or(NO_KEY, |key| key.len() as u64 + KEY_LENGTH);
            varint::put(&mut self.buffer, first);
            varint::put(&mut self.buffer, u64::from(at.topic));
            varint::put_signed(&mut self.buffer, i64::from(at.partition));
            self.buffer.extend_from_slice(key);
            self.run.longest_key = self.run.longest_key.max(key.len());
        }
        payload.encode(&mut self.buffer);
        self.run.entries += 1;
        Ok(())
    }

    /// Writes the end.
    pub fn finish(mut self) -> Result<RunFile, SpillError> {
        self.flush()?;
        self.buffer.extend_from_slice(&self.run.entries.to_le_bytes());
        self.buffer.extend_from_slice(&self.checksum.digest().to_le_bytes());
        self.write()?;
        Ok(self.run)
    }

    fn flush(&mut self) -> Result<(), SpillError> {
        self.checksum.update(&self.buffer);
        self.run.bytes += self.buffer.len() as u64;
        self.write()
    }

    fn write(&mut self) -> Result<(), SpillError> {
        let dir = &self.run.dir;
        let written = dir.claim(self.buffer.len()).and_then(|()| self.file.write_all(&self.buffer));
        self.buffer.clear();
        written.map_err(|error| dir.refused("write to the spill file", &self.run.path, error))
    }
}

/// Writes a sorted table as a run.
pub fn write_table<T: Table>(
    dir: &Arc<SpillDir>,
    table: &T,
    buffer: usize,
) -> Result<RunFile, SpillError> {
    let mut writer = RunWriter::new(dir, buffer)?;
    let mut order = InOrder::new(table);
    while let Some(at) = order.at(table)
        && let Some(payload) = order.take(table)
    {
        writer.push(at, &payload)?;
    }
    writer.finish()
}
