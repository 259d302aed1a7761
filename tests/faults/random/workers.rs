//! The workers of a random schedule: who runs, who has ended, and how.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;

use super::schedule::Dice;
use crate::pipe::harness::{Migration, Process, eventually};

pub const NAMES: [&str; 3] = ["w1", "w2", "w3"];
/// A worker may give up on a cluster that is gone for too long, or that its name was taken; it may not
/// refuse, fail a check, or have a fault of its own.
const MAY_END_WITH: [i32; 3] = [3, 4, 6];

pub struct Workers {
    pub migration: Migration,
    running: BTreeMap<&'static str, Process>,
    /// Those that ended by themselves, and how.
    ended: Vec<String>,
    /// The source has a partition that the target does not have yet: for so long a worker that starts may
    /// refuse, and some have.
    growing: Option<usize>,
}

impl Workers {
    pub fn of(migration: Migration) -> Workers {
        Workers { migration, running: BTreeMap::new(), ended: Vec::new(), growing: None }
    }

    pub fn count(&self) -> usize {
        self.running.len()
    }

    pub fn some(&self, dice: &mut Dice) -> &'static str {
        let names: Vec<_> = self.running.keys().copied().collect();
        names[dice.below(names.len() as u64) as usize]
    }

    pub fn signal(&self, name: &str, signal: Signal) {
        self.running[name].signal(signal);
    }

    /// SIGKILL, and starts it again.
    pub fn kill(&mut self, name: &'static str) {
        self.running.remove(name).expect("it runs").kill();
        self.start(name);
    }

    fn start(&mut self, name: &'static str) {
        let worker = self.migration.start(&["--tail", "--worker", name, "--json"]);
        self.running.insert(name, worker);
    }

    /// Sees that so many run.
    pub fn run(&mut self, at_least: usize) {
        for name in NAMES {
            if self.running.get_mut(name).is_some_and(|worker| !worker.is_running()) {
                let worker = self.running.remove(name).expect("it was there");
                self.has_ended(name, worker, &[]);
            }
        }
        for name in NAMES {
            if self.running.len() < at_least && !self.running.contains_key(name) {
                self.start(name);
            }
        }
    }

    /// Waits for something, and sees meanwhile that so many run.
    #[track_caller]
    pub fn run_until(&mut self, at_least: usize, what: &str, mut condition: impl FnMut() -> bool) {
        eventually(what, || {
            self.run(at_least);
            condition()
        });
    }

    /// Whether one is behind its checks and has lanes.
    fn one_is_at_work(&mut self) -> bool {
        self.running.values_mut().any(at_work)
    }

    /// Waits until all that run are behind their checks.
    #[track_caller]
    fn all_are_at_work(&mut self) {
        eventually("every worker has lanes, or has ended", || {
            self.running.values_mut().all(|worker| at_work(worker) || !worker.is_running())
        });
    }

    /// The source grows while a tail is at work, which then makes the target grow. A worker that starts in
    /// between refuses; where no tail is left that could do it, this is done as the refusal says:
    /// `by_hand`. Returns who did it.
    #[track_caller]
    pub fn grow(
        &mut self,
        source: impl FnOnce(),
        mut has_grown: impl FnMut() -> bool,
        mut by_hand: impl FnMut(),
    ) -> &'static str {
        let mut one = false;
        eventually("a worker is at work", || {
            self.run(1);
            one = self.one_is_at_work();
            one
        });
        self.growing = Some(0);
        source();
        let mut who = "a tail";
        eventually("the target grows as well", || {
            self.run(1);
            if self.growing > Some(0) && !self.one_is_at_work() {
                who = "by hand";
                by_hand();
            }
            has_grown()
        });
        self.all_are_at_work();
        self.run(1);
        self.growing = None;
        who
    }

    #[track_caller]
    fn has_ended(&mut self, name: &str, worker: Process, may_too: &[i32]) {
        let ended = worker.finish();
        let code = ended.code.unwrap_or(-1);
        let last = ended.stderr.lines().last().unwrap_or_default();
        self.ended.push(format!("{name} with exit code {code}: {last}"));
        println!("        {name} has ended with exit code {code}: {last}");
        if let Some(refused) = &mut self.growing
            && code == 7
            && ended.error_kind() == "partitions"
        {
            *refused += 1;
            return;
        }
        assert!(
            MAY_END_WITH.contains(&code) || may_too.contains(&code),
            "{name} ended with {code}\n{}\n{}\n{self}",
            ended.stdout,
            ended.stderr
        );
    }

    /// Ends all of them in order. A signal is heard once a worker waits for lanes.
    #[track_caller]
    pub fn end(&mut self) {
        self.all_are_at_work();
        for worker in self.running.values_mut() {
            if worker.is_running() {
                worker.signal(Signal::SIGTERM);
            }
        }
        for (name, worker) in std::mem::take(&mut self.running) {
            self.has_ended(name, worker, &[0, 143]);
        }
    }
}

fn at_work(worker: &mut Process) -> bool {
    worker.has_said("lanes assigned")
}

impl std::fmt::Display for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ended.iter().try_for_each(|ended| writeln!(f, "  ended: {ended}"))
    }
}
