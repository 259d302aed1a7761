//! The auditor's files: what a proof leaves behind, for people, spreadsheets and other programs.
//!
//! All CSV is RFC 4180 (commas, CRLF, quotes where needed) in UTF-8; an empty cell is "none". Numbers are
//! decimal without grouping and are never escaped; digests are lower-case hexadecimal.
//! `diff.csv`, which people open by a double click, begins with a byte order mark: without it Excel takes
//! every key that is not ASCII for another code page (LibreOffice takes both). The manifests have none,
//! for programs; the other files are ASCII.
//!
//! - [`folder`]: where they lie, readable by the owner only, replaced as a whole. [`sums`]: `SHA256SUMS`.
//! - [`cell`]: how bytes that anybody may have written become a cell. [`csv_file`]: rows of such cells.
//! - [`buckets`], [`diff`], [`manifest`] and [`manifest_reader`], [`partitions`], [`summary`]: a file each.

pub mod buckets;
pub mod cell;
mod csv_file;
pub mod diff;
pub mod folder;
pub mod local;
pub mod manifest;
pub mod manifest_reader;
pub mod partitions;
pub mod summary;
pub mod summary_json;
mod summary_text;
pub mod sums;
mod text;
pub mod writer;

pub use diff::{DiffCounts, DiffFile};
pub use folder::Folder;
pub use manifest::ManifestFile;
pub use manifest_reader::{ManifestReader, ManifestRow};
pub use partitions::{PartitionRow, Verdict};
pub use summary::ProofSummary;
pub use writer::{FileWriter, Written};
