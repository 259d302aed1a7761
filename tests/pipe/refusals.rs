//! What the tests of refusals share: a copied topic, a run that must not go on, and what both
//! clusters hold before and after it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::harness::{Finished, Migration};
use crate::brokers::oracle::{GroupOffset, Offsets, Topic};
use crate::brokers::{Error, Isolation, Numbered, Oracle, Record, Writing, shared};

/// Partitions of the tests' topics.
pub const PARTITIONS: usize = 2;

/// A topic on the source and a plan for it, both with the same name.
pub struct Case {
    pub name: String,
    pub migration: Migration,
    pub source: Oracle,
    pub target: Oracle,
}

/// What somebody could have changed on a cluster about a test's own topics and groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Holdings {
    pub topics: BTreeMap<String, (Topic, Vec<Offsets>)>,
    pub groups: BTreeMap<String, Vec<GroupOffset>>,
}

/// The words of a run that did not go on.
#[derive(Debug)]
pub struct Words {
    pub message: String,
    pub hint: String,
    pub stderr: String,
}

impl Words {
    /// Ends the test unless message and hint hold these texts.
    #[track_caller]
    pub fn say(&self, message: &[&str], hint: &str) {
        for text in message {
            assert!(self.message.contains(text), "no `{text}` in {self:#?}");
        }
        assert!(self.hint.contains(hint), "no `{hint}` in {self:#?}");
        let shown = format!("hint: {}", self.hint.lines().next().unwrap_or_default());
        assert!(self.stderr.contains(&shown), "the hint has no line of its own: {self:#?}");
    }
}

impl Case {
    /// An empty topic on the source.
    pub fn empty(name: &str) -> Result<Case, Error> {
        let clusters = shared::clusters();
        let migration = Migration::new(name, &include(name));
        let (source, target) = (clusters.source_oracle.clone(), clusters.target_oracle.clone());
        source.create_topic(name, PARTITIONS, &[])?;
        Ok(Case { name: name.to_owned(), migration, source, target })
    }

    /// A topic that a run has copied.
    pub fn copied(name: &str) -> Result<Case, Error> {
        let case = Case::empty(name)?;
        case.produce(200)?;
        case.goes_on()?;
        Ok(case)
    }

    /// Writes records to the source topic.
    pub fn produce(&self, count: u64) -> Result<(), Error> {
        let numbered = Numbered::new(&self.name, PARTITIONS, count);
        self.source.produce_numbered(&numbered, &Writing::default()).map(drop)
    }

    /// The plan with more fields.
    pub fn rewrite(&self, more: &str) {
        self.migration.rewrite(&format!("{}\n{more}", include(&self.name)));
    }

    /// Runs to the end, after which both sides hold the same.
    #[track_caller]
    pub fn goes_on(&self) -> Result<Finished, Error> {
        let finished = self.migration.run(&["--json"]).expect(0);
        self.same()?;
        Ok(finished)
    }

    /// Both sides hold the same records in the same order.
    #[track_caller]
    pub fn same(&self) -> Result<(), Error> {
        let digest = |oracle: &Oracle| oracle.digest(&self.name, Isolation::ReadCommitted);
        assert_eq!(digest(&self.source)?, digest(&self.target)?);
        Ok(())
    }

    /// Runs, is refused with exit 5, and leaves both clusters as they were, but for one `refused`
    /// entry in a ledger that is there already.
    #[track_caller]
    pub fn refused(&self, kind: &str) -> Result<Words, Error> {
        self.does_not_run(5, kind, &[])
    }

