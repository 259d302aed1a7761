//! How runs are written: a JSON array with one array of integers per run.
//!
//! `[ds, dt]` is one record, `[ds, dt, n]` are `n` records with both steps 1, `[ds, dt, n, ss]` with
//! source step `ss` and target step 1, `[ds, dt, n, ss, ts]` with both given. `ds` and `dt` count from
//! the offset after the run before, the first run's from 0: `[[1000,5000,40],[1,0,40]]` maps 1000–1039
//! to 5000–5039 and, after one source offset left out, 1041–1080 to 5040–5079.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::runs::{Run, Runs};

/// A run's numbers: as many of the five as its form needs.
pub struct Coded {
    numbers: [u64; 5],
    used: usize,
}

impl Coded {
    /// Codes `run` relative to the last pair of the run before.
    fn new(run: &Run, end: (i64, i64)) -> Self {
        let numbers = [
            (run.source - (end.0 + 1)).cast_unsigned(),
            (run.target - (end.1 + 1)).cast_unsigned(),
            run.count,
            run.source_step.cast_unsigned(),
            run.target_step.cast_unsigned(),
        ];
        let used = match (run.count, run.source_step, run.target_step) {
            (1, ..) => 2,
            (_, 1, 1) => 3,
            (_, _, 1) => 4,
            _ => 5,
        };
        Self { numbers, used }
    }

    fn numbers(&self) -> &[u64] {
        &self.numbers[..self.used]
    }

    /// The run, if the numbers are one and its last offsets still fit into an offset.
    pub fn decode(&self, end: (i64, i64)) -> Option<Run> {
        let signed = |number: u64| i64::try_from(number).ok();
        let start = |delta: u64, end: i64| signed(delta)?.checked_add(end)?.checked_add(1);
        let [ds, dt, count, source_step, target_step] = self.numbers;
        let run = Run {
            source: start(ds, end.0)?,
            target: start(dt, end.1)?,
            source_step: signed(source_step)?,
            target_step: signed(target_step)?,
            count,
        };
        let fits = |first: i64, step: i64| {
            let steps = signed(count.checked_sub(1)?)?;
            (step > 0).then_some(steps.checked_mul(step)?.checked_add(first)?)
        };
        fits(run.source, run.source_step)?;
        fits(run.target, run.target_step)?;
        // One record has no steps; one way to write it keeps equal maps equal.
        Some(if count == 1 { Run { source_step: 1, target_step: 1, ..run } } else { run })
    }
}

/// Bytes of a run's JSON array.
pub fn coded_len(run: &Run, end: (i64, i64)) -> usize {
    let coded = Coded::new(run, end);
    let digits = |number: &u64| number.checked_ilog10().unwrap_or(0) as usize + 1;
    1 + coded.numbers().iter().map(digits).sum::<usize>() + coded.used
}

impl Serialize for Coded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.numbers().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Coded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<u64>::deserialize(deserializer)?;
        if !(2..=5).contains(&given.len()) {
            return Err(D::Error::invalid_length(given.len(), &"a run of 2 to 5 numbers"));
        }
        let mut numbers = [0, 0, 1, 1, 1];
        numbers[..given.len()].copy_from_slice(&given);
        Ok(Self { numbers, used: given.len() })
    }
}

impl Serialize for Runs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.with_ends().map(|(run, end)| Coded::new(run, end)))
    }
}

impl<'de> Deserialize<'de> for Runs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut runs = Runs::default();
        for coded in Vec::<Coded>::deserialize(deserializer)? {
            runs.push_coded(&coded)
                .ok_or_else(|| D::Error::custom("a run's offsets are no offsets"))?;
        }
        Ok(runs)
    }
}
