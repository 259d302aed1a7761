//! Tests of the folder, of full disks and of damaged files.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use super::{Collector, Limits, Runs, SpillDir, SpillError, merge};
use crate::digest::RecordDigest;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, Place, Seen};

fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).expect("the parent is there");
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

fn stale(parent: &Path, digits: &str) -> PathBuf {
    let folder = parent.join(format!("onceover-spill-{digits}"));
    fs::create_dir(&folder).expect("a folder");
    for name in ["lock", "00000000.run", "00000001.run"] {
        fs::write(folder.join(name), "x").expect("a file");
    }
    folder
}

fn add(collector: &mut Collector, key: u32) -> Result<(), SpillError> {
    let (offset, digest) = (i64::from(key), RecordDigest(u128::from(key)));
    let seen = Seen { offset, digest, tombstone: false, place: Place::Claimed };
    collector.add(KeyAt { topic: 0, key: Some(&key.to_be_bytes()), partition: 0 }, seen)
}

/// 2,000 keys in several runs, all of them in files.
fn runs(dir: &Arc<SpillDir>) -> Result<Runs<Manifest>, SpillError> {
    let mut collector = Collector::new(dir.clone(), 16 << 10);
    for key in 0..2_000u32 {
        add(&mut collector, key.reverse_bits())?;
    }
    let mut runs = collector.finish()?;
    runs.write_out(dir)?;
    assert!(runs.files.len() > 5);
    Ok(runs)
}

fn read(runs: Runs<Manifest>, dir: &Arc<SpillDir>, files: usize) -> Result<usize, SpillError> {
    let mut merged = merge(vec![runs], dir, Limits { bytes: 1 << 20, files })?;
    let mut entries = 0;
    while merged.advance()? {
        entries += 1;
    }
    Ok(entries)
}

#[test]
fn folder_and_files_are_readable_by_their_owner_alone_and_gone_in_the_end() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let runs = runs(&dir).expect("runs");
    let path = dir.path().to_path_buf();
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    let files = folders(&path);
    assert!(files.len() > 5);
    assert!(files.iter().all(|file| mode(file) == 0o600));
    drop(dir);
    assert!(path.exists(), "the runs still need it");
    drop(runs);
    assert!(folders(parent.path()).is_empty());
}

#[test]
fn run_files_are_gone_once_they_are_read() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let made = runs(&dir).expect("runs");
    assert_eq!(read(made, &dir, 2).expect("whole files"), 2_000);
    assert_eq!(folders(dir.path()), [dir.path().join("lock")]);
}

#[test]
fn what_a_crash_left_is_removed_and_nothing_else() {
    let parent = tempfile::tempdir().expect("a folder");
    let parent = parent.path();
    let used = SpillDir::create(parent).expect("a spill folder");
    let left = stale(parent, "0123456789abcdef");
    let locked = stale(parent, "0123456789abcdee");
    let lock = File::open(locked.join("lock")).expect("the lock");
    lock.lock().expect("locked");
    let strange = stale(parent, "0123456789abcdexyz");
    let with_more = stale(parent, "0123456789abcded");
    fs::write(with_more.join("notes.txt"), "mine").expect("a file");
    let half_made = parent.join("onceover-spill-0123456789abcdec");
    fs::create_dir(&half_made).expect("a folder");
    let file = parent.join("onceover-spill-0123456789abcdeb");
    fs::write(&file, "a file").expect("a file");
    let link = parent.join("onceover-spill-0123456789abcdea");
    std::os::unix::fs::symlink(&strange, &link).expect("a link");

    let dir = SpillDir::create(parent).expect("a spill folder");
    assert!(!left.exists() && !half_made.exists());
    assert!(used.path().join("lock").exists() && dir.path().join("lock").exists());
    assert!(locked.join("00000001.run").exists() && strange.join("00000001.run").exists());
    assert!(with_more.join("notes.txt").exists());
    assert!(file.exists() && link.exists());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let parent = tempfile::tempdir().expect("a folder");
    let missing = parent.path().join("missing");
    let error = SpillDir::create(&missing).expect_err("there is no parent").to_string();
    assert!(error.starts_with("cannot read the folder `"), "{error}");
    assert!(error.contains("missing`: No such file"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_wherever_it_happens_and_leaves_nothing_behind() {
    let parent = tempfile::tempdir().expect("a folder");
    let enough = SpillDir::create(parent.path()).expect("a spill folder");
    let made = runs(&enough).expect("runs");
    assert_eq!(read(made, &enough, 2).expect("room for all"), 2_000);
    let needed = enough.written();
    drop(enough);
    // Up to the last byte that the merge in several levels writes.
    for room in (0..needed).step_by(needed as usize / 50).chain([needed - 1]) {
        let dir = SpillDir::with_room(parent.path(), room).expect("a spill folder");
        let error = runs(&dir).and_then(|made| read(made, &dir, 2)).expect_err("a full disk");
        let SpillError::Full { folder, written } = &error else { panic!("{error}") };
        assert_eq!(folder, dir.path());
        assert!(*written <= room);
        assert_eq!(folders(dir.path()), [dir.path().join("lock")]);
        drop(dir);
        assert!(folders(parent.path()).is_empty());
    }
}

#[test]
fn a_collector_whose_write_failed_never_finishes() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::with_room(parent.path(), 100).expect("a spill folder");
    let mut collector = Collector::new(dir, 4 << 10);
    let failed = (0..10_000).find(|key| add(&mut collector, *key).is_err());
    assert!(failed.is_some_and(|key| key > 10));
    assert!(matches!(collector.finish(), Err(SpillError::Failed { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_file_that_was_cut_or_changed_is_an_error(
        file in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        change in prop::option::of(1u8..=255),
        files in prop_oneof![Just(2usize), Just(100)],
    ) {
        let parent = tempfile::tempdir().expect("a folder");
        let dir = SpillDir::create(parent.path()).expect("a spill folder");
        let made = runs(&dir).expect("runs");
        let path = file.get(&made.files).path().to_path_buf();
        let mut bytes = fs::read(&path).expect("a run file");
        let byte = byte.index(bytes.len());
        match change {
            Some(change) => bytes[byte] ^= change,
            None => bytes.truncate(byte),
        }
        fs::write(&path, &bytes).expect("it can be written");
        let error = read(made, &dir, files).expect_err("a damaged file");
        let SpillError::Damaged { path: named, .. } = &error else { panic!("{error}") };
        prop_assert_eq!(named, &path);
    }
}