    /// Runs, and ends with this code and kind without having changed anything but the `refused`
    /// entry.
    #[track_caller]
    pub fn does_not_run(&self, code: i32, kind: &str, args: &[&str]) -> Result<Words, Error> {
        let before = self.both()?;
        let mut all = vec!["--json"];
        all.extend(args);
        let finished = self.migration.run(&all).expect(code);
        let after = self.both()?;
        assert_eq!(finished.error_kind(), kind, "{}", finished.stderr);
        assert_eq!(before.0, after.0, "the source was changed");
        assert_eq!(self.and_refused(before.1, code == 5), after.1, "the target was changed");
        let error = &finished.json()["error"];
        let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
        assert_eq!(error["exit"], code);
        assert_eq!(error["retryable"], false);
        let (message, hint) = (text("message"), text("hint"));
        Ok(Words { message, hint, stderr: finished.stderr })
    }

    /// The target's holdings with one entry more in the ledger's control partition, where it has any.
    fn and_refused(&self, mut holdings: Holdings, refused: bool) -> Holdings {
        if let Some((_, ledger)) = holdings.topics.get_mut(&self.migration.ledger())
            && let Some(control) = ledger.last_mut()
            && control.latest > 0
            && refused
        {
            control.latest += 1;
            control.stable += 1;
        }
        holdings
    }

    /// What source and target hold of this test's.
    pub fn both(&self) -> Result<(Holdings, Holdings), Error> {
        Ok((self.holdings(&self.source)?, self.holdings(&self.target)?))
    }

    /// What a cluster holds of this test's: the topic, those whose names begin with its name and a
    /// dot, the ledger, the group.
    pub fn holdings(&self, oracle: &Oracle) -> Result<Holdings, Error> {
        let (ledger, group) = (self.migration.ledger(), self.migration.group());
        let dotted = format!("{}.", self.name);
        let mut topics = BTreeMap::new();
        for topic in oracle.list_topics()? {
            if topic == self.name || topic == ledger || topic.starts_with(&dotted) {
                let offsets = oracle.list_offsets(&topic)?;
                // Who leads is the brokers' own affair: on a busy machine they lose each other.
                let described = Topic { leaders: Vec::new(), ..oracle.describe_topic(&topic)? };
                topics.insert(topic.clone(), (described, offsets));
            }
        }
        let mut groups = BTreeMap::new();
        for name in oracle.list_groups()?.into_keys().filter(|name| *name == group) {
            groups.insert(name.clone(), oracle.group_offsets(&name)?);
        }
        Ok(Holdings { topics, groups })
    }

    /// The ledger's entries of a kind.
    #[track_caller]
    pub fn entries(&self, kind: &str) -> Vec<Value> {
        let printed = self.migration.verb("status", &["--ledger", "--json"]).expect(0);
        let lines = printed.stdout.lines();
        let entries = lines.map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
        entries.filter(|entry| entry["kind"] == kind).collect()
    }
}

fn include(topic: &str) -> String {
    format!("topics.include = [\"{topic}\"]")
}

/// A record that onceover did not write.
pub fn foreign() -> Record {
    Record::in_partition(1).key("k").value("somebody else's")
}

#[test]
fn a_run_changes_nothing_on_the_source() -> Result<(), Error> {
    let case = Case::empty("refuse-untouched")?;
    case.produce(200)?;
    let before = case.holdings(&case.source)?;
    assert!(before.groups.is_empty());
    case.goes_on()?;
    assert_eq!(case.holdings(&case.source)?, before);
    Ok(())
}

#[test]
fn a_killed_run_changes_nothing_on_the_source() -> Result<(), Error> {
    let case = Case::empty("refuse-untouched-kill")?;
    case.produce(4_000)?;
    case.rewrite("run.max_rate = \"60KiB/s\"");
    let before = case.holdings(&case.source)?;
    let run = case.migration.start(&[]);
    case.has_begun();
    run.kill();
    assert_eq!(case.holdings(&case.source)?, before);
    Ok(())
}

impl Case {
    /// Waits until a run has written records to the target.
    #[track_caller]
    pub fn has_begun(&self) {
        super::harness::eventually("records arrive on the target", || {
            self.target
                .list_offsets(&self.name)
                .is_ok_and(|ends| ends.iter().any(|one| one.stable > 0))
        });
    }
}
