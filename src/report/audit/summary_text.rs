//! The proof in short as a person reads it in a terminal: the verdict first.

use std::fmt::Write as _;

use super::diff::DiffCounts;
use super::folder::DIFF;
use super::summary::{Mode, Outcome, ProofSummary};
use crate::report::numbers::{byte_rate, bytes, count, counted, elapsed, rate, time};
use crate::report::table::{Align, table};

impl ProofSummary {
    /// What a person reads.
    pub fn render_text(&self) -> String {
        let mut text = format!("{}\n\n", self.verdict());
        if self.differences.total() > 0 {
            let _ = writeln!(text, "{}", differences(self.differences).join("\n"));
            if let Some(left_out) = self.left_out() {
                let _ = writeln!(text, "  {left_out}");
            }
            text.push('\n');
        }
        for (name, value) in self.facts() {
            let _ = writeln!(text, "  {name:<9} {value}");
        }
        let gaps: Vec<_> =
            self.gaps().map(|gap| format!("  {} {}", count(gap.count), gap.what)).collect();
        if !gaps.is_empty() {
            let _ = writeln!(text, "\nnot proved:\n{}", gaps.join("\n"));
        }
        if !self.overrides.is_empty() {
            text.push_str("\nset aside by the plan:\n");
            for set_aside in &self.overrides {
                let _ = writeln!(text, "  `{}`: {}", set_aside.what, set_aside.reason);
            }
        }
        let _ = writeln!(text, "\nfiles in `{}`:", self.folder);
        let rows = self.files.iter().map(|file| vec![file.name.to_owned(), bytes(file.bytes)]);
        let columns = [("name", Align::Left), ("size", Align::Right)];
        // The heading says nothing that a name and a size do not say.
        for line in table(&columns, rows).into_iter().skip(1) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn verdict(&self) -> String {
        let topics = counted(self.topics.len() as u64, "topic");
        let plan = &self.plan;
        match self.outcome() {
            Outcome::Proved if self.compared_source == 0 => match self.mode {
                Mode::Incremental => {
                    format!("{plan}: PROVED: nothing new in {topics} since the earlier proof")
                }
                Mode::Full { .. } => format!("{plan}: PROVED: {topics} without any record"),
            },
            Outcome::Proved => {
                let are = if self.compared_source == 1 { "is" } else { "are" };
                let new = if self.mode == Mode::Incremental { "new " } else { "" };
                let records = counted(self.compared_source, &format!("{new}record"));
                format!("{plan}: PROVED: {records} of {topics} {are} equal on both sides")
            }
            Outcome::Different => {
                let keys = self.differences.total();
                let differ = if keys == 1 { "differs" } else { "differ" };
                format!("{plan}: DIFFERENT: {} {differ}", counted(keys, "key"))
            }
            Outcome::NotProved => {
                let partitions = self.partitions_not_proved;
                let were = if partitions == 1 { "was" } else { "were" };
                format!(
                    "{plan}: NOT PROVED: {} {were} not compared to the end; no key differs so far",
                    counted(partitions, "partition")
                )
            }
        }
    }

    fn left_out(&self) -> Option<String> {
        let DiffCounts { rows, .. } = self.differences;
        let total = self.differences.total();
        (rows < total).then(|| {
            format!(
                "`{DIFF}` has the first {} of them (`diff.max_rows`)",
                if rows == 1 { "one".to_owned() } else { count(rows) }
            )
        })
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mode = match &self.mode {
            Mode::Full { reason } => format!("everything was read ({reason})"),
            Mode::Incremental => "only what came since the earlier proof was read".to_owned(),
        };
        let scope = if self.ledger {
            "what the ledger says was copied, and what others wrote"
        } else {
            "whole logs, without a ledger"
        };
        let (records, moved) = self.rates();
        let read = |records: u64, size: u64| {
            format!("{} read, {}", counted(records, "record"), bytes(size))
        };
        let mut facts = vec![
            ("pass", format!("{} ({mode})", self.pass)),
            ("scope", scope.to_owned()),
            ("up to", format!("the source's log ends at {}", moment(self.ends_taken))),
            ("source", read(self.source.records, self.source.bytes)),
            ("target", read(self.target.records, self.target.bytes)),
            ("elapsed", elapsed(self.elapsed)),
            ("rate", format!("{} records/s, {}", rate(records), byte_rate(moved))),
        ];
        if self.hashed {
            facts.push(("keys", "hashed with `reconcile.secret`".to_owned()));
        }
        if !self.ignored_headers.is_empty() {
            let names: Vec<_> =
                self.ignored_headers.iter().map(|name| format!("`{name}`")).collect();
            facts.push(("ignored", format!("headers {}", names.join(", "))));
        }
        facts
    }
}

fn differences(counts: DiffCounts) -> Vec<String> {
    let rows = counts
        .each()
        .filter(|(_, keys)| *keys > 0)
        .map(|(kind, keys)| vec![kind.to_string(), count(keys)]);
    table(&[("kind", Align::Left), ("keys", Align::Right)], rows)
}

fn moment(millis: i64) -> String {
    time(millis).unwrap_or_else(|| "an unknown time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::summary::tests::summary;
    use super::*;
    use crate::reconcile::difference::Kind;

    #[test]
    fn a_clean_proof_says_so_first_and_what_it_is_no_proof_of_last() {
        assert_eq!(
            summary().render_text(),
            "\
orders-eu: PROVED: 1,000,000 records of 3 topics are equal on both sides

  pass      r-1 (everything was read (no earlier proof))
  scope     what the ledger says was copied, and what others wrote
  up to     the source's log ends at 2026-03-01T02:00:01Z
  source    1,000,500 records read, 128.0 MB
  target    1,000,500 records read, 128.0 MB
  elapsed   5.0 s
  rate      400,200 records/s, 51.2 MB/s
  ignored   headers `mm2`

not proved:
  7 records with timestamp 0

set aside by the plan:
  `retention`: agreed

files in `proof`:
  diff.csv  120 B
"
        );
    }

    #[test]
    fn differences_are_counted_by_kind_in_their_precedence_with_what_has_no_row() {
        let mut summary = summary();
        for kind in [Kind::Reordered, Kind::Missing, Kind::Missing] {
            summary.differences.add(kind);
        }
        summary.differences.rows = 2;
        let text = summary.render_text();
        assert!(
            text.starts_with(
                "\
orders-eu: DIFFERENT: 3 keys differ

  kind       keys
  missing       2
  reordered     1
  `diff.csv` has the first 2 of them (`diff.max_rows`)

  pass "
            ),
            "{text}"
        );
    }

    #[test]
    fn the_verdict_is_a_sentence_for_one_for_none_and_for_what_was_not_compared() {
        let verdict = |change: fn(&mut ProofSummary)| {
            let mut summary = summary();
            summary.topics.truncate(1);
            change(&mut summary);
            summary
                .render_text()
                .lines()
                .next()
                .unwrap()
                .trim_start_matches("orders-eu: ")
                .to_owned()
        };
        assert_eq!(
            verdict(|proof| proof.compared_source = 1),
            "PROVED: 1 record of 1 topic is equal on both sides"
        );
        assert_eq!(
            verdict(|proof| proof.mode = Mode::Incremental),
            "PROVED: 1,000,000 new records of 1 topic are equal on both sides"
        );
        assert_eq!(
            verdict(|proof| (proof.mode, proof.compared_source) = (Mode::Incremental, 0)),
            "PROVED: nothing new in 1 topic since the earlier proof"
        );
        assert_eq!(
            verdict(|proof| proof.compared_source = 0),
            "PROVED: 1 topic without any record"
        );
        assert_eq!(verdict(|proof| proof.differences.add(Kind::Extra)), "DIFFERENT: 1 key differs");
        assert_eq!(
            verdict(|proof| proof.partitions_not_proved = 2),
            "NOT PROVED: 2 partitions were not compared to the end; no key differs so far"
        );
    }
}
