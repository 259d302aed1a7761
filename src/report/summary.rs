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
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::report::pace::tests::snapshot;

    fn summary(outcome: Outcome) -> Summary {
        let parts = [
            ("customers", 0, 1_000, 1_000, 900, 90_000),
            ("orders", 0, 500_000, 500_000, 500_000, 128_000_000),
            ("orders", 0, 500_000, 500_000, 499_999, 128_000_000),
        ];
        let mut last = snapshot(Instant::now(), 5_500, &parts);
        last.transactions = 12;
        Summary {
            fence: Some(FenceTime { id: "f-1".into(), taken_at: 1_772_330_400_000 }),
            ..Summary::new("orders-eu", "host-0", outcome, &last, |topic| topic.to_owned())
        }
    }

    #[test]
    fn a_finished_run_says_copied_not_proved_first() {
        assert_eq!(
            summary(Outcome::CopiedNotProved).render_text(),
            "\
orders-eu: copied, not proved
Every committed source record below the fence was committed to the target. `onceover reconcile` compares both sides.

  fence         2026-03-01T02:00:00Z (f-1)
  worker        host-0 (what follows is what it moved)
  records       1,000,899
  bytes         256.1 MB
  elapsed       5.5 s
  rate          181,982 records/s, 46.6 MB/s
  transactions  12

  topic      partitions  records     bytes
  customers           1      900   90.0 kB
  orders              2  999,999  256.0 MB
"
        );
    }

    #[test]
    fn renamed_untimed_and_missing_have_columns_and_warnings_only_where_there_are_any() {
        let parts = [("a", 0, 5, 10, 5, 100), ("b", 0, 10, 10, 10, 100)];
        let mut last = snapshot(Instant::now(), 10_000, &parts);
        last.partitions.values_mut().next().unwrap().untimed = 3;
        let name = |topic: &str| format!("new.{topic}");
        let mut summary = Summary::new("p", "w", Outcome::Stopped(2), &last, name);
        summary.warnings.push("something else".into());
        assert_eq!(
            summary.render_text(),
            "\
p: stopped before the end, not proved
Everything counted here is committed. The same command goes on from here.

  worker        w (what follows is what it moved)
  records       15
  bytes         200 B
  elapsed       10 s
  rate          1.5 records/s, 20 B/s
  transactions  0

  topic  on the target  partitions  records  bytes  untimed  offsets left
  a      new.a                   1        5  100 B        3             5
  b      new.b                   1       10  100 B        0             0

warning: 3 records had timestamp 0: the target shows the time of the copy instead: `a` (3)
warning: something else
"
        );
        assert_eq!(summary.exit_code(), 130);
    }

    #[test]
    fn the_json_has_raw_numbers_and_the_same_verdict() {
        let json = summary(Outcome::CopiedNotProved).to_json();
        assert_eq!(
            json.to_string(),
            r#"{"schema":1,"result":"copied-not-proved","proved":false,"exit":0,"plan":"orders-eu","worker":"host-0","fence":{"id":"f-1","taken_at":"2026-03-01T02:00:00Z","taken_at_ms":1772330400000},"elapsed_ms":5500,"records":1000899,"bytes":256090000,"records_per_second":181982,"bytes_per_second":46561818,"transactions":12,"untimed":0,"topics":[{"topic":"customers","target":"customers","partitions":1,"records":900,"bytes":90000,"untimed":0,"offsets_left":0},{"topic":"orders","target":"orders","partitions":2,"records":999999,"bytes":256000000,"untimed":0,"offsets_left":0}],"warnings":[],"prover":null,"proof":null}"#
        );
        assert_eq!(summary(Outcome::TailStopped).to_json()["result"], "tail-stopped");
        assert_eq!(summary(Outcome::Stopped(15)).to_json()["exit"], 143);
    }

    #[test]
    fn a_run_that_found_nothing_to_do_has_no_table_and_no_division_by_zero() {
        let last = snapshot(Instant::now(), 0, &[]);
        let text =
            Summary::new("p", "w", Outcome::CopiedNotProved, &last, str::to_owned).render_text();
        assert!(
            text.ends_with("  rate          0 records/s, 0 B/s\n  transactions  0\n"),
            "{text}"
        );
    }
}
