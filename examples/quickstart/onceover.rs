//! The real program: built by Cargo, run as a user runs it, killed as nobody should.

use super::brokers::{Cluster, Error, run};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The plan, from the root of the repository.
pub const PLAN: &str = "examples/quickstart.toml";

/// Builds `onceover` as this example was built: Cargo does not build it along with an example.
pub fn build() -> Result<PathBuf, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let mut command = Command::new(cargo);
    // What Cargo tells a program about itself is no setting of a build, but build scripts watch it (ring's does), and
    // all that depends on them would be built a second time.
    let told = std::env::vars_os().map(|(name, _)| name);
    for name in told.filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    }) {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--profile", profile, "--bin", "onceover", "--example", "quickstart"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::new(format!("cannot start `cargo`: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("`onceover` does not build: {}\n{said}", output.status)));
    }
    // One JSON object a line; the program's has the path of what was made.
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["kind"][0] == "bin")
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .ok_or_else(|| Error::new("cargo does not say where it has put `onceover`"))
}

/// The program and what all its runs have in common.
pub struct Program {
    program: PathBuf,
    source: String,
    target: String,
    folder: &'static Path,
    /// Where the proofs lie: they stay, unlike everything else.
    proofs: PathBuf,
}

impl Program {
    pub fn new(program: PathBuf, source: &Cluster, target: &Cluster) -> Result<Program, Error> {
        let (source, target) = (source.bootstrap(), target.bootstrap());
        let kafka = run::kafka_folder();
        let proofs = kafka.parent().unwrap_or(&kafka).join("quickstart-proof");
        Ok(Program { program, source, target, folder: run::folder()?, proofs })
    }

    fn environment(&self, command: &mut Command) {
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("QUICKSTART_SOURCE", &self.source)
            .env("QUICKSTART_TARGET", &self.target);
    }

    /// `onceover` with these arguments; `name` is that of its files.
    pub fn start(&self, name: &str, args: &[&str]) -> Result<Worker, Error> {
        Worker::start(self, name, args)
    }

    /// Where the proofs lie, from the root of the repository where that is above it.
    pub fn proofs(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.proofs.strip_prefix(root).unwrap_or(&self.proofs).display().to_string()
    }

    /// The folder of a proof.
    pub fn proof(&self, name: &str) -> String {
        format!("{}/{name}", self.proofs())
    }

    /// A file of a proof.
    pub fn proof_file(&self, name: &str, file: &str) -> Result<String, Error> {
        let path = self.proofs.join(name).join(file);
        fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))
    }
}

/// A run that ended well: what it said on stdout, with `--json`.
pub struct Ran {
    pub summary: Value,
}

impl Ran {
    pub fn of(said: &str) -> Result<Ran, Error> {
        let summary = serde_json::from_str(said)
            .map_err(|e| Error::new(format!("`onceover --json` printed no JSON: {e}")))?;
        Ok(Ran { summary })
    }
}

/// One `onceover` below the brokers' `supervise.sh`: it cannot outlive this process.
pub struct Worker {
    supervisor: Child,
    _lifeline: Option<ChildStdin>,
    pid: Pid,
    started: Instant,
    summary: PathBuf,
    log: PathBuf,
    data: PathBuf,
}

impl Worker {
    fn start(program: &Program, name: &str, args: &[&str]) -> Result<Worker, Error> {
        let file = |ending: &str| program.folder.join(format!("onceover-{name}.{ending}"));
        let (summary, log) = (file("out"), file("log"));
        // The supervisor notes in this folder that it was orphaned, and removes it.
        let data = file("data");
        fs::create_dir_all(&data).map_err(|e| Error::io("create", &data, &e))?;
        let mut command = Command::new("sh");
        command
            .args(["-c", include_str!("../../tests/brokers/supervise.sh"), "supervise"])
            .args([&log, &data])
            // The supervisor logs both streams into one file: stdout gets one of its own.
            .args(["sh", "-c", "exec \"$@\" >\"$0\""])
            .args([&summary, &program.program])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        program.environment(&mut command);
        let started = Instant::now();
        let mut supervisor =
            command.spawn().map_err(|e| Error::new(format!("cannot start `sh`: {e}")))?;
        let lifeline = supervisor.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = supervisor.stdout.take() {
            let read = BufReader::new(stdout).read_line(&mut line);
            read.map_err(|e| Error::new(format!("cannot read from `sh`: {e}")))?;
        }
        let pid = line.trim().parse().map(Pid::from_raw);
        let pid = pid.map_err(|_| Error::new(format!("`sh` said `{line}`, not a process id")))?;
        Ok(Worker { supervisor, _lifeline: lifeline, pid, started, summary, log, data })
    }

    pub fn started(&self) -> Instant {
        self.started
    }

    /// An error with its last words if it has ended, as it should not have yet.
    pub fn must_be_running(&mut self) -> Result<(), Error> {
        std::thread::sleep(Duration::from_millis(5));
        match self.supervisor.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failed("ended too early", status)),
            Err(error) => Err(Error::new(format!("cannot wait for `onceover`: {error}"))),
        }
    }

    /// SIGKILL: it is gone when this returns.
    pub fn kill(&mut self) -> Result<(), Error> {
        let killed = signal::kill(self.pid, Signal::SIGKILL);
        killed.map_err(|e| Error::new(format!("cannot kill `onceover`: {e}")))?;
        let status = self.wait()?;
        // A shell tells a signal by 128 + its number.
        if status.code() == Some(128 + 9) || status.signal() == Some(9) {
            Ok(())
        } else {
            Err(self.failed("ended before it was killed", status))
        }
    }

    /// Waits for its end, with this exit code; what it said on stdout.
    pub fn finish(mut self, code: i32) -> Result<String, Error> {
        let status = self.wait()?;
        if status.code() != Some(code) {
            return Err(self.failed("ended otherwise than it should", status));
        }
        fs::read_to_string(&self.summary).map_err(|e| Error::io("read", &self.summary, &e))
    }

    fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.supervisor.wait().map_err(|e| Error::new(format!("cannot wait for `onceover`: {e}")))
    }

    fn failed(&self, how: &str, status: ExitStatus) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = text(&log);
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        Error::new(format!(
            "`onceover` {how} ({status}); its log ends with\n{last}\nall of it: {}",
            self.log.display()
        ))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if matches!(self.supervisor.try_wait(), Ok(None)) {
            let _ = signal::kill(self.pid, Signal::SIGKILL);
            let _ = self.supervisor.wait();
        }
        let _ = fs::remove_dir(&self.data);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
