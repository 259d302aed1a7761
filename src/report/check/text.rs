//! What a person reads: the worst first, and what is said of many topics said once. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::CheckReport;
use crate::check::{CATALOGUE, Finding, Severity};
use crate::report::numbers::{count, counted};
use crate::report::table::{Align, table};

/// Topics that a row names.
const NAMED: usize = 3;

/// Rows of one check and severity; the files have them all.
const ROWS: usize = 5;

/// One row: what is said of some topics.
struct Row<'r> {
    check: &'static str,
    what: String,
    hint: Option<&'r str>,
    about: Vec<String>,
}

impl CheckReport {
    /// What a person reads.
    pub fn render_text(&self) -> String {
        let mut text = format!("{}: {}\n\n", self.plan, self.verdict());
        let counts = self.counts();
        let counts: Vec<_> = Severity::ALL
            .iter()
            .map(|severity| format!("{} {severity}", count(counts[severity] as u64)))
            .collect();
        let _ = writeln!(
            text,
            "  {} of {}: {}",
            counted(CATALOGUE.len() as u64, "check"),
            counted(self.topics as u64, "topic"),
            counts.join(", ")
        );
        for severity in [Severity::Fail, Severity::Unknown, Severity::Warn, Severity::Info] {
            text += &self.section(severity);
        }
        text + &self.passed()
    }

    fn verdict(&self) -> String {
        let failed = |one: &&Finding| one.severity == Severity::Fail;
        let names = |wanted: &dyn Fn(&&Finding) -> bool| {
            let names: BTreeSet<_> =
                self.findings.iter().filter(wanted).map(|one| one.check).collect();
            names.len() as u64
        };
        let open = |one: &&Finding| one.blocks && !failed(one);
        match (names(&failed), names(&open)) {
            (0, 0) => "nothing fails, a run may begin".to_owned(),
            (0, open) => {
                format!("{} must be answered before a run", counted(open, "check"))
            }
            (failed, _) => format!(
                "{} FAILED, it must not be run like this; nothing was written",
                counted(failed, "check")
            ),
        }
    }

    fn section(&self, severity: Severity) -> String {
        let rows = rows(self.findings.iter().filter(|finding| finding.severity == severity));
        if rows.is_empty() {
            return String::new();
        }
        let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut lines, mut hints) = (Vec::new(), Vec::new());
        for row in &rows {
            let seen = shown.entry(row.check).or_default();
            *seen += 1;
            if *seen > ROWS {
                continue;
            }
            lines.push(vec![row.check.to_owned(), subject(&row.about), row.what.clone()]);
            let hint = row.hint.map(|hint| format!("  hint: {}: {hint}", row.check));
            hints.extend(hint.filter(|hint| !hints.contains(hint)));
        }
        for (check, seen) in shown {
            if seen > ROWS {
                let more = format!("{} more, see --csv", counted((seen - ROWS) as u64, "row"));
                lines.push(vec![check.to_owned(), "…".to_owned(), more]);
            }
        }
        // Stable: rows of a check stay together, what is left out last.
        lines.sort_by_key(|line| CATALOGUE.iter().position(|check| check.name == line[0]));
        let heading = severity.word();
        let columns = [(heading, Align::Left), ("about", Align::Left), ("", Align::Left)];
        let mut text = format!("\n{}\n", table(&columns, lines).join("\n"));
        for hint in hints {
            text += &hint;
            text.push('\n');
        }
        text
    }

    /// Checks without anything else to say, by name alone.
    fn passed(&self) -> String {
        let mut passed: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|one| one.severity == Severity::Pass) {
            *passed.entry(finding.check).or_default() += 1;
        }
        let names = CATALOGUE.iter().filter_map(|check| {
            let times = passed.get(check.name)?;
            Some(if *times > 1 {
                format!("{} ({})", check.name, count(*times as u64))
            } else {
                check.name.to_owned()
            })
        });
        let mut text = String::from("\n  pass:");
        let mut width = text.len();
        let names: Vec<_> = names.collect();
        for (index, name) in names.iter().enumerate() {
            let comma = if index + 1 < names.len() { "," } else { "" };
            if width + name.len() + 2 > 100 {
                text += "\n       ";
                width = 7;
            }
            let _ = write!(text, " {name}{comma}");
            width += name.len() + 2;
        }
        if names.is_empty() { String::new() } else { text + "\n" }
    }
}

