//! Reads a manifest back, row by row, and believes nothing: a damaged row is named with its line.

use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use csv::ByteRecord;

use super::cell::{KeyEncoding, KeyForm, read_key_cell, read_name_cell};
use super::local::local_error;
use super::manifest::columns;
use crate::digest::{RecordDigest, SequenceDigest};
use crate::error::{Error, Result, Side};
use crate::reconcile::manifest::Manifest;

/// Bytes read at once.
const BUFFER: usize = 128 * 1024;

/// A row of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestRow {
    /// Name of the source topic.
    pub topic: Arc<str>,
    /// The key's bytes, or what stands for them.
    pub key: Option<Vec<u8>>,
    /// Source partition.
    pub partition: i32,
    /// Whether the key is plain or hashed; `None` for a record without a key, which is both.
    pub form: Option<KeyForm>,
    /// What the side holds of the key.
    pub manifest: Manifest,
}

impl ManifestRow {
    /// What rows are sorted by: topic, then key (none first, then by bytes), then partition.
    pub fn order(&self) -> (&str, Option<&[u8]>, i32) {
        (&self.topic, self.key.as_deref(), self.partition)
    }
}

/// Yields the rows of a manifest in their order; after an error it yields nothing more.
pub struct ManifestReader {
    path: PathBuf,
    side: Side,
    csv: csv::Reader<File>,
    record: ByteRecord,
    /// Line of the row that was read last. No cell has a line break, and csv counts a CRLF late.
    line: u64,
    last: Option<(Arc<str>, Option<Vec<u8>>, i32)>,
    failed: bool,
}

impl ManifestReader {
    /// Opens a manifest; its header says of which side it is.
    ///
    /// # Errors
    /// The file cannot be read, or is no manifest of this version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = File::open(&path).map_err(|error| local_error("read", &path, &error))?;
        let mut csv = csv::ReaderBuilder::new().buffer_capacity(BUFFER).from_reader(file);
        let header = csv.byte_headers().map_err(|error| told(&path, 1, error))?;
        let is = |side: &Side| header.iter().eq(columns(*side).map(str::as_bytes));
        let Some(side) = [Side::Source, Side::Target].into_iter().find(is) else {
            return Err(Error::usage(format!(
                "`{}` is no manifest: its header differs",
                path.display()
            ))
            .hint(
                "give a `manifest-source.csv` or `manifest-target.csv` of this version of onceover",
            ));
        };
        let record = ByteRecord::new();
        Ok(Self { path, side, csv, record, line: 1, last: None, failed: false })
    }

    /// Of which side it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Reads the next row; `None` at the end.
    fn row(&mut self) -> Result<Option<ManifestRow>> {
        self.line += 1;
        let there = self.csv.read_byte_record(&mut self.record);
        if !there.map_err(|error| told(&self.path, self.line, error))? {
            return Ok(None);
        }
        let last = self.last.as_ref();
        let row = parse(&self.record, self.side, last.map(|(topic, ..)| topic)).and_then(|row| {
            let before = last.map(|(topic, key, partition)| (&**topic, key.as_deref(), *partition));
            if before.is_some_and(|before| before >= row.order()) {
                return Err("it stands out of order".to_owned());
            }
            Ok(row)
        });
        let row = row.map_err(|why| damaged(&self.path, self.line, &why))?;
        self.remember(&row);
        Ok(Some(row))
    }

    /// Keeps the row's place in the order, in the buffers of the row before.
    fn remember(&mut self, row: &ManifestRow) {
        match &mut self.last {
            Some((topic, key, partition)) => {
                topic.clone_from(&row.topic);
                key.clone_from(&row.key);
                *partition = row.partition;
            }
            last => *last = Some((row.topic.clone(), row.key.clone(), row.partition)),
        }
    }
}

impl Iterator for ManifestReader {
    type Item = Result<ManifestRow>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = self.row();
        self.failed = row.is_err();
        row.transpose()
    }
}

