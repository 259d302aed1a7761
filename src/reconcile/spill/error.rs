//! What can go wrong with the spill folder.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error as ThisError;

use crate::error::Error;
use crate::report::numbers::bytes;

/// Why the spill folder or one of its files could not be used. The text ends without a full stop.
#[derive(Debug, ThisError)]
pub enum SpillError {
    /// The disk is full.
    #[error(
        "no space left in the spill folder `{}`: {} were written, the rest of the proof needs \
         about as much again",
        folder.display(),
        bytes(*written)
    )]
    Full {
        /// The spill folder.
        folder: PathBuf,
        /// Bytes written by this process so far, those already removed included.
        written: u64,
    },
    /// The system refused something.
    #[error("cannot {doing} `{}`: {error}", path.display())]
    Io {
        /// What was tried, as `cannot …`.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A run file is not what was written.
    #[error("the spill file `{}` is damaged: {what}", path.display())]
    Damaged {
        /// The run file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A collector or sorter is used after its write failed.
    #[error("a spill file in `{}` could not be written earlier", folder.display())]
    Failed {
        /// The spill folder.
        folder: PathBuf,
    },
}

impl SpillError {
    /// The system refused `doing` to `path`.
    pub fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { doing, path: path.into(), error }
    }
}

/// Whether `error` says that there is no more space: on the disk, or for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

const ELSEWHERE: &str = "give another folder with `--spill DIR`, or more `reconcile.memory`";

/// The spill folder belongs to neither cluster: what the system refuses is for the command line to
/// change (exit 2). A damaged file is nobody's choice: a fault (exit 70).
impl From<SpillError> for Error {
    fn from(error: SpillError) -> Self {
        match error {
            SpillError::Damaged { .. } => Error::fault(error.to_string()).hint(
                "run it again; if it happens again, the disk or the memory of this machine is \
                 failing: give a folder on another disk with `--spill DIR`",
            ),
            _ => Error::usage(error.to_string()).hint(ELSEWHERE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_what_was_written_and_what_to_do() {
        let error = Error::from(SpillError::Full { folder: "/tmp/x".into(), written: 4_200_000 });
        assert_eq!(
            error.to_string(),
            "no space left in the spill folder `/tmp/x`: 4.2 MB were written, the rest of the proof \
             needs about as much again\n\
             hint: give another folder with `--spill DIR`, or more `reconcile.memory`"
        );
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_damaged_file_is_a_fault() {
        let error = SpillError::Damaged { path: "/tmp/x".into(), what: "it ends early".into() };
        assert_eq!(Error::from(error).exit_code(), 70);
    }
}
