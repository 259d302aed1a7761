//! The end of a pass: files, summary, and what the ledger is told.

use std::collections::BTreeMap;
use std::time::Instant;

use super::compared::{Compared, Detail};
use super::look::still_the_same;
use super::part::Part;
use super::pass::Pass;
use super::scope::Scope;
use super::tally::Tally;
use super::verdict::{failing, verdict};
use super::verified::AtAnchor;
use crate::cluster::ControlWriter;
use crate::error::{Result, Side};
use crate::ledger::{Anchor, Entry, ProvedSide, Verified, VerifiedPartition, encode};
use crate::pipe::shared::now_ms;
use crate::report::audit::summary::{Mode, NotProved, Override, SideRead, TopicRead};
use crate::report::audit::{Folder, PartitionRow, ProofSummary, Verdict, partitions, summary_json};
use crate::report::redact_json;

/// Partitions named in one `verified` entry: about 100 KiB.
const VERIFIED_TOGETHER: usize = 200;

/// A pass whose reading is over.
pub(super) struct Proof {
    pub scope: Scope,
    pub mode: Mode,
    /// Source, target; by part.
    pub tallies: [Vec<Tally>; 2],
    /// By part.
    pub aborted: Vec<u64>,
    /// Wall clock in milliseconds since 1970, and the clock that does not jump.
    pub began: (i64, Instant),
}

/// Writes the files, and into the ledger what was proved.
pub(super) fn finish(
    pass: &Pass<'_>,
    folder: Folder,
    proof: Proof,
    compared: Compared,
) -> Result<ProofSummary> {
    let Compared { mut detail, coarse, manifests, .. } = compared;
    for (topic, key, difference) in coarse {
        detail.row(&proof.scope, topic, key.as_deref(), &difference)?;
    }
    // A topic made anew while it was read would make any result worthless.
    for side in [Side::Source, Side::Target] {
        let topics = proof.scope.topics.iter().map(|topic| (topic.name(side), topic.id(side)));
        still_the_same(side, pass.clusters.admin(side), topics)?;
    }
    let rows = rows(pass, &proof, &detail);
    let (untimed, since) = (detail.untimed, detail.superseded_since);
    let (diff, differences) = detail.diff.finish()?;
    let partitions_not_proved = failing(&rows);
    let told: Vec<bool> = rows.iter().map(|row| row.verdict != Verdict::NotProved).collect();
    let differing: Vec<u64> = rows.iter().map(|row| row.differences).collect();
    let not_proved = not_proved(&proof, &rows, untimed, since);
    let [manifest_source, manifest_target] = manifests;
    let mut files = vec![partitions::write(&folder, rows)?, diff, manifest_source, manifest_target];
    let side = |side: Side| {
        let tallies = &proof.tallies[side as usize];
        SideRead {
            cluster_id: Some(pass.clusters.id(side).to_owned()),
            records: tallies.iter().map(|tally| tally.read).sum(),
            bytes: tallies.iter().map(|tally| tally.bytes).sum(),
        }
    };
    let compared_records =
        |side: Side| proof.tallies[side as usize].iter().map(|t| t.records).sum();
    let finished = now_ms();
    let id = format!("{finished}-{}", pass.options.worker);
    let mut summary = ProofSummary {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        plan: pass.plan.name.clone(),
        plan_hash: pass.plan.hash(),
        pass: id.clone(),
        mode: proof.mode.clone(),
        ledger: proof.scope.ledger.is_some(),
        hashed: pass.keying.is_hashed(),
        source: side(Side::Source),
        target: side(Side::Target),
        topics: topics(&proof.scope),
        started: proof.began.0,
        finished,
        ends_taken: proof.scope.taken_at,
        elapsed: proof.began.1.elapsed(),
        compared_source: compared_records(Side::Source),
        compared_target: compared_records(Side::Target),
        differences,
        partitions_not_proved,
        overrides: overrides(pass, &proof.scope),
        ignored_headers: pass.ignored_headers().to_vec(),
        not_proved,
        files: Vec::new(),
        folder: folder.path().display().to_string(),
    };
    summary.files = files.clone();
    let redacted =
        redact_json(summary.to_json(), &|text| pass.plan.redactor().redact(text).into_owned());
    files.push(summary_json::write(&folder, &redacted)?);
    folder.publish(&files)?;
    tell_ledger(pass, &proof, (&told, &differing), &id)?;
    Ok(summary)
}