/// Reads a row; `topic` is the one before, which is mostly the same.
fn parse(record: &ByteRecord, side: Side, topic: Option<&Arc<str>>) -> Result<ManifestRow, String> {
    let mut cells = record.iter();
    let mut cell = || cells.next().unwrap_or_default();
    let name = read_name_cell(cell()).ok_or("the topic is not UTF-8")?;
    let topic = topic.filter(|topic| &***topic == name).cloned().unwrap_or_else(|| name.into());
    let partition = number(cell(), "the partition")?;
    let key = cell();
    let encoding = KeyEncoding::of(cell()).ok_or("the key's encoding is unknown")?;
    let key = read_key_cell(key, encoding).ok_or("the key is not in its encoding")?;
    let form = match encoding {
        KeyEncoding::None => None,
        KeyEncoding::HmacSha256 => Some(KeyForm::Hashed),
        KeyEncoding::Text | KeyEncoding::TextEscaped | KeyEncoding::Hex => Some(KeyForm::Plain),
    };
    let records: u64 = number(cell(), "the number of records")?;
    let tombstones = number(cell(), "the number of tombstones")?;
    let sequence: SequenceDigest = number(cell(), "the digest")?;
    let last: Option<RecordDigest> = optional(cell(), "the last record's digest")?;
    let first_offset = optional(cell(), "the first offset")?.unwrap_or(-1);
    let last_offset = optional(cell(), "the last offset")?.unwrap_or(-1);
    let mut foreign = 0;
    let mut first_foreign = -1;
    if side == Side::Target {
        foreign = number(cell(), "the number of foreign records")?;
        first_foreign = optional(cell(), "the first foreign offset")?.unwrap_or(-1);
    }
    let last_tombstone: Option<u8> = optional(cell(), "whether the last record is a tombstone")?;
    let multiset: Option<RecordDigest> = optional(cell(), "the multiset")?;
    let beyond = number(cell(), "the number of records beyond")?;

    let last = last.zip(last_tombstone.map(|tombstone| tombstone == 1));
    let sum = multiset.or(last.map(|(digest, _)| digest)).map_or(0, |digest| digest.0);
    if sequence.count != records {
        return Err(format!("{records} records, and a digest of {}", sequence.count));
    }
    let complete = (records > 0) == last.is_some() && (records > 1) == multiset.is_some();
    if !complete || tombstones > records || first_offset > last_offset {
        return Err("its cells contradict each other".into());
    }
    let manifest = Manifest {
        sequence,
        sum,
        tombstones,
        last,
        first_offset,
        last_offset,
        foreign,
        first_foreign,
        beyond,
    };
    Ok(ManifestRow { topic, key, partition, form, manifest })
}

fn number<T: FromStr<Err: Display>>(cell: &[u8], what: &str) -> Result<T, String> {
    let text = std::str::from_utf8(cell).map_err(|error| format!("{what}: {error}"))?;
    text.parse().map_err(|error| format!("{what}: {error}"))
}

fn optional<T: FromStr<Err: Display>>(cell: &[u8], what: &str) -> Result<Option<T>, String> {
    if cell.is_empty() { Ok(None) } else { number(cell, what).map(Some) }
}

fn told(path: &Path, line: u64, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => local_error("read", path, &error),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            damaged(path, line, &format!("{len} cells instead of {expected_len}"))
        }
        other => damaged(path, line, &format!("{other:?}")),
    }
}

