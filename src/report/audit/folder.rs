//! The folder of a proof: readable by its owner only, and replaced as a whole.
//!
//! Files are written under temporary names beside the earlier proof, which stays as it is until
//! [`Folder::publish`]: that removes the old `SHA256SUMS`, renames the new files over the old ones and
//! writes the new `SHA256SUMS` last. So a crash leaves the old proof, or a folder without `SHA256SUMS`, or
//! the new proof; never a mixture that verifies. Both need room on the disk at the same time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::local::local_error;
use super::sums;
use super::writer::{FileWriter, Written, cannot_write};
use crate::error::{Error, Result};

/// Every partition, with its verdict.
pub const PARTITIONS: &str = "partitions.csv";
/// Every difference.
pub const DIFF: &str = "diff.csv";
/// What the source holds of every key.
pub const MANIFEST_SOURCE: &str = "manifest-source.csv";
/// What the target holds of every key.
pub const MANIFEST_TARGET: &str = "manifest-target.csv";
/// The proof in short.
pub const SUMMARY: &str = "summary.json";

/// What one side of two sites has read, and how far.
pub const SCOPE: &str = "scope.json";
/// What one side holds of every bucket of keys.
pub const BUCKETS: &str = "buckets.csv";
/// Buckets that are to be read again, on both sides.
pub const BUCKETS_DIFFERING: &str = "buckets-differing.csv";

/// Everything that a proof can leave; a folder with anything else in it is not touched.
const NAMES: [&str; 9] = [
    PARTITIONS,
    DIFF,
    MANIFEST_SOURCE,
    MANIFEST_TARGET,
    SUMMARY,
    SCOPE,
    BUCKETS,
    BUCKETS_DIFFERING,
    sums::FILE,
];

/// How many foreign names an error lists.
const NAMED: usize = 5;

/// The output folder of one pass. Until it is published, dropping it leaves the folder as it was.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder itself, opened: holds the lock, and is what is synced after renaming.
    handle: File,
}

impl Folder {
    /// Makes the folder if it is missing, and claims it for this process.
    ///
    /// # Errors
    /// It holds what no proof leaves, another process is writing a proof there, or it cannot be used.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| local_error("make the folder", &path, &error))?;
        let handle =
            File::open(&path).map_err(|error| local_error("open the folder", &path, &error))?;
        // A file system that cannot lock is no reason not to prove.
        if let Err(TryLockError::WouldBlock) = handle.try_lock() {
            return Err(Error::usage(format!(
                "another process is writing a proof into `{}`",
                path.display()
            ))
            .hint("wait for it, or choose another folder with `--out`"));
        }
        only_ours(&path)?;
        let folder = Self { path, handle };
        folder.remove_temporary()?;
        Ok(folder)
    }

    /// Says early whether a proof of the plan with this name could be written there; changes nothing.
    ///
    /// # Errors
    /// It holds what no proof leaves, or another plan's, or it cannot be read.
    pub fn check(path: &Path, plan: &str) -> Result<()> {
        if !path.try_exists().map_err(|error| local_error("look for the folder", path, &error))? {
            return Ok(());
        }
        only_ours(path)?;
        no_other_plans(path, plan)
    }

    /// [`Folder::open`] for the proof of a plan.
    ///
    /// # Errors
    /// Those, or it holds the proof of another plan.
    pub fn open_for(path: impl Into<PathBuf>, plan: &str) -> Result<Self> {
        let folder = Self::open(path)?;
        no_other_plans(&folder.path, plan)?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the file with this name, which is one of this module's constants.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn file(&self, name: &'static str) -> Result<FileWriter> {
        let path = temporary(&self.path, name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| cannot_write(&path, &error))?;
        Ok(FileWriter::new(name, path, file))
    }

    /// Puts the finished files into the earlier proof's place, with `SHA256SUMS` over all of them.
    ///
    /// # Errors
    /// The disk is full, or failed: the folder may be left without `SHA256SUMS`.
    pub fn publish(self, files: &[Written]) -> Result<()> {
        let mut sums = self.file(sums::FILE)?;
        sums.write_all(sums::render(files).as_bytes()).map_err(|error| sums.told(&error))?;
        sums.finish()?;
        self.remove(sums::FILE)?;
        self.sync()?;
        for name in NAMES.into_iter().filter(|name| *name != sums::FILE) {
            if files.iter().any(|file| file.name == name) {
                self.rename(name)?;
            } else {
                self.remove(name)?;
            }
        }
        self.sync()?;
        self.rename(sums::FILE)?;
        self.sync()
    }

    fn rename(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        fs::rename(temporary(&self.path, name), &path).map_err(|error| cannot_write(&path, &error))
    }

    fn remove(&self, name: &str) -> Result<()> {
        remove(&self.path.join(name))
    }

    fn remove_temporary(&self) -> Result<()> {
        NAMES.into_iter().try_for_each(|name| remove(&temporary(&self.path, name)))
    }

    /// Renaming and removing are on the disk after this.
    fn sync(&self) -> Result<()> {
        self.handle.sync_all().map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left then is removed by the next pass.
        let _ = self.remove_temporary();
    }
}

