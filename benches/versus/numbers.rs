//! The arithmetic of the benchmark. Pure; its tests are in `tests/versus_numbers.rs`, because a benchmark
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
