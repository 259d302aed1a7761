//! Tests of collectors, sorters, merge and join together, against maps in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Collector, Limits, Runs, Sorter, SpillDir, SpillError, join, merge};
use crate::digest::RecordDigest;
use crate::error::Side;
use crate::reconcile::key::{Key, KeyAt};
use crate::reconcile::line::Line;
use crate::reconcile::manifest::PartitionPair;
use crate::reconcile::manifest::{Manifest, Place, Seen};

type Manifests = BTreeMap<Key, Manifest>;

/// Few topics, partitions and bytes, so that keys repeat; at times a key longer than a chunk, or than
/// the whole budget.
fn key() -> impl Strategy<Value = Key> {
    let byte = prop_oneof![Just(0u8), Just(b'a'), Just(255)];
    let short = prop::collection::vec(byte, 0..6);
    let long =
        prop_oneof![9 => 100usize..1_500, 1 => 4_000usize..9_000].prop_map(|n| vec![b'a'; n]);
    let key = prop::option::weighted(0.9, prop_oneof![30 => short, 1 => long]);
    (0u32..2, key, 0i32..4).prop_map(|(topic, key, partition)| Key { topic, key, partition })
}

fn records() -> impl Strategy<Value = Vec<(Key, Seen)>> {
    let place =
        prop_oneof![8 => Just(Place::Claimed), 1 => Just(Place::Foreign), 1 => Just(Place::Beyond)];
    let record = (key(), any::<u64>(), any::<bool>(), place);
    prop::collection::vec(record, 0..800).prop_map(|records| {
        let seen = |(offset, (key, digest, tombstone, place))| {
            let digest = RecordDigest(u128::from(digest) << 50);
            (key, Seen { offset, digest, tombstone, place })
        };
        (0..).zip(records).map(seen).collect()
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    (2usize..5).prop_map(|files| Limits { bytes: 1 << 18, files })
}

/// Where budgets are so tiny that not one row fits, the last row added is beside the budget.
fn allowed(budget: usize, longest: usize) -> usize {
    budget.max(4 << 10) * 105 / 100 + longest
}

/// Three readers, each with partitions of its own.
fn collected(
    dir: &Arc<SpillDir>,
    records: &[(Key, Seen)],
    budget: usize,
) -> Result<Vec<Runs<Manifest>>, SpillError> {
    let mut readers: Vec<_> = (0..3).map(|_| Collector::new(dir.clone(), budget)).collect();
    for (key, seen) in records {
        readers[key.partition as usize % 3].add(key.at(), *seen)?;
    }
    let longest = records.iter().filter_map(|(key, _)| key.key.as_ref()).map(Vec::len).max();
    for reader in &readers {
        let peak = reader.peak_bytes();
        assert!(peak <= allowed(budget, longest.unwrap_or(0)), "{peak} of {budget}");
    }
    // As a reader does that has nothing left to read.
    readers[0].settle()?;
    readers.into_iter().map(Collector::finish).collect()
}

fn plain(records: &[(Key, Seen)]) -> Manifests {
    let mut manifests = Manifests::new();
    for (key, seen) in records {
        manifests.entry(key.clone()).or_default().push(*seen);
    }
    manifests
}

type Group = (u32, Option<Vec<u8>>, Vec<PartitionPair>);

fn plain_groups(source: &Manifests, target: &Manifests) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut keys: Vec<&Key> = source.keys().chain(target.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let pair = PartitionPair {
            partition: key.partition,
            source: source.get(key).copied(),
            target: target.get(key).copied(),
        };
        match groups.last_mut().filter(|last| last.0 == key.topic && last.1 == key.key) {
            Some(last) => last.2.push(pair),
            None => groups.push((key.topic, key.key.clone(), vec![pair])),
        }
    }
    groups
}

fn line(offset: i64) -> Line {
    Line {
        side: Side::Source,
        offset,
        source_offset: None,
        place: Place::Claimed,
        digest: RecordDigest(7),
        value: RecordDigest(8),
        headers: RecordDigest(9),
        timestamp: Some(offset * 1_000),
        tombstone: false,
        copied_to: Some(offset + 3),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn collect_merge_and_join_say_what_maps_in_memory_say(
        source in records(), target in records(), budget in 0usize..24_000, limits in limits(),
    ) {
        let parent = tempfile::tempdir().expect("a folder");
        let dir = SpillDir::create(parent.path()).expect("a spill folder");
        let merged = |records: &[(Key, Seen)]| {
            merge(collected(&dir, records, budget)?, &dir, limits)
        };
        let (mut seen_source, mut seen_target) = (Vec::new(), Vec::new());
        let mut groups: Vec<Group> = Vec::new();
        join::<SpillError>(
            merged(&source).expect("source"),
            merged(&target).expect("target"),
            |side, at, manifest| {
                let seen = if side == Side::Source { &mut seen_source } else { &mut seen_target };
                seen.push((at.to_owned(), *manifest));
                Ok(())
            },
            |topic, key, pairs| {
                groups.push((topic, key.map(<[u8]>::to_vec), pairs.to_vec()));
                Ok(())
            },
        ).expect("everything is whole");
        let (source, target) = (plain(&source), plain(&target));
        prop_assert_eq!(groups, plain_groups(&source, &target));
        prop_assert_eq!(seen_source, source.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(seen_target, target.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_sorter_keeps_every_line_and_the_order_of_equal_keys(
        keys in prop::collection::vec(key(), 0..800), budget in 0usize..24_000, limits in limits(),
    ) {
        let parent = tempfile::tempdir().expect("a folder");
        let dir = SpillDir::create(parent.path()).expect("a spill folder");
        let mut sorters: Vec<_> = (0..2).map(|_| Sorter::new(dir.clone(), budget)).collect();
        for (offset, key) in (0..).zip(&keys) {
            sorters[key.partition as usize % 2].add(key.at(), &line(offset)).expect("added");
        }
        let longest = keys.iter().filter_map(|key| key.key.as_ref()).map(Vec::len).max();
        for sorter in &sorters {
            prop_assert!(sorter.peak_bytes() <= allowed(budget, longest.unwrap_or(0)));
        }
        let sets = sorters.into_iter().map(|sorter| sorter.finish().expect("finished")).collect();
        let mut merged = merge(sets, &dir, limits).expect("merged");
        let mut found = Vec::new();
        while merged.advance().expect("everything is whole") {
            let (at, line) = merged.entry().expect("it stands at an entry");
            found.push((at.to_owned(), line.clone()));
        }
        let mut expected: Vec<_> = keys.into_iter().zip((0..).map(line)).collect();
        expected.sort_by(|(a, _), (b, _)| a.cmp(b));
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn tiny_budgets_make_many_runs_and_several_levels() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let mut collector = Collector::new(dir.clone(), 16 << 10);
    let records = 50_000u32;
    for n in 0..records {
        let key = n.wrapping_mul(2_654_435_761).to_be_bytes();
        let at = KeyAt { topic: 0, key: Some(&key), partition: 0 };
        let digest = RecordDigest(u128::from(n));
        let seen = Seen { offset: n.into(), digest, tombstone: false, place: Place::Claimed };
        collector.add(at, seen).expect("added");
    }
    let runs = collector.runs();
    assert!(runs > 250, "{runs} runs");
    let once = dir.written();
    assert!(once <= u64::from(records) * (16 + 1 + 4 + 6) + runs as u64 * 16, "{once} bytes");
    let limits = Limits { bytes: 1 << 20, files: 8 };
    let finished = collector.finish().expect("finished");
    assert_eq!(finished.entries(), u64::from(records));
    let mut merged = merge(vec![finished], &dir, limits).expect("merged");
    // With 8 files at once, 250 runs need three levels, the last of which is read, not written.
    assert!(dir.written() > once * 2);
    let mut entries = 0;
    while merged.advance().expect("everything is whole") {
        entries += 1;
    }
    assert_eq!(entries, records);
}

#[test]
fn a_larger_budget_is_used_and_kept_to() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let budget = 4 << 20;
    let mut collector = Collector::new(dir.clone(), budget);
    // One record per key at first, then three: rows alone, and rows with manifests.
    for n in 0..200_000u64 {
        let key = if n < 100_000 { n } else { n / 3 };
        let at = KeyAt { topic: 0, key: Some(&key.to_le_bytes()), partition: 0 };
        let digest = RecordDigest(u128::from(n));
        let seen = Seen { offset: n as i64, digest, tombstone: false, place: Place::Claimed };
        collector.add(at, seen).expect("added");
    }
    assert!(collector.runs() > 2);
    let peak = collector.peak_bytes();
    assert!(peak <= budget, "{peak}");
    assert!(peak > budget / 10 * 9, "{peak}");
}

#[test]
fn an_error_of_a_callback_ends_the_join_and_the_folder() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let mut collector = Collector::new(dir.clone(), 4 << 10);
    for n in 0..1_000u32 {
        let at = KeyAt { topic: 0, key: Some(&n.to_be_bytes()), partition: 0 };
        let digest = RecordDigest(u128::from(n));
        let seen = Seen { offset: n.into(), digest, tombstone: false, place: Place::Claimed };
        collector.add(at, seen).expect("added");
    }
    let limits = Limits::of_bytes(1 << 20);
    let source = merge(vec![collector.finish().expect("finished")], &dir, limits).expect("merged");
    let target = merge(Vec::new(), &dir, limits).expect("nothing");
    drop(dir);
    let stop = || SpillError::Failed { folder: "here".into() };
    let mut shown = 0;
    let result = join(
        source,
        target,
        |_, _, _| Ok(()),
        |_, _, _| {
            shown += 1;
            if shown == 10 { Err(stop()) } else { Ok(()) }
        },
    );
    assert!(matches!(result, Err(SpillError::Failed { .. })));
    assert_eq!(shown, 10);
    assert_eq!(parent.path().read_dir().expect("it is there").count(), 0);
}

#[test]
fn the_same_key_of_two_topics_is_two_groups() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let mut collector = Collector::new(dir.clone(), 4 << 10);
    for (topic, partition) in [(0, 1), (1, 0), (0, 0)] {
        let digest = RecordDigest(7);
        let seen = Seen { offset: 1, digest, tombstone: false, place: Place::Claimed };
        collector.add(KeyAt { topic, key: None, partition }, seen).expect("added");
    }
    let limits = Limits::of_bytes(1 << 20);
    let source = merge(vec![collector.finish().expect("finished")], &dir, limits).expect("merged");
    let target = merge(Vec::new(), &dir, limits).expect("nothing");
    let mut groups = Vec::new();
    join::<SpillError>(
        source,
        target,
        |_, _, _| Ok(()),
        |topic, key, pairs| {
            let partitions: Vec<i32> = pairs.iter().map(|pair| pair.partition).collect();
            groups.push((topic, key.is_some(), partitions));
            Ok(())
        },
    )
    .expect("everything is whole");
    assert_eq!(groups, [(0, false, vec![0, 1]), (1, false, vec![0])]);
}

/// All lines that come out, with their keys.
fn sorted(sorter: Sorter, dir: &Arc<SpillDir>, limits: Limits) -> Vec<(Key, i64)> {
    let mut runs = sorter.finish().expect("finished");
    assert!(runs.memory.is_some());
    runs.write_out(dir).expect("written");
    assert!(runs.memory.is_none());
    let mut merged = merge(vec![runs], dir, limits).expect("merged");
    let mut found = Vec::new();
    while merged.advance().expect("everything is whole") {
        let (at, line) = merged.entry().expect("it stands at an entry");
        found.push((at.to_owned(), line.offset));
    }
    found
}

#[test]
fn thousands_of_lines_of_few_keys_keep_their_order() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let mut sorter = Sorter::new(dir.clone(), 1 << 20);
    let key = |offset: i64| vec![(offset * offset % 7) as u8];
    for offset in 0..30_000 {
        let at = KeyAt { topic: 0, key: Some(&key(offset)), partition: 0 };
        sorter.add(at, &line(offset)).expect("added");
    }
    assert!(sorter.runs() > 1);
    let found = sorted(sorter, &dir, Limits::of_bytes(1 << 20));
    assert_eq!(found.len(), 30_000);
    assert!(found.is_sorted());
}

#[test]
fn keys_larger_than_every_buffer_pass() {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = SpillDir::create(parent.path()).expect("a spill folder");
    let mut sorter = Sorter::new(dir.clone(), 64 << 10);
    let key = |n: i64| Some([vec![b'x'; 3 << 20], n.to_be_bytes().to_vec()].concat());
    let expected: Vec<_> =
        (0..5).map(|n| (Key { topic: 0, key: key(n), partition: 0 }, n)).collect();
    for (key, n) in expected.iter().rev() {
        sorter.add(key.at(), &line(*n)).expect("added");
    }
    assert_eq!(sorter.runs(), 4);
    assert!(sorted(sorter, &dir, Limits::of_bytes(1 << 20)) == expected);
}
