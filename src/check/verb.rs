//! The verb, once the facts are gathered: judge them, and write the files that somebody asked for.

use std::path::PathBuf;

use super::facts::Facts;
use super::judge;
use crate::error::Result;
use crate::plan::Plan;
use crate::report::check::{CheckReport, checks, write, write_files};

/// Where the files go that somebody asked for.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Every finding, in this file.
    pub csv: Option<PathBuf>,
    /// All files, in this folder.
    pub out: Option<PathBuf>,
}

/// Judges the facts.
pub fn report(plan: &Plan, facts: &Facts) -> CheckReport {
    let findings = judge(plan, facts);
    CheckReport { plan: plan.name.clone(), at: facts.now_ms, topics: facts.pairs.len(), findings }
}

/// Writes the files that somebody asked for.
///
/// # Errors
/// A file cannot be written.
pub fn write_asked(
    files: &Files,
    report: &CheckReport,
    facts: &Facts,
    redact: impl Fn(&str) -> String,
) -> Result<()> {
    if let Some(path) = &files.csv {
        write(path, checks(report), &redact)?;
    }
    match &files.out {
        Some(folder) => write_files(folder, report, facts, &redact),
        None => Ok(()),
    }
}
