//! Compares two sides' folders, anywhere, without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::buckets::Bucket;
use super::diff_result::{self, Diffed, Found};
use super::scope_file::ScopeFile;
use super::together::{Comparable, Sides, comparable};
use super::walk::walk;
use crate::error::{Error, Result, Side};
use crate::pipe::shared::now_ms;
use crate::reconcile::difference::Kind;
use crate::reconcile::judge::{Judged, Rules, coarse_because, compare};
use crate::report::audit::buckets::{self, BucketAt};
use crate::report::audit::cell::KeyForm;
use crate::report::audit::folder::{BUCKETS, MANIFEST_SOURCE, MANIFEST_TARGET, SCOPE, SUMMARY};
use crate::report::audit::{DiffFile, Folder, ManifestReader, partitions, summary_json, sums};

/// What every row says that manifests alone have made.
const BY_MANIFESTS: &str = "by manifests alone";

/// What to compare.
#[derive(Debug, Clone)]
pub struct DiffOptions {
    /// One side's folder, and the other's.
    pub folders: [PathBuf; 2],
    /// Folder of the files; `<plan name>-diff` if left out.
    pub out: Option<PathBuf>,
    /// Rows of `diff.csv`.
    pub max_rows: u64,
}

/// The two folders, believed.
pub(super) struct Inputs {
    pub sides: Sides,
    /// Source, target.
    pub folders: [PathBuf; 2],
    /// Buckets of both.
    pub buckets: [BTreeMap<BucketAt, Bucket>; 2],
    /// Whether both have their manifest.
    pub manifests: bool,
}

/// Compares them, and writes what differs, or what must be read again.
///
/// # Errors
/// They are damaged, or do not belong together.
pub fn diff(options: &DiffOptions) -> Result<Diffed> {
    let began = (now_ms(), Instant::now());
    let inputs = Inputs::load(&options.folders)?;
    let out = match &options.out {
        Some(out) => out.clone(),
        None => PathBuf::from(format!("{}-diff", inputs.sides.source.plan)),
    };
    not_an_input(&out, &options.folders)?;
    let folder = Folder::open_for(&out, &inputs.sides.source.plan)?;
    let mut found = Found::new(&inputs.sides);
    found.again = if inputs.manifests { incomparable(&inputs) } else { differing(&inputs) };
    let hashed = inputs.sides.source.hashed.is_some();
    let form = if hashed { KeyForm::Hashed } else { KeyForm::Plain };
    let mut file = DiffFile::create(&folder, form, options.max_rows)?;
    if inputs.manifests {
        by_key(&inputs, &mut found, &mut file)?;
    } else {
        for (at, source, target) in pairs(&inputs) {
            let superseded = source.superseded.max(target.superseded);
            found.superseded(&at.topic, at.partition, superseded);
        }
    }
    let (written, counts) = file.finish()?;
    let rows = diff_result::rows(&inputs.sides, &found);
    let mut diffed = Diffed::new(&inputs, found, counts, &rows, began, &folder);
    let mut files = vec![written, partitions::write(&folder, rows)?];
    if !diffed.again.is_empty() {
        files.push(buckets::write_differing(&folder, &diffed.again)?);
    }
    diffed.summary.files = files.clone();
    files.push(summary_json::write(&folder, &diffed.to_json())?);
    folder.publish(&files)?;
    Ok(diffed)
}

impl Inputs {
    fn load(folders: &[PathBuf; 2]) -> Result<Self> {
        let load = |folder: &PathBuf| -> Result<(ScopeFile, bool, PathBuf)> {
            let lacking = [MANIFEST_SOURCE, MANIFEST_TARGET, SUMMARY];
            let there = sums::verify_lacking(folder, &lacking)?;
            if [SCOPE, BUCKETS].iter().any(|name| !there.iter().any(|there| there == name)) {
                let what = format!("`{}` is not what one side has read", folder.display());
                return Err(Error::usage(what)
                    .hint("`onceover diff` takes the folders of `reconcile --side`"));
            }
            let scope = ScopeFile::load(&folder.join(SCOPE))?;
            let manifest = manifest_name(scope.side);
            // Without a slash at its end: names are made of it.
            let folder = folder.components().as_path().to_owned();
            Ok((scope, there.iter().any(|name| name == manifest), folder))
        };
        let (mut one, mut other) = (load(&folders[0])?, load(&folders[1])?);
        if one.0.side == Side::Target {
            std::mem::swap(&mut one, &mut other);
        }
        let buckets = [read_buckets(&one.2)?, read_buckets(&other.2)?];
        let sides = Sides::new(one.0, other.0)?;
        Ok(Self { sides, folders: [one.2, other.2], buckets, manifests: one.1 && other.1 })
    }

    /// `scope.json` of one side.
    pub fn scope_path(&self, side: Side) -> PathBuf {
        self.folders[side as usize].join(SCOPE)
    }
}

