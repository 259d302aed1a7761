//! `buckets.csv`, one row per bucket of keys that a side has records of; and `buckets-differing.csv`, the
//! buckets that are to be read again.

use std::path::Path;

use super::cell::read_name_cell;
use super::csv_file::{CsvFile, Mark};
use super::folder::{BUCKETS, BUCKETS_DIFFERING, Folder};
use super::local::local_error;
use super::writer::Written;
use crate::error::{Error, Result};
use crate::reconcile::sites::buckets::{Bucket, BucketId};

/// What stands for the bucket of records without a key.
const NO_KEY: &str = "none";

const AT: [&str; 3] = ["topic", "partition", "bucket"];
const COLUMNS: [&str; 9] = [
    "topic",
    "partition",
    "bucket",
    "keys",
    "records",
    "tombstones",
    "superseded",
    "foreign",
    "digest",
];

/// Which bucket. Sorted by topic, source partition and number, that of records without a key first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketAt {
    /// Name of the source topic.
    pub topic: String,
    /// Source partition.
    pub partition: i32,
    /// Number.
    pub bucket: BucketId,
}

/// `buckets.csv` while it is written, in the order of [`BucketAt`].
pub struct BucketFile(CsvFile);

impl BucketFile {
    /// Begins the file.
    ///
    /// # Errors
    /// It cannot be written; so for all that follows.
    pub fn create(folder: &Folder) -> Result<Self> {
        Ok(Self(CsvFile::create(folder, BUCKETS, Mark::None, COLUMNS)?))
    }

    /// Writes a row.
    pub fn row(
        &mut self,
        topic: &str,
        (partition, id): (i32, BucketId),
        bucket: &Bucket,
    ) -> Result<()> {
        at(&mut self.0, topic, partition, id)?;
        for number in
            [bucket.keys, bucket.records, bucket.tombstones, bucket.superseded, bucket.foreign]
        {
            self.0.number(number)?;
        }
        self.0.number(bucket.digest)?;
        self.0.end_row()
    }

    /// Ends the file.
    pub fn finish(self) -> Result<Written> {
        self.0.finish()
    }
}

fn at(csv: &mut CsvFile, topic: &str, partition: i32, id: BucketId) -> Result<()> {
    csv.name(topic)?;
    csv.number(partition)?;
    match id {
        Some(id) => csv.number(id),
        None => csv.word(NO_KEY),
    }
}

/// Writes `buckets-differing.csv`.
///
/// # Errors
/// It cannot be written.
pub fn write_differing<'a>(
    folder: &Folder,
    buckets: impl IntoIterator<Item = &'a BucketAt>,
) -> Result<Written> {
    let mut csv = CsvFile::create(folder, BUCKETS_DIFFERING, Mark::None, AT)?;
    for bucket in buckets {
        at(&mut csv, &bucket.topic, bucket.partition, bucket.bucket)?;
        csv.end_row()?;
    }
    csv.finish()
}

/// Reads `buckets.csv`.
///
/// # Errors
/// It cannot be read, or is damaged; the line is named.
pub fn read(path: &Path) -> Result<Vec<(BucketAt, Bucket)>> {
    rows(path, &COLUMNS, |row| {
        let number = |column: usize| row.get(column)?.parse::<u64>().ok();
        let bucket = Bucket {
            keys: number(3)?,
            records: number(4)?,
            tombstones: number(5)?,
            superseded: number(6)?,
            foreign: number(7)?,
            digest: row.get(8)?.parse().ok()?,
        };
        Some((bucket_at(row)?, bucket))
    })
}

/// Reads `buckets-differing.csv`.
///
/// # Errors
/// It cannot be read, or is damaged; the line is named.
pub fn read_differing(path: &Path) -> Result<Vec<BucketAt>> {
    rows(path, &AT, bucket_at)
}

fn bucket_at(row: &csv::StringRecord) -> Option<BucketAt> {
    let bucket = match row.get(2)? {
        NO_KEY => None,
        number => Some(number.parse().ok()?),
    };
    let topic = read_name_cell(row.get(0)?.as_bytes())?.to_owned();
    Some(BucketAt { topic, partition: row.get(1)?.parse().ok()?, bucket })
}

fn rows<T>(
    path: &Path,
    columns: &[&str],
    read: impl Fn(&csv::StringRecord) -> Option<T>,
) -> Result<Vec<T>> {
    let shown = path.display();
    let file = std::fs::File::open(path).map_err(|error| local_error("read", path, &error))?;
    let mut csv = csv::Reader::from_reader(file);
    let header = csv.headers().map_err(|error| Error::usage(format!("`{shown}`: {error}")))?;
    if !header.iter().eq(columns.iter().copied()) {
        return Err(Error::usage(format!(
            "`{shown}` is not what it should be: its columns are not {}",
            columns.join(", ")
        )));
    }
    let mut rows = Vec::new();
    for (line, row) in (2..).zip(csv.records()) {
        let row = row.ok().and_then(|row| read(&row));
        let damaged = || {
            Error::usage(format!("`{shown}`, line {line} is damaged"))
                .hint("check the folder with `sha256sum -c SHA256SUMS`")
        };
        rows.push(row.ok_or_else(damaged)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SequenceDigest;

    fn bucket(n: u64) -> Bucket {
        let digest = SequenceDigest { count: n, a: 1, b: 2 };
        Bucket { keys: n, records: n + 1, tombstones: 2, superseded: 3, foreign: 4, digest }
    }

    #[test]
    fn buckets_are_read_back_as_they_were_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let mut file = BucketFile::create(&folder).unwrap();
        file.row("-a", (0, None), &bucket(1)).unwrap();
        file.row("-a", (0, Some(255)), &bucket(5)).unwrap();
        let at = |bucket| BucketAt { topic: "-a".into(), partition: 0, bucket };
        let differing = write_differing(&folder, &[at(None), at(Some(7))]).unwrap();
        folder.publish(&[file.finish().unwrap(), differing]).unwrap();
        let path = home.path().join(BUCKETS);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "topic,partition,bucket,keys,records,tombstones,superseded,foreign,digest\r\n\
             '-a,0,none,1,2,2,3,4,1:0000000000000001:0000000000000002\r\n\
             '-a,0,255,5,6,2,3,4,5:0000000000000001:0000000000000002\r\n"
        );
        assert_eq!(read(&path).unwrap(), [(at(None), bucket(1)), (at(Some(255)), bucket(5))]);
        let path = home.path().join(BUCKETS_DIFFERING);
        assert_eq!(read_differing(&path).unwrap(), [at(None), at(Some(7))]);
        assert!(read(&path).unwrap_err().what.contains("its columns are not"));
        std::fs::write(&path, "topic,partition,bucket\r\na,0,256\r\n").unwrap();
        assert!(read_differing(&path).unwrap_err().what.ends_with("line 2 is damaged"));
    }
}
