//! Many sorted runs as one.

use std::sync::Arc;

use super::contest::Contest;
use super::current::CurrentKey;
use super::dir::SpillDir;
use super::error::SpillError;
use super::levels::{Limits, reduce};
use super::read::RunReader;
use super::runs::{MemoryRun, Runs};
use super::stored::Stored;
use super::write::RunFile;
use crate::reconcile::key::KeyAt;

/// All runs of one side as one: manifests of one key (of a topic and partition) become one, lines of a
/// key come one by one in the order of adding. Each partition was read by one reader alone, so that the
/// order between `sets` does not matter.
///
/// `limits` are those of reading files; what `sets` hold in memory comes on top.
///
/// # Errors
///
/// If run files cannot be read, or merged into larger ones where there are too many.
pub fn merge<T: Stored>(
    sets: Vec<Runs<T>>,
    dir: &Arc<SpillDir>,
    limits: Limits,
) -> Result<Merged<T>, SpillError> {
    let mut files = Vec::new();
    let mut memory = Vec::new();
    for set in sets {
        files.extend(set.files);
        // Behind all files: within its own set it is the last run, and no other has its keys.
        memory.extend(set.memory);
    }
    let files = reduce::<T>(files, dir, limits)?;
    let buffer = limits.buffer(files.len());
    Merged::open(files, memory, buffer)
}

/// A way through all entries of many runs. Everything was whole only if [`Merged::advance`] says
/// `false` in the end, not an error.
pub struct Merged<T: Stored> {
    streams: Streams<T>,
    contest: Contest,
    key: CurrentKey,
    payload: Option<T>,
}

impl<T: Stored> Merged<T> {
    /// Stands before the first entry.
    pub(super) fn open(
        files: Vec<RunFile>,
        memory: Vec<MemoryRun<T::Table>>,
        buffer: usize,
    ) -> Result<Self, SpillError> {
        let files: Result<_, _> =
            files.into_iter().map(|file| RunReader::open(file, buffer)).collect();
        let streams = Streams { files: files?, memory };
        let contest =
            Contest::new(streams.files.len() + streams.memory.len(), |stream| streams.at(stream));
        Ok(Self { streams, contest, key: CurrentKey::default(), payload: None })
    }

    /// Goes to the next entry; `false` at the end.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or is not what was written. There is no going on after that.
    pub fn advance(&mut self) -> Result<bool, SpillError> {
        self.payload = None;
        let Some((stream, at)) = next(&self.contest, &self.streams) else { return Ok(false) };
        self.key.set(at);
        let mut payload = self.take(stream)?;
        if T::FOLDS
            && let Some(whole) = &mut payload
        {
            while let Some((stream, at)) = next(&self.contest, &self.streams)
                && at == self.key.at()
            {
                if let Some(later) = self.take(stream)? {
                    whole.absorb(&later);
                }
            }
        }
        self.payload = payload;
        Ok(true)
    }

    /// The entry at which it stands; `None` before the first and behind the last one.
    pub fn entry(&self) -> Option<(KeyAt<'_>, &T)> {
        self.payload.as_ref().map(|payload| (self.key.at(), payload))
    }

    fn take(&mut self, stream: usize) -> Result<Option<T>, SpillError> {
        let payload = self.streams.take(stream)?;
        self.contest.moved(|stream| self.streams.at(stream));
        Ok(payload)
    }
}

/// The stream that is next, and its key; `None` at the end of all.
fn next<'a, T: Stored>(contest: &Contest, streams: &'a Streams<T>) -> Option<(usize, KeyAt<'a>)> {
    let stream = contest.winner()?;
    streams.at(stream).map(|at| (stream, at))
}

/// The runs, by number: files first.
struct Streams<T: Stored> {
    files: Vec<RunReader<T>>,
    memory: Vec<MemoryRun<T::Table>>,
}

impl<T: Stored> Streams<T> {
    fn at(&self, stream: usize) -> Option<KeyAt<'_>> {
        match self.files.get(stream) {
            Some(file) => file.at(),
            None => self.memory[stream - self.files.len()].at(),
        }
    }

    fn take(&mut self, stream: usize) -> Result<Option<T>, SpillError> {
        match self.files.get_mut(stream) {
            Some(file) => file.take(),
            None => Ok(self.memory[stream - self.files.len()].take()),
        }
    }
}
