//! `diff.csv`: one row per key that differs, at most so many; the rest is counted.

use super::cell::KeyForm;
use super::csv_file::{CsvFile, Mark};
use super::folder::{DIFF, Folder};
use super::writer::Written;
use crate::error::Result;
use crate::reconcile::difference::{Difference, Kind};

/// The columns, in their order; more may be added at the end.
pub const COLUMNS: [&str; 11] = [
    "topic",
    "partition",
    "key",
    "key_encoding",
    "kind",
    "detail",
    "source_records",
    "target_records",
    "source_offset",
    "target_offset",
    "made_by",
];

/// How many keys differ, and how many of them have a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffCounts {
    by_kind: [u64; Kind::ALL.len()],
    /// Rows in `diff.csv`.
    pub rows: u64,
}

impl DiffCounts {
    /// Counts a key that differs.
    pub fn add(&mut self, kind: Kind) {
        self.by_kind[kind as usize] += 1;
    }

    /// Keys of this kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Keys of every kind.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// The kinds in their precedence, those that did not occur too.
    pub fn each(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().map(|kind| (kind, self.of(kind)))
    }
}

/// `diff.csv` while it is written. Rows stand in the order in which they come: by topic, key and partition.
pub struct DiffFile {
    csv: CsvFile,
    form: KeyForm,
    max_rows: u64,
    counts: DiffCounts,
}

impl DiffFile {
    /// Begins the file.
    ///
    /// # Errors
    /// The file cannot be written; so for all that follows.
    pub fn create(folder: &Folder, form: KeyForm, max_rows: u64) -> Result<Self> {
        let csv = CsvFile::create(folder, DIFF, Mark::Bom, COLUMNS)?;
        Ok(Self { csv, form, max_rows, counts: DiffCounts::default() })
    }

    /// Counts a difference, and writes it if there is still room. `topic` is the source topic's name.
    pub fn row(&mut self, topic: &str, key: Option<&[u8]>, difference: &Difference) -> Result<()> {
        self.counts.add(difference.kind);
        if self.counts.rows >= self.max_rows {
            return Ok(());
        }
        self.counts.rows += 1;
        let csv = &mut self.csv;
        csv.name(topic)?;
        csv.number(difference.partition)?;
        csv.key(key, self.form)?;
        csv.number(difference.kind)?;
        csv.name(&difference.detail)?;
        csv.number(difference.source_records)?;
        csv.number(difference.target_records)?;
        csv.number_or_none(difference.source_offset)?;
        csv.number_or_none(difference.target_offset)?;
        csv.number_or_none(difference.made_by)?;
        csv.end_row()
    }

    /// Counts a key that differs and gets no row.
    pub fn count(&mut self, kind: Kind) {
        self.counts.add(kind);
    }

    /// What was counted so far.
    pub fn counts(&self) -> DiffCounts {
        self.counts
    }

    /// Ends the file.
    pub fn finish(self) -> Result<(Written, DiffCounts)> {
        Ok((self.csv.finish()?, self.counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::difference::MadeBy;

    fn difference(kind: Kind) -> Difference {
        Difference {
            partition: 3,
            kind,
            detail: "2 missing, 1 changed (value, timestamp)".into(),
            source_records: 5,
            target_records: 3,
            source_offset: Some(1_000_000),
            target_offset: None,
            made_by: Some(MadeBy::Writer),
        }
    }

    fn written(max_rows: u64, rows: &[(Option<&[u8]>, Kind)]) -> (String, DiffCounts) {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let mut file = DiffFile::create(&folder, KeyForm::Plain, max_rows).unwrap();
        for (key, kind) in rows {
            file.row("orders", *key, &difference(*kind)).unwrap();
        }
        let (written, counts) = file.finish().unwrap();
        folder.publish(&[written]).unwrap();
        (std::fs::read_to_string(home.path().join(DIFF)).unwrap(), counts)
    }

    #[test]
    fn the_file_is_rfc_4180_behind_a_byte_order_mark() {
        let keys: [&[u8]; 3] = [b"=a,\"b\"", "größe".as_bytes(), b"\xff"];
        let rows: Vec<_> = keys.map(|key| (Some(key), Kind::Missing)).into();
        let (text, _) = written(10, &[&rows[..], &[(None, Kind::Extra)]].concat());
        let detail = "\"2 missing, 1 changed (value, timestamp)\"";
        let rest = format!("{detail},5,3,1000000,,later writer\r\n");
        assert_eq!(
            text,
            format!(
                "\u{feff}topic,partition,key,key_encoding,kind,detail,source_records,target_records,\
                 source_offset,target_offset,made_by\r\n\
                 orders,3,\"'=a,\"\"b\"\"\",text-escaped,missing,{rest}\
                 orders,3,größe,text,missing,{rest}\
                 orders,3,ff,hex,missing,{rest}\
                 orders,3,,none,extra,{rest}"
            )
        );
    }

    #[test]
    fn rows_beyond_the_limit_are_counted_by_kind_and_not_written() {
        let kinds = [Kind::Changed, Kind::Missing, Kind::Changed, Kind::Reordered];
        let (text, counts) = written(2, &kinds.map(|kind| (Some(&b"k"[..]), kind)));
        assert_eq!(text.lines().count(), 1 + 2);
        assert_eq!((counts.rows, counts.total()), (2, 4));
        let each: Vec<_> = counts.each().filter(|(_, keys)| *keys > 0).collect();
        assert_eq!(each, [(Kind::Missing, 1), (Kind::Changed, 2), (Kind::Reordered, 1)]);
    }
}
