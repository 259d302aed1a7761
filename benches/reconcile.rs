//! How fast a proof reads both sides, beside the same consumers reading into nothing, and how much memory
//! it takes: `cargo bench --bench reconcile`.
//!
//! Arguments after `--`: `records=2000000 keys=100000 value=500 memory=512MiB rounds=3`. Both sides are
//! filled by another client. 20 million keys in 128 MiB:
//! `cargo bench --bench reconcile -- records=20000000 keys=20000000 value=40 memory=128MiB rounds=1`.

#[path = "../tests/brokers/mod.rs"]
mod brokers;
#[path = "versus/memory.rs"]
mod memory;

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use brokers::{Cluster, Error, Numbered, Oracle, Writing};
use memory::peak_kb;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use onceover::cluster::{Admin, At, Connection, Isolation, LogRange};
use onceover::error::Side;
use onceover::plan::TopicPartition;
use onceover::reconcile::read::{Reading, Sink, Task, read_both};
use onceover::record::Record;

const TOPIC: &str = "bench";
const PARTITIONS: usize = 6;

fn argument(name: &str, default: &str) -> String {
    let prefix = format!("{name}=");
    let given = std::env::args().find_map(|arg| arg.strip_prefix(&prefix).map(str::to_owned));
    given.unwrap_or_else(|| default.to_owned())
}

fn number(name: &str, default: &str) -> u64 {
    argument(name, default).parse().unwrap_or_else(|_| panic!("{name} is a number"))
}

fn usage(who: UsageWho) -> Usage {
    getrusage(who).expect("the kernel counts")
}