fn manifest_name(side: Side) -> &'static str {
    match side {
        Side::Source => MANIFEST_SOURCE,
        Side::Target => MANIFEST_TARGET,
    }
}

fn read_buckets(folder: &Path) -> Result<BTreeMap<BucketAt, Bucket>> {
    Ok(buckets::read(&folder.join(BUCKETS))?.into_iter().collect())
}

/// Writing there would remove what is compared.
fn not_an_input(out: &Path, folders: &[PathBuf; 2]) -> Result<()> {
    let same = |folder: &PathBuf| match (out.canonicalize(), folder.canonicalize()) {
        (Ok(out), Ok(folder)) => out == folder,
        _ => false,
    };
    match folders.iter().find(|folder| same(folder)) {
        Some(folder) => Err(Error::usage(format!(
            "the files would replace those of `{}`, which is compared",
            folder.display()
        ))
        .hint("choose another folder with `--out`")),
        None => Ok(()),
    }
}

/// Every bucket that a side has, with what source and target hold of it.
fn pairs(inputs: &Inputs) -> Vec<(&BucketAt, Bucket, Bucket)> {
    let [source, target] = &inputs.buckets;
    let all: BTreeSet<&BucketAt> = source.keys().chain(target.keys()).collect();
    let of = |side: &BTreeMap<BucketAt, Bucket>, at| side.get(at).copied().unwrap_or_default();
    all.into_iter().map(|at| (at, of(source, at), of(target, at))).collect()
}

/// Buckets that no manifest can decide: those of partitions that begin later on one side.
fn incomparable(inputs: &Inputs) -> Vec<BucketAt> {
    chosen(inputs, |how, _, _| how == Comparable::BeginsLater)
}

/// Buckets of which only the keys can tell whether they differ.
fn differing(inputs: &Inputs) -> Vec<BucketAt> {
    chosen(inputs, |how, source, target| how != Comparable::Yes || !Bucket::same(source, target))
}

fn chosen(inputs: &Inputs, which: impl Fn(Comparable, &Bucket, &Bucket) -> bool) -> Vec<BucketAt> {
    let partitions = inputs.sides.partitions();
    let pairs = pairs(inputs);
    let how = |at: &BucketAt| {
        comparable(partitions.get(&(&*at.topic, at.partition)).copied().unwrap_or_default())
    };
    let chosen = pairs.iter().filter(|(at, source, target)| which(how(at), source, target));
    let mut chosen: BTreeSet<&BucketAt> = chosen.map(|(at, ..)| *at).collect();
    if !inputs.sides.by_ledger() {
        // A key that is in several partitions is judged by all of them.
        let keys: BTreeSet<_> = chosen.iter().map(|at| (&at.topic, at.bucket)).collect();
        let too = pairs.iter().filter(|(at, ..)| keys.contains(&(&at.topic, at.bucket)));
        chosen.extend(too.map(|(at, ..)| *at));
    }
    chosen.into_iter().cloned().collect()
}

/// Walks both manifests and judges each key by what they tell.
fn by_key(inputs: &Inputs, found: &mut Found, file: &mut DiffFile) -> Result<()> {
    let open =
        |side: Side| ManifestReader::open(inputs.folders[side as usize].join(manifest_name(side)));
    let policies = inputs.sides.policies();
    let ledger = inputs.sides.by_ledger();
    let left_out: BTreeSet<(String, i32)> = inputs
        .sides
        .partitions()
        .into_iter()
        .filter(|(_, pair)| comparable(*pair) == Comparable::BeginsLater)
        .map(|((topic, partition), _)| (topic.to_owned(), partition))
        .collect();
    walk(open(Side::Source)?, open(Side::Target)?, |topic, key, pairs| {
        let mut judged = pairs.to_vec();
        if !left_out.is_empty() {
            judged.retain(|pair| !left_out.contains(&(topic.to_owned(), pair.partition)));
        }
        let Some(policy) = policies.get(topic) else {
            return Err(Error::usage(format!("a manifest names `{topic}`, which its scope lacks")));
        };
        let rules = Rules { policy: *policy, ledger };
        match compare(&rules, key, &judged) {
            Judged::Clean => {}
            Judged::Superseded(_) => {
                for pair in &judged {
                    let (source, target) = pair.sides();
                    let beyond = u64::from(source.beyond + target.beyond > 0);
                    found.superseded(topic, pair.partition, beyond);
                }
            }
            Judged::Suspicious => {
                for mut difference in coarse_because(BY_MANIFESTS, &rules, key, &judged) {
                    let untimed = found.untimed(topic, difference.partition);
                    if difference.kind == Kind::Changed && untimed > 0 {
                        difference.detail += &format!(
                            "; it may be one of {untimed} timestamps of this partition that cannot be kept (0)"
                        );
                    }
                    found.differs(topic, difference.partition);
                    file.row(topic, key, &difference)?;
                }
            }
        }
        Ok(())
    })
}
