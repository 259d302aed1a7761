//! What a check finds: a verdict, and the finding that it becomes.

use std::fmt;
use std::sync::Arc;

use crate::plan::Assume;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It must not be run like this.
    Fail,
    /// The check could not be carried out.
    Unknown,
    /// It can be run, and somebody should know this before.
    Warn,
    /// Good to know.
    Info,
    /// As it should be.
    Pass,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 5] = [Self::Fail, Self::Unknown, Self::Warn, Self::Info, Self::Pass];

    /// Its stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Pass => "pass",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a rule says about one thing. The reason names no topic, so that what is said of hundreds of
/// topics can be told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How bad it is.
    pub severity: Severity,
    /// Why, in one line, with both values.
    pub reason: String,
    /// What to do; else the catalogue's hint.
    pub hint: Option<String>,
    /// What it is about besides the topic: a config, a partition, a group, a right.
    pub about: Option<String>,
    /// No `[[check.allow]]` can help: it would fail all the same, or do harm.
    pub firm: bool,
    /// The reason of the `[[assume]]` that it rests on.
    pub assumed: Option<String>,
}

/// What a rule says; an error is one more verdict, that ended the rule early.
pub type Verdicts = Result<Vec<Verdict>, Verdict>;

impl Verdict {
    fn new(severity: Severity, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { severity, reason, hint: None, about: None, firm: false, assumed: None }
    }

    /// It must not be run like this.
    pub fn fail(reason: impl Into<String>) -> Self {
        Self::new(Severity::Fail, reason)
    }

    /// Somebody should know this before.
    pub fn warn(reason: impl Into<String>) -> Self {
        Self::new(Severity::Warn, reason)
    }

    /// The check could not be carried out.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::new(Severity::Unknown, reason)
    }

    /// Good to know.
    pub fn info(reason: impl Into<String>) -> Self {
        Self::new(Severity::Info, reason)
    }

    /// As it should be.
    pub fn pass(reason: impl Into<String>) -> Self {
        Self::new(Severity::Pass, reason)
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says what it is about.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Self { about: Some(about.into()), ..self }
    }

    /// Says on which answer by hand it rests.
    #[must_use]
    pub fn resting_on(self, assume: Option<&Assume>) -> Self {
        Self { assumed: assume.map(|one| one.reason.clone()), ..self }
    }

    /// Nobody can allow it.
    #[must_use]
    pub fn firm(self) -> Self {
        Self { firm: true, ..self }
    }
}

/// A reason why a fact is not known ends a rule with `unknown`.
impl From<&str> for Verdict {
    fn from(why: &str) -> Self {
        Self::unknown(why)
    }
}

impl From<String> for Verdict {
    fn from(why: String) -> Self {
        Self::unknown(why)
    }
}

impl From<Verdict> for Verdicts {
    fn from(verdict: Verdict) -> Self {
        Ok(vec![verdict])
    }
}

/// A verdict with the check that it is from and the topic that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// How bad it is, once what the plan allows is allowed.
    pub severity: Severity,
    /// The source's topic, where it is about one.
    pub topic: Option<Arc<str>>,
    /// The target's topic, where it is about one.
    pub target: Option<Arc<str>>,
    /// What else it is about.
    pub about: Option<String>,
    /// Why, in one line, with both values.
    pub reason: String,
    /// What to do; always there unless it is good.
    pub hint: Option<String>,
    /// No `[[check.allow]]` can help.
    pub firm: bool,
    /// It failed, and the plan's `[[check.allow]]` takes responsibility, for this reason.
    pub allowed: Option<String>,
    /// It rests on the plan's `[[assume]]`, for this reason.
    pub assumed: Option<String>,
    /// It must not be run like this: `check` ends with exit code 7, and a run refuses, or waits and then ends.
    pub blocks: bool,
}

impl Finding {
    /// The target's topic, where it has another name than the source's.
    pub fn renamed(&self) -> Option<&str> {
        self.target.as_deref().filter(|target| self.topic.as_deref() != Some(target))
    }

    /// What it is about: the `topic`, as the reader writes one, then what else.
    pub fn subject(&self, topic: Option<String>) -> String {
        [topic, self.about.clone()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