fn rows(pass: &Pass<'_>, proof: &Proof, detail: &Detail) -> Vec<PartitionRow> {
    let [source, target] = &proof.tallies;
    let row = |(index, part): (usize, &Part)| {
        let (on_source, on_target) = (&source[index], &target[index]);
        let state = part.ledger.as_ref().map(|claim| &claim.state);
        let differences = detail.differences[index];
        let (from_source, from_target) = (&part.source_reach, &part.target_reach);
        // What is left to compare once retention has had its share.
        let nothing_left = part.expired() && from_source.common >= from_source.to;
        PartitionRow {
            topic: part.source.topic.to_string(),
            partition: part.source.partition,
            target_topic: part.target.topic.to_string(),
            cleanup_policy: part.policy,
            start: Some(from_source.from),
            fence: Some(from_source.to),
            target_from: Some(from_target.from),
            target_to: Some(from_target.to),
            source_log_start: Some(from_source.log_start),
            target_log_start: Some(from_target.log_start),
            source_records: on_source.records,
            target_records: on_target.records,
            source_tombstones: on_source.tombstones,
            target_tombstones: on_target.tombstones,
            source_digest: Some(on_source.digest),
            target_digest: Some(on_target.digest),
            // The ledger's covers everything from the start on, and is never keyed.
            ledger_digest: state
                .filter(|_| part.proved_before.is_none() && !pass.keying.is_hashed())
                .map(|state| state.digest),
            expired_source: on_target.expired,
            expired_target: on_source.expired,
            superseded: detail.superseded[index],
            filtered: state.map_or(0, |state| state.filtered),
            gaps: state.map_or(0, |state| state.skipped().cast_unsigned()),
            aborted_copies: proof.aborted[index],
            foreign: on_target.foreign,
            untimed: state.map_or(0, |state| state.untimed),
            proved_before: part.proved_before.map(|(source, _)| source),
            differences,
            verdict: verdict(differences, nothing_left, detail.overtaken[index]),
        }
    };
    proof.scope.parts.iter().enumerate().map(row).collect()
}

