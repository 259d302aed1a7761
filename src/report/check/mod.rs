//! What `check` found, for a person, a program and a spreadsheet. Pure, but for [`write_files`].

mod files;
mod text;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use files::{Table, acls, checks, schema_ids, write, write_files};

use super::numbers::time;
use super::out::SCHEMA;
use crate::check::{CATALOGUE, Finding, Severity};

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The plan's name.
    pub plan: String,
    /// When the facts were gathered, in milliseconds since 1970.
    pub at: i64,
    /// How many topics the plan selects.
    pub topics: usize,
    /// In the order of the catalogue.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// 7 where something fails or must be answered, else 0.
    pub fn exit_code(&self) -> u8 {
        if self.findings.iter().any(|finding| finding.blocks) { 7 } else { 0 }
    }

    /// How many findings there are of each severity.
    pub fn counts(&self) -> BTreeMap<Severity, usize> {
        let mut counts: BTreeMap<_, _> =
            Severity::ALL.into_iter().map(|severity| (severity, 0)).collect();
        for finding in &self.findings {
            *counts.entry(finding.severity).or_default() += 1;
        }
        counts
    }

    /// What a program reads; fields are added, never changed, while `schema` is 1.
    pub fn to_json(&self) -> Value {
        let counts: serde_json::Map<String, Value> = self
            .counts()
            .into_iter()
            .map(|(severity, count)| (severity.word().to_owned(), json!(count)))
            .collect();
        json!({
            "schema": SCHEMA,
            "result": if self.exit_code() == 0 { "passed" } else { "failed" },
            "exit": self.exit_code(),
            "plan": self.plan,
            "checked_at": time(self.at),
            "checked_at_ms": self.at,
            "topics": self.topics,
            "checks": CATALOGUE.len(),
            "counts": counts,
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
        })
    }
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "check": finding.check,
        "severity": finding.severity.word(),
        "topic": finding.topic.as_deref(),
        "target": finding.target.as_deref(),
        "about": finding.about,
        "reason": finding.reason,
        "hint": finding.hint,
        "blocks": finding.blocks,
        "can_be_allowed": finding.severity == Severity::Fail && !finding.firm,
        "allowed": finding.allowed,
        "assumed": finding.assumed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::{NOW, facts, pair, plan};
    use crate::check::judge;
    use crate::error::Side;

    pub fn report(topics: usize) -> CheckReport {
        let mut facts = facts();
        facts.pairs = (0..topics).map(|number| pair(&format!("t{number:03}"), 2)).collect();
        for pair in &mut facts.pairs {
            pair.set(Side::Target, "retention.ms", "3600000");
        }
        let findings = judge(&plan(""), &facts);
        CheckReport { plan: "t".into(), at: NOW, topics, findings }
    }

    #[test]
    fn the_exit_code_is_7_where_something_fails() {
        let mut report = report(1);
        assert_eq!((report.exit_code(), report.counts()[&Severity::Fail]), (7, 1));
        report.findings.retain(|finding| finding.severity != Severity::Fail);
        assert_eq!(report.exit_code(), 0);
        assert_eq!(report.to_json()["result"], "passed");
    }

    #[test]
    fn the_json_has_every_finding_with_its_own_fields() {
        let json = report(2).to_json();
        assert_eq!((&json["exit"], &json["topics"]), (&json!(7), &json!(2)));
        assert_eq!(json["counts"]["fail"], 2);
        let findings = json["findings"].as_array().unwrap();
        let failed = findings.iter().find(|one| one["severity"] == "fail").unwrap();
        assert_eq!(failed["check"], "retention");
        assert_eq!(failed["topic"], "t000");
        assert_eq!(failed["can_be_allowed"], true);
    }
}
