//! The last word of `onceover run`: what was copied, how fast, and what is not proved. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::ProofSummary;
use super::audit::summary::Outcome as Verdict;
use super::board::Snapshot;
use super::numbers::{byte_rate, bytes, count, counted, elapsed, rate, time};
use super::out::SCHEMA;
use super::table::{Align, table};

/// How a run ended, where it was not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every lane of the plan has reached its fence; nothing was compared.
    CopiedNotProved,
    /// Every lane of the plan has reached its fence, and both sides were compared.
    Compared(Verdict),
    /// A one-shot run was stopped by the signal with this number, after a clean commit.
    Stopped(i32),
    /// A tail was stopped by a signal, after a clean commit.
    TailStopped,
}

impl Outcome {
    /// The stable word of `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::CopiedNotProved => "copied-not-proved",
            Self::Compared(verdict) => verdict.word(),
            Self::Stopped(_) => "stopped",
            Self::TailStopped => "tail-stopped",
        }
    }

    /// The process's exit code (design, section 10).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::CopiedNotProved | Self::TailStopped => 0,
            Self::Compared(verdict) => verdict.exit_code(),
            Self::Stopped(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    fn verdict(self) -> (&'static str, &'static str) {
        match self {
            Self::CopiedNotProved => (
                "copied, not proved",
                "Every committed source record below the fence was committed to the target. \
                 `onceover reconcile` compares both sides.",
            ),
            Self::Compared(verdict) => (
                match verdict {
                    Verdict::Proved => "copied, and proved",
                    Verdict::Different => "copied, but both sides differ",
                    Verdict::NotProved => "copied, not proved",
                },
                "Every committed source record below the fence was committed to the target, and both \
                 sides were read again and compared.",
            ),
            Self::Stopped(_) => (
                "stopped before the end, not proved",
                "Everything counted here is committed. The same command goes on from here.",
            ),
            Self::TailStopped => (
                "tail stopped, not proved",
                "Everything counted here is committed. The same command goes on from here; \
                 `onceover reconcile` compares both sides.",
            ),
        }
    }
}

/// The fence of a one-shot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceTime {
    /// Its id in the ledger.
    pub id: String,
    /// When it was taken, in milliseconds since 1970.
    pub taken_at: i64,
}

/// What this process did for a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSummary {
    /// Name on the source.
    pub topic: String,
    /// Name on the target.
    pub target: String,
    /// Partitions that this process had a hand in.
    pub partitions: u64,
    /// Records committed.
    pub records: u64,
    /// Bytes of keys, values and headers committed.
    pub bytes: u64,
    /// Records whose timestamp (0) became the time of the copy.
    pub untimed: u64,
    /// Offsets that are still missing up to the fence, or to the last log end that a tail saw.
    pub missing: u64,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The plan's name.
    pub plan: String,
    /// This worker's name.
    pub worker: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The fence; a tail has none.
    pub fence: Option<FenceTime>,
    /// Since the process started to work.
    pub elapsed: Duration,
    /// Data transactions committed by this process.
    pub transactions: u64,
    /// Producers that were made anew after a doubt: each costs a moment, and none of them a record.
    pub renewals: u64,
    /// By topic name.
    pub topics: Vec<TopicSummary>,
    /// What the user should know and can act on.
    pub warnings: Vec<String>,
    /// The worker that proves the copy, if it is another one.
    pub prover: Option<String>,
    /// The proof, if there is one.
    pub proof: Option<ProofSummary>,
}

impl Summary {
    /// The summary of a run from its last snapshot; `target_name` gives a source topic's name on the
    /// target.
    pub fn new(
        plan: impl Into<String>,
        worker: impl Into<String>,
        outcome: Outcome,
        last: &Snapshot,
        target_name: impl Fn(&str) -> String,
    ) -> Self {
        let mut topics: Vec<TopicSummary> = Vec::new();
        for (at, part) in &last.partitions {
            // Partitions come in the order of their topics.
            if topics.last().is_none_or(|topic| *topic.topic != *at.topic) {
                topics.push(TopicSummary {
                    topic: at.topic.to_string(),
                    target: target_name(&at.topic),
                    partitions: 0,
                    records: 0,
                    bytes: 0,
                    untimed: 0,
                    missing: 0,
                });
            }
            let topic = topics.last_mut().expect("one was pushed if there was none");
            let missing = part.end.saturating_sub(part.position);
            topic.partitions += 1;
            topic.records += part.records;
            topic.bytes += part.bytes;
            topic.untimed += part.untimed;
            topic.missing = topic.missing.saturating_add(u64::try_from(missing).unwrap_or(0));
        }
        Self {
            plan: plan.into(),
            worker: worker.into(),
            outcome,
            fence: None,
            elapsed: last.elapsed(),
            transactions: last.transactions,
            renewals: last.renewals,
            topics,
            warnings: Vec::new(),
            prover: None,
            proof: None,
        }
    }

    /// Both sides were compared.
    pub fn prove(&mut self, proof: ProofSummary) {
        self.outcome = Outcome::Compared(proof.outcome());
        self.proof = Some(proof);
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }

    fn records(&self) -> u64 {
        self.topics.iter().map(|topic| topic.records).sum()
    }

