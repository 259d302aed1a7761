//! `src/check/` and its wrappers against real clusters.

mod old_sources;
mod pairs;
mod races;
mod records;
mod rights;
mod runs;
mod schemas;
mod tails;
mod targets;
mod topics;
mod verb;
mod wrappers;

use std::path::Path;

use onceover::check::facts::Facts;
use onceover::check::gather::{Options, gather};
use onceover::check::{Finding, Severity, judge};
use onceover::cluster::check_property;
use onceover::pipe::clusters::Clusters;
use onceover::plan::{Env, Plan};

use crate::pipe::harness::Migration;

/// A plan, what was gathered for it, and what the rules say to that.
struct Checked {
    facts: Facts,
    findings: Vec<Finding>,
}

/// Gathers and judges in this process.
#[track_caller]
fn checked(plan: &Path) -> Checked {
    checked_with(plan, Options::default())
}

#[track_caller]
fn checked_with(plan: &Path, options: Options) -> Checked {
    let env = Env::of_process(&check_property);
    let plan = Plan::load(plan, &env).unwrap_or_else(|error| panic!("{error}"));
    let clusters = Clusters::connect(&plan).unwrap_or_else(|error| panic!("{error}"));
    let facts = gather(&plan, &clusters, options);
    let facts = facts.unwrap_or_else(|error| panic!("{error}"));
    Checked { findings: judge(&plan, &facts), facts }
}

#[track_caller]
fn checked_between_the_shared(name: &str, rest: &str) -> Checked {
    checked(&Migration::new(name, rest).plan)
}

impl Checked {
    /// The worst that a check says, of a topic or of everything.
    #[track_caller]
    fn says(&self, check: &str, topic: Option<&str>) -> (Severity, &str) {
        let ours = |one: &&Finding| one.check == check && one.topic.as_deref() == topic;
        let worst = self.findings.iter().filter(ours).min_by_key(|one| one.severity);
        let worst = worst.unwrap_or_else(|| panic!("`{check}` says nothing of {topic:?}"));
        (worst.severity, &worst.reason)
    }

    /// Ends the test unless a check says this of a topic.
    #[track_caller]
    fn is(&self, check: &str, topic: &str, severity: Severity) {
        let (is, reason) = self.says(check, Some(topic));
        assert_eq!(is, severity, "`{check}` of `{topic}`: {reason}");
    }

    /// The same of a check that is not about a topic.
    #[track_caller]
    fn is_whole(&self, check: &str, severity: Severity) {
        let (is, reason) = self.says(check, None);
        assert_eq!(is, severity, "`{check}`: {reason}");
    }
}
