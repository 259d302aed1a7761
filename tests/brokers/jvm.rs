//! One Java process that cannot outlive its owner.

use super::Error;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a condition is looked at while waiting for it.
pub const LOOK: Duration = Duration::from_millis(10);

/// A JVM below `supervise.sh`. Dropping it kills the JVM.
pub struct Jvm {
    supervisor: Child,
    /// While this is open the JVM may live. Closed on exec, so that no other child inherits it.
    lifeline: Option<ChildStdin>,
    pid: Pid,
}

impl Jvm {
    /// Starts `command` with its output in `log`. `data` is removed if the owner dies.
    pub fn start(command: &[OsString], log: &Path, data: &Path) -> Result<Jvm, Error> {
        let mut supervisor = Command::new("sh")
            .args(["-c", include_str!("supervise.sh"), "supervise"])
            .arg(log)
            .arg(data)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0) // Ctrl-C reaches the owner alone, whose end reaches the JVM
            .spawn()
            .map_err(|e| Error::new(format!("cannot start `sh`: {e}")))?;
        let lifeline = supervisor.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = supervisor.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(|e| Error::new(format!("cannot read from `sh`: {e}")))?;
        }
        let pid = line.trim().parse().map(Pid::from_raw);
        let pid = pid.map_err(|_| Error::new(format!("`sh` said `{line}`, not a process id")))?;
        Ok(Jvm { supervisor, lifeline, pid })
    }

    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// Sends a signal, if the JVM still runs.
    pub fn signal(&mut self, signal: Signal) {
        if !self.has_ended() {
            let _ = signal::kill(self.pid, signal);
        }
    }

    /// Waits for its end; false if it has not come by then.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        wait_until(at_most, || self.has_ended())
    }

    /// SIGKILL, and waits for the end. The data stay: the lifeline is held until all is over.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.supervisor.wait();
        self.lifeline = None;
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Looks at `condition` until it holds (true) or the time is up (false).
pub fn wait_until(at_most: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + at_most;
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// The error of a JVM, with what its log says last.
pub fn failed(what: &str, log: &Path) -> Error {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("\tat ")).collect();
    let last = lines[lines.len().saturating_sub(25)..]
        .iter()
        .map(|line| line.chars().take(300).collect::<String>())
        .collect::<Vec<_>>()
        .join("\n");
    Error::new(format!("{what}; its log ends with\n{last}\nall of it: {}", log.display()))
}
