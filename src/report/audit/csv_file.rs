//! Rows of cells, written one cell at a time without allocation.

use std::fmt::Display;
use std::io::{self, Write as _};

use super::cell::{KeyForm, key_cell, name_cell};
use super::folder::Folder;
use super::writer::{FileWriter, Written};
use crate::error::Result;

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

/// A CSV file that is being written: cells from left to right, then [`CsvFile::end_row`]. RFC 4180: commas,
/// CR LF, quotes only around cells that need them.
pub(super) struct CsvFile {
    file: FileWriter,
    /// The row that is being made, each cell with its comma.
    row: Vec<u8>,
    cells: usize,
    columns: usize,
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
        let mut this = Self { file, row: Vec::new(), cells: 0, columns: 0, cell: Vec::new() };
        for column in columns {
            this.word(column)?;
        }
        this.columns = this.cells;
        this.end_row()?;
        Ok(this)
    }

    /// A cell of our own words.
    pub fn word(&mut self, word: &str) -> Result<()> {
        self.quoted(word.as_bytes());
        Ok(())
    }

    /// A topic name, or a text of ours that could begin with anything.
    pub fn name(&mut self, name: &str) -> Result<()> {
        name_cell(name, &mut self.cell);
        self.write();
        Ok(())
    }

    /// A key and its encoding: two cells.
    pub fn key(&mut self, key: Option<&[u8]>, form: KeyForm) -> Result<()> {
        let encoding = key_cell(key, form, &mut self.cell);
        self.write();
        self.word(encoding.word())
    }

    /// A number or a digest.
    pub fn number(&mut self, number: impl Display) -> Result<()> {
        self.cell.clear();
        write!(self.cell, "{number}").map_err(|error| self.file.told(&error))?;
        self.write();
        Ok(())
    }

    /// A number or a digest; an empty cell without one.
    pub fn number_or_none(&mut self, number: Option<impl Display>) -> Result<()> {
        match number {
            Some(number) => self.number(number),
            None => self.word(""),
        }
    }

    /// A cell that needs no quotes, appended to the row by `put`.
    pub fn plain(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.row);
        self.end_cell();
    }

    /// Ends the row. Every row has as many cells as the header has.
    pub fn end_row(&mut self) -> Result<()> {
        if self.cells != self.columns {
            let what = format!("a row has {} cells instead of {}", self.cells, self.columns);
            return Err(self.file.told(&io::Error::other(what)));
        }
        self.row.pop();
        self.row.extend_from_slice(b"\r\n");
        let written = self.file.write_all(&self.row);
        self.row.clear();
        self.cells = 0;
        written.map_err(|error| self.file.told(&error))
    }

    /// Ends the file.
    pub fn finish(self) -> Result<Written> {
        self.file.finish()
    }

    fn write(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        self.quoted(&cell);
        self.cell = cell;
    }

    fn quoted(&mut self, cell: &[u8]) {
        if cell.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
            self.row.push(b'"');
            for piece in cell.split_inclusive(|byte| *byte == b'"') {
                self.row.extend_from_slice(piece);
                if piece.ends_with(b"\"") {
                    self.row.push(b'"');
                }
            }
            self.row.push(b'"');
        } else {
            self.row.extend_from_slice(cell);
        }
        self.end_cell();
    }

    fn end_cell(&mut self) {
        self.row.push(b',');
        self.cells += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(rows: &[Vec<String>]) -> Vec<u8> {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(home.path()).expect("opened");
        let mut file =
            CsvFile::create(&folder, "diff.csv", Mark::None, ["a", "b"]).expect("created");
        for row in rows {
            row.iter().for_each(|cell| file.word(cell).expect("a cell"));
            file.end_row().expect("a row");
        }
        folder.publish(&[file.finish().expect("finished")]).expect("published");
        std::fs::read(home.path().join("diff.csv")).expect("it is there")
    }

    proptest! {
        #[test]
        fn another_writer_writes_the_same_bytes(
            rows in prop::collection::vec(prop::collection::vec("[ab,;'\"\r\n]{0,6}", 2), 0..6),
        ) {
            let mut other =
                csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
            other.write_record(["a", "b"]).expect("written");
            rows.iter().for_each(|row| other.write_record(row).expect("written"));
            let other = other.into_inner().expect("written");
            prop_assert_eq!(written(&rows), other);
        }
    }

    #[test]
    fn a_row_that_lacks_a_cell_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(home.path()).expect("opened");
        let mut file =
            CsvFile::create(&folder, "diff.csv", Mark::None, ["a", "b"]).expect("created");
        file.word("x").expect("a cell");
        let error = file.end_row().expect_err("refused");
        assert!(error.to_string().contains("1 cells instead of 2"), "{error}");
    }
}
