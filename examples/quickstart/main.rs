//! The README's first command: moves a million records between two real Kafka clusters with the real
//! program, kills it in the middle, lets it prove the copy, and shows what a difference looks like.
//!
//! - `data`: the topics, and what is written to them.
//! - `onceover`: builds the program, runs it, kills it.
//! - `progress`: how far the target is, as its brokers say.
//! - `compare`: both sides, by code that is not onceover's.
//! - `tamper`: somebody else writes to the target, and the proof says so.
//! - `page`: what is printed.
//!
//! Whatever it starts ends with it, however it ends: each process hangs on a pipe that closes then.

#[path = "../../tests/brokers/mod.rs"]
mod brokers;
mod compare;
mod data;
mod onceover;
mod page;
mod progress;
mod tamper;

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use brokers::distribution::Distribution;
use brokers::{Cluster, Error, Oracle, run};
use onceover::{PLAN, Program, Ran};
use page::{count, seconds, step};
use progress::Flow;

fn main() -> ExitCode {
    page::intro();
    stop_on_ctrl_c();
    match quickstart() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nerror: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The pipes close with this process; there is nothing else to clean up.
fn stop_on_ctrl_c() {
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if runtime.is_ok_and(|runtime| runtime.block_on(tokio::signal::ctrl_c()).is_ok()) {
            eprintln!("\nstopped: the brokers, their data and onceover are gone");
            std::process::exit(130);
        }
    });
}

/// Both clusters and a second client for each.
struct Clusters {
    source: Cluster,
    target: Cluster,
    at_source: Oracle,
    at_target: Oracle,
}

fn quickstart() -> Result<bool, Error> {
    let begun = Instant::now();
    let kafka = step("getting Apache Kafka ready", || {
        let kafka = Distribution::get()?;
        Ok((kafka, format!("{}, {}", kafka.version, kafka.jdk.version)))
    })?;
    let built = step("building onceover", || {
        let built = onceover::build()?;
        let shown = built.display().to_string();
        Ok((built, shown))
    })?;
    let clusters = step(&format!("starting two Apache Kafka {} clusters", kafka.version), || {
        let clusters = start()?;
        let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
        Ok((clusters, format!("source {source}, target {target}")))
    })?;
    let topics = data::topics();
    let before: u64 = topics.iter().map(|topic| topic.before.count).sum();
    step(&format!("writing {} records to the source", count(before)), || {
        data::create(&clusters.at_source, &topics)?;
        data::write_before(&clusters.at_source, &topics)?;
        Ok(((), String::new()))
    })?;
    page::topics(&topics);

    let program = Program::new(built, &clusters.source, &clusters.target)?;
    thread::scope(|scope| {
        let writers = scope.spawn(|| data::write_during(&clusters.at_source, &topics));
        crash(&program, &clusters.at_target, &topics)?;
        writers.join().expect("writing does not panic")
    })?;
    let rest = ["run", PLAN, "--json", "--out", &program.proof(REST)];
    page::command(&rest, "the producers are done: what came since the first run's fence");
    page::ran(&Ran::of(&program.start("3", &rest)?.finish(0)?)?);

    let same = compare::both_sides(&clusters.at_source, &clusters.at_target, &topics)?;
    page::command(&["status", PLAN], "from the ledger on the target, and the source's log ends");
    page::quote(&program.start("status", &["status", PLAN])?.finish(0)?);
    let found = tamper::and_prove(&program, &clusters.at_target)?;
    drop(clusters);
    page::end(begun.elapsed(), &program.proofs(), run::folder()?);
    Ok(same && found)
}

/// Folders of the proofs: of the run that was killed and went on, of the run after it, and of what
/// somebody else wrote.
const WHOLE: &str = "1-everything";
const REST: &str = "2-what-came-since";
const TAMPERED: &str = "3-tampered";

fn start() -> Result<Clusters, Error> {
    thread::scope(|scope| {
        let source = scope.spawn(|| Cluster::builder("source").start());
        let target = Cluster::builder("target").start();
        let source = source.join().expect("starting a cluster does not panic")?;
        let target = target?;
        let at_source = Oracle::start(&source.bootstrap())?;
        let at_target = Oracle::start(&target.bootstrap())?;
        Ok(Clusters { source, target, at_source, at_target })
    })
}

/// Runs the program, kills it while transactions are open, and runs it again to its fence.
fn crash(program: &Program, target: &Oracle, topics: &[data::Topic]) -> Result<(), Error> {
    let during: u64 = topics.iter().map(|topic| topic.during.count).sum();
    let run = ["run", PLAN, "--out", &program.proof(WHOLE)];
    page::command(&run, &format!("while {} more records are written", count(during)));
    let mut worker = program.start("1", &run)?;
    let all = topics.iter().map(|topic| topic.before.count).sum();
    let mut flow = Flow::of(target, topics);
    while !flow.look()?.is_in_the_middle(all) {
        worker.must_be_running()?;
    }
    worker.kill()?;
    let killed = Instant::now();
    let ran = killed - worker.started();
    let at_kill = flow.settled()?;
    let open = progress::open_transactions(target)?;

    // The page can wait, the restart cannot: it is timed.
    let mut worker = program.start("2", &run)?;
    while !flow.look()?.has_gone_on_since(&at_kill) {
        worker.must_be_running()?;
    }
    let again = killed.elapsed();
    page::line(&format!(
        "killed with SIGKILL after {}: {} records committed, {} of the lanes' transactions open",
        seconds(ran),
        count(progress::committed(target, topics, &at_kill)?),
        open,
    ));
    page::command(&run, "the same again");
    page::line(&format!(
        "records flowed again {} after the kill; the {open} open transactions were aborted",
        seconds(again)
    ));
    page::quote(&worker.finish(0)?);
    page::line(
        "(of the compacted `customers` the last record of each key counts: one side may hold fewer)",
    );
    Ok(())
}