fn not_proved(proof: &Proof, rows: &[PartitionRow], untimed: u64, since: u64) -> Vec<NotProved> {
    let sum = |of: fn(&PartitionRow) -> u64| rows.iter().map(of).sum::<u64>();
    let counted = [
        (
            sum(|row| row.expired_source),
            "records on the target whose originals have expired on the source",
        ),
        (
            sum(|row| row.expired_target),
            "records of the source whose copies have expired on the target",
        ),
        (since + sum(|row| row.superseded), "keys with a newer record, judged by the next pass"),
        (sum(|row| row.gaps), "source offsets that were gone before they could be copied"),
        (sum(|row| row.filtered), "records that a transform left out"),
        (
            untimed,
            "timestamps that could not be kept (0 on the source); all else of these records is equal",
        ),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let mut not_proved: Vec<NotProved> =
        counted.map(|(count, what)| NotProved { count, what: what.into() }).collect();
    let gone = rows.iter().filter(|row| row.verdict == Verdict::NotProved).count() as u64;
    let what =
        "partitions of which retention has left nothing to compare, or overtaken it".to_owned();
    not_proved.extend((gone > 0).then_some(NotProved { count: gone, what }));
    let left_out = proof.scope.left_out.iter();
    not_proved.extend(left_out.map(|what| NotProved { count: 1, what: what.clone() }));
    not_proved
}

fn topics(scope: &Scope) -> Vec<TopicRead> {
    let mut partitions: BTreeMap<u32, u64> = BTreeMap::new();
    for part in &scope.parts {
        *partitions.entry(part.topic).or_default() += 1;
    }
    let topic = |(index, topic): (u32, &super::scope::Topic)| TopicRead {
        topic: topic.source.to_string(),
        target_topic: topic.target.to_string(),
        source_id: topic.source_id.clone(),
        target_id: topic.target_id.clone(),
        partitions: partitions.get(&index).copied().unwrap_or(0),
    };
    (0..).zip(&scope.topics).map(topic).collect()
}

fn overrides(pass: &Pass<'_>, scope: &Scope) -> Vec<Override> {
    let over = |what: &str, reason: &str| Override { what: what.into(), reason: reason.into() };
    let recorded = scope.ledger.iter().flat_map(|ledger| &ledger.control.overrides);
    let allowed = pass.plan.allow.iter().map(|allow| over(&allow.check, &allow.reason));
    recorded.map(|(_, entry)| over(&entry.what, &entry.reason)).chain(allowed).collect()
}

/// Notes what was proved, so that the next pass reads only what comes after it; and what differs, which
/// takes an earlier proof back.
fn tell_ledger(
    pass: &Pass<'_>,
    proof: &Proof,
    (told, differing): (&[bool], &[u64]),
    id: &str,
) -> Result<()> {
    let Some(ledger) = &proof.scope.ledger else { return Ok(()) };
    let parts = &proof.scope.parts;
    let known = &ledger.control.verified;
    let sides = [Side::Source, Side::Target].map(|side| -> Result<Vec<ProvedSide>> {
        let tallies = &proof.tallies[side as usize];
        let last: Vec<Option<i64>> = tallies.iter().map(|tally| tally.last).collect();
        let anchors = pass.records_at(side, parts, &last)?;
        let epochs = pass.epochs(side, parts)?;
        let proved = |(index, part): (usize, &Part)| {
            let earlier = known.get(&part.source).map(|(_, earlier)| earlier.side(side));
            let anchor = match anchors[index] {
                Some((AtAnchor::Found { offset, digest }, epoch))
                    if Some(offset) == last[index] =>
                {
                    Some(Anchor { offset, epoch, digest, timestamp: None })
                }
                // Nothing new was read, or it was compacted away meanwhile.
                _ => earlier
                    .filter(|_| part.proved_before.is_some())
                    .and_then(|proved| proved.anchor),
            };
            ProvedSide {
                next: part.reach(side).to,
                topic_id: proof.scope.topic_id(side, part),
                epoch: epochs.get(part.at(side)).copied().flatten(),
                anchor,
            }
        };
        Ok(parts.iter().enumerate().map(proved).collect())
    });
    let [source, target] = sides;
    let (source, target) = (source?, target?);
    let mut entries = Vec::new();
    for (index, part) in parts.iter().enumerate().filter(|(index, _)| told[*index]) {
        let earlier = known.get(&part.source).filter(|_| part.proved_before.is_some());
        let tally = &proof.tallies[0][index];
        let news = part.proved_before != Some((source[index].next, target[index].next));
        let whole =
            part.proved_before.is_none() && !part.policy.compacts() && !pass.keying.is_hashed();
        if !news && differing[index] == 0 {
            continue;
        }
        entries.push(VerifiedPartition {
            topic: part.source.topic.clone(),
            partition: part.source.partition,
            from: part.ledger.as_ref().map_or(0, |claim| claim.state.start),
            records: tally.records + earlier.map_or(0, |(_, earlier)| earlier.records),
            differences: differing[index],
            digest: whole.then_some(tally.digest),
            source: source[index].clone(),
            target: target[index].clone(),
        });
    }
    if entries.is_empty() {
        return Ok(());
    }
    let mut writer = ControlWriter::open(&pass.clusters.target)?;
    let control = pass.clusters.ledger.partition(ledger.control_partition());
    for partitions in entries.chunks(VERIFIED_TOGETHER) {
        let entry = Entry::Verified(Verified {
            pass: id.to_owned(),
            // What came into the ledger since then is not in it.
            at: proof.began.0,
            worker: pass.options.worker.clone(),
            plan: pass.plan.hash(),
            partitions: partitions.to_vec(),
        });
        writer.append(&control, &encode(&entry))?;
    }
    Ok(())
}