fn cpu(usage: Usage) -> Duration {
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Reads into nothing, but counts.
struct Nothing(u64);

impl Sink for Nothing {
    fn take(&mut self, _: usize, record: &Record<'_>) -> onceover::error::Result<()> {
        self.0 += u64::from(record.offset >= 0);
        Ok(())
    }

    fn end(&mut self, _: usize, _: i64) -> onceover::error::Result<()> {
        Ok(())
    }
}

fn connection(side: Side, cluster: &Cluster) -> Connection {
    Connection::new(side, &cluster.bootstrap(), &BTreeMap::new(), "onceover-bench")
}

fn tasks(connection: &Connection) -> Vec<Task> {
    let admin = Admin::connect(connection).unwrap_or_else(|error| panic!("{}", error.what));
    let all: Vec<_> = (0..PARTITIONS)
        .map(|n| TopicPartition::new(TOPIC, i32::try_from(n).expect("few")))
        .collect();
    let ends = admin.offsets(&all, At::LastStable).unwrap_or_else(|error| panic!("{}", error.what));
    let task = |(part, (at, end)): (usize, (TopicPartition, _))| {
        let end: Result<onceover::cluster::OffsetAt, _> = end;
        let until = end.unwrap_or_else(|_| panic!("no log end of {at}")).offset;
        Task { part, range: LogRange { at: at.clone(), from: 0, until }, shown: at }
    };
    ends.into_iter().enumerate().map(task).collect()
}

/// Seconds, records, CPU seconds.
fn read_into_nothing(source: &Cluster, target: &Cluster) -> (f64, u64, f64) {
    let sides = [connection(Side::Source, source), connection(Side::Target, target)];
    let [of_source, of_target] = [tasks(&sides[0]), tasks(&sides[1])];
    let reading = |connection| Reading {
        connection,
        isolation: Isolation::Committed,
        queue_bytes: 8 << 20,
        board: None,
    };
    let before = usage(UsageWho::RUSAGE_SELF);
    let began = Instant::now();
    let read =
        read_both([(&reading(&sides[0]), of_source), (&reading(&sides[1]), of_target)], &|_| {
            Nothing(0)
        });
    let read = read.unwrap_or_else(|error| panic!("{}", error.what));
    let records = read.iter().flat_map(|side| &side.sinks).map(|sink| sink.0).sum();
    let seconds = began.elapsed().as_secs_f64();
    let cpu = cpu(usage(UsageWho::RUSAGE_SELF)).saturating_sub(cpu(before));
    (seconds, records, cpu.as_secs_f64())
}

/// Runs it to its end; what it said, and the most memory it had, in MiB (looked at all the time: the kernel's own
/// account of children also has those that wrote the records).
fn run(command: &mut Command) -> Result<(Output, u64), Error> {
    let told = |error: std::io::Error| Error::new(error.to_string());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(told)?;
    let pid = child.id();
    // Whatever it says is read while it runs: a full pipe would stop it.
    let output = std::thread::spawn(|| child.wait_with_output());
    let mut peak = 0;
    while !output.is_finished() {
        peak = peak_kb(pid).max(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = output.join().map_err(|_| Error::new("reading what it says panicked"))?;
    Ok((output.map_err(told)?, peak / 1024))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "rates")]
fn main() -> Result<(), Error> {
    let (records, keys) = (number("records", "2000000"), number("keys", "100000"));
    let value = number("value", "500");
    let memory = argument("memory", "512MiB");
    let rounds = number("rounds", "3");
    let start = |name| Cluster::builder(name).heap_mb(1024).full_jit().start();
    let (source, target) = (start("source")?, start("target")?);
    let numbered = Numbered {
        value_size: usize::try_from(value).expect("small"),
        keys,
        headers: 0,
        ..Numbered::new(TOPIC, PARTITIONS, records)
    };
    for cluster in [&source, &target] {
        println!("writing {records} records, {keys} keys, {value} B");
        let oracle = Oracle::start(&cluster.bootstrap())?.within(Duration::from_secs(1800));
        oracle.create_topic(TOPIC, PARTITIONS, &[("retention.ms", "-1")])?;
        oracle.produce_numbered(&numbered, &Writing::default())?;
    }
    let folder = tempfile::tempdir().map_err(|error| Error::new(error.to_string()))?;
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "name = \"bench\"\nsource.bootstrap = \"{}\"\ntarget.bootstrap = \"{}\"\n\
         topics.include = [\"{TOPIC}\"]\nreconcile.memory = \"{memory}\"\n",
        source.bootstrap(),
        target.bootstrap()
    );
    std::fs::write(&plan, text).map_err(|error| Error::new(error.to_string()))?;
    // The brokers compile what they run in the first reading.
    read_into_nothing(&source, &target);
    let (mut ratios, mut costs) = (Vec::new(), Vec::new());
    println!("round  what        seconds  records/s   MB/s  CPU s  peak RSS MB");
    for round in 1..=rounds {
        let (seconds, read, cpu_of_nothing) = read_into_nothing(&source, &target);
        assert_eq!(read, 2 * records, "read into nothing");
        let line = |what: &str, seconds: f64, rest: &str| {
            let rate = (2 * records) as f64 / seconds;
            let megabytes = rate * (value as f64 + 12.0) / 1e6;
            println!(
                "{round:>5}  {what:<10}  {seconds:>7.2}  {rate:>9.0}  {megabytes:>5.0}  {rest}"
            );
            rate
        };
        let plain = line("nothing", seconds, &format!("{cpu_of_nothing:>5.2}"));
        let before = usage(UsageWho::RUSAGE_CHILDREN);
        let began = Instant::now();
        let (done, peak) = run(Command::new(env!("CARGO_BIN_EXE_onceover"))
            .args(["reconcile", "--no-ledger", "-q", "--json"])
            .arg(&plan)
            .current_dir(folder.path()))?;
        let seconds = began.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
        assert!(said.contains("\"result\":\"proved\""), "{said}");
        let after = usage(UsageWho::RUSAGE_CHILDREN);
        let cpu = cpu(after).saturating_sub(cpu(before)).as_secs_f64();
        let rest = format!("{cpu:>5.2}  {:>11}", peak);
        let proof = line("proof", seconds, &rest);
        println!("       proof/nothing: {:.0} %", 100.0 * proof / plain);
        ratios.push(100.0 * proof / plain);
        costs.push(cpu / cpu_of_nothing);
    }
    println!(
        "median of {rounds} rounds: proof/nothing {:.0} %, CPU {:.2} times",
        median(&mut ratios),
        median(&mut costs)
    );
    Ok(())
}
