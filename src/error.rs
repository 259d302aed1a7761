//! Errors, sides, hints and exit codes: what a person reads when onceover stops.
//!
//! Every error says which side, what, and (as a line of its own) what to do next.
//! The exit code follows from the kind alone, so a script can tell the cases apart.

use std::fmt;

/// Which cluster an error, a wait or a log line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The old cluster: it is only read.
    Source,
    /// The new cluster: records, ledger and group live there.
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Source => "source",
            Side::Target => "target",
        })
    }
}

/// Why the process ends; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line or the plan is wrong.
    Usage,
    /// A cluster failed or could not be reached.
    Cluster(Side),
    /// Refused for safety; the word is stable and goes into the ledger and `--json`.
    Refused(&'static str),
    /// Another process took over this worker's name or its lanes.
    TakenOver,
    /// A check failed; nothing was written. The word names the check.
    Check(&'static str),
    /// A fault of ours.
    Fault,
    /// Stopped by a signal (its number) after a clean commit, or with its transactions aborted.
    Stopped(i32),
}

/// An error in words: kind, what happened, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened, without a full stop.
    pub what: String,
    /// What to do next, printed on a line of its own.
    pub hint: Option<String>,
    /// Whether the same command may succeed without anything being changed.
    pub retryable: bool,
}

/// Results whose error a person will read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), hint: None, retryable: false }
    }

    /// The command line or the plan is wrong (exit 2).
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, what)
    }

    /// A cluster failed (exit 3 or 4); the text is prefixed with its side when shown.
    pub fn cluster(side: Side, what: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(Kind::Cluster(side), what) }
    }

    /// Refused for safety (exit 5); `word` is the refusal's stable name.
    pub fn refused(word: &'static str, what: impl Into<String>) -> Self {
        Self::new(Kind::Refused(word), what)
    }

    /// Another process took over (exit 6).
    pub fn taken_over(what: impl Into<String>) -> Self {
        Self::new(Kind::TakenOver, what)
    }

    /// A check failed (exit 7); `word` is the check's stable name.
    pub fn check(word: &'static str, what: impl Into<String>) -> Self {
        Self::new(Kind::Check(word), what)
    }

    /// A fault of ours (exit 70).
    pub fn fault(what: impl Into<String>) -> Self {
        Self::new(Kind::Fault, what)
    }

    /// Stopped by the signal with this number.
    pub fn stopped(signal: i32, what: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(Kind::Stopped(signal), what) }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that trying again changes nothing.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// The side that the error is about, where it is about one.
    pub fn side(&self) -> Option<Side> {
        match self.kind {
            Kind::Cluster(side) => Some(side),
            _ => None,
        }
    }

    /// The process's exit code (design, section 10).
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Cluster(Side::Source) => 3,
            Kind::Cluster(Side::Target) => 4,
            Kind::Refused(_) => 5,
            Kind::TakenOver => 6,
            Kind::Check(_) => 7,
            Kind::Fault => 70,
            Kind::Stopped(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// The stable word for `--json` and the ledger.
    pub fn word(&self) -> &'static str {
        match self.kind {
            Kind::Usage => "usage",
            Kind::Cluster(Side::Source) => "source",
            Kind::Cluster(Side::Target) => "target",
            Kind::Refused(word) | Kind::Check(word) => word,
            Kind::TakenOver => "taken-over",
            Kind::Fault => "fault",
            Kind::Stopped(_) => "stopped",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Cluster(side) => write!(f, "{side} cluster: {}", self.what)?,
            Kind::Refused(word) => write!(f, "refused ({word}): {}", self.what)?,
            Kind::Check(word) => write!(f, "check `{word}` failed: {}", self.what)?,
            Kind::TakenOver => write!(f, "taken over: {}", self.what)?,
            Kind::Fault => write!(f, "fault in onceover: {}", self.what)?,
            Kind::Usage | Kind::Stopped(_) => f.write_str(&self.what)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_design() {
        let codes = [
            (Error::usage(""), 2),
            (Error::cluster(Side::Source, ""), 3),
            (Error::cluster(Side::Target, ""), 4),
            (Error::refused("x", ""), 5),
            (Error::taken_over(""), 6),
            (Error::check("x", ""), 7),
            (Error::fault(""), 70),
            (Error::stopped(2, ""), 130),
            (Error::stopped(15, ""), 143),
        ];
        for (error, code) in codes {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }

    #[test]
    fn an_error_shows_side_cause_and_hint() {
        let error = Error::cluster(Side::Target, "no broker answered").hint("check `bootstrap`");
        assert_eq!(
            error.to_string(),
            "target cluster: no broker answered\nhint: check `bootstrap`"
        );
    }
}
