use proptest::prelude::*;

use super::*;
use crate::reconcile::judge::{Judged, PartitionPair, Rules, compare};
use crate::reconcile::manifest::{Place, Seen};

const SPECIFICATION: &str = include_str!("../../../../docs/digest.md");

const POLICIES: [Policy; 3] = [Policy::Delete, Policy::Compact, Policy::CompactDelete];

fn manifest(records: &[(u8, bool, Place)]) -> Manifest {
    let mut manifest = Manifest::default();
    for (offset, (digest, tombstone, place)) in (0..).zip(records.iter().copied()) {
        let digest = RecordDigest(u128::from(digest));
        manifest.push(Seen { offset, digest, tombstone, place });
    }
    manifest
}

type Keys = BTreeMap<Option<Vec<u8>>, Manifest>;

/// Few keys with few different records, so that sides are often equal.
fn keys(places: &'static [Place]) -> impl Strategy<Value = Keys> {
    let key = prop::option::weighted(0.9, prop::collection::vec(0u8..2, 0..3));
    // A tombstone's digest is not that of a record with a value.
    let record = (0u8..2, any::<bool>(), prop::sample::select(places));
    let record =
        record.prop_map(|(n, tombstone, place)| (n + 10 * u8::from(tombstone), tombstone, place));
    let records = prop::collection::vec(record, 1..3);
    prop::collection::btree_map(key, records.prop_map(|records| manifest(&records)), 0..4)
}

fn both(places: &'static [Place]) -> impl Strategy<Value = (Keys, Keys)> {
    // Half of the time the target is the source, perhaps without one key.
    // Nobody else writes to a source.
    let source = keys(places).prop_map(|mut keys| {
        keys.values_mut().for_each(|manifest| (manifest.foreign, manifest.first_foreign) = (0, -1));
        keys
    });
    (source, keys(places), 0u8..3, any::<prop::sample::Index>()).prop_map(
        |(source, other, how, at)| match how {
            0 => (source, other),
            1 => (source.clone(), source),
            _ if source.is_empty() => (source, other),
            _ => {
                let mut target = source.clone();
                let gone = target.keys().nth(at.index(target.len())).cloned();
                gone.map(|key| target.remove(&key));
                (source, target)
            }
        },
    )
}

fn folded(policy: Policy, keys: &Keys) -> TopicBuckets {
    let mut buckets = TopicBuckets::new();
    keys.iter().for_each(|(key, manifest)| add(&mut buckets, policy, key.as_deref(), 3, manifest));
    buckets
}

fn all_same(policy: Policy, source: &Keys, target: &Keys) -> bool {
    let (source, target) = (folded(policy, source), folded(policy, target));
    let of = |buckets: &TopicBuckets, id| buckets.get(id).copied().unwrap_or_default();
    source.keys().chain(target.keys()).all(|id| Bucket::same(&of(&source, id), &of(&target, id)))
}