fn damaged(path: &Path, line: u64, why: &str) -> Error {
    Error::usage(format!("`{}`, line {line} is damaged: {why}", path.display()))
        .hint("check the folder with `sha256sum -c SHA256SUMS`")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::folder::Folder;
    use super::super::manifest::ManifestFile;
    use super::super::manifest::tests::manifest;
    use super::*;
    use crate::reconcile::manifest::Place;

    type Row = ((String, Option<Vec<u8>>, i32), Manifest);

    fn write(home: &Path, side: Side, rows: &[Row]) -> PathBuf {
        let folder = Folder::open(home).unwrap();
        let mut file = ManifestFile::create(&folder, side, KeyForm::Plain).unwrap();
        for ((topic, key, partition), manifest) in rows {
            file.row(topic, key.as_deref(), *partition, manifest).unwrap();
        }
        let written = file.finish().unwrap();
        let path = home.join(written.name);
        folder.publish(&[written]).unwrap();
        path
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let topic = prop_oneof![Just("-x".to_owned()), "[a-b]{1,2}"];
        let key = prop::option::of(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3),
            "['=a,\";é]{0,3}".prop_map(String::into_bytes),
        ]);
        let place = prop_oneof![Just(Place::Claimed), Just(Place::Foreign), Just(Place::Beyond)];
        let records = prop::collection::vec((any::<u128>(), any::<bool>(), place), 0..4);
        let records = records.prop_map(|records| manifest(&records));
        prop::collection::btree_map((topic, key, 0..3), records, 0..12)
            .prop_map(|rows: BTreeMap<_, _>| rows.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_manifest_is_read_back_as_it_was_written(rows in rows()) {
            let home = tempfile::tempdir().unwrap();
            let reader = ManifestReader::open(write(home.path(), Side::Target, &rows)).unwrap();
            prop_assert_eq!(reader.side(), Side::Target);
            let read: Vec<Row> = reader
                .map(Result::unwrap)
                .map(|row| ((row.topic.to_string(), row.key, row.partition), row.manifest))
                .collect();
            prop_assert_eq!(read, rows);
        }
    }

    fn row(topic: &str, key: Option<&[u8]>, partition: i32) -> Row {
        let records = [(1, false, Place::Claimed), (2, true, Place::Claimed)];
        ((topic.into(), key.map(<[u8]>::to_vec), partition), manifest(&records))
    }

    fn first_error(path: &Path) -> String {
        ManifestReader::open(path).unwrap().find_map(Result::err).expect("it is damaged").what
    }

    #[test]
    fn rows_are_sorted_by_topic_key_and_partition_and_none_occurs_twice() {
        let sorted = [
            row("a", None, 1),
            row("a", Some(b""), 0),
            row("a", Some(b"\xff"), 0),
            row("b", None, 0),
        ];
        for (first, second) in [(1, 0), (2, 1), (3, 2), (1, 1)] {
            let home = tempfile::tempdir().unwrap();
            let rows = [sorted[first].clone(), sorted[second].clone()];
            let path = write(home.path(), Side::Source, &rows);
            let error = first_error(&path);
            assert!(error.ends_with("line 3 is damaged: it stands out of order"), "{error}");
        }
        let home = tempfile::tempdir().unwrap();
        let later = row("b", Some(b"k"), 0);
        let back = [sorted[1].clone(), later, sorted[2].clone()];
        let error = first_error(&write(home.path(), Side::Source, &back));
        assert!(error.ends_with("line 4 is damaged: it stands out of order"), "{error}");
        let path = write(home.path(), Side::Source, &sorted);
        assert_eq!(ManifestReader::open(path).unwrap().map(Result::unwrap).count(), 4);
    }

    #[test]
    fn a_damaged_row_is_named_with_its_line_and_ends_the_reading() {
        let home = tempfile::tempdir().unwrap();
        let rows = [row("a", Some(b"k"), 0), row("b", Some(b"k"), 0), row("c", Some(b"k"), 0)];
        let path = write(home.path(), Side::Source, &rows);
        let whole = std::fs::read_to_string(&path).unwrap();
        let damages = [
            ("b,0,", "b,x,", "the partition: "),
            ("b,0,k,text,2,", "b,0,k,text,3,", "3 records, and a digest of 2"),
            ("b,0,k,text,2,1,2:", "b,0,k,text,2,3,2:", "its cells contradict each other"),
            ("b,0,k,text", "b,0,k,hex", "the key is not in its encoding"),
            ("b,0,k,text", "b,0,k,base64", "the key's encoding is unknown"),
            ("b,0,k,text,2,1,2:", "b,0,k,text,2,1,2:X", "the digest: not a digest"),
            ("b,0,k", "b,k", "12 cells instead of 13"),
        ];
        for (from, to, why) in damages {
            std::fs::write(&path, whole.replace(from, to)).unwrap();
            let error = first_error(&path);
            assert!(error.contains(&format!("line 3 is damaged: {why}")), "{error}");
            assert_eq!(ManifestReader::open(&path).unwrap().count(), 2);
        }
        std::fs::write(&path, &whole[..whole.len() - 40]).unwrap();
        assert!(first_error(&path).contains("line 4 is damaged"));
    }

    #[test]
    fn what_is_no_manifest_is_said_at_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.csv");
        assert!(ManifestReader::open(&path).is_err());
        for text in ["", "topic,partition\r\n"] {
            std::fs::write(&path, text).unwrap();
            let error = ManifestReader::open(&path).err().unwrap();
            assert!(error.what.contains("is no manifest"), "{error}");
        }
    }
}
