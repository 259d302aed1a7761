//! The folder of one process that uses brokers: logs that stay, data that goes.

use super::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Logs of so many ended runs are kept.
const KEPT: usize = 5;

/// Where brokers live below the build folder; the same for tests, benches and examples.
///
/// Cargo names the build folder to tests and benches alone. An example finds it from its own
/// binary: it is the one that Cargo tags as a cache.
pub fn kafka_folder() -> PathBuf {
    let told = option_env!("CARGO_TARGET_TMPDIR").and_then(|tmp| Path::new(tmp).parent());
    let found = || {
        let exe = std::env::current_exe().ok()?;
        Some(exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file())?.to_owned())
    };
    let set = || std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    told.map(Path::to_owned)
        .or_else(found)
        .or_else(set)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"))
        .join("kafka")
}

/// This process's folder, made at first use; a few ended runs are kept beside it.
pub fn folder() -> Result<&'static Path, Error> {
    static RUN: OnceLock<Result<(PathBuf, File), Error>> = OnceLock::new();
    let run = RUN.get_or_init(|| {
        let runs = kafka_folder().join("runs");
        fs::create_dir_all(&runs).map_err(|e| Error::io("create", &runs, &e))?;
        // Two starting processes tidy one after the other.
        let tidying = lock(&runs.join("lock"))?;
        tidy(&runs);
        let run = runs.join(name());
        fs::create_dir_all(&run).map_err(|e| Error::io("create", &run, &e))?;
        let alive = lock(&run.join("lock"))?;
        drop(tidying);
        Ok((run, alive))
    });
    run.as_ref().map(|(path, _)| path.as_path()).map_err(Clone::clone)
}

/// Opens `path` and waits until this process alone has it locked. The system unlocks it when the
/// process ends, however it ends.
pub fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(|e| Error::io("create", path, &e))?;
    file.lock().map_err(|e| Error::io("lock", path, &e))?;
    Ok(file)
}

fn name() -> String {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let exe = std::env::current_exe().unwrap_or_default();
    let stem = exe.file_stem().unwrap_or_default().to_string_lossy();
    // Linux says so of a binary that was built anew while it runs.
    let stem = stem.trim_end_matches(" (deleted)");
    format!("{started}-{stem}-{}", std::process::id())
}

/// Removes the data of ended runs that could not do it themselves, and all but the last logs.
fn tidy(runs: &Path) {
    let mut ended: Vec<PathBuf> = fs::read_dir(runs)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && has_ended(path))
        .collect();
    ended.sort(); // names begin with the time
    let surplus = ended.len().saturating_sub(KEPT - 1);
    for run in &ended[..surplus] {
        let _ = fs::remove_dir_all(run);
    }
    for run in &ended[surplus..] {
        for data in data_folders(run) {
            let _ = fs::remove_dir_all(data);
        }
    }
}

fn has_ended(run: &Path) -> bool {
    match File::open(run.join("lock")) {
        Ok(file) => file.try_lock().is_ok(),
        Err(_) => true,
    }
}

fn data_folders(run: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let found: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        found
    };
    entries(run)
        .iter()
        .flat_map(|cluster| entries(cluster))
        .filter(|path| path.is_dir() && path.to_string_lossy().contains("/data-"))
        .collect()
}