fn judged(policy: Policy, source: &Keys, target: &Keys) -> Vec<Judged> {
    let rules = Rules { policy, ledger: true };
    let judge = |key: &Option<Vec<u8>>| {
        let of = |side: &Keys| side.get(key).copied();
        let pair = PartitionPair { partition: 3, source: of(source), target: of(target) };
        compare(&rules, key.as_deref(), &[pair])
    };
    source.keys().chain(target.keys()).map(judge).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn buckets_are_the_same_exactly_if_no_key_is_suspicious(
        (source, target) in both(&[Place::Claimed, Place::Claimed, Place::Foreign]),
        policy in prop::sample::select(&POLICIES[..]),
    ) {
        let clean = judged(policy, &source, &target).iter().all(|judged| *judged == Judged::Clean);
        prop_assert_eq!(all_same(policy, &source, &target), clean);
    }

    #[test]
    fn buckets_that_are_the_same_hide_no_suspicious_key_also_where_keys_are_superseded(
        (source, target) in both(&[Place::Claimed, Place::Claimed, Place::Beyond]),
        policy in prop::sample::select(&POLICIES[..]),
    ) {
        if all_same(policy, &source, &target) {
            let judged = judged(policy, &source, &target);
            prop_assert!(!judged.contains(&Judged::Suspicious), "{:?}", judged);
        }
    }

    #[test]
    fn a_bucket_is_put_together_from_pieces_of_its_keys(
        keys in keys(&[Place::Claimed]), cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(keys.len() + 1);
        let fold = |keys: &mut dyn Iterator<Item = (&Option<Vec<u8>>, &Manifest)>| {
            let mut bucket = Bucket::default();
            keys.for_each(|(key, manifest)| bucket.push(Policy::Delete, key.as_deref(), manifest));
            bucket.digest
        };
        let pieces = fold(&mut keys.iter().take(cut)).compose(fold(&mut keys.iter().skip(cut)));
        prop_assert_eq!(pieces, fold(&mut keys.iter()));
    }

    #[test]
    fn in_which_order_partitions_alternate_does_not_matter(
        a in keys(&[Place::Claimed]), b in keys(&[Place::Claimed]), together in any::<bool>(),
    ) {
        let mut apart = TopicBuckets::new();
        let mut mixed = TopicBuckets::new();
        let sides = [(0, &a), (1, &b)];
        for (partition, keys) in sides {
            keys.iter().for_each(|(key, of)| add(&mut apart, Policy::Delete, key.as_deref(), partition, of));
        }
        let mut all: Vec<_> =
            sides.iter().flat_map(|(at, keys)| keys.iter().map(|(key, of)| (key, *at, of))).collect();
        all.sort_by_key(|(key, at, _)| ((*key).clone(), if together { *at } else { -*at }));
        all.iter().for_each(|(key, at, of)| add(&mut mixed, Policy::Delete, key.as_deref(), *at, of));
        prop_assert_eq!(apart, mixed);
    }
}

#[test]
fn a_tombstone_is_an_absent_key_where_only_the_last_record_counts() {
    let keys = |records: &[(u8, bool, Place)]| Keys::from([(Some(vec![7]), manifest(records))]);
    let gone = keys(&[(1, false, Place::Claimed), (2, true, Place::Claimed)]);
    assert!(all_same(Policy::Compact, &gone, &Keys::new()));
    assert!(!all_same(Policy::Delete, &gone, &Keys::new()));
}

#[test]
fn a_record_of_another_writer_is_a_difference_whatever_the_digests_say() {
    let keys = |records: &[(u8, bool, Place)]| Keys::from([(Some(vec![7]), manifest(records))]);
    let (source, target) = (
        keys(&[(1, false, Place::Claimed)]),
        keys(&[(1, false, Place::Claimed), (1, false, Place::Foreign)]),
    );
    for policy in POLICIES {
        assert!(!all_same(policy, &source, &target), "{policy:?}");
    }
}

#[test]
fn buckets_and_digests_are_those_of_the_specification() {
    let digest = |n: u128| RecordDigest(n);
    let mut manifest = Manifest::default();
    for (offset, n) in (0..)
        .zip([0x5d47_5438_6552_aa77_2259_e937_dbd5_13ff, 0xe49a_5d95_f36d_ffd1_00fe_b2a9_bbc0_5c4f])
    {
        let place = Place::Claimed;
        manifest.push(Seen { offset, digest: digest(n), tombstone: false, place });
    }
    let of = |policy, key: Option<&[u8]>| {
        let mut bucket = Bucket::default();
        bucket.push(policy, key, &manifest);
        let id = bucket_of(key).map_or("none".to_owned(), |id| id.to_string());
        format!("| {id} | `{}` |", bucket.digest)
    };
    for line in [
        of(Policy::Delete, Some(b"customer-17")),
        of(Policy::Compact, Some(b"customer-17")),
        of(Policy::Delete, None),
        of(Policy::Delete, Some(b"")),
    ] {
        assert!(SPECIFICATION.contains(&line), "{line} is not in docs/digest.md");
    }
}
