//! `partitions.csv`: every partition with what was compared, and what was not. An empty `diff.csv` alone
//! proves nothing.

use std::fmt;

use super::csv_file::{CsvFile, Mark};
use super::folder::{Folder, PARTITIONS};
use super::writer::Written;
use crate::digest::SequenceDigest;
use crate::error::Result;
use crate::reconcile::policy::Policy;

/// What the pass says of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All that was to be compared is the same on both sides.
    Equal,
    /// At least one key differs.
    Different,
    /// It was not compared to its end.
    NotProved,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::NotProved => "not proved",
        })
    }
}

/// One source partition and its copy. Ranges are half open: `[start, fence)`. What is `None` is an empty
/// cell: unknown, or not taken (no ledger).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRow {
    /// Name on the source.
    pub topic: String,
    /// Source partition; the target's has the same number.
    pub partition: i32,
    /// Name on the target.
    pub target_topic: String,
    /// What decides which records count.
    pub cleanup_policy: Policy,
    /// First source offset in scope.
    pub start: Option<i64>,
    /// Source offset up to which it is proved.
    pub fence: Option<i64>,
    /// First target offset in scope.
    pub target_from: Option<i64>,
    /// Target offset up to which the target was read.
    pub target_to: Option<i64>,
    /// Log start offset on the source when the pass ended.
    pub source_log_start: Option<i64>,
    /// The same on the target.
    pub target_log_start: Option<i64>,
    /// Records compared, on the source.
    pub source_records: u64,
    /// Records compared, on the target.
    pub target_records: u64,
    /// Those of them whose value is null.
    pub source_tombstones: u64,
    /// The same on the target.
    pub target_tombstones: u64,
    /// Digest of all records compared, in the partition's order.
    pub source_digest: Option<SequenceDigest>,
    /// The same on the target.
    pub target_digest: Option<SequenceDigest>,
    /// What the pipe noted when it copied.
    pub ledger_digest: Option<SequenceDigest>,
    /// Records that retention or `delete-records` has taken on the source.
    pub expired_source: u64,
    /// The same on the target.
    pub expired_target: u64,
    /// Keys with a newer record behind the proved range; judged next time.
    pub superseded: u64,
    /// Records that the plan's transform left out.
    pub filtered: u64,
    /// Source offsets that were gone before they could be copied (`run.on_gap = "record"`).
    pub gaps: u64,
    /// Aborted copies that only a `read_uncommitted` consumer of the target sees.
    pub aborted_copies: u64,
    /// Records on the target that no run names.
    pub foreign: u64,
    /// Records with timestamp 0, which the target cannot keep.
    pub untimed: u64,
    /// Source offset up to which an earlier pass had proved it.
    pub proved_before: Option<i64>,
    /// Keys that differ.
    pub differences: u64,
    /// What follows from all this.
    pub verdict: Verdict,
}

type Cell = fn(&PartitionRow, &mut CsvFile) -> Result<()>;

/// Every column with what stands in it, so that header and cells cannot come apart.
const COLUMNS: [(&str, Cell); 28] = [
    ("topic", |row, csv| csv.name(&row.topic)),
    ("partition", |row, csv| csv.number(row.partition)),
    ("target_topic", |row, csv| csv.name(&row.target_topic)),
    ("cleanup_policy", |row, csv| csv.word(row.cleanup_policy.text())),
    ("start", |row, csv| csv.number_or_none(row.start)),
    ("fence", |row, csv| csv.number_or_none(row.fence)),
    ("target_from", |row, csv| csv.number_or_none(row.target_from)),
    ("target_to", |row, csv| csv.number_or_none(row.target_to)),
    ("source_log_start", |row, csv| csv.number_or_none(row.source_log_start)),
    ("target_log_start", |row, csv| csv.number_or_none(row.target_log_start)),
    ("source_records", |row, csv| csv.number(row.source_records)),
    ("target_records", |row, csv| csv.number(row.target_records)),
    ("source_tombstones", |row, csv| csv.number(row.source_tombstones)),
    ("target_tombstones", |row, csv| csv.number(row.target_tombstones)),
    ("source_digest", |row, csv| csv.number_or_none(row.source_digest)),
    ("target_digest", |row, csv| csv.number_or_none(row.target_digest)),
    ("ledger_digest", |row, csv| csv.number_or_none(row.ledger_digest)),
    ("expired_source", |row, csv| csv.number(row.expired_source)),
    ("expired_target", |row, csv| csv.number(row.expired_target)),
    ("superseded", |row, csv| csv.number(row.superseded)),
    ("filtered", |row, csv| csv.number(row.filtered)),
    ("gaps", |row, csv| csv.number(row.gaps)),
    ("aborted_copies", |row, csv| csv.number(row.aborted_copies)),
    ("foreign", |row, csv| csv.number(row.foreign)),
    ("untimed", |row, csv| csv.number(row.untimed)),
    ("proved_before", |row, csv| csv.number_or_none(row.proved_before)),
    ("differences", |row, csv| csv.number(row.differences)),
    ("verdict", |row, csv| csv.number(row.verdict)),
];

