//! Troubles of the machine that onceover runs on, in words: a full disk, a missing right.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::Error;

/// `cannot <doing> <path>: <why>`, with a hint where there is one. Exit code 2, as for a stdout that
/// cannot be written: no cluster is at fault, and the same command fails again until somebody acts.
pub fn local_error(doing: &str, path: &Path, error: &io::Error) -> Error {
    let told = Error::usage(format!("cannot {doing} `{}`: {error}", path.display()));
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            told.hint("free some space there, or choose a folder on another disk with `--out`")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            told.hint("choose a folder that you may write to with `--out`")
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_its_path_and_what_to_do_and_blames_no_cluster() {
        let error =
            local_error("write", Path::new("/out/diff.csv"), &ErrorKind::StorageFull.into());
        assert!(error.what.starts_with("cannot write `/out/diff.csv`: "), "{error}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("--out")), "{error}");
        assert_eq!((error.exit_code(), error.side(), error.retryable), (2, None, false));
    }

    #[test]
    fn a_missing_right_has_a_hint_and_anything_else_has_none() {
        let of = |kind: ErrorKind| local_error("write", Path::new("x"), &kind.into()).hint;
        assert!(of(ErrorKind::PermissionDenied).is_some());
        assert_eq!(of(ErrorKind::InvalidData), None);
    }
}
