//! `manifest-source.csv` and `manifest-target.csv`: one row per topic, key and partition, written as the
//! merge yields them; up to tens of millions, so no row allocates.
//!
//! A row holds all of a [`Manifest`], so that two files can be compared elsewhere as if both sides had
//! been read there.

use super::cell::KeyForm;
use super::csv_file::{CsvFile, Mark};
use super::folder::{Folder, MANIFEST_SOURCE, MANIFEST_TARGET};
use super::text::{decimal, record_digest, sequence_digest};
use super::writer::Written;
use crate::digest::RecordDigest;
use crate::error::{Result, Side};
use crate::reconcile::manifest::Manifest;

const COMMON: [&str; 10] = [
    "topic",
    "partition",
    "key",
    "key_encoding",
    "records",
    "tombstones",
    "digest",
    "last",
    "first_offset",
    "last_offset",
];

/// Records that no run names: only the target has some.
const FOREIGN: [&str; 2] = ["foreign", "first_foreign"];

/// What comparing needs beyond what a person reads: whether the last record's value is null (1 or 0,
/// empty without a record), the sum of the record digests modulo 2^128 (empty below two records: then it
/// is `last`), and the records behind the proved range.
const LAST: [&str; 3] = ["last_tombstone", "multiset", "beyond"];

/// The columns of a side's manifest, in their order. `topic` and `partition` are the source's on both
/// sides.
pub fn columns(side: Side) -> impl Iterator<Item = &'static str> {
    let foreign = if side == Side::Target { &FOREIGN[..] } else { &[] };
    COMMON.iter().chain(foreign).chain(&LAST).copied()
}

/// A manifest while it is written.
pub struct ManifestFile {
    csv: CsvFile,
    form: KeyForm,
    side: Side,
}

impl ManifestFile {
    /// Begins the side's file.
    ///
    /// # Errors
    /// The file cannot be written; so for all that follows.
    pub fn create(folder: &Folder, side: Side, form: KeyForm) -> Result<Self> {
        let name = match side {
            Side::Source => MANIFEST_SOURCE,
            Side::Target => MANIFEST_TARGET,
        };
        let csv = CsvFile::create(folder, name, Mark::None, columns(side))?;
        Ok(Self { csv, form, side })
    }

    /// Writes a row. Rows come sorted by topic, key (none first, then by bytes) and partition, each once.
    pub fn row(
        &mut self,
        topic: &str,
        key: Option<&[u8]>,
        partition: i32,
        manifest: &Manifest,
    ) -> Result<()> {
        let csv = &mut self.csv;
        let tombstone = manifest.last.map(|(_, tombstone)| u64::from(tombstone));
        let several = manifest.records() > 1;
        csv.name(topic)?;
        csv.number(partition)?;
        csv.key(key, self.form)?;
        csv.plain(|row| decimal(manifest.records(), row));
        csv.plain(|row| decimal(manifest.tombstones, row));
        csv.plain(|row| sequence_digest(manifest.sequence, row));
        csv.plain(|row| or_none(manifest.last, |(digest, _)| record_digest(digest, row)));
        csv.plain(|row| or_none(offset(manifest.first_offset), |offset| decimal(offset, row)));
        csv.plain(|row| or_none(offset(manifest.last_offset), |offset| decimal(offset, row)));
        if self.side == Side::Target {
            csv.plain(|row| decimal(manifest.foreign, row));
            csv.plain(|row| or_none(offset(manifest.first_foreign), |first| decimal(first, row)));
        }
        csv.plain(|row| or_none(tombstone, |tombstone| decimal(tombstone, row)));
        let multiset = several.then_some(RecordDigest(manifest.sum));
        csv.plain(|row| or_none(multiset, |sum| record_digest(sum, row)));
        csv.plain(|row| decimal(manifest.beyond, row));
        csv.end_row()
    }

    /// Ends the file.
    pub fn finish(self) -> Result<Written> {
        self.csv.finish()
    }
}

/// −1 stands for none.
fn offset(offset: i64) -> Option<u64> {
    u64::try_from(offset).ok()
}

fn or_none<T>(cell: Option<T>, put: impl FnOnce(T)) {
    if let Some(cell) = cell {
        put(cell);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::digest::RecordDigest;
    use crate::reconcile::manifest::{Place, Seen};

    /// A manifest of records with these digests, tombstones and places, from offset 7 on.
    pub fn manifest(records: &[(u128, bool, Place)]) -> Manifest {
        let mut manifest = Manifest::default();
        for (offset, (digest, tombstone, place)) in (7..).zip(records.iter().copied()) {
            manifest.push(Seen { offset, digest: RecordDigest(digest), tombstone, place });
        }
        manifest
    }

    fn text(side: Side, rows: &[(Option<&[u8]>, Manifest)]) -> String {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let mut file = ManifestFile::create(&folder, side, KeyForm::Plain).unwrap();
        for (key, manifest) in rows {
            file.row("orders", *key, 2, manifest).unwrap();
        }
        let written = file.finish().unwrap();
        let name = written.name;
        folder.publish(&[written]).unwrap();
        std::fs::read_to_string(home.path().join(name)).unwrap()
    }

    #[test]
    fn a_source_manifest_has_no_column_for_foreign_records() {
        let one = manifest(&[(5, true, Place::Claimed)]);
        let zeros = "0".repeat(31);
        assert_eq!(
            text(Side::Source, &[(Some(b"k"), one)]),
            format!(
                "topic,partition,key,key_encoding,records,tombstones,digest,last,first_offset,\
                 last_offset,last_tombstone,multiset,beyond\r\n\
                 orders,2,k,text,1,1,1:0000000000000005:0000000000000000,{zeros}5,7,7,1,,0\r\n"
            )
        );
    }

    #[test]
    fn a_key_that_only_foreign_writers_have_has_empty_cells_for_what_is_not_there() {
        let two = manifest(&[(1, false, Place::Claimed), (2, false, Place::Claimed)]);
        let foreign = manifest(&[(5, false, Place::Foreign), (6, true, Place::Beyond)]);
        let text = text(Side::Target, &[(None, two), (Some(b""), foreign)]);
        let rows: Vec<_> = text.lines().collect();
        assert!(
            rows[0].ends_with("last_offset,foreign,first_foreign,last_tombstone,multiset,beyond")
        );
        assert!(rows[1].starts_with("orders,2,,none,2,0,2:"), "{}", rows[1]);
        assert!(rows[1].ends_with(",7,8,0,,0,00000000000000000000000000000003,0"), "{}", rows[1]);
        assert_eq!(rows[2], "orders,2,,text,0,0,0:0000000000000000:0000000000000000,,,,1,7,,,1");
    }
}
