//! `SHA256SUMS`, as `sha256sum -c` reads it: 64 digits, two blanks, the name, a line feed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::local::local_error;
use super::writer::Written;
use crate::error::{Error, Result};

/// The file's name.
pub const FILE: &str = "SHA256SUMS";

/// The file's text, sorted by name.
pub fn render(files: &[Written]) -> String {
    let mut lines: Vec<_> =
        files.iter().map(|file| (file.name, format!("{}  {}\n", file.sha256, file.name))).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Hashes all files of a proof again, before they are believed (`onceover diff A B`).
///
/// # Errors
/// There is no `SHA256SUMS`, or a file is not the one that it names.
pub fn verify(folder: &Path) -> Result<()> {
    verify_lacking(folder, &[]).map(drop)
}

/// The same for a folder of which files in `may_lack` were left behind; the names of those that are
/// there.
///
/// # Errors
/// As [`verify`], for all other files.
pub fn verify_lacking(folder: &Path, may_lack: &[&str]) -> Result<Vec<String>> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).map_err(|error| {
        let told = local_error("read", &path, &error);
        if error.kind() == io::ErrorKind::NotFound {
            told.hint("is this the folder of a proof that was completed?")
        } else {
            told
        }
    })?;
    let mut there = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // A name with a slash would lead out of the folder.
        let (sum, name) = line
            .split_once("  ")
            .filter(|(_, name)| !name.contains('/'))
            .ok_or_else(|| Error::usage(format!("`{}`, line {number}: no sum", path.display())))?;
        let file = folder.join(name);
        let told = |error| local_error("read", &file, &error);
        let mut sha256 = Sha256::new();
        let mut opened = match File::open(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_lack.contains(&name) => {
                continue;
            }
            opened => opened.map_err(told)?,
        };
        io::copy(&mut opened, &mut sha256).map_err(told)?;
        if format!("{:x}", sha256.finalize()) != sum {
            return Err(Error::usage(format!(
                "`{}` is not the file that `{FILE}` names: its SHA-256 differs",
                file.display()
            ))
            .hint("copy the folder again, or prove again"));
        }
        there.push(name.to_owned());
    }
    Ok(there)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::Command;

    use super::super::folder::{DIFF, Folder, SUMMARY};
    use super::*;

    fn prove(path: &Path) {
        let folder = Folder::open(path).unwrap();
        let files = [(SUMMARY, "{}"), (DIFF, "topic\r\n")].map(|(name, text)| {
            let mut file = folder.file(name).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.finish().unwrap()
        });
        folder.publish(&files).unwrap();
    }

    #[test]
    fn sha256sum_finds_the_files_whole_and_a_changed_byte_out() {
        let home = tempfile::tempdir().unwrap();
        prove(home.path());
        let check =
            || Command::new("sha256sum").args(["--strict", "-c", FILE]).current_dir(&home).output();
        let Ok(whole) = check() else {
            return; // Not every system has coreutils.
        };
        assert!(whole.status.success(), "{whole:?}");
        assert_eq!(String::from_utf8(whole.stdout).unwrap(), "diff.csv: OK\nsummary.json: OK\n");
        fs::write(home.path().join(DIFF), "topic\n").unwrap();
        assert!(!check().unwrap().status.success());
    }

    #[test]
    fn a_changed_a_missing_and_an_unproved_file_are_named() {
        let home = tempfile::tempdir().unwrap();
        let why = || verify(home.path()).unwrap_err().what;
        assert!(why().contains("SHA256SUMS"));
        prove(home.path());
        verify(home.path()).unwrap();
        fs::write(home.path().join(SUMMARY), "{ }").unwrap();
        assert!(why().contains("summary.json` is not the file"), "{}", why());
        fs::remove_file(home.path().join(SUMMARY)).unwrap();
        assert!(why().starts_with("cannot read"), "{}", why());
        fs::write(home.path().join(FILE), "00  ../x\n").unwrap();
        assert!(why().ends_with("line 1: no sum"), "{}", why());
    }
}
