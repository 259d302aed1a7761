//! A plan of its own per test, and the real binary that runs it.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::brokers::{Error, Isolation, Numbered, Oracle, shared};

/// Longer than anything here takes on a busy machine of two cores; only a hang reaches it.
pub const AT_MOST: Duration = Duration::from_secs(180);

/// What a record of [`Numbered::new`] counts for `max_rate`: value, and the header `id` with some digits.
const RECORD_BYTES: u64 = 107;

/// The `max_rate` with which copying so many records of [`Numbered::new`] takes about so many seconds.
pub fn rate(records: u64, seconds: u64) -> String {
    format!("{}KiB/s", records * RECORD_BYTES / 1024 / seconds)
}

/// A plan file in a folder of its own.
pub struct Migration {
    pub name: String,
    pub plan: PathBuf,
    folder: TempDir,
    env: Vec<(String, String)>,
}

/// What a finished process left.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Ends the test unless the process ended with `code`; shows all it said.
    #[track_caller]
    pub fn expect(self, code: i32) -> Finished {
        assert_eq!(
            self.code,
            Some(code),
            "exit code\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The summary or error object of `--json`.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.stdout.trim())
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}\n{}", self.stdout, self.stderr))
    }

    /// The word of the refusal or check in the `--json` error.
    pub fn error_kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

impl Migration {
    /// A plan between the two shared clusters. `rest` is TOML that follows the two clusters.
    pub fn new(name: &str, rest: &str) -> Migration {
        let clusters = shared::clusters();
        let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
        Migration::between(name, &source, &target, rest)
    }

    /// A plan between any two clusters.
    pub fn between(name: &str, source: &str, target: &str, rest: &str) -> Migration {
        let folder = tempfile::tempdir().expect("a folder for the plan");
        let plan = folder.path().join("plan.toml");
        let migration = Migration { name: name.to_owned(), plan, folder, env: Vec::new() };
        migration.write(source, target, rest);
        migration
    }

    /// Sets a variable of the environment of all processes to come.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Changes the plan.
    pub fn write(&self, source: &str, target: &str, rest: &str) {
        let text = format!(
            "name = \"{}\"\nsource.bootstrap = \"{source}\"\ntarget.bootstrap = \"{target}\"\n{rest}\n",
            self.name
        );
        std::fs::write(&self.plan, text).expect("the plan file is written");
    }

    /// Changes the plan, between the shared clusters.
    pub fn rewrite(&self, rest: &str) {
        let clusters = shared::clusters();
        self.write(&clusters.source.bootstrap(), &clusters.target.bootstrap(), rest);
    }

    pub fn ledger(&self) -> String {
        format!("onceover-{}-ledger", self.name)
    }

    pub fn group(&self) -> String {
        format!("onceover-{}", self.name)
    }

    /// The files of the latest proof.
    pub fn proof(&self) -> PathBuf {
        self.folder.path().join(format!("{}-proof", self.name))
    }

    fn command(&self, verb: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onceover"));
        command
            .arg(verb)
            .arg(&self.plan)
            .args(args)
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            // Where the files of proofs go.
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Starts `onceover run PLAN ARGS…`.
    pub fn start(&self, args: &[&str]) -> Process {
        Process::start(self.command("run", args))
    }

    /// Starts any verb that takes the plan.
    pub fn start_verb(&self, verb: &str, args: &[&str]) -> Process {
        Process::start(self.command(verb, args))
    }

    /// Runs to the end.
    pub fn run(&self, args: &[&str]) -> Finished {
        self.start(args).finish()
    }

    /// `onceover status PLAN --json`.
    pub fn status(&self) -> Value {
        Process::start(self.command("status", &["--json"])).finish().expect(0).json()
    }

    /// Any verb that takes the plan.
    pub fn verb(&self, verb: &str, args: &[&str]) -> Finished {
        self.start_verb(verb, args).finish()
    }
}

/// A running onceover; killed when dropped.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    said: VecDeque<String>,
    stdout: Option<std::thread::JoinHandle<String>>,
}

impl Process {
    fn start(mut command: Command) -> Process {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("onceover starts");
        let stderr = child.stderr.take().expect("piped");
        let mut stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            drop(stdout.read_to_string(&mut text));
            text
        });
        Process { child, lines, said: VecDeque::new(), stdout: Some(stdout) }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a process id"))
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("the process is there");
    }

    /// Waits until a line of stderr holds `text`, and returns it.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        let until = Instant::now() + AT_MOST;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let found = line.contains(text);
                    self.said.push_back(line.clone());
                    if found {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("never said `{text}`:\n{}", self.heard());
                }
            }
        }
    }

    /// Lets [`Self::wait_for`] wait for what is said from now on.
    pub fn listen_anew(&mut self) {
        self.said.extend(self.lines.try_iter());
    }

    /// Whether a line of stderr held `text` so far.
    pub fn has_said(&mut self, text: &str) -> bool {
        self.listen_anew();
        self.said.iter().any(|line| line.contains(text))
    }

    fn heard(&mut self) -> String {
        self.listen_anew();
        Vec::from(self.said.clone()).join("\n")
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_none()
    }

    /// SIGKILL, and gone.
    pub fn kill(mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Waits for the end.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        let until = Instant::now() + AT_MOST;
        let mut status: Option<ExitStatus> = None;
        while status.is_none() {
            assert!(Instant::now() < until, "still running:\n{}", self.heard());
            status = self.child.try_wait().expect("a child can be waited for");
            std::thread::park_timeout(Duration::from_millis(10));
        }
        let stdout = self.stdout.take().expect("once").join().expect("a reader thread");
        // The stderr thread ends with the pipe.
        self.said.extend(self.lines.iter());
        let stderr = Vec::from(std::mem::take(&mut self.said)).join("\n");
        Finished { code: status.and_then(|status| status.code()), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            println!("--- stderr of a process that was running\n{}", self.heard());
        }
    }
}

/// Waits until `condition` holds, asking again and again.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + AT_MOST;
    while !condition() {
        assert!(Instant::now() < until, "never came true: {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// What a copy has otherwise than its source, of which a broker died while it was written to: Kafka's producer may
/// have written a batch twice around that (seen), so the source, not the rule, is what the target is held against.
/// The source must have all that was written.
pub fn unlike_source(
    source: &Oracle,
    target: &Oracle,
    numbered: &Numbered,
) -> Result<Vec<String>, Error> {
    let all = |of: &Oracle| of.digest(&numbered.topic, Isolation::ReadCommitted);
    let ids = source.ids(&numbered.topic, Isolation::ReadCommitted)?;
    let ids = ids.iter().flatten().flat_map(|run| (0..run.count).map(|n| run.first + n * run.step));
    let held: BTreeSet<i64> = ids.collect();
    let mut unlike = Vec::new();
    if held.len() as u64 != numbered.count || held.contains(&-1) {
        unlike.push(format!("the source has {} of {} records", held.len(), numbered.count));
    }
    for (source, target) in all(source)?.into_iter().zip(all(target)?) {
        if source != target {
            unlike.push(format!("{source:?} became {target:?}"));
        }
    }
    Ok(unlike)
}

/// Waits until the target holds exactly these, as the oracle reads it.
#[track_caller]
pub fn await_exactly(target: &Oracle, numbered: &Numbered) {
    eventually("the target holds what was written", || {
        target.check_numbered(numbered).is_ok_and(|differences| differences.is_empty())
    });
}
