//! The arithmetic of the benchmark. Pure; its tests run with the integration tests, because a benchmark
//! has none.

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub fn as_f64(count: u64) -> f64 {
    count as f64
}

/// The middle one; the mean of the two middle ones; NaN of none.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    match (numbers.len(), numbers.len() / 2) {
        (0, _) => f64::NAN,
        (even, half) if even % 2 == 0 => f64::midpoint(numbers[half - 1], numbers[half]),
        (_, half) => numbers[half],
    }
}

/// Records per second between two looks at the log ends, in milliseconds; what was there at the first
/// look does not count.
pub fn rate(records: u64, at_first: u64, first_ms: u64, last_ms: u64) -> f64 {
    let elapsed = as_f64(last_ms.saturating_sub(first_ms).max(1));
    as_f64(records.saturating_sub(at_first)) * 1000.0 / elapsed
}

/// How much a counter has grown between two moments, given what it showed at some: from the last look not
/// after `from` to the first one not before `until`. A process that has ended shows 0: then to its last look.
pub fn grown(looks: &[(u64, u64)], from: u64, until: u64) -> u64 {
    let alive = || looks.iter().filter(|(_, count)| *count > 0);
    let before = looks.iter().rev().find(|(at, _)| *at <= from).map_or(0, |(_, count)| *count);
    let after = alive().find(|(at, _)| *at >= until).or_else(|| alive().next_back());
    after.map_or(0, |(_, count)| *count).saturating_sub(before)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
