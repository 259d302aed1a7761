//! A plan as canonical text, field by field, without its secrets: what is hashed, and what the ledger
//! compares.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_128;

use super::pattern::Pattern;
use super::secret::MASK;
use super::settings::{ClusterPlan, Keys, LaneCount, OnError, OnGap, Plan};
use super::units::format_size;

/// Whether a field may change under a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Another value under the same ledger is refused.
    Bound,
    /// Another value is written into the ledger as a `plan` entry.
    Free,
}

/// One field of a plan, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanField {
    /// Full path, such as `run.commit_interval`.
    pub path: String,
    /// Canonical text; a secret is `***`, a reference stays as written.
    pub value: String,
    /// Whether the ledger holds on to it.
    pub binding: Binding,
}

impl Plan {
    /// 32 hex digits that stand for everything the plan says but its secrets. Layout, order of fields
    /// and comments do not matter, and a field that is written out counts as its default does.
    pub fn hash(&self) -> String {
        let mut text = String::new();
        for field in self.fields() {
            text.push_str(&field.path);
            text.push('=');
            // Quoted, so that no value can look like the next field.
            text.push_str(&serde_json::Value::from(field.value).to_string());
            text.push('\n');
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// The naming rule as text: bound in the ledger.
    pub fn naming_text(&self) -> String {
        self.topics.rename.text()
    }

    /// The start positions as text: bound in the ledger.
    pub fn start_text(&self) -> String {
        let mut text = self.topics.start.to_string();
        for over in &self.topics.overrides {
            if let Some(start) = over.start {
                text.push_str(&format!("; {} {start}", patterns(&over.topics)));
            }
        }
        text
    }

    /// Whether source offsets that were gone before they could be read are recorded, not refused.
    pub fn accepts_gaps(&self) -> bool {
        self.run.on_gap == OnGap::Record
    }

    /// Every field in a fixed order. What is not set and has no default is left out.
    pub fn fields(&self) -> Vec<PlanField> {
        let mut list = List(Vec::new());
        list.bound("name", &self.name);
        list.cluster("source", &self.source);
        list.cluster("target", &self.target);
        self.topic_fields(&mut list);
        list.bound("ledger.topic", &self.ledger.topic);
        list.bound("ledger.prefix", &self.ledger.prefix);
        list.free("ledger.create", self.ledger.create);
        list.some("ledger.replication_factor", self.ledger.replication_factor.as_ref());
        self.run_fields(&mut list);
        self.later_fields(&mut list);
        list.0
    }

    fn topic_fields(&self, list: &mut List) {
        let topics = &self.topics;
        list.free("topics.include", patterns(&topics.include));
        list.free("topics.exclude", patterns(&topics.exclude));
        list.free("topics.create", topics.create);
        list.some("topics.replication_factor", topics.replication_factor.as_ref());
        list.bound("topics.rename", topics.rename.text());
        list.bound("topics.shared", json(&topics.shared));
        list.bound("topics.start", topics.start);
        list.free("topics.config.exclude", json(&topics.config_exclude));
        list.map("topics.config.override", &topics.config_override);
        for (index, over) in topics.overrides.iter().enumerate() {
            let path = |field: &str| format!("topics.override[{index}].{field}");
            list.free(path("topics"), patterns(&over.topics));
            if let Some(start) = over.start {
                list.bound(path("start"), start);
            }
            list.some(path("replication_factor"), over.replication_factor.as_ref());
            list.map(&path("config"), &over.config);
        }
    }

    fn run_fields(&self, list: &mut List) {
        let run = &self.run;
        match run.lanes {
            LaneCount::Auto => list.free("run.lanes", "auto"),
            LaneCount::Fixed(lanes) => list.bound("run.lanes", lanes),
        }
        list.free("run.commit_interval", time(run.commit_interval));
        list.free("run.commit_bytes", format_size(run.commit_bytes));
        list.free("run.max_transactions_per_second", run.max_transactions_per_second);
        let rate = run.max_rate.map(|rate| format!("{}/s", format_size(rate)));
        list.some("run.max_rate", rate.as_ref());
        list.free("run.memory", format_size(run.memory));
        list.free("run.positions", run.positions);
        list.free(
            "run.on_gap",
            match run.on_gap {
                OnGap::Stop => "stop",
                OnGap::Record => "record",
            },
        );
        list.free(
            "run.on_error",
            match run.on_error {
                OnError::Stop => "stop",
                OnError::DeadLetter => "dead-letter",
            },
        );
        list.free("run.open_transaction_wait", time(run.open_transaction_wait));
    }

    fn later_fields(&self, list: &mut List) {
        for (index, allow) in self.allow.iter().enumerate() {
            let path = |field: &str| format!("check.allow[{index}].{field}");
            list.free(path("check"), &allow.check);
            list.free(path("topics"), patterns(&allow.topics));
            list.free(path("reason"), &allow.reason);
        }
        for (index, assume) in self.assume.iter().enumerate() {
            let path = |field: &str| format!("assume[{index}].{field}");
            list.free(path("check"), &assume.check);
            list.free(path("topics"), patterns(&assume.topics));
            list.some(path("value"), assume.value.as_ref());
            list.free(path("reason"), &assume.reason);
        }
        let reconcile = &self.reconcile;
        list.free("reconcile.memory", format_size(reconcile.memory));
        list.some("reconcile.every", reconcile.every.map(time).as_ref());
        list.free(
            "reconcile.keys",
            match reconcile.keys {
                Keys::Plain => "plain",
                Keys::Hashed => "hashed",
            },
        );
        list.some("reconcile.secret", reconcile.secret.as_ref().map(|_| MASK).as_ref());
        list.free("reconcile.ignore_headers", json(&reconcile.ignore_headers));
        list.free("diff.max_rows", self.diff.max_rows);
        list.free("groups.include", patterns(&self.groups.include));
        list.free("groups.exclude", patterns(&self.groups.exclude));
        for (index, wave) in self.waves.iter().enumerate() {
            list.free(format!("wave[{index}].name"), &wave.name);
            list.free(format!("wave[{index}].topics"), patterns(&wave.topics));
        }
        list.free("cutover.quiet", time(self.cutover.quiet));
    }
}

struct List(Vec<PlanField>);

impl List {
    fn push(&mut self, path: impl Into<String>, value: impl Display, binding: Binding) {
        self.0.push(PlanField { path: path.into(), value: value.to_string(), binding });
    }

    fn bound(&mut self, path: impl Into<String>, value: impl Display) {
        self.push(path, value, Binding::Bound);
    }

    fn free(&mut self, path: impl Into<String>, value: impl Display) {
        self.push(path, value, Binding::Free);
    }

    fn some(&mut self, path: impl Into<String>, value: Option<&impl Display>) {
        if let Some(value) = value {
            self.free(path, value);
        }
    }

    fn map(&mut self, path: &str, map: &BTreeMap<String, String>) {
        for (name, value) in map {
            self.free(format!("{path}.{name:?}"), value);
        }
    }

    fn cluster(&mut self, side: &str, cluster: &ClusterPlan) {
        self.free(format!("{side}.bootstrap"), &cluster.shown_bootstrap);
        self.map(&format!("{side}.properties"), &cluster.shown);
        let Some(registry) = &cluster.registry else { return };
        let path = |field: &str| format!("{side}.registry.{field}");
        self.free(path("url"), &registry.shown_url);
        for (name, secret) in [
            ("username", &registry.username),
            ("password", &registry.password),
            ("token", &registry.token),
        ] {
            self.some(path(name), secret.as_ref().map(|_| MASK).as_ref());
        }
        self.some(path("ca_location"), registry.ca_location.as_ref());
    }
}

fn time(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

fn json(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<_> = texts.iter().map(AsRef::as_ref).collect();
    serde_json::to_string(&texts).expect("texts are JSON")
}

fn patterns(patterns: &[Pattern]) -> String {
    json(&patterns.iter().map(Pattern::text).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{HEAD, parse, plan_with};

    const TOPICS: &str = "topics.include = ['orders']\n";

    #[test]
    fn the_hash_is_for_ever() {
        // Golden: it stands in ledgers and reports. A new field with a default changes it, knowingly.
        assert_eq!(plan_with(TOPICS).hash(), "274a4fcfd885b7a6a799783a798afb4c");
    }

    #[test]
    fn layout_and_written_defaults_do_not_change_the_hash() {
        let hash = plan_with(TOPICS).hash();
        let written = "# a comment\n[topics]\nstart = 'earliest'\ninclude = [\n  'orders', # these\n]\n\
                       [run]\ncommit_interval = '0.5s'\nmemory = '262144KiB'\n";
        assert_eq!(plan_with(written).hash(), hash);
    }

    #[test]
    fn any_other_meaning_changes_the_hash() {
        let hash = plan_with(TOPICS).hash();
        for change in [
            "run.lanes = 4",
            "run.max_rate = '1MiB/s'",
            "topics.start = 'latest'",
            "topics.exclude = ['x']",
            "source.properties.\"client.id\" = 'x'",
            "cutover.quiet = '3m'",
            "wave = [{ name = 'w', topics = ['orders'] }]",
        ] {
            assert_ne!(plan_with(&format!("{TOPICS}{change}")).hash(), hash, "{change}");
        }
    }

    #[test]
    fn secrets_are_not_in_the_hash_but_that_there_is_one_is() {
        let with = |password: &str| {
            let line = format!("source.properties.\"sasl.password\" = '{password}'\n");
            plan_with(&format!("{TOPICS}{line}")).hash()
        };
        assert_eq!(with("hunter22"), with("hunter23"));
        assert_eq!(with("hunter22"), with("${env:SET}"));
        assert_ne!(with("hunter22"), plan_with(TOPICS).hash());
    }

    #[test]
    fn what_the_ledger_binds_is_marked() {
        let text = format!(
            "{HEAD}{TOPICS}run.lanes = 4\n[[topics.override]]\ntopics = ['orders']\nstart = '-7d'\n"
        );
        let fields = parse(&text).expect("a plan").fields();
        let bound = fields.iter().filter(|field| field.binding == Binding::Bound);
        let bound: Vec<_> =
            bound.map(|field| format!("{} = {}", field.path, field.value)).collect();
        assert_eq!(
            bound,
            [
                "name = t",
                "topics.rename = []",
                "topics.shared = []",
                "topics.start = earliest",
                "topics.override[0].start = -7days",
                "ledger.topic = onceover-t-ledger",
                "ledger.prefix = onceover-",
                "run.lanes = 4",
            ]
        );
    }
}
