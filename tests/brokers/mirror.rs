//! MirrorMaker 2, Apache Kafka's own: the other way to migrate, which proofs are tried on.

use super::distribution::{Distribution, write};
use super::jvm::{self, Jvm, wait_until};
use super::{Error, Isolation, Oracle, cluster, ports, run};
use nix::sys::signal::Signal;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Orderly: the tasks store their offsets.
const STOP: Duration = Duration::from_secs(60);
/// For a copy that hangs; a process that ends is noticed at once. Enough for a worker that waits
/// until its killed forerunner has lost its session, on a busy machine.
const ARRIVE: Duration = Duration::from_secs(300);
/// Asking a cluster costs more than looking at a log.
const ASK: Duration = Duration::from_millis(200);

/// What shall be mirrored, and how. Cheap to clone: the same builder, started again after a
/// [`MirrorMaker::kill`] or [`MirrorMaker::stop`], goes on from the offsets that it stored.
#[derive(Clone, Debug)]
pub struct Builder {
    source: String,
    target: String,
    topics: Vec<String>,
    exactly_once: bool,
    tasks: usize,
    heap_mb: u32,
    full_jit: bool,
    alias: Option<String>,
    config: Vec<(String, String)>,
}

impl Builder {
    /// Writes in transactions, and stores its offsets in them; false unless set.
    #[must_use]
    pub fn exactly_once(mut self, exactly_once: bool) -> Builder {
        self.exactly_once = exactly_once;
        self
    }

    /// How many tasks share the partitions at most; 2 unless set.
    #[must_use]
    pub fn tasks(mut self, tasks: usize) -> Builder {
        self.tasks = tasks;
        self
    }

    /// The most heap, in MiB; 512 unless set.
    #[must_use]
    pub fn heap_mb(mut self, heap_mb: u32) -> Builder {
        self.heap_mb = heap_mb;
        self
    }

    /// For measurements: as its own start script has it, with G1 and the optimising compiler.
    #[must_use]
    pub fn full_jit(mut self) -> Builder {
        self.full_jit = true;
        self
    }

    /// The source's alias; made of source and topics unless set.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Builder {
        self.alias = Some(alias.to_owned());
        self
    }

    /// A line of the properties file; the last one of a key wins. Without exactly once, offsets are
    /// stored every `offset.flush.interval.ms`, 60 s by default, and at an orderly stop: what was
    /// copied since is copied once more after a kill.
    ///
    /// The clusters' aliases are [`Builder::source_alias`] and `target`.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Builder {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Names the internal topics on the target, as `mm2-offsets.<alias>.internal`. Made of source and
    /// topics, so that the mirrors of different tests do not mix, and a second start finds the first's.
    pub fn source_alias(&self) -> String {
        if let Some(alias) = &self.alias {
            return alias.clone();
        }
        let mut hasher = DefaultHasher::new();
        (&self.source, &self.topics).hash(&mut hasher);
        format!("source{:016x}", hasher.finish())
    }

    /// Starts the process; [`MirrorMaker::wait_for`] waits for its work.
    pub fn start(self) -> Result<MirrorMaker, Error> {
        let distribution = Distribution::get()?;
        let folder = cluster::unused(run::folder()?, "mirror");
        let data = folder.join("data-1");
        fs::create_dir_all(&data).map_err(|e| Error::io("create", &data, &e))?;
        let file = folder.join("mm2.properties");
        write(&file, &self.properties(ports::free(1)?[0]))?;
        let mut command = distribution.java(self.heap_mb, self.full_jit);
        command.push("org.apache.kafka.connect.mirror.MirrorMaker".into());
        command.extend([file.into(), "--clusters".into(), "target".into()]);
        let log = folder.join("mirror.log");
        let jvm = Jvm::start(&command, &log, &data)?;
        Ok(MirrorMaker { jvm, log, builder: self })
    }

    fn properties(&self, port: u16) -> String {
        let alias = self.source_alias();
        let flow = |key: &str| format!("{alias}->target.{key}");
        let own = [
            ("clusters".to_owned(), format!("{alias}, target")),
            (format!("{alias}.bootstrap.servers"), self.source.clone()),
            ("target.bootstrap.servers".to_owned(), self.target.clone()),
            (flow("enabled"), "true".to_owned()),
            (flow("topics"), self.topics.join(", ")),
            (format!("target->{alias}.enabled"), "false".to_owned()),
            ("tasks.max".to_owned(), self.tasks.to_string()),
            // The source is only read, and without what a broken-off transaction left there.
            (format!("{alias}.consumer.isolation.level"), "read_committed".to_owned()),
            ("target.exactly.once.source.support".to_owned(), self.support().to_owned()),
            ("listeners".to_owned(), format!("http://127.0.0.1:{port}")),
        ];
        let policy = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy";
        let fixed = [
            ("replication.policy.class", policy),
            ("replication.factor", "1"),
            ("config.storage.replication.factor", "1"),
            ("offset.storage.replication.factor", "1"),
            ("status.storage.replication.factor", "1"),
            ("offset-syncs.topic.replication.factor", "1"),
            ("sync.topic.configs.enabled", "true"),
            ("sync.topic.acls.enabled", "false"),
            ("sync.group.offsets.enabled", "false"),
            ("emit.heartbeats.enabled", "false"),
            ("emit.checkpoints.enabled", "false"),
            ("heartbeats.topic.replication.factor", "1"), // created all the same
            ("checkpoints.topic.replication.factor", "1"),
            ("offset-syncs.topic.location", "target"),
            // Demanded for exactly once.
            ("dedicated.mode.enable.internal.rest", "true"),
            // Else a killed worker's tasks wait for it, for up to 5 min.
            ("target.scheduled.rebalance.max.delay.ms", "0"),
            // All plugins are looked for on the whole class path by default.
            ("target.plugin.discovery", "service_load"),
            // 25 and 5 by default: internal topics that hold a few records here.
            ("target.offset.storage.partitions", "1"),
            ("target.status.storage.partitions", "1"),
        ];
        let fixed = fixed.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut text = String::new();
        for (key, value) in own.into_iter().chain(fixed).chain(self.config.iter().cloned()) {
            let _ = writeln!(text, "{key} = {value}");
        }
        text
    }

    fn support(&self) -> &'static str {
        if self.exactly_once { "enabled" } else { "disabled" }
    }
}

