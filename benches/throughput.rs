//! How fast, on how much CPU and memory, a one-shot run moves 2,000,000 records of 512 B on 6 partitions
//! between two single-node clusters on this machine: `cargo bench --bench throughput`.
//!
//! Arguments after `--`: `records=2000000 lanes=auto rounds=3 proof=no`. Each round is a new plan with a new
//! ledger into a new topic. The benchmark against MirrorMaker 2 in one run is not built yet.

#[path = "../tests/brokers/mod.rs"]
mod brokers;

use std::process::Command;
use std::time::{Duration, Instant};

use brokers::{Cluster, Error, Isolation, Numbered, Oracle, Writing};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;

const PARTITIONS: usize = 6;

fn argument(name: &str, default: &str) -> String {
    let prefix = format!("{name}=");
    let given = std::env::args().find_map(|arg| arg.strip_prefix(&prefix).map(str::to_owned));
    given.unwrap_or_else(|| default.to_owned())
}

fn usage() -> Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts for ended children")
}

fn cpu(usage: Usage) -> Duration {
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

fn main() -> Result<(), Error> {
    let records: u64 = argument("records", "2000000").parse().expect("records is a number");
    let rounds: u32 = argument("rounds", "3").parse().expect("rounds is a number");
    let lanes = argument("lanes", "auto");
    let proof = argument("proof", "no") == "yes";
    let start = |name| Cluster::builder(name).heap_mb(1024).full_jit().start();
    let (source, target) = (start("source")?, start("target")?);
    let writer = Oracle::start(&source.bootstrap())?;
    let reader = Oracle::start(&target.bootstrap())?.within(Duration::from_secs(300));
    writer.create_topic("bench", PARTITIONS, &[])?;
    let numbered = Numbered {
        value_size: 500,
        keys: 100_000,
        headers: 0,
        ..Numbered::new("bench", PARTITIONS, records)
    };
    println!("writing {records} records");
    writer.within(Duration::from_secs(600)).produce_numbered(&numbered, &Writing::default())?;

    println!("round  seconds  records/s  CPU s  peak RSS MB  lanes");
    for round in 1..=rounds {
        let folder = tempfile::tempdir().map_err(|error| Error::new(error.to_string()))?;
        let plan = folder.path().join("plan.toml");
        let copy = format!("copy-{round}");
        let text = format!(
            "name = \"bench-{round}\"\nsource.bootstrap = \"{}\"\ntarget.bootstrap = \"{}\"\n\
             topics.include = [\"bench\"]\ntopics.rename = [{{ from = \"bench\", to = \"{copy}\" }}]\n\
             run.lanes = {}\n",
            source.bootstrap(),
            target.bootstrap(),
            if lanes == "auto" { "\"auto\"" } else { lanes.as_str() },
        );
        std::fs::write(&plan, text).map_err(|error| Error::new(error.to_string()))?;
        let before = usage();
        let began = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_onceover"))
            .arg("run")
            .arg(&plan)
            .args(["-q", "--json"])
            .args(if proof { &["--out", "proof"][..] } else { &["--no-reconcile"] })
            .current_dir(folder.path())
            .stdout(std::process::Stdio::null())
            .status()
            .map_err(|error| Error::new(error.to_string()))?;
        let took = began.elapsed().as_secs_f64();
        assert!(status.success(), "onceover ended with {status}");
        let after = usage();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = records as f64 / took;
        println!(
            "{round:>5}  {took:>7.2}  {rate:>9.0}  {:>5.2}  {:>11}  {lanes}",
            (cpu(after).saturating_sub(cpu(before))).as_secs_f64(),
            after.max_rss() / 1024,
        );
        let moved: u64 =
            reader.digest(&copy, Isolation::ReadCommitted)?.iter().map(|part| part.count).sum();
        assert_eq!(moved, records, "records on the target");
    }
    Ok(())
}
