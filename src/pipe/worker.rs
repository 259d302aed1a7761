//! The worker's name: its `group.instance.id` (KIP-345), which gives a restarted worker its lanes
//! back at once, and by which the ledger says who wrote.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// A worker's name, and the slot that is locked for as long as it lives.
#[derive(Debug)]
pub struct Worker {
    /// Legal as `group.instance.id`.
    pub name: String,
    _slot: Option<File>,
}

/// Workers of one plan on one machine; more is a mistake rather than a wish.
const SLOTS: u32 = 1024;

impl Worker {
    /// The name that the user gave. A second process with it takes over.
    pub fn named(name: &str) -> Result<Self> {
        let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.len() > 200 || !name.chars().all(legal) {
            return Err(Error::usage(format!("`--worker {name}` is not a legal worker name"))
                .hint("use at most 200 of a-z, A-Z, 0-9, `.`, `_`, `-`"));
        }
        Ok(Self { name: name.to_owned(), _slot: None })
    }

    /// Machine id, host name and the first slot that no other process of this plan holds here.
    /// A process that was killed has let go of its slot, so its successor gets the same name.
    pub fn on_this_machine(plan: &str) -> Result<Self> {
        let folder = runtime_folder();
        let locked = lock_slot(&folder, plan).map_err(|error| {
            Error::usage(format!("no worker slot could be locked in {}: {error}", folder.display()))
                .hint("name the worker yourself with `--worker NAME`, or set `XDG_RUNTIME_DIR`")
        })?;
        let (slot, file) = locked;
        let host = gethostname::gethostname();
        Ok(Self {
            name: format!("{}-{:08x}-{slot}", tame(&host.to_string_lossy()), machine()),
            _slot: Some(file),
        })
    }
}

fn runtime_folder() -> PathBuf {
    let user = std::env::var("USER").unwrap_or_else(|_| "user".to_owned());
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(
        || std::env::temp_dir().join(format!("onceover-{}", tame(&user))),
        |folder| PathBuf::from(folder).join("onceover"),
    )
}

fn lock_slot(folder: &Path, plan: &str) -> io::Result<(u32, File)> {
    fs::create_dir_all(folder)?;
    for slot in 0..SLOTS {
        let path = folder.join(format!("{plan}-{slot}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => return Ok((slot, file)),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other(format!("all {SLOTS} slots are taken")))
}

/// Two machines may have the same host name: the machine id tells them apart.
#[expect(clippy::cast_possible_truncation, reason = "a short name is wanted")]
fn machine() -> u32 {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    xxh3_64(id.trim().as_bytes()) as u32
}

fn tame(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    text.chars().take(60).map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_living_process_has_its_own_slot_and_a_dead_ones_slot_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, held) = lock_slot(folder.path(), "p").unwrap();
        let (second, _held_too) = lock_slot(folder.path(), "p").unwrap();
        assert_eq!((first, second), (0, 1));
        drop(held);
        assert_eq!(lock_slot(folder.path(), "p").unwrap().0, 0);
    }

    #[test]
    fn a_name_that_kafka_would_refuse_is_refused_here() {
        assert!(Worker::named("rack 1").is_err());
        assert!(Worker::named("").is_err());
        assert_eq!(Worker::named("rack-1.a_b").unwrap().name, "rack-1.a_b");
    }
}
