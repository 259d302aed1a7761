//! Too many files to read at once: consecutive ones are merged into larger ones first.

use std::sync::Arc;

use super::dir::SpillDir;
use super::error::SpillError;
use super::merge::Merged;
use super::stored::Stored;
use super::write::{RunFile, RunWriter};

/// Smallest piece that is read of a file: below it the disk seeks more than it reads.
const SMALLEST_READ: usize = 16 << 10;

/// Largest piece: above it nothing gets faster.
const LARGEST_READ: usize = 1 << 20;

/// What one merge may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all read and write buffers.
    pub bytes: usize,
    /// Files open at once; at least two are.
    pub files: usize,
}

impl Limits {
    /// 128 files, so that both sides together stay far below the usual limit of 1,024.
    pub fn of_bytes(bytes: usize) -> Self {
        Self { bytes, files: 128 }
    }

    /// How many of `files` can be read at once: each has room for its buffer, and for its longest key
    /// twice (in the buffer, and being looked at).
    fn fan_in<T: Stored>(self, files: &[RunFile]) -> usize {
        let longest = files.iter().map(|file| file.longest_key).max().unwrap_or(0);
        let least = SMALLEST_READ + T::MAX + 2 * longest;
        (self.bytes / least).min(self.files).max(2)
    }

    /// Bytes of each buffer where `files` of them are in use.
    pub fn buffer(self, files: usize) -> usize {
        (self.bytes / files.max(1)).clamp(SMALLEST_READ, LARGEST_READ)
    }
}

/// Merges files until few enough are left. The order of files is kept, so that equal keys stay in
/// theirs; as few bytes as possible are written twice.
pub fn reduce<T: Stored>(
    mut files: Vec<RunFile>,
    dir: &Arc<SpillDir>,
    limits: Limits,
) -> Result<Vec<RunFile>, SpillError> {
    loop {
        let fan_in = limits.fan_in::<T>(&files);
        if files.len() <= fan_in {
            return Ok(files);
        }
        let width = fan_in.min(files.len() - fan_in + 1);
        let start = cheapest(&files, width);
        let merged = merge_files::<T>(files.drain(start..start + width).collect(), dir, limits)?;
        files.insert(start, merged);
    }
}

/// Where the `width` consecutive files with the fewest bytes begin.
fn cheapest(files: &[RunFile], width: usize) -> usize {
    let bytes = |window: &[RunFile]| -> u64 { window.iter().map(|file| file.bytes).sum() };
    let windows = files.windows(width).map(bytes).enumerate();
    windows.min_by_key(|(_, bytes)| *bytes).map_or(0, |(start, _)| start)
}

fn merge_files<T: Stored>(
    files: Vec<RunFile>,
    dir: &Arc<SpillDir>,
    limits: Limits,
) -> Result<RunFile, SpillError> {
    let buffer = limits.buffer(files.len() + 1);
    let mut writer = RunWriter::new(dir, buffer)?;
    let mut merged = Merged::<T>::open(files, Vec::new(), buffer)?;
    while merged.advance()? {
        if let Some((at, payload)) = merged.entry() {
            writer.push(at, payload)?;
        }
    }
    writer.finish()
}