fn temporary(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.tmp"))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(local_error("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// What is in the folder and is not the plain file of a proof, sorted.
fn foreign(folder: &Path) -> Result<Vec<String>> {
    let told = |error| local_error("read the folder", folder, &error);
    let mut foreign = Vec::new();
    for entry in fs::read_dir(folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(told)?;
        let ours = NAMES.into_iter().any(|ours| name == ours || name == format!(".{ours}.tmp"));
        // A link would lead the proof elsewhere: it is not followed here. Sorted runs that a killed
        // process left behind are removed by whoever spills next.
        let spilled = kind.is_dir() && name.starts_with(crate::reconcile::spill::PREFIX);
        let expected = spilled || (ours && kind.is_file());
        if !expected {
            foreign.push(name);
        }
    }
    foreign.sort();
    Ok(foreign)
}

/// Refuses a folder with files that no proof leaves.
fn only_ours(folder: &Path) -> Result<()> {
    let foreign = foreign(folder)?;
    if foreign.is_empty() {
        return Ok(());
    }
    let (folder, names) = (folder.display(), listed(&foreign));
    let what = format!("`{folder}` holds files that are no earlier proof: {names}");
    Err(Error::usage(what).hint("choose an empty or a new folder with `--out`"))
}

/// Refuses a folder with the proof of another plan: that may be all its owner has. A summary that cannot be
/// read is no proof.
fn no_other_plans(folder: &Path, plan: &str) -> Result<()> {
    let summary = fs::read(folder.join(SUMMARY)).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap_or_default();
    match summary["plan"].as_str() {
        Some(other) if other != plan => {
            let what = format!("`{}` holds the proof of plan `{other}`", folder.display());
            Err(Error::usage(what)
                .hint("choose another folder with `--out`, or move that proof away"))
        }
        _ => Ok(()),
    }
}

fn listed(names: &[String]) -> String {
    let mut shown: Vec<_> =
        names.iter().take(NAMED).map(|name| format!("`{}`", name.escape_debug())).collect();
    if names.len() > NAMED {
        shown.push(format!("and {} more", names.len() - NAMED));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn write(folder: &Folder, name: &'static str, text: &str) -> Written {
        let mut file = folder.file(name).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap()
    }

    fn prove(path: &Path, text: &str) {
        let folder = Folder::open(path).unwrap();
        let files = [write(&folder, DIFF, text), write(&folder, SUMMARY, "{}")];
        folder.publish(&files).unwrap();
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_missing_folder_and_its_files_are_the_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        prove(&path, "x");
        assert_eq!(names(&path), ["SHA256SUMS", "diff.csv", "summary.json"]);
        assert_eq!(mode(&path), 0o700);
        for name in names(&path) {
            assert_eq!(mode(&path.join(&name)), 0o600, "{name}");
        }
    }

    #[test]
    fn an_earlier_proof_is_replaced_and_files_that_the_new_one_lacks_are_removed() {
        let home = tempfile::tempdir().unwrap();
        prove(home.path(), "old");
        let folder = Folder::open(home.path()).unwrap();
        let files = [write(&folder, PARTITIONS, "new")];
        folder.publish(&files).unwrap();
        assert_eq!(names(home.path()), ["SHA256SUMS", "partitions.csv"]);
        sums::verify(home.path()).unwrap();
    }

    #[test]
    fn a_pass_that_ends_early_leaves_the_earlier_proof_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        prove(home.path(), "old");
        let folder = Folder::open(home.path()).unwrap();
        write(&folder, DIFF, "new");
        write(&folder, MANIFEST_SOURCE, "new");
        drop(folder);
        assert_eq!(names(home.path()), ["SHA256SUMS", "diff.csv", "summary.json"]);
        assert_eq!(fs::read_to_string(home.path().join(DIFF)).unwrap(), "old");
        sums::verify(home.path()).unwrap();
    }

    #[test]
    fn a_crash_between_two_renames_leaves_no_sums_and_the_next_pass_cleans_up() {
        let home = tempfile::tempdir().unwrap();
        prove(home.path(), "old");
        let folder = Folder::open(home.path()).unwrap();
        let diff = write(&folder, DIFF, "new");
        // The summary is announced but does not exist: renaming it fails after that of the diff.
        let missing = Written { name: SUMMARY, ..diff.clone() };
        folder.publish(&[diff, missing]).unwrap_err();
        assert_eq!(names(home.path()), ["diff.csv", "summary.json"]);
        assert_eq!(fs::read_to_string(home.path().join(DIFF)).unwrap(), "new");
        assert!(sums::verify(home.path()).is_err());
        fs::write(home.path().join(".diff.csv.tmp"), "of a killed process").unwrap();
        prove(home.path(), "again");
        sums::verify(home.path()).unwrap();
        assert_eq!(names(home.path()), ["SHA256SUMS", "diff.csv", "summary.json"]);
    }

    #[test]
    fn a_folder_with_anything_else_in_it_is_named_and_not_touched() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("thesis.tex"), "x").unwrap();
        symlink("/etc/passwd", home.path().join(DIFF)).unwrap();
        let error = Folder::open(home.path()).unwrap_err();
        assert!(error.what.ends_with("no earlier proof: `diff.csv`, `thesis.tex`"), "{error}");
        assert_eq!(error.exit_code(), 2);
        assert_eq!(names(home.path()), ["diff.csv", "thesis.tex"]);
    }

    #[test]
    fn the_proof_of_another_plan_is_named_and_not_touched() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open_for(home.path(), "mine").unwrap();
        let files = [write(&folder, SUMMARY, r#"{"plan": "mine"}"#)];
        folder.publish(&files).unwrap();
        Folder::check(home.path(), "mine").unwrap();
        Folder::open_for(home.path(), "mine").unwrap();
        let check = Folder::check(home.path(), "other").unwrap_err();
        let open = Folder::open_for(home.path(), "other").unwrap_err();
        assert!(check.what.ends_with("holds the proof of plan `mine`"), "{check}");
        assert_eq!((check.exit_code(), &check), (2, &open));
        sums::verify(home.path()).unwrap();
    }

    #[test]
    fn two_passes_never_write_into_one_folder() {
        let home = tempfile::tempdir().unwrap();
        let first = Folder::open(home.path()).unwrap();
        let error = Folder::open(home.path()).unwrap_err();
        assert!(error.what.starts_with("another process is writing a proof into"), "{error}");
        drop(first);
        Folder::open(home.path()).unwrap();
    }

    #[test]
    fn a_path_that_is_a_file_is_a_usage_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        fs::write(&path, "x").unwrap();
        let error = Folder::open(&path).unwrap_err();
        assert!(error.what.contains(&*path.to_string_lossy()), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
