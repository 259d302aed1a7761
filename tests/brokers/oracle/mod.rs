//! A second client: Apache Kafka's own, in Java, which shares no code with the pipe.
//!
//! One JVM serves all oracles of a process; each of them speaks with one cluster. Calls of several
//! threads run side by side. The protocol is told in `java/Oracle.java`.

mod admin;
mod groups;
mod produce;
mod read;
mod record;
mod tampered;

pub use admin::Topic;
pub use groups::{GroupOffset, Transaction};
pub use produce::{Numbered, Transactional, Writing};
pub use read::{Digest, Isolation, Offsets, Run};
pub use record::{Record, Stored};
pub use tampered::Fault;

use super::distribution::Distribution;
use super::{Error, run};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The oracle of one cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Oracle {
    bootstrap: String,
    timeout: Duration,
}

impl Oracle {
    /// Asks nothing of the cluster yet.
    pub fn start(bootstrap: &str) -> Result<Oracle, Error> {
        process()?;
        Ok(Oracle { bootstrap: bootstrap.to_owned(), timeout: Duration::from_secs(60) })
    }

    /// The same oracle, with another bound for each call; 60 s unless set. Reading is bounded by the
    /// time without a record.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Oracle {
        Oracle { timeout, ..self.clone() }
    }

    /// Any operation by its name and fields; the other methods are this with types.
    ///
    /// # Errors
    /// With the class name of Kafka's exception, as `TopicExistsException`.
    pub fn call(&self, operation: &str, fields: Value) -> Result<Value, Error> {
        let mut request = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        request.insert("op".to_owned(), json!(operation));
        request.insert("bootstrap".to_owned(), json!(self.bootstrap));
        request.insert("timeout_ms".to_owned(), json!(self.timeout.as_millis()));
        process()?.ask(request)
    }
}

type Waiting = Arc<Mutex<HashMap<u64, Sender<Value>>>>;

struct Process {
    _child: Child,
    /// With the process this closes, and the JVM ends itself.
    requests: Mutex<(ChildStdin, u64)>,
    waiting: Waiting,
    log: PathBuf,
}

fn process() -> Result<&'static Process, Error> {
    static PROCESS: OnceLock<Result<Process, Error>> = OnceLock::new();
    PROCESS.get_or_init(Process::start).as_ref().map_err(Clone::clone)
}

impl Process {
    fn start() -> Result<Process, Error> {
        let log = run::folder()?.join("oracle.log");
        let stderr = File::create(&log).map_err(|e| Error::io("create", &log, &e))?;
        let command = Distribution::get()?.java(768, true);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "Oracle"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0) // Ctrl-C is for the owner
            .spawn()
            .map_err(|e| Error::new(format!("cannot start the oracle: {e}")))?;
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let waiting = Waiting::default();
        let answered = Arc::clone(&waiting);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let answer: Value = serde_json::from_str(&line).unwrap_or_default();
                let id = answer["id"].as_u64().unwrap_or(0);
                if let Some(asker) = locked(&answered).remove(&id) {
                    let _ = asker.send(answer);
                }
            }
            locked(&answered).clear(); // it is gone: nobody shall wait for it
        });
        Ok(Process { _child: child, requests: Mutex::new((stdin, 1)), waiting, log })
    }

    fn ask(&self, mut request: Map<String, Value>) -> Result<Value, Error> {
        let (asker, answer) = channel();
        let operation = request["op"].clone();
        {
            let mut requests = locked(&self.requests);
            let (stdin, id) = &mut *requests;
            *id += 1;
            request.insert("id".to_owned(), json!(*id));
            locked(&self.waiting).insert(*id, asker);
            let mut line = Value::Object(request).to_string();
            line.push('\n');
            if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                locked(&self.waiting).remove(id);
            }
        }
        let mut answer = answer.recv().map_err(|_| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            Error::new(format!("the oracle has ended; its log, `{}`:\n{log}", self.log.display()))
        })?;
        match answer["error"].as_str() {
            None => Ok(answer["ok"].take()),
            Some(error) => {
                let message = answer["message"].as_str().unwrap_or_default();
                Err(Error::new(format!("the oracle's {operation}: {error}: {message}")))
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pairs as a JSON object, for configs and settings.
fn object(pairs: &[(&str, &str)]) -> Value {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<Map<_, _>>().into()
}
