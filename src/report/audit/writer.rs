//! A file that is being written: counted, hashed, and on the disk before anybody relies on it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::local::local_error;
use crate::error::Result;

/// Bytes between two writes; hashing and writing cost least in large pieces.
const BUFFER: usize = 128 * 1024;

/// A file of a proof, complete and on the disk under its temporary name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its name in the folder, once it is published.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
}

/// Writes one file of a proof; made by [`super::Folder::file`].
///
/// Errors of [`Write`] lack the path: [`FileWriter::told`] adds it.
#[derive(Debug)]
pub struct FileWriter {
    name: &'static str,
    path: PathBuf,
    out: BufWriter<Hashed>,
}

#[derive(Debug)]
struct Hashed {
    file: File,
    sha256: Sha256,
    bytes: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sha256.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl FileWriter {
    /// `name` is what it will be called, `path` where `file` lies for now.
    pub(super) fn new(name: &'static str, path: PathBuf, file: File) -> Self {
        let hashed = Hashed { file, sha256: Sha256::new(), bytes: 0 };
        Self { name, path, out: BufWriter::with_capacity(BUFFER, hashed) }
    }

    /// An error of writing this file, in words.
    pub fn told(&self, error: &io::Error) -> crate::error::Error {
        cannot_write(&self.path, error)
    }

    /// Where it lies for now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far, those in the buffer included.
    pub fn bytes(&self) -> u64 {
        self.out.get_ref().bytes + self.out.buffer().len() as u64
    }

    /// Writes out the rest and waits until the disk has it.
    ///
    /// # Errors
    /// The disk is full, or failed.
    pub fn finish(self) -> Result<Written> {
        let Self { name, path, out } = self;
        let hashed = out.into_inner().map_err(|error| cannot_write(&path, error.error()))?;
        hashed.file.sync_all().map_err(|error| cannot_write(&path, &error))?;
        let sha256 = format!("{:x}", hashed.sha256.finalize());
        Ok(Written { name, bytes: hashed.bytes, sha256 })
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> crate::error::Error {
    local_error("write", path, error)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn length_and_hash_are_those_of_the_bytes_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut writer =
            FileWriter::new("diff.csv", path.clone(), File::create_new(&path).unwrap());
        writer.write_all(b"abc").unwrap();
        assert_eq!(writer.bytes(), 3);
        let written = writer.finish().unwrap();
        assert_eq!(written.bytes, 3);
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            written.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(std::fs::read(path).unwrap(), b"abc");
    }

    #[test]
    fn a_full_disk_is_found_at_the_latest_when_the_file_is_finished() {
        let path = PathBuf::from("/dev/full");
        let Ok(file) = OpenOptions::new().write(true).open(&path) else {
            return; // Not Linux.
        };
        let mut writer = FileWriter::new("diff.csv", path, file);
        writer.write_all(b"abc").unwrap();
        let error = writer.finish().unwrap_err();
        assert!(error.what.contains("/dev/full"), "{error}");
        assert!(error.hint.unwrap().contains("free some space"));
    }
}
