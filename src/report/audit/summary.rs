//! The proof in short, and what it is no proof of: facts alone, for a program and for a person.

use std::time::Duration;

use super::diff::DiffCounts;
use super::writer::Written;

/// How a whole proof ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything in scope is the same on both sides.
    Proved,
    /// At least one key differs.
    Different,
    /// No key differs, but a partition was not compared to its end.
    NotProved,
}

impl Outcome {
    /// The stable word of `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Different => "different",
            Self::NotProved => "not-proved",
        }
    }

    /// The process's exit code: 0 means proved and nothing else.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Proved => 0,
            Self::Different | Self::NotProved => 1,
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// Everything in scope, and why not only what is new.
    Full {
        /// `--full`, `no earlier proof`, `the topic was made anew` …
        reason: String,
    },
    /// What came since the earlier clean pass.
    Incremental,
}

/// One side of the proof.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideRead {
    /// The cluster's id, where it tells it.
    pub cluster_id: Option<String>,
    /// Records read.
    pub records: u64,
    /// Bytes of their keys, values and headers.
    pub bytes: u64,
}

/// A topic in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicRead {
    /// Name on the source.
    pub topic: String,
    /// Name on the target.
    pub target_topic: String,
    /// Topic id on the source, where the broker has ids.
    pub source_id: Option<String>,
    /// Topic id on the target.
    pub target_id: Option<String>,
    /// Partitions compared.
    pub partitions: u64,
}

/// Something that the plan allowed or assumed against a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// What was set aside, by its name in the plan.
    pub what: String,
    /// Why, in the words of the plan.
    pub reason: String,
}

/// Something that this proof says nothing about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotProved {
    /// How many.
    pub count: u64,
    /// Of what, as it follows the number: `records expired on the source before they were compared`.
    pub what: String,
}

/// A proof in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofSummary {
    /// onceover's version.
    pub tool_version: String,
    /// The plan's name.
    pub plan: String,
    /// The plan's hash.
    pub plan_hash: String,
    /// Id of this pass.
    pub pass: String,
    /// What was read.
    pub mode: Mode,
    /// Whether the ledger says what was copied; else whole logs were compared.
    pub ledger: bool,
    /// Whether keys and digests are hashed with the plan's secret.
    pub hashed: bool,
    /// The source, as read.
    pub source: SideRead,
    /// The target, as read.
    pub target: SideRead,
    /// The topics, by name.
    pub topics: Vec<TopicRead>,
    /// When the pass began, in milliseconds since 1970.
    pub started: i64,
    /// When it ended.
    pub finished: i64,
    /// When the source's log ends were taken, which bound what is proved.
    pub ends_taken: i64,
    /// How long the reading and comparing took (by a clock that does not jump).
    pub elapsed: Duration,
    /// Records that are claimed and compared, on the source; in an incremental pass only the new ones.
    pub compared_source: u64,
    /// The same on the target.
    pub compared_target: u64,
    /// Keys that differ.
    pub differences: DiffCounts,
    /// Partitions whose verdict is `not proved`.
    pub partitions_not_proved: u64,
    /// What the plan set aside.
    pub overrides: Vec<Override>,
    /// Headers that were left out on both sides.
    pub ignored_headers: Vec<String>,
    /// What this proof says nothing about; counts of 0 are left out when shown.
    pub not_proved: Vec<NotProved>,
    /// The other files of the proof.
    pub files: Vec<Written>,
    /// The folder of the files, as the user gave it.
    pub folder: String,
}

impl ProofSummary {
    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        if self.differences.total() > 0 {
            Outcome::Different
        } else if self.partitions_not_proved > 0 {
            Outcome::NotProved
        } else {
            Outcome::Proved
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        self.outcome().exit_code()
    }

    /// Records and bytes read on both sides, per second.
    #[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
    pub(super) fn rates(&self) -> (f64, f64) {
        let seconds = self.elapsed.as_secs_f64();
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        (
            per_second(self.source.records + self.target.records),
            per_second(self.source.bytes + self.target.bytes),
        )
    }

    /// What is not proved and did occur.
    pub(super) fn gaps(&self) -> impl Iterator<Item = &NotProved> {
        self.not_proved.iter().filter(|gap| gap.count > 0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::reconcile::difference::Kind;

    /// A clean proof of a million records in 3 topics.
    pub fn summary() -> ProofSummary {
        let topic = |name: &str, partitions| TopicRead {
            topic: name.into(),
            target_topic: format!("new.{name}"),
            source_id: None,
            target_id: Some(format!("id-{name}")),
            partitions,
        };
        let side = |id: &str| SideRead {
            cluster_id: Some(id.into()),
            records: 1_000_500,
            bytes: 128_000_000,
        };
        ProofSummary {
            tool_version: "0.1.0".into(),
            plan: "orders-eu".into(),
            plan_hash: "p-1".into(),
            pass: "r-1".into(),
            mode: Mode::Full { reason: "no earlier proof".into() },
            ledger: true,
            hashed: false,
            source: side("old"),
            target: side("new"),
            topics: vec![topic("a", 1), topic("b", 2), topic("c", 3)],
            started: 1_772_330_400_000,
            finished: 1_772_330_406_000,
            ends_taken: 1_772_330_401_000,
            elapsed: Duration::from_secs(5),
            compared_source: 1_000_000,
            compared_target: 1_000_000,
            differences: DiffCounts::default(),
            partitions_not_proved: 0,
            overrides: vec![Override { what: "retention".into(), reason: "agreed".into() }],
            ignored_headers: vec!["mm2".into()],
            not_proved: vec![
                NotProved { count: 0, what: "gaps".into() },
                NotProved { count: 7, what: "records with timestamp 0".into() },
            ],
            files: vec![Written { name: "diff.csv", bytes: 120, sha256: "ab".repeat(32) }],
            folder: "proof".into(),
        }
    }

    #[test]
    fn one_difference_or_one_partition_that_was_not_compared_is_no_proof() {
        let mut summary = summary();
        assert_eq!((summary.outcome(), summary.exit_code()), (Outcome::Proved, 0));
        summary.partitions_not_proved = 1;
        assert_eq!((summary.outcome(), summary.exit_code()), (Outcome::NotProved, 1));
        summary.differences.add(Kind::Reordered);
        assert_eq!((summary.outcome(), summary.exit_code()), (Outcome::Different, 1));
    }
}
