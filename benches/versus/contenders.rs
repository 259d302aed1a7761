//! Who moves the records: how each is started, killed and started again.

use super::brokers::{Error, MirrorMaker, mirror};
use super::rows::Row;
use super::stage::Stage;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// More tasks than this do not help on a few cores, and each costs a consumer and a producer.
const MOST_TASKS: usize = 8;
/// MiB; what MirrorMaker 2's own start script gives it.
const MIRROR_HEAP: u32 = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    MirrorExactlyOnce,
    MirrorDefault,
    Onceover,
    /// The brokers alone: read, and ready batches written, by two clients that know nothing of each other.
    Limit,
}

/// What a contender is tuned for, where one cannot have both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuned {
    Throughput,
    /// And it goes on when it has copied all.
    Latency,
}

impl Contender {
    pub const ALL: [Contender; 4] = [
        Contender::MirrorExactlyOnce,
        Contender::MirrorDefault,
        Contender::Onceover,
        Contender::Limit,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Contender::MirrorExactlyOnce => "mm2-exactly-once",
            Contender::MirrorDefault => "mm2-default",
            Contender::Onceover => "onceover",
            Contender::Limit => "limit",
        }
    }

    pub fn named(name: &str) -> Result<Contender, Error> {
        let found = Contender::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| Error::new(format!("there is no contender `{name}`")))
    }

    /// For topics of its own: target topics are `<this>.<source topic>`.
    pub fn copy_name(self, what: &str, round: usize) -> String {
        format!("{}-{what}-r{round}-", self.name())
    }
}

/// What can be started, and started again after a kill.
#[derive(Clone, Debug)]
pub enum Prepared {
    Mirror(mirror::Builder),
    Onceover { folder: PathBuf, plan: PathBuf, tail: bool },
}

pub enum Running {
    Mirror(MirrorMaker),
    Onceover(Owned, Prepared),
}

/// A process that ends with its owner, however that ends: SIGKILL, and gone.
pub struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ready to copy the row's topics to `<copy>.<topic>`.
///
/// # Panics
/// For the limit, which copies nothing.
pub fn prepare(
    stage: &Stage,
    contender: Contender,
    row: &Row,
    copy: &str,
    tuned: Tuned,
) -> Result<Prepared, Error> {
    match contender {
        Contender::Onceover => onceover(stage, row, copy, tuned),
        Contender::MirrorExactlyOnce => Ok(Prepared::Mirror(mirror(stage, row, copy, tuned, true))),
        Contender::MirrorDefault => Ok(Prepared::Mirror(mirror(stage, row, copy, tuned, false))),
        Contender::Limit => panic!("the limit copies nothing"),
    }
}

fn onceover(stage: &Stage, row: &Row, copy: &str, tuned: Tuned) -> Result<Prepared, Error> {
    let folder = stage.files.join("work").join(copy);
    fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, &error))?;
    let plan = folder.join("plan.toml");
    let more = stage.options.plan.iter().map(|(key, value)| format!("{key} = {value}\n"));
    let text = format!(
        "name = \"{copy}\"\nsource.bootstrap = \"{}\"\ntarget.bootstrap = \"{}\"\n\
         topics.include = ['/{}/']\ntopics.rename = [{{ from = '/(.*)/', to = \"{copy}.$1\" }}]\n{}",
        stage.source.bootstrap(),
        stage.target.bootstrap(),
        row.topic_pattern(),
        more.collect::<String>(),
    );
    fs::write(&plan, text).map_err(|error| Error::io("write", &plan, &error))?;
    Ok(Prepared::Onceover { folder, plan, tail: tuned == Tuned::Latency })
}

/// As its users recommend it: `docs/benchmarks.md` names who says what.
fn mirror(
    stage: &Stage,
    row: &Row,
    copy: &str,
    tuned: Tuned,
    exactly_once: bool,
) -> mirror::Builder {
    let (source, target) = (stage.source.bootstrap(), stage.target.bootstrap());
    let mut builder = MirrorMaker::builder(&source, &target, &[&row.topic_pattern()])
        .alias(copy)
        .exactly_once(exactly_once)
        .tasks(row.all_partitions().min(MOST_TASKS))
        .heap_mb(MIRROR_HEAP)
        .full_jit()
        // Copies of several contenders live side by side.
        .config(
            "replication.policy.class",
            "org.apache.kafka.connect.mirror.DefaultReplicationPolicy",
        )
        .config("sync.topic.configs.enabled", "false")
        .config("target.offset.flush.timeout.ms", "10000")
        .config("target.offset.flush.interval.ms", "10000");
    let mut settings = vec![
        ("consumer.fetch.max.bytes", "52428800"),
        ("consumer.max.partition.fetch.bytes", "4194304"),
        ("consumer.max.poll.records", "20000"),
    ];
    if tuned == Tuned::Throughput {
        settings.extend([
            ("producer.batch.size", "327680"),
            ("producer.linger.ms", "100"),
            ("producer.buffer.memory", "67108864"),
        ]);
    }
    let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    for (key, value) in settings.chain(stage.options.mirror.iter().cloned()) {
        let flow = format!("{copy}->target");
        let full = match key.split_once('.') {
            Some(("consumer", _)) => format!("{copy}.{key}"),
            Some(("producer", rest)) => format!("{flow}.producer.override.{rest}"),
            _ => format!("{flow}.{key}"),
        };
        builder = builder.config(&full, &value);
    }
    builder
}

impl Prepared {
    pub fn start(self) -> Result<Running, Error> {
        match self {
            Prepared::Mirror(builder) => Ok(Running::Mirror(builder.start()?)),
            Prepared::Onceover { ref folder, ref plan, tail } => {
                let log = folder.join("log");
                let open = || File::options().create(true).append(true).open(&log);
                let said = open().map_err(|error| Error::io("open", &log, &error))?;
                let child = Command::new(env!("CARGO_BIN_EXE_onceover"))
                    .args(["run", "-q", "--json", "--worker", "bench"])
                    .arg(if tail { "--tail" } else { "--no-reconcile" })
                    .arg(plan)
                    .current_dir(folder)
                    .stdout(Stdio::null())
                    .stderr(said)
                    .spawn()
                    .map_err(|error| Error::new(format!("cannot start onceover: {error}")))?;
                Ok(Running::Onceover(Owned(child), self))
            }
        }
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        match self {
            Running::Mirror(mirror) => mirror.pid(),
            Running::Onceover(child, _) => child.0.id(),
        }
    }

    /// False: it has ended well.
    ///
    /// # Errors
    /// It has ended otherwise.
    pub fn still_runs(&mut self) -> Result<bool, Error> {
        match self {
            Running::Mirror(mirror) => {
                let log = mirror.log().display().to_string();
                let ended = || format!("MirrorMaker 2 has ended by itself; its log: {log}");
                if mirror.has_ended() { Err(Error::new(ended())) } else { Ok(true) }
            }
            Running::Onceover(child, prepared) => match child.0.try_wait() {
                Ok(None) => Ok(true),
                Ok(Some(status)) if status.success() => Ok(false),
                other => Err(Error::new(format!("onceover ended with {other:?}: {prepared:?}"))),
            },
        }
    }

    /// SIGKILL; it is gone when this returns. Returns what to start again.
    pub fn kill(self) -> Prepared {
        match self {
            Running::Mirror(mirror) => Prepared::Mirror(mirror.kill()),
            Running::Onceover(_dropped, prepared) => prepared,
        }
    }
}
