//! What `status` asks the source for the retention race of what is not copied. Reads only.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::{Outlook, Race, expires};
use crate::cluster::{Admin, At, ClusterError, Connection, First, Isolation, LogReader};
use crate::plan::TopicPartition;

/// A partition that is not copied to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The source partition.
    pub at: TopicPartition,
    /// Next source offset to copy.
    pub position: i64,
    /// Size of what follows, an estimate.
    pub bytes: u64,
}

/// The limits of a topic whose records expire: milliseconds and bytes.
type Limits = (Option<i64>, Option<u64>);

/// The outlook of every partition that is behind: unknown where the source does not tell enough.
/// `pace`: bytes per second of the whole copy.
pub fn outlooks(
    source: &Connection,
    admin: &Admin,
    behind: &[Behind],
    pace: Option<f64>,
    now_ms: i64,
) -> Result<BTreeMap<TopicPartition, Outlook>, ClusterError> {
    if behind.is_empty() {
        return Ok(BTreeMap::new());
    }
    let topics: BTreeSet<&str> = behind.iter().map(|one| &*one.at.topic).collect();
    let limits = limits(admin, &topics)?;
    let asked: Vec<TopicPartition> = behind.iter().map(|one| one.at.clone()).collect();
    let starts = admin.offsets(&asked, At::LogStart)?;
    let is_gone = |one: &Behind| {
        let start = starts.get(&one.at).and_then(|told| told.as_ref().ok());
        start.is_some_and(|start| start.offset > one.position)
    };
    let expires = |one: &Behind| {
        limits.get(&*one.at.topic).is_some_and(|(ms, bytes)| ms.is_some() || bytes.is_some())
    };
    let there: Vec<&Behind> = behind.iter().filter(|one| expires(one) && !is_gone(one)).collect();
    let firsts = firsts(source, &there)?;
    let asked: Vec<TopicPartition> = firsts.keys().cloned().collect();
    let newest = admin.newest(&asked)?.unwrap_or_default();
    let copy_seconds = pace.map(|pace| seconds(behind.iter().map(|one| one.bytes).sum(), pace));
    let outlook = |one: &Behind| {
        if is_gone(one) {
            return Outlook::GONE;
        }
        let Some((retention_ms, retention_bytes)) = limits.get(&*one.at.topic).copied() else {
            return Outlook::UNKNOWN;
        };
        if retention_ms.is_none() && retention_bytes.is_none() {
            return Outlook::KEPT;
        }
        let Some(first_ms) = firsts.get(&one.at).copied() else { return Outlook::UNKNOWN };
        let last_ms = newest.get(&one.at).and_then(|told| told.as_ref().ok().copied().flatten());
        let race = Race {
            now_ms,
            first_ms,
            last_ms: last_ms.unwrap_or(first_ms).max(first_ms),
            retention_ms,
            retention_bytes,
            bytes: one.bytes,
            copy_seconds: 0.0,
        };
        Outlook::of(&race, copy_seconds.filter(|_| last_ms.is_some()))
    };
    Ok(behind.iter().map(|one| (one.at.clone(), outlook(one))).collect())
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn seconds(bytes: u64, pace: f64) -> f64 {
    bytes as f64 / pace
}

/// Of those topics that tell.
fn limits(
    admin: &Admin,
    topics: &BTreeSet<&str>,
) -> Result<BTreeMap<String, Limits>, ClusterError> {
    let mut limits = BTreeMap::new();
    for (name, configs) in admin.configs_each(&topics.iter().copied().collect::<Vec<_>>())? {
        let Ok(configs) = configs else { continue };
        let told = |name: &str| {
            configs.iter().find(|config| config.name == name).and_then(|one| one.value.as_deref())
        };
        let number = |name: &str| told(name).and_then(|value| value.trim().parse::<i64>().ok());
        let policy = told("cleanup.policy");
        let (Some(policy), Some(ms), Some(bytes)) =
            (policy, number("retention.ms"), number("retention.bytes"))
        else {
            continue;
        };
        let some = (Some(ms).filter(|ms| *ms >= 0), u64::try_from(bytes).ok());
        limits.insert(name, if expires(policy) { some } else { (None, None) });
    }
    Ok(limits)
}

/// The timestamps of the first records that are not copied, where there is one with a timestamp.
fn firsts(
    source: &Connection,
    behind: &[&Behind],
) -> Result<BTreeMap<TopicPartition, i64>, ClusterError> {
    let at: Vec<_> = behind.iter().map(|one| (one.at.clone(), one.position)).collect();
    let mut firsts = BTreeMap::new();
    LogReader::open(source, Isolation::Uncommitted)?.first_at(&at, &mut |index, first| {
        if let First::Record(record) = first
            && record.timestamp.is_some_and(|time| time >= 0)
        {
            firsts.extend(record.timestamp.map(|time| (at[index].0.clone(), time)));
        }
    })?;
    Ok(firsts)
}
