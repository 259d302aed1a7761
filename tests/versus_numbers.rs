//! The arithmetic of the benchmark beside MirrorMaker 2.

#[path = "../benches/versus/numbers.rs"]
mod numbers;

use numbers::{grown, median, rate};

#[test]
fn a_median_is_the_middle_whatever_the_order() {
    assert!((median([9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    assert!((median([4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < 1e-9);
    assert!(median([]).is_nan());
}

#[test]
fn a_rate_leaves_out_what_was_there_when_the_clock_started() {
    assert!((rate(1_000_000, 100_000, 5_000, 8_000) - 300_000.0).abs() < 1e-6);
    assert!(rate(10, 0, 7, 7).is_finite());
}

#[test]
fn a_counter_of_a_process_that_ended_is_taken_to_its_last_look() {
    let looks = [(0, 1), (20, 5), (40, 9), (60, 0)];
    assert_eq!(grown(&looks, 20, 40), 4);
    assert_eq!(grown(&looks, 25, 55), 4);
    assert_eq!(grown(&looks, 0, 100), 8);
    assert_eq!(grown(&[], 0, 100), 0);
}

#[test]
fn all_of_a_counter_counts_from_before_the_first_look() {
    assert_eq!(grown(&[(1000, 3), (1020, 5)], 0, 1020), 5);
}
