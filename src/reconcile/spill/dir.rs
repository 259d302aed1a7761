//! The folder of the run files: made for one process, gone with it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::SpillError;

/// Beginning of each folder's name; 16 hexadecimal digits follow.
pub const PREFIX: &str = "onceover-spill-";

/// The file whose lock says that the folder is in use.
const LOCK: &str = "lock";

/// End of each run file's name; digits come before it.
const RUN: &str = ".run";

/// How often a folder is made before giving up; one time is enough unless another process tidies up
/// at that very moment.
const ATTEMPTS: u32 = 16;

/// A folder that only its owner can read, removed when the last user drops it. A process that was killed
/// leaves it behind; the next one removes it, because nobody holds its lock any more.
#[derive(Debug)]
pub struct SpillDir {
    path: PathBuf,
    /// Locked as long as the folder is in use.
    _lock: File,
    next: AtomicU64,
    written: AtomicU64,
    /// Bytes that may be written in all: tests play a full disk with it.
    room: u64,
}

impl SpillDir {
    /// Removes what killed processes left in `parent`, and makes a folder there.
    ///
    /// # Errors
    ///
    /// If `parent` cannot be read or written to.
    pub fn create(parent: &Path) -> Result<Arc<Self>, SpillError> {
        Self::with_room(parent, u64::MAX)
    }

    /// The same on a disk of `room` bytes.
    pub(super) fn with_room(parent: &Path, room: u64) -> Result<Arc<Self>, SpillError> {
        remove_stale(parent)?;
        for _ in 0..ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{:016x}", random()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) if super::error::is_full(&error) => {
                    return Err(SpillError::Full { folder: parent.into(), written: 0 });
                }
                Err(error) => return Err(SpillError::io("make a spill folder in", parent, error)),
            }
            match lock_new(&path) {
                Ok(Some(lock)) => {
                    let (next, written) = (AtomicU64::new(0), AtomicU64::new(0));
                    return Ok(Arc::new(Self { path, _lock: lock, next, written, room }));
                }
                Ok(None) => {}
                Err(error) => {
                    remove(&path);
                    return Err(SpillError::io("lock the spill folder", &path, error));
                }
            }
        }
        let error = io::Error::other("other processes removed it each time");
        Err(SpillError::io("make a spill folder in", parent, error))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written to run files so far, those of removed files included.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Makes an empty run file.
    pub(super) fn new_run(&self) -> Result<(PathBuf, File), SpillError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{number:08}{RUN}"));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(self.refused("make the spill file", &path, error)),
        }
    }

    /// Counts `bytes` that are about to be written.
    pub(super) fn claim(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if written <= self.room {
            return Ok(());
        }
        self.written.fetch_sub(bytes, Ordering::Relaxed);
        Err(io::ErrorKind::StorageFull.into())
    }

    /// The error for what the system said while writing.
    pub(super) fn refused(&self, doing: &'static str, path: &Path, error: io::Error) -> SpillError {
        if super::error::is_full(&error) {
            return SpillError::Full { folder: self.path.clone(), written: self.written() };
        }
        SpillError::io(doing, path, error)
    }
}

impl Drop for SpillDir {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Makes and locks a new folder's lock; `None` if another process took the folder for a stale one in
/// the moment before it was locked.
fn lock_new(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let lock = match made {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let ours = lock.metadata()?;
    let same = fs::metadata(&path).is_ok_and(|there| there.ino() == ours.ino());
    Ok(same.then_some(lock))
}

/// Removes the folders that nobody uses. What cannot be removed (another user's) stays where it is.
fn remove_stale(parent: &Path) -> Result<(), SpillError> {
    let failed = |error| SpillError::io("read the folder", parent, error);
    for entry in fs::read_dir(parent).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let ours = entry.file_name().to_str().is_some_and(is_ours);
        if ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_if_unused(&entry.path());
        }
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == 16 && rest.bytes().all(digit))
}

fn remove_if_unused(folder: &Path) {
    let path = folder.join(LOCK);
    match fs::symlink_metadata(&path) {
        Ok(there) if there.is_file() => {
            let Ok(lock) = File::open(&path) else { return };
            if lock.try_lock().is_ok() {
                tracing::info!(folder = %folder.display(), "removing a spill folder left by a crash");
                remove(folder);
            }
        }
        Ok(_) => {}
        // Without a lock it is just being made, or was almost removed: only an empty one goes.
        Err(_) => drop(fs::remove_dir(folder)),
    }
}

/// Removes run files, then the lock, then the folder, if nothing else is in it. The lock goes last, so
/// that whoever is killed in between leaves a folder that is recognised as stale.
fn remove(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(RUN));
        if number.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_file(folder.join(LOCK));
    let _ = fs::remove_dir(folder);
}
