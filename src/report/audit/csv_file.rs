//! Rows of cells, written one cell at a time without allocation.

use std::fmt::Display;
use std::io::{self, Write as _};

use super::cell::{KeyForm, key_cell, name_cell};
use super::folder::Folder;
use super::writer::{FileWriter, Written};
use crate::error::{Error, Result};

/// Tells Excel that what follows is UTF-8; csv readers skip it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Whether a file begins with a byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// For files that a person opens and that may hold more than ASCII.
    Bom,
    /// For programs.
    None,
}

/// A CSV file that is being written: cells from left to right, then [`CsvFile::end_row`].
pub(super) struct CsvFile {
    csv: csv::Writer<FileWriter>,
    path: std::path::PathBuf,
    /// The cell that is being made.
    cell: Vec<u8>,
}

impl CsvFile {
    /// Begins the file `name` with its header.
    pub fn create<'c>(
        folder: &Folder,
        name: &'static str,
        mark: Mark,
        columns: impl IntoIterator<Item = &'c str>,
    ) -> Result<Self> {
        let mut file = folder.file(name)?;
        if mark == Mark::Bom {
            file.write_all(BYTE_ORDER_MARK).map_err(|error| file.told(&error))?;
        }
        let path = file.path().to_owned();
        let csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(file);
        let mut this = Self { csv, path, cell: Vec::new() };
        for column in columns {
            this.word(column)?;
        }
        this.end_row()?;
        Ok(this)
    }

    /// A cell of our own words.
    pub fn word(&mut self, word: &str) -> Result<()> {
        let written = self.csv.write_field(word);
        written.map_err(|error| self.told(error))
    }

    /// A topic name, or a text of ours that could begin with anything.
    pub fn name(&mut self, name: &str) -> Result<()> {
        name_cell(name, &mut self.cell);
        self.write()
    }

    /// A key and its encoding: two cells.
    pub fn key(&mut self, key: Option<&[u8]>, form: KeyForm) -> Result<()> {
        let encoding = key_cell(key, form, &mut self.cell);
        self.write()?;
        self.word(encoding.word())
    }

    /// A number or a digest.
    pub fn number(&mut self, number: impl Display) -> Result<()> {
        self.cell.clear();
        write!(self.cell, "{number}").map_err(|error| self.told(error.into()))?;
        self.write()
    }

    /// A number or a digest; an empty cell without one.
    pub fn number_or_none(&mut self, number: Option<impl Display>) -> Result<()> {
        match number {
            Some(number) => self.number(number),
            None => self.word(""),
        }
    }

    /// Ends the row. Every row has as many cells as the header has.
    pub fn end_row(&mut self) -> Result<()> {
        let written = self.csv.write_record(None::<&[u8]>);
        written.map_err(|error| self.told(error))
    }

    /// Ends the file.
    pub fn finish(self) -> Result<Written> {
        let Self { csv, path, .. } = self;
        let file =
            csv.into_inner().map_err(|error| super::writer::cannot_write(&path, error.error()))?;
        file.finish()
    }

    fn write(&mut self) -> Result<()> {
        let written = self.csv.write_field(&self.cell);
        written.map_err(|error| self.told(error))
    }

    fn told(&self, error: csv::Error) -> Error {
        super::writer::cannot_write(&self.path, &csv_error(error))
    }
}

/// What the disk said; csv's other errors say themselves.
fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(csv_words(&other)),
    }
}

fn csv_words(kind: &csv::ErrorKind) -> String {
    match kind {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("a row has {len} cells instead of {expected_len}")
        }
        other => format!("{other:?}"),
    }
}
