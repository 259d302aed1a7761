//! Tests of [`runs`](super).

use proptest::prelude::*;

use super::*;

fn runs(pairs: impl IntoIterator<Item = (i64, i64)>) -> Runs {
    let mut runs = Runs::default();
    pairs.into_iter().for_each(|(source, target)| runs.push(source, target));
    runs
}

fn json(runs: &Runs) -> String {
    serde_json::to_string(runs).unwrap()
}

#[test]
fn a_source_with_a_hole_at_every_offset_is_one_run() {
    let map = runs((0..100_000).map(|i| (2 * i, 500 + i)));
    assert_eq!(json(&map), "[[0,500,100000,2]]");
    assert_eq!(map.runs().len(), 1);
}

#[test]
fn runs_are_written_relative_to_the_end_of_the_one_before() {
    let map = runs((1000..1040).zip(5000..).chain((1041..1081).zip(5040..)));
    assert_eq!(json(&map), "[[1000,5000,40],[1,0,40]]");
    assert_eq!(json(&runs([(7, 9)])), "[[7,9]]");
    assert_eq!(json(&runs((0..5).map(|i| (3 * i, 2 * i)))), "[[0,0,5,3,2]]");
    assert_eq!(json(&Runs::default()), "[]");
}

#[test]
fn numbers_that_are_no_map_are_not_read() {
    for wrong in [
        "[[1]]",
        "[[1,2,3,4,5,6]]",
        "[[0,0,0]]",
        "[[0,0,5,0]]",
        "[[-1,0]]",
        "[[1.5,0]]",
        "[[9223372036854775807,0,2]]",
        "[[0,0,4611686018427387904,4]]",
        "[[0,9223372036854775807],[0,0]]",
        "[[9223372036854775808,0]]",
    ] {
        assert!(serde_json::from_str::<Runs>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_largest_offsets_are_mapped() {
    let map = runs([(0, 1), (i64::MAX, i64::MAX)]);
    assert_eq!(serde_json::from_str::<Runs>(&json(&map)).unwrap(), map);
    assert_eq!(map.to_target(i64::MAX), Some(i64::MAX));
    assert_eq!(map.translate_next(1), Some(i64::MAX));
    let one = runs([(i64::MAX, i64::MAX)]);
    assert_eq!(serde_json::from_str::<Runs>(&json(&one)).unwrap(), one);
}

#[test]
fn offsets_that_do_not_rise_are_refused() {
    let mut map = runs([(5, 5)]);
    assert!(map.try_push(5, 6).is_err());
    assert!(map.try_push(6, 5).is_err());
    assert!(Runs::default().try_push(-1, 0).is_err());
    assert_eq!(map, runs([(5, 5)]));
    assert_eq!(map.try_push(4, 9).unwrap_err().to_string(), "4 → 9 cannot follow 5 → 5");
}

/// Stretches of constant steps and lone records, as logs have them.
fn pairs() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let stretch = (1i64..6, 1i64..4, 1usize..12);
    (0i64..1000, 0i64..1000, prop::collection::vec(stretch, 0..15)).prop_map(
        |(mut source, mut target, stretches)| {
            let mut pairs = Vec::new();
            for (source_step, target_step, count) in stretches {
                for _ in 0..count {
                    source += source_step;
                    target += target_step;
                    pairs.push((source, target));
                }
            }
            pairs
        },
    )
}

proptest! {
    #[test]
    fn runs_give_back_what_was_pushed(pairs in pairs()) {
        let map = runs(pairs.clone());
        prop_assert_eq!(map.len(), pairs.len() as u64);
        prop_assert_eq!(map.first(), pairs.first().copied());
        prop_assert_eq!(map.last(), pairs.last().copied());
        prop_assert_eq!(map.iter().collect::<Vec<_>>(), pairs);
    }

    #[test]
    fn runs_survive_json_and_know_its_length(pairs in pairs()) {
        let map = runs(pairs);
        let json = json(&map);
        prop_assert_eq!(map.coded_len(), json.len());
        prop_assert_eq!(serde_json::from_str::<Runs>(&json).unwrap(), map);
    }

    #[test]
    fn every_offset_is_translated_as_by_a_plain_map(pairs in pairs()) {
        let map = runs(pairs.clone());
        let find = |f: &dyn Fn(&(i64, i64)) -> bool| pairs.iter().find(|pair| f(pair)).copied();
        let end = map.last().map_or(0, |(source, target)| source.max(target));
        let (mut near, mut jumping) = (0, 0);
        for at in -2..end + 3 {
            prop_assert_eq!(map.to_source_near(at, &mut near), map.to_source(at));
            let far = (at + 2) * 7 % (end + 5) - 2;
            prop_assert_eq!(map.to_source_near(far, &mut jumping), map.to_source(far));
            prop_assert_eq!(map.to_target(at), find(&|p| p.0 == at).map(|p| p.1));
            prop_assert_eq!(map.to_source(at), find(&|p| p.1 == at).map(|p| p.0));
            prop_assert_eq!(map.translate_next(at), find(&|p| p.0 >= at).map(|p| p.1));
            let next = map.translate_source_next(at);
            prop_assert_eq!(next, find(&|p| p.1 >= at).map(|p| p.0));
        }
    }

    #[test]
    fn parts_are_as_small_as_asked_and_give_back_the_whole(pairs in pairs(), max in 0usize..200) {
        let map = runs(pairs);
        let parts = map.split(max);
        let mut whole = Runs::default();
        for part in &parts {
            prop_assert!(part.coded_len() <= max || part.runs().len() == 1);
            prop_assert_eq!(part.coded_len(), json(part).len());
            whole.append(part).unwrap();
        }
        prop_assert_eq!(whole, map);
    }

    #[test]
    fn regular_patterns_take_the_same_few_bytes_however_long(
        source_step in 1i64..1000, target_step in 1i64..1000, count in 1i64..5000,
    ) {
        let map = runs((0..count).map(|i| (i * source_step, i * target_step)));
        prop_assert_eq!(map.runs().len(), 1);
        prop_assert!(map.coded_len() <= "[[0,0,5000,999,999]]".len());
    }

    #[test]
    fn the_worst_patterns_take_six_bytes_a_record(
        steps in prop::collection::vec((1i64..10, 1i64..10), 1..300),
    ) {
        let map = runs(steps.iter().scan((0, 0), |at, (source, target)| {
            *at = (at.0 + source, at.1 + target);
            Some(*at)
        }));
        prop_assert!(map.coded_len() <= 2 + 6 * steps.len(), "{}", json(&map));
    }
}