    fn bytes(&self) -> u64 {
        self.topics.iter().map(|topic| topic.bytes).sum()
    }

    fn untimed(&self) -> u64 {
        self.topics.iter().map(|topic| topic.untimed).sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "rates are shown with three digits")]
    fn per_second(&self, number: u64) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { number as f64 / seconds } else { 0.0 }
    }

    /// What a person reads.
    pub fn render_text(&self) -> String {
        let (verdict, meaning) = self.outcome.verdict();
        let mut text = format!("{}: {verdict}\n{meaning}\n\n", self.plan);
        for (name, value) in self.facts() {
            let _ = writeln!(text, "  {name:<13} {value}");
        }
        if !self.topics.is_empty() {
            let _ = writeln!(text, "\n{}", self.table().join("\n"));
        }
        for warning in self.all_warnings() {
            let _ = write!(text, "\nwarning: {warning}");
        }
        if let Some(prover) = &self.prover {
            let _ = write!(text, "\nWorker `{prover}` proves the copy of all workers.");
        }
        if let Some(proof) = &self.proof {
            text = text.trim_end().to_owned() + "\n\n" + &proof.render_text();
        }
        text.trim_end().to_owned() + "\n"
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let (records, bytes_moved) = (self.records(), self.bytes());
        let mut facts = Vec::new();
        if let Some(fence) = &self.fence {
            let taken = time(fence.taken_at).unwrap_or_else(|| "at an unknown time".to_owned());
            facts.push(("fence", format!("{taken} ({})", fence.id)));
        }
        facts.push(("worker", format!("{} (what follows is what it moved)", self.worker)));
        facts.push(("records", count(records)));
        facts.push(("bytes", bytes(bytes_moved)));
        facts.push(("elapsed", elapsed(self.elapsed)));
        facts.push((
            "rate",
            format!(
                "{} records/s, {}",
                rate(self.per_second(records)),
                byte_rate(self.per_second(bytes_moved))
            ),
        ));
        facts.push(("transactions", count(self.transactions)));
        if self.renewals > 0 {
            let why = "producers made anew after a connection broke, or another doubt";
            facts.push(("renewals", format!("{} ({why})", count(self.renewals))));
        }
        facts
    }

    fn table(&self) -> Vec<String> {
        let renamed = self.topics.iter().any(|topic| topic.topic != topic.target);
        let untimed = self.untimed() > 0;
        let missing = self.topics.iter().any(|topic| topic.missing > 0);
        let mut columns = vec![("topic", Align::Left)];
        columns.extend(renamed.then_some(("on the target", Align::Left)));
        columns.extend(["partitions", "records", "bytes"].map(|name| (name, Align::Right)));
        columns.extend(untimed.then_some(("untimed", Align::Right)));
        columns.extend(missing.then_some(("offsets left", Align::Right)));
        let rows = self.topics.iter().map(|topic| {
            let mut row = vec![topic.topic.clone()];
            row.extend(renamed.then(|| topic.target.clone()));
            row.extend([count(topic.partitions), count(topic.records), bytes(topic.bytes)]);
            row.extend(untimed.then(|| count(topic.untimed)));
            row.extend(missing.then(|| count(topic.missing)));
            row
        });
        table(&columns, rows)
    }

    /// The warnings, those that follow from the counts first.
    fn all_warnings(&self) -> Vec<String> {
        let topics: Vec<_> = self
            .topics
            .iter()
            .filter(|topic| topic.untimed > 0)
            .map(|topic| format!("`{}` ({})", topic.topic, count(topic.untimed)))
            .collect();
        let mut warnings = Vec::new();
        if !topics.is_empty() {
            warnings.push(format!(
                "{} had timestamp 0: the target shows the time of the copy instead: {}",
                counted(self.untimed(), "record"),
                topics.join(", ")
            ));
        }
        warnings.extend(self.warnings.iter().cloned());
        warnings
    }

    /// What a program reads; fields are added, never changed, while `schema` is 1.
    pub fn to_json(&self) -> Value {
        let (records, bytes) = (self.records(), self.bytes());
        json!({
            "schema": SCHEMA,
            "result": self.outcome.word(),
            "proved": self.outcome == Outcome::Compared(Verdict::Proved),
            "exit": self.exit_code(),
            "plan": self.plan,
            "worker": self.worker,
            "fence": self.fence.as_ref().map(|fence| json!({
                "id": fence.id,
                "taken_at": time(fence.taken_at),
                "taken_at_ms": fence.taken_at,
            })),
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "records": records,
            "bytes": bytes,
            "records_per_second": rounded(self.per_second(records)),
            "bytes_per_second": rounded(self.per_second(bytes)),
            "transactions": self.transactions,
            "renewals": self.renewals,
            "untimed": self.untimed(),
            "topics": self.topics.iter().map(|topic| json!({
                "topic": topic.topic,
                "target": topic.target,
                "partitions": topic.partitions,
                "records": topic.records,
                "bytes": topic.bytes,
                "untimed": topic.untimed,
                "offsets_left": topic.missing,
            })).collect::<Vec<_>>(),
            "warnings": self.all_warnings(),
            "prover": self.prover,
            "proof": self.proof.as_ref().map(ProofSummary::to_json),
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "finite, not negative")]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
