//! A case from its topic to its judgement.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::case::{Case, Fault, Place};
use super::report::Outcome;
use crate::brokers::{Error, Isolation, Numbered, Oracle, Writing, shared};
use crate::pipe::harness::{AT_MOST, Migration, Process};

/// The smallest: a look at the source brings no more than 8,192 records, and shall bring few bytes.
const VALUE_BYTES: usize = 34;
/// With key, and the header `id` with some digits.
const RECORD_BYTES: u64 = VALUE_BYTES as u64 + 12;
/// The transaction time-out of a worker that is to outlast it.
const TRANSACTION: Duration = Duration::from_secs(5);

/// Prepares the case, strikes, lets the workers finish, and judges.
pub fn conduct(case: &Case) -> Result<Outcome, Error> {
    Scene::set(case)?.play()
}

struct Scene<'a> {
    case: &'a Case,
    migration: Migration,
    numbered: Numbered,
    target: Oracle,
    /// A held lane waits for this file.
    release: PathBuf,
    _folder: TempDir,
    exits: Vec<String>,
}

/// What happened between the strike and the last worker's end.
struct Struck {
    how: String,
    /// Carries at that time, where the fault left the time to count them.
    carries: Option<usize>,
}

impl<'a> Scene<'a> {
    /// Topic, records and plan.
    fn set(case: &'a Case) -> Result<Scene<'a>, Error> {
        let slug = case.slug();
        // Who joins or takes over must find something to do; the others need not wait.
        let records = 20_000;
        let slow = case.point.place == Place::Revoke || case.fault == Fault::Replaced;
        // A second worker starts while the first one copies: that takes its time beside 13 other cases.
        let seconds = if case.point.place == Place::Revoke { 40 } else { 20 };
        let pace = if slow {
            let rate = records * RECORD_BYTES / 1024 / seconds;
            format!("run.max_rate = \"{rate}KiB/s\"\nrun.max_transactions_per_second = 1\n")
        } else {
            String::new()
        };
        let records = if slow { records } else { 4 * records };
        let lanes = if case.point.place == Place::Revoke { 4 } else { 1 };
        let partitions = lanes.max(2);
        let clusters = shared::clusters();
        let numbered = Numbered::new(&slug, partitions, records);
        let numbered = Numbered { keys: 100, value_size: VALUE_BYTES, ..numbered };
        clusters.source_oracle.create_topic(&slug, partitions, &[])?;
        let half = Numbered { count: records / 2, ..numbered.clone() };
        clusters.source_oracle.produce_numbered(&half, &Writing::default())?;
        let half = half.after(records / 2);
        let writing = Writing { per_transaction: 1_000, abort_every: 3, ..Writing::default() };
        clusters.source_oracle.produce_numbered(&half, &writing)?;
        let plan = format!(
            "topics.include = [\"{slug}\"]\nrun.lanes = {lanes}\nrun.commit_bytes = \"64KiB\"\n\
             {pace}"
        );
        let mut migration = Migration::new(&slug, &plan);
        let folder = tempfile::tempdir().expect("a folder");
        let release = folder.path().join("release");
        migration.set_env("FAILPOINTS", &case.failpoints(&release));
        if case.fault == Fault::Outlast {
            let ms = TRANSACTION.as_millis().to_string();
            migration.set_env("ONCEOVER_TRANSACTION_TIMEOUT_MS", &ms);
        }
        let target = clusters.target_oracle.clone();
        let exits = Vec::new();
        Ok(Scene { case, migration, numbered, target, release, _folder: folder, exits })
    }

    fn play(mut self) -> Result<Outcome, Error> {
        let first = self.worker("w1");
        // From here on nothing strikes any more.
        self.migration.set_env("FAILPOINTS", "");
        let mut others = Vec::new();
        if self.case.point.place == Place::Revoke {
            self.until("the first worker commits in each lane", |scene| {
                scene.lanes_of("w1").is_some_and(|lanes| lanes == 4)
            });
            others.push(self.worker("w2"));
        }
        let struck = self.strike(first, &mut others)?;
        for other in others {
            self.ends(other, &[0]);
        }
        self.judge(struck)
    }

    fn worker(&self, name: &str) -> Process {
        self.migration.start(&["--worker", name, "--json"])
    }

    /// Lets a worker finish and notes its exit code; returns what it said.
    #[track_caller]
    fn ends(&mut self, worker: Process, codes: &[i32]) -> String {
        let finished = worker.finish();
        let code = finished.code.unwrap_or(-1);
        assert!(
            codes.contains(&code),
            "exit code {code}\n{}\n{}",
            finished.stdout,
            finished.stderr
        );
        self.exits.push(code.to_string());
        finished.stderr
    }

    fn strike(&mut self, mut first: Process, others: &mut Vec<Process>) -> Result<Struck, Error> {
        let line = format!("failpoint {} of lane ", self.case.point.name);
        if let Fault::Error(class) = self.case.fault {
            let codes: &[i32] = match class {
                "taken-over" => &[6],
                "final" => &[4],
                _ => &[0],
            };
            let said = self.ends(first, codes);
            let how = said.lines().find(|said| said.starts_with(&line)).map(str::to_owned);
            let how = how.unwrap_or_else(|| panic!("the failpoint did not strike:\n{said}"));
            assert!(how.ends_with(class), "{how}");
            if codes != [0] && others.is_empty() {
                others.push(self.worker("w1"));
            }
            return Ok(Struck { how: "error".into(), carries: None });
        }
        let said = first.wait_for(&line);
        let lane = said[line.len()..].split(':').next().unwrap_or_default().to_owned();
        let carries = Some(self.carries()?.len());
        let how = match self.case.fault {
            Fault::Kill => {
                first.kill();
                self.exits.push("killed".into());
                others.push(self.worker("w1"));
                "killed".into()
            }
            Fault::Outlast => {
                let state = self.outlast(&lane);
                self.let_go();
                self.ends(first, &[0]);
                format!("transaction {state}")
            }
            _ => {
                let how = self.freeze(&first, others);
                self.let_go();
                first.signal(Signal::SIGCONT);
                self.ends(first, &[0]);
                how
            }
        };
        Ok(Struck { how, carries })
    }

    /// Waits longer than the transaction time-out; returns the transaction's state then.
    fn outlast(&self, lane: &str) -> String {
        let id = format!("{}-{lane}", self.migration.group());
        let mut state = String::new();
        // The fault itself: it has to last this long.
        std::thread::sleep(TRANSACTION + Duration::from_secs(1));
        self.until("the transaction is over", |scene| {
            let transaction = scene.target.describe_transaction(&id);
            state = transaction.map(|transaction| transaction.state).unwrap_or_default();
            if scene.case.point.open {
                state == "CompleteAbort"
            } else {
                state != "Ongoing" && !state.starts_with("Prepare")
            }
        });
        state
    }

    /// Freezes the worker until the group has put it out, and another one has its lanes if the fault
    /// says so.
    fn freeze(&self, first: &Process, others: &mut Vec<Process>) -> String {
        first.signal(Signal::SIGSTOP);
        if self.case.point.place == Place::Revoke {
            self.until("the other has all lanes", |scene| {
                scene.lanes_of("w2").is_some_and(|lanes| lanes == 4)
            });
            return "w2 has committed in all lanes".into();
        }
        let group = self.migration.group();
        self.until("the group has put it out", |scene| {
            let groups = scene.target.list_groups().unwrap_or_default();
            groups.get(&group).is_some_and(|state| state == "Empty")
        });
        if self.case.fault == Fault::Frozen {
            return "group empty".into();
        }
        others.push(self.worker("w2"));
        self.until("the other commits", |scene| scene.lanes_of("w2").is_some());
        "w2 has committed".into()
    }

    fn let_go(&self) {
        std::fs::write(&self.release, "").expect("a file can be written");
    }

    fn until(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let until = Instant::now() + AT_MOST;
        while !condition(self) {
            assert!(Instant::now() < until, "never came true: {what}");
            std::thread::park_timeout(Duration::from_millis(200));
        }
    }

    /// The ledger's committed carries, read by the oracle.
    fn carries(&self) -> Result<Vec<(i32, Value)>, Error> {
        let entries = self.target.read(&self.migration.ledger(), Isolation::ReadCommitted)?;
        let entries = entries.into_iter().filter_map(|stored| {
            let value = stored.record.value.unwrap_or_default();
            let entry: Value = serde_json::from_slice(&value).ok()?;
            (entry["kind"] == "carry" && entry["part"] == 1)
                .then_some((stored.record.partition, entry))
        });
        Ok(entries.collect())
    }

    /// In how many lanes a worker has committed; none if in none.
    fn lanes_of(&self, worker: &str) -> Option<usize> {
        let carries = self.carries().ok()?;
        let its = carries.iter().filter(|(_, carry)| carry["worker"] == worker);
        let lanes: std::collections::BTreeSet<i32> = its.map(|(lane, _)| *lane).collect();
        (!lanes.is_empty()).then_some(lanes.len())
    }

    /// What stands on the target, and whether the fault was one in mid-run.
    fn judge(self, struck: Struck) -> Result<Outcome, Error> {
        let carries = self.carries()?;
        let all = carries.len();
        let before = struck.carries.unwrap_or_else(|| match self.case.point.place {
            Place::Revoke => carries.iter().filter(|(_, one)| one["worker"] == "w1").count(),
            // Every error makes the lane begin anew, with a higher epoch.
            _ => {
                let epoch = |one: &Value| one["epoch"].as_u64();
                let first = carries.iter().filter_map(|(_, one)| epoch(one)).min();
                carries.iter().filter(|(_, one)| epoch(one) == first).count()
            }
        });
        let mut wrong = self.target.check_numbered(&self.numbered)?;
        let found = self.target.digest(&self.numbered.topic, Isolation::ReadCommitted)?;
        let found = found.iter().map(|one| one.count).sum();
        if found != self.numbered.count {
            wrong.push(format!("{found} records instead of {}", self.numbered.count));
        }
        let bindings = self.case.point.place == Place::Bindings;
        if bindings && struck.carries.is_some_and(|carries| carries > 0) {
            wrong.push("the fault did not strike before any data".into());
        }
        if !bindings && (before == 0 || before == all) {
            wrong.push(format!("not in mid-run: {before} of {all} carries before the fault"));
        }
        Ok(Outcome {
            struck: struck.how,
            end: self.exits.join(", "),
            carries: (before, all - before),
            issued: self.numbered.count,
            found,
            wrong,
        })
    }
}
