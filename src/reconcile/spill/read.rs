//! Reading one sorted run.

use std::fs::File;
use std::io::{ErrorKind, Read};

use xxhash_rust::xxh3::Xxh3;

use super::current::CurrentKey;
use super::error::SpillError;
use super::stored::Stored;
use super::varint::{self, Bytes};
use super::write::{END, KEY_LENGTH, NO_KEY, RunFile, SAME_KEY};
use crate::reconcile::key::KeyAt;

/// Stands at one entry of a run file. Its end is reached only if number and checksum of the entries are
/// those that were written; anything else is an error.
pub struct RunReader<T> {
    run: RunFile,
    file: File,
    buffer: Vec<u8>,
    /// What of the buffer is read from the file and not yet looked at.
    unread: std::ops::Range<usize>,
    /// Bytes of entries that are still in the file.
    left: u64,
    checksum: Xxh3,
    entries: u64,
    key: CurrentKey,
    payload: Option<T>,
}

impl<T: Stored> RunReader<T> {
    /// Opens `run` and stands at its first entry. Reads pieces of `buffer` bytes, or of the longest
    /// entry if that is more.
    pub fn open(run: RunFile, buffer: usize) -> Result<Self, SpillError> {
        let file = File::open(run.path())
            .map_err(|error| SpillError::io("open the spill file", run.path(), error))?;
        let mut reader = Self {
            left: run.bytes,
            run,
            file,
            buffer: vec![0; buffer],
            unread: 0..0,
            checksum: Xxh3::new(),
            entries: 0,
            key: CurrentKey::default(),
            payload: None,
        };
        reader.advance()?;
        Ok(reader)
    }

    /// The key at which it stands; `None` at the end.
    pub fn at(&self) -> Option<KeyAt<'_>> {
        self.payload.as_ref().map(|_| self.key.at())
    }

    /// The payload at which it stands, and a step to the next entry.
    pub fn take(&mut self) -> Result<Option<T>, SpillError> {
        let payload = self.payload.take();
        self.advance()?;
        Ok(payload)
    }

    fn advance(&mut self) -> Result<(), SpillError> {
        self.fill(3 * varint::MAX)?;
        if self.unread.is_empty() {
            return self.end();
        }
        let what = || "an entry cannot be read";
        let (head, used) = self.head().ok_or_else(|| self.damaged(what()))?;
        self.unread.start += used;
        let key_len = head.map_or(0, |head| head.key_len.unwrap_or(0));
        if key_len > self.run.longest_key {
            return Err(self.damaged(what()));
        }
        self.fill(key_len + T::MAX)?;
        let mut bytes = Bytes(&self.buffer[self.unread.clone()]);
        let before = bytes.0.len();
        if let Some(head) = head {
            let key = bytes.slice(key_len).ok_or_else(|| self.damaged(what()))?;
            let key = head.key_len.map(|_| key);
            let at = KeyAt { topic: head.topic, key, partition: head.partition };
            // Checked at once: whoever merges and joins relies on the order long before the end.
            if self.entries > 0 && at <= self.key.at() {
                return Err(self.damaged("its keys are not in order"));
            }
            self.key.set(at);
        } else if self.entries == 0 {
            return Err(self.damaged(what()));
        }
        let payload = T::decode(&mut bytes);
        let used = before - bytes.0.len();
        self.payload = Some(payload.ok_or_else(|| self.damaged(what()))?);
        self.unread.start += used;
        self.entries += 1;
        Ok(())
    }

    /// The next entry's head, `None` in it for the key of the entry before; and its bytes.
    fn head(&self) -> Option<(Option<Head>, usize)> {
        let mut bytes = Bytes(&self.buffer[self.unread.clone()]);
        let head = match bytes.varint()? {
            SAME_KEY => None,
            first => Some(Head {
                key_len: match first {
                    NO_KEY => None,
                    _ => Some(usize::try_from(first - KEY_LENGTH).ok()?),
                },
                topic: u32::try_from(bytes.varint()?).ok()?,
                partition: i32::try_from(bytes.signed()?).ok()?,
            }),
        };
        Some((head, self.unread.len() - bytes.0.len()))
    }

    /// Makes sure that `n` bytes of entries are in the buffer, or all that are left.
    fn fill(&mut self, n: usize) -> Result<(), SpillError> {
        if self.unread.len() >= n || self.left == 0 {
            return Ok(());
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.buffer.len() < n {
            self.buffer.resize(n, 0);
        }
        while self.unread.len() < n && self.left > 0 {
            let room = (self.buffer.len() - self.unread.end) as u64;
            let end = self.unread.end + self.left.min(room) as usize;
            let read = match self.file.read(&mut self.buffer[self.unread.end..end]) {
                Ok(0) => return Err(self.damaged("it ends early")),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(SpillError::io("read the spill file", self.run.path(), error));
                }
            };
            self.checksum.update(&self.buffer[self.unread.end..self.unread.end + read]);
            self.unread.end += read;
            self.left -= read as u64;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SpillError> {
        let mut end = [0; END];
        match self.file.read_exact(&mut end) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(self.damaged("it ends early"));
            }
            Err(error) => {
                return Err(SpillError::io("read the spill file", self.run.path(), error));
            }
        }
        let expected = [self.entries.to_le_bytes(), self.checksum.digest().to_le_bytes()];
        if end != *expected.as_flattened() || self.entries != self.run.entries {
            return Err(self.damaged("number or checksum of its entries is another one"));
        }
        self.payload = None;
        // Nothing will be read any more; the memory may be needed elsewhere.
        self.buffer = Vec::new();
        self.unread = 0..0;
        Ok(())
    }

    fn damaged(&self, what: &str) -> SpillError {
        let position = self.run.bytes - self.left - self.unread.len() as u64;
        let what = format!("{what} (byte {position}, entry {})", self.entries);
        SpillError::Damaged { path: self.run.path().into(), what }
    }
}

/// What comes before key and payload.
#[derive(Debug, Clone, Copy)]
struct Head {
    key_len: Option<usize>,
    topic: u32,
    partition: i32,
}