/// Writes the file, sorted by topic and partition.
///
/// # Errors
/// The file cannot be written.
pub fn write(folder: &Folder, mut rows: Vec<PartitionRow>) -> Result<Written> {
    rows.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    let names = COLUMNS.iter().map(|(name, _)| *name);
    let mut csv = CsvFile::create(folder, PARTITIONS, Mark::None, names)?;
    for row in &rows {
        COLUMNS.iter().try_for_each(|(_, cell)| cell(row, &mut csv))?;
        csv.end_row()?;
    }
    csv.finish()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Another number in each column.
    pub fn row(topic: &str, partition: i32) -> PartitionRow {
        let digest = |n| Some(SequenceDigest { count: n, a: n, b: 0 });
        PartitionRow {
            topic: topic.into(),
            partition,
            target_topic: "new".into(),
            cleanup_policy: Policy::CompactDelete,
            start: Some(100),
            fence: Some(101),
            target_from: Some(102),
            target_to: Some(103),
            source_log_start: Some(104),
            target_log_start: Some(105),
            source_records: 106,
            target_records: 107,
            source_tombstones: 108,
            target_tombstones: 109,
            source_digest: digest(110),
            target_digest: digest(111),
            ledger_digest: digest(112),
            expired_source: 113,
            expired_target: 114,
            superseded: 115,
            filtered: 116,
            gaps: 117,
            aborted_copies: 118,
            foreign: 119,
            untimed: 120,
            proved_before: Some(121),
            differences: 122,
            verdict: Verdict::NotProved,
        }
    }

    fn written(rows: Vec<PartitionRow>) -> String {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let written = write(&folder, rows).unwrap();
        folder.publish(&[written]).unwrap();
        std::fs::read_to_string(home.path().join(PARTITIONS)).unwrap()
    }

    #[test]
    fn every_fact_stands_under_its_name() {
        let digest = |n: u64| format!("{n}:{n:016x}:0000000000000000");
        assert_eq!(
            written(vec![row("orders", 3)]),
            format!(
                "topic,partition,target_topic,cleanup_policy,start,fence,target_from,target_to,\
                 source_log_start,target_log_start,source_records,target_records,\
                 source_tombstones,target_tombstones,source_digest,target_digest,ledger_digest,\
                 expired_source,expired_target,superseded,filtered,gaps,aborted_copies,foreign,\
                 untimed,proved_before,differences,verdict\r\n\
                 orders,3,new,\"compact,delete\",100,101,102,103,104,105,106,107,108,109,{},{},{},\
                 113,114,115,116,117,118,119,120,121,122,not proved\r\n",
                digest(110),
                digest(111),
                digest(112)
            )
        );
    }

    #[test]
    fn what_is_not_known_is_an_empty_cell_and_not_0() {
        let unknown =
            PartitionRow { fence: None, ledger_digest: None, proved_before: None, ..row("a", 0) };
        let text = written(vec![unknown]);
        let cells: Vec<_> = text.lines().nth(1).unwrap().split(',').collect();
        // The policy's comma makes two of one cell here.
        assert_eq!((cells[6], cells[17], cells[26]), ("", "", ""), "{cells:?}");
    }

    #[test]
    fn rows_are_sorted_by_topic_and_partition_as_numbers() {
        let text = written(vec![row("b", 0), row("a", 10), row("a", 2)]);
        let firsts: Vec<_> =
            text.lines().skip(1).map(|line| line.split(",new").next().unwrap()).collect();
        assert_eq!(firsts, ["a,2", "a,10", "b,0"]);
    }
}
