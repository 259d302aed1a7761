//! What a comparison of two sides comes to: rows, summary, and what to do next.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::again::commands;
use super::diff::Inputs;
use super::scope_file::{ReadCounts, ScopeFile};
use super::together::{Pair, Sides};
use crate::digest::SequenceDigest;
use crate::error::Side;
use crate::pipe::shared::now_ms;
use crate::report::audit::buckets::BucketAt;
use crate::report::audit::folder::BUCKETS_DIFFERING;
use crate::report::audit::summary::{Mode, NotProved, Outcome, SideRead, TopicRead};
use crate::report::audit::{DiffCounts, Folder, PartitionRow, ProofSummary, Verdict};
use crate::report::numbers::{count, counted};

/// What was found, by partition.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Buckets that must be read again.
    pub again: Vec<BucketAt>,
    by_partition: BTreeMap<(String, i32), Here>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Here {
    differences: u64,
    superseded: u64,
    untimed: u64,
}

impl Found {
    /// Nothing yet.
    pub fn new(sides: &Sides) -> Self {
        let here = |pair: Pair<'_>| {
            let counts = pair.0.or(pair.1).and_then(|one| one.ledger);
            Here { untimed: counts.map_or(0, |counts| counts.untimed), ..Here::default() }
        };
        let by_partition = sides
            .partitions()
            .into_iter()
            .map(|((topic, partition), pair)| ((topic.to_owned(), partition), here(pair)));
        Self { again: Vec::new(), by_partition: by_partition.collect() }
    }

    fn here(&mut self, topic: &str, partition: i32) -> &mut Here {
        self.by_partition.entry((topic.to_owned(), partition)).or_default()
    }

    /// A key differs.
    pub fn differs(&mut self, topic: &str, partition: i32) {
        self.here(topic, partition).differences += 1;
    }

    /// So many keys have a newer record and were not judged.
    pub fn superseded(&mut self, topic: &str, partition: i32, keys: u64) {
        if keys > 0 {
            self.here(topic, partition).superseded += keys;
        }
    }

    /// Timestamps that cannot be kept.
    pub fn untimed(&mut self, topic: &str, partition: i32) -> u64 {
        self.here(topic, partition).untimed
    }
}