/// Findings that say the same, in the order of the first of each.
fn rows<'r>(findings: impl Iterator<Item = &'r Finding>) -> Vec<Row<'r>> {
    let mut rows: Vec<Row<'r>> = Vec::new();
    let mut at: BTreeMap<(&str, String, Option<&str>), usize> = BTreeMap::new();
    let mut said: BTreeSet<(usize, String)> = BTreeSet::new();
    for finding in findings {
        let (what, hint) = (what(finding), finding.hint.as_deref());
        let index = *at.entry((finding.check, what.clone(), hint)).or_insert_with(|| {
            rows.push(Row { check: finding.check, what, hint, about: Vec::new() });
            rows.len() - 1
        });
        let about = about(finding);
        if said.insert((index, about.clone())) {
            rows[index].about.push(about);
        }
    }
    rows
}

fn what(finding: &Finding) -> String {
    let mut what = finding.reason.clone();
    if let Some(reason) = &finding.allowed {
        let _ = write!(what, " (allowed: {reason})");
    }
    if let Some(reason) = &finding.assumed {
        let _ = write!(what, " (assumed: {reason})");
    }
    if finding.blocks && finding.severity == Severity::Unknown {
        what += " (a run refuses until [[assume]] answers it)";
    }
    what
}

fn about(finding: &Finding) -> String {
    let topic = finding.topic.as_ref().map(|topic| match finding.renamed() {
        Some(target) => format!("{topic} ({target})"),
        None => topic.to_string(),
    });
    finding.subject(topic)
}

fn subject(about: &[String]) -> String {
    let shown = about[..about.len().min(NAMED)].join(", ");
    match about.len().saturating_sub(NAMED) {
        0 => shown,
        rest => format!("{shown} and {} more", count(rest as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn what_is_said_of_hundreds_of_topics_is_one_row_and_passes_are_names() {
        let text = report(300).render_text();
        let failed = "\
  retention  t000, t001, t002 and 297 more  source keeps records 7 d 00 h, target 1 h 00 min: it would delete \
at once what is older, and the oldest record is 1 d 00 h old
  hint: retention: raise `retention.ms` on the target's topic to the source's (`topics.config.override` where it is \
created), at least until the cutover
";
        assert!(
            text.starts_with(
                "t: 1 check FAILED, it must not be run like this; nothing was written\n\n"
            ),
            "{text}"
        );
        assert!(text.contains(failed), "{text}");
        assert!(text.contains("partitions (300),"), "{text}");
        assert!(text.lines().count() < 40, "{text}");
    }

    #[test]
    fn many_rows_of_one_check_are_cut_and_the_worst_comes_first() {
        let mut report = report(1);
        let failed = report.findings.iter().position(|one| one.severity == Severity::Fail).unwrap();
        for number in 0..9 {
            let mut more = report.findings[failed].clone();
            more.reason = format!("reason {number}");
            report.findings.push(more);
        }
        let text = report.render_text();
        assert_eq!(text.matches("reason ").count(), ROWS - 1, "{text}");
        assert!(text.contains("5 rows more, see --csv"), "{text}");
        assert!(text.find("\n  fail ").unwrap() < text.find("\n  info ").unwrap(), "{text}");
    }

    #[test]
    fn what_was_allowed_or_must_be_answered_is_said() {
        let mut report = report(1);
        let failed = report.findings.iter().position(|one| one.severity == Severity::Fail).unwrap();
        let finding = &mut report.findings[failed];
        (finding.severity, finding.blocks) = (Severity::Warn, false);
        finding.allowed = Some("agreed".into());
        let text = report.render_text();
        assert!(text.starts_with("t: nothing fails, a run may begin\n"), "{text}");
        assert!(text.contains("1 d 00 h old (allowed: agreed)\n"), "{text}");
        report.findings[failed].severity = Severity::Unknown;
        report.findings[failed].blocks = true;
        let text = report.render_text();
        assert!(text.starts_with("t: 1 check must be answered before a run\n"), "{text}");
        assert!(text.contains("(a run refuses until [[assume]] answers it)"), "{text}");
    }
}