/// A running MirrorMaker 2. Dropped, or with the process, it is killed; its log stays.
pub struct MirrorMaker {
    jvm: Jvm,
    log: PathBuf,
    builder: Builder,
}

impl MirrorMaker {
    /// One direction; topics keep their names. Bootstrap servers as [`super::Cluster::bootstrap`].
    pub fn builder(source: &str, target: &str, topics: &[&str]) -> Builder {
        Builder {
            source: source.to_owned(),
            target: target.to_owned(),
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            exactly_once: false,
            tasks: 2,
            heap_mb: 512,
            full_jit: false,
            alias: None,
            config: Vec::new(),
        }
    }

    /// SIGKILL: it is gone when this returns. Returns what to start again.
    pub fn kill(mut self) -> Builder {
        self.jvm.kill();
        self.builder.clone()
    }

    /// SIGTERM, and waits for the orderly end. Returns what to start again.
    pub fn stop(mut self) -> Result<Builder, Error> {
        self.jvm.signal(Signal::SIGTERM);
        if !self.jvm.wait(STOP) {
            return Err(jvm::failed("MirrorMaker 2 does not stop, it was killed", &self.log));
        }
        Ok(self.builder.clone())
    }

    pub fn pid(&self) -> u32 {
        self.jvm.pid()
    }

    pub fn has_ended(&mut self) -> bool {
        self.jvm.has_ended()
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    /// It goes on running without the connector that copies.
    fn is_misconfigured(&self) -> bool {
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).contains("Failed to configure MirrorSourceConnector")
    }

    /// Waits until a read_committed consumer of the target finds at least `records` in the topic.
    ///
    /// # Errors
    /// If they do not come in 5 min, or the process ends or cannot copy: with the end of its log.
    pub fn wait_for(&mut self, target: &Oracle, topic: &str, records: u64) -> Result<(), Error> {
        let mut ended = false;
        let mut refused = None;
        let arrived = wait_until(ARRIVE, || {
            // Looked at first: what it did before it ended is counted.
            ended = self.jvm.has_ended() || self.is_misconfigured();
            let arrived = holds(target, topic, records);
            refused = arrived.as_ref().err().cloned();
            let arrived = arrived.unwrap_or(false); // the topic may not be there yet
            if !arrived && !ended {
                std::thread::sleep(ASK);
            }
            arrived || ended
        });
        if arrived && holds(target, topic, records)? {
            return Ok(());
        }
        let how = if ended { "ended before it had" } else { "has not in time" };
        let last = refused.map(|error| format!(" ({error})")).unwrap_or_default();
        let what = format!("MirrorMaker 2 {how} copied {records} records of `{topic}`{last}");
        Err(jvm::failed(&what, &self.log))
    }
}

/// Records are counted only when there are offsets enough for them: markers have offsets too.
fn holds(target: &Oracle, topic: &str, records: u64) -> Result<bool, Error> {
    let offsets = target.list_offsets(topic)?;
    let room: i64 = offsets.iter().map(|one| one.stable - one.earliest).sum();
    if room < i64::try_from(records).unwrap_or(i64::MAX) {
        return Ok(false);
    }
    let digests = target.digest(topic, Isolation::ReadCommitted)?;
    Ok(digests.iter().map(|one| one.count).sum::<u64>() >= records)
}