/// `partitions.csv`, as far as two sides can tell. Of a choice of buckets only partitions that have one.
pub(super) fn rows(sides: &Sides, found: &Found) -> Vec<PartitionRow> {
    let none = ReadCounts {
        log_start: 0,
        records: 0,
        tombstones: 0,
        digest: SequenceDigest::EMPTY,
        expired: 0,
        foreign: 0,
        aborted_copies: 0,
    };
    let row = |((topic, partition), pair): ((&str, i32), Pair<'_>)| {
        let any = pair.0.or(pair.1)?;
        let read =
            |one: Option<&super::scope_file::ScopePartition>| one.map_or(none, |one| one.read);
        let (source, target) = (read(pair.0), read(pair.1));
        let here =
            found.by_partition.get(&(topic.to_owned(), partition)).copied().unwrap_or_default();
        let again = found.again.iter().any(|at| at.topic == topic && at.partition == partition);
        let some = sides.source.only.is_some();
        if some && source.records + target.records == 0 && !again {
            return None;
        }
        let known = |of: fn(&super::scope_file::ScopePartition) -> Option<i64>| {
            pair.0.and_then(of).or(pair.1.and_then(of))
        };
        let from = known(|one| one.compared_from);
        let gone = from > known(|one| one.start) && from >= known(|one| one.position);
        let topics = &sides.source.topics;
        let target_topic = topics.iter().chain(&sides.target.topics).find(|of| of.source == topic);
        Some(PartitionRow {
            topic: topic.to_owned(),
            partition,
            target_topic: target_topic.map(|of| of.target.clone()).unwrap_or_default(),
            cleanup_policy: any.policy,
            start: known(|one| one.start),
            fence: known(|one| one.position),
            target_from: known(|one| one.target_from),
            target_to: known(|one| one.target_to),
            source_log_start: pair.0.map(|one| one.read.log_start),
            target_log_start: pair.1.map(|one| one.read.log_start),
            source_records: source.records,
            target_records: target.records,
            source_tombstones: source.tombstones,
            target_tombstones: target.tombstones,
            source_digest: pair.0.map(|one| one.read.digest),
            target_digest: pair.1.map(|one| one.read.digest),
            ledger_digest: any
                .ledger
                .filter(|_| !some && sides.source.hashed.is_none())
                .map(|counts| counts.digest),
            expired_source: target.expired,
            expired_target: source.expired,
            superseded: here.superseded,
            filtered: any.ledger.map_or(0, |counts| counts.filtered),
            gaps: any.ledger.map_or(0, |counts| counts.gaps),
            aborted_copies: target.aborted_copies,
            foreign: target.foreign,
            untimed: here.untimed,
            proved_before: None,
            differences: here.differences,
            verdict: match () {
                () if here.differences > 0 => Verdict::Different,
                () if again || gone => Verdict::NotProved,
                () => Verdict::Equal,
            },
        })
    };
    sides.partitions().into_iter().filter_map(row).collect()
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Diffed {
    /// As of any proof; an outcome `not proved` says that something must be read again.
    pub summary: ProofSummary,
    /// What must be read again.
    pub again: Vec<BucketAt>,
    /// How, in the order in which it is to be typed.
    pub commands: Vec<String>,
    by_key: bool,
}

impl Diffed {
    pub(super) fn new(
        inputs: &Inputs,
        found: Found,
        differences: DiffCounts,
        rows: &[PartitionRow],
        (started, clock): (i64, Instant),
        folder: &Folder,
    ) -> Self {
        let Inputs { sides, .. } = inputs;
        let shown = folder.path().display().to_string();
        let commands = match found.again.is_empty() {
            true => Vec::new(),
            false => commands(inputs, &format!("{shown}/{BUCKETS_DIFFERING}")),
        };
        let side = |of: &ScopeFile, cluster: &Option<String>| SideRead {
            cluster_id: cluster.clone(),
            records: of.partitions.iter().map(|one| one.read.records).sum(),
            bytes: 0,
        };
        let unproved = rows.iter().filter(|row| row.verdict == Verdict::NotProved).count() as u64;
        let again = !found.again.is_empty();
        // What retention took is told, and no reason to fail where it has left something.
        let partitions_not_proved = match again || unproved == rows.len() as u64 {
            true => unproved,
            false => 0,
        };
        let finished = now_ms();
        let (source, target) = (
            side(&sides.source, &sides.source.source_cluster),
            side(&sides.target, &sides.target.target_cluster),
        );
        let summary = ProofSummary {
            tool_version: env!("CARGO_PKG_VERSION").into(),
            plan: sides.source.plan.clone(),
            plan_hash: sides.target.plan_hash.clone(),
            pass: format!("{}+{}", sides.source.pass, sides.target.pass),
            mode: Mode::Full { reason: "each side was read by itself".into() },
            ledger: sides.by_ledger(),
            hashed: sides.source.hashed.is_some(),
            compared_source: source.records,
            compared_target: target.records,
            source,
            target,
            topics: topics(sides),
            started,
            finished,
            ends_taken: sides.source.taken_at,
            elapsed: clock.elapsed(),
            differences,
            partitions_not_proved,
            overrides: Vec::new(),
            ignored_headers: sides.source.ignored_headers.clone(),
            not_proved: not_proved(sides, rows),
            files: Vec::new(),
            folder: shown,
        };
        Self { summary, again: found.again, commands, by_key: inputs.manifests }
    }

    /// 0 if nothing differs, else 1.
    pub fn exit_code(&self) -> u8 {
        self.summary.exit_code()
    }

    /// What a program reads, and `summary.json`.
    pub fn to_json(&self) -> Value {
        let mut json = self.summary.to_json();
        json["two_sites"] = json!({
            "by": if self.by_key { "manifests" } else { "buckets" },
            "buckets_to_read_again": self.again.len(),
            "commands": self.commands,
        });
        json
    }

    /// What a person reads: the verdict first.
    pub fn render_text(&self) -> String {
        let summary = &self.summary;
        let plan = &summary.plan;
        let (total, again) = (summary.differences.total(), self.again.len() as u64);
        let buckets = counted(again, "bucket");
        let verdict = match summary.outcome() {
            Outcome::Proved => {
                let topics = counted(summary.topics.len() as u64, "topic");
                let records = counted(summary.compared_source, "record");
                format!("{plan}: PROVED: {records} of {topics} are equal on both sides")
            }
            Outcome::Different => {
                let differ = if total == 1 { "differs" } else { "differ" };
                format!("{plan}: DIFFERENT: {} {differ}", counted(total, "key"))
            }
            Outcome::NotProved if again > 0 => {
                format!("{plan}: NOT PROVED: {buckets} must be read again on both sides")
            }
            Outcome::NotProved => format!("{plan}: NOT PROVED: nothing is left to compare"),
        };
        let mut text = format!("{verdict}\n\n");
        for (kind, keys) in summary.differences.each().filter(|(_, keys)| *keys > 0) {
            text += &format!("  {} {kind}\n", count(keys));
        }
        if total > 0 {
            text += "  kinds are what manifests tell; where both clusters can be reached, `onceover reconcile \
                     PLAN` tells exactly\n";
        }
        for gap in summary.not_proved.iter().filter(|gap| gap.count > 0) {
            text += &format!("  not proved: {} {}\n", count(gap.count), gap.what);
        }
        let files: Vec<&str> = summary.files.iter().map(|file| file.name).collect();
        text += &format!("  files in `{}`: {}\n", summary.folder, files.join(", "));
        if !self.commands.is_empty() {
            text += &format!("\nread {buckets} again:\n");
            for command in &self.commands {
                text += &format!("  {command}\n");
            }
        }
        text
    }
}

fn topics(sides: &Sides) -> Vec<TopicRead> {
    let mut topics: BTreeMap<&str, TopicRead> = BTreeMap::new();
    for (side, of) in [(Side::Source, &sides.source), (Side::Target, &sides.target)] {
        for topic in &of.topics {
            let all = sides.partitions();
            let one = topics.entry(&topic.source).or_insert_with(|| TopicRead {
                topic: topic.source.clone(),
                target_topic: topic.target.clone(),
                source_id: topic.source_id.clone(),
                target_id: topic.target_id.clone(),
                partitions: all.keys().filter(|(name, _)| *name == topic.source).count() as u64,
            });
            // Each side knows best what it has read.
            match side {
                Side::Source => one.source_id = one.source_id.take().or(topic.source_id.clone()),
                Side::Target => one.target_id = topic.target_id.clone().or(one.target_id.take()),
            }
        }
    }
    topics.into_values().collect()
}

fn not_proved(sides: &Sides, rows: &[PartitionRow]) -> Vec<NotProved> {
    let sum = |of: fn(&PartitionRow) -> u64| rows.iter().map(of).sum::<u64>();
    let mut all = vec![
        (
            sum(|row| row.expired_source),
            "records on the target whose originals have expired on the source",
        ),
        (
            sum(|row| row.expired_target),
            "records of the source whose copies have expired on the target",
        ),
        (sum(|row| row.superseded), "keys with a newer record, judged by the next pass"),
        (sum(|row| row.gaps), "source offsets that were gone before they could be copied"),
        (sum(|row| row.filtered), "records that a transform left out"),
        (
            rows.iter().filter(|row| row.verdict == Verdict::NotProved).count() as u64,
            "partitions that were not compared: to be read again, or taken by retention",
        ),
    ];
    if sides.source.only.is_some() {
        all.push((
            1,
            "choice of buckets alone was compared; of all others the comparison before tells",
        ));
    }
    all.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| NotProved { count, what: what.into() })
        .collect()
}
