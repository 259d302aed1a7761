//! The clusters, the workers, and how each fault is made to happen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::schedule::{Dice, Fault, Role, Side};
use crate::brokers::{Cluster, Error, Numbered, Oracle, Record, Writing};
use crate::faults::proxy::line::Line;
use crate::faults::proxy::server::Proxy;
use crate::pipe::harness::{Migration, Process, eventually};

/// Longer than a worker's session (10 s).
const FROZEN: Duration = Duration::from_secs(13);
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
/// A worker may give up on a cluster that is gone for too long, or that its name was taken; it may not
/// refuse, fail a check, or have a fault of its own.
const MAY_END_WITH: [i32; 3] = [3, 4, 6];

/// A source of one broker and a target of three, each behind a proxy.
pub struct Clusters {
    source: Cluster,
    target: Cluster,
    source_proxy: Proxy,
    target_proxy: Proxy,
    source_oracle: Oracle,
    target_oracle: Oracle,
}

impl Clusters {
    pub fn start(name: &str) -> Result<Clusters, Error> {
        let of = |side: &str, brokers: usize| {
            let name = format!("random-{name}-{side}");
            Cluster::builder(&name).brokers(brokers).quick_restart().proxied().start()
        };
        let (source, target) = std::thread::scope(|scope| {
            let source = scope.spawn(|| of("source", 1));
            let target = of("target", 3)?;
            Ok::<_, Error>((source.join().expect("starting does not panic")?, target))
        })?;
        Ok(Clusters {
            source_proxy: Proxy::before(&source),
            target_proxy: Proxy::before(&target),
            source_oracle: Oracle::start(&source.bootstrap())?,
            target_oracle: Oracle::start(&target.bootstrap())?,
            source,
            target,
        })
    }
}

/// A topic that is written to by the rule all the time.
struct Stream {
    numbered: Numbered,
    writing: Writing<'static>,
}

/// A plan between the two, its workers, and who writes to its topics.
pub struct World<'a> {
    clusters: &'a Clusters,
    migration: Migration,
    streams: Vec<Stream>,
    /// Gets more partitions.
    grows: String,
    grown: usize,
    lines: BTreeMap<&'static str, Arc<Line>>,
    workers: BTreeMap<&'static str, Process>,
    /// What has happened, for whoever reads a failure, with what shows that it did.
    pub happened: Vec<(Fault, String)>,
    /// Workers that ended by themselves, and how.
    pub ended: Vec<String>,
    began: Instant,
}

const PARTITIONS: usize = 3;
const LANES: usize = 4;

impl<'a> World<'a> {
    pub fn new(clusters: &'a Clusters, name: &str) -> Result<World<'a>, Error> {
        let topic = |kind: &str| format!("{name}-{kind}");
        let numbered = |kind: &str| Numbered::new(&topic(kind), PARTITIONS, 0);
        let plain = Writing { per_second: 300, ..Writing::default() };
        let streams = vec![
            Stream {
                numbered: Numbered { keys: 100, ..numbered("plain") },
                writing: plain.clone(),
            },
            Stream {
                numbered: numbered("transactions"),
                writing: Writing { per_transaction: 12, abort_every: 5, ..plain.clone() },
            },
            // So many keys that each record has its own: the rule knows nothing of compaction.
            Stream {
                numbered: Numbered { keys: 1 << 40, ..numbered("compacted") },
                writing: plain,
            },
        ];
        for stream in &streams {
            let topic = &stream.numbered.topic;
            let configs = [("cleanup.policy", "compact")];
            let configs = if topic.ends_with("compacted") { &configs[..] } else { &[] };
            clusters.source_oracle.create_topic(topic, PARTITIONS, configs)?;
        }
        let grows = topic("grows");
        clusters.source_oracle.create_topic(&grows, 1, &[])?;
        let plan = format!(
            "topics.include = ['/{name}-.*/']\nrun.lanes = {LANES}\nrun.commit_interval = \"200ms\"\n"
        );
        let (source, target) = (&clusters.source_proxy, &clusters.target_proxy);
        let migration = Migration::between(name, source.bootstrap(), target.bootstrap(), &plan);
        let prefix = migration.group();
        let lines = [("source", source.line(&prefix)), ("target", target.line(&prefix))].into();
        Ok(World {
            clusters,
            migration,
            streams,
            grows,
            grown: 1,
            lines,
            workers: BTreeMap::new(),
            happened: Vec::new(),
            ended: Vec::new(),
            began: Instant::now(),
        })
    }

    /// Lets everything happen while records are written, then lets the copy come to its end; the oracle
    /// judges.
    pub fn run(mut self, faults: &[Fault], dice: &mut Dice) -> Result<Vec<(Fault, String)>, Error> {
        let stop = AtomicBool::new(false);
        let clusters = self.clusters;
        let streams = std::mem::take(&mut self.streams);
        let written = std::thread::scope(|scope| {
            let writers: Vec<_> = streams
                .iter()
                .map(|stream| scope.spawn(|| write(&clusters.source_oracle, stream, &stop)))
                .collect();
            let done = self.all_of(faults, dice);
            stop.store(true, Ordering::Relaxed);
            let written: Result<Vec<_>, Error> =
                writers.into_iter().map(|writer| writer.join().expect("no panic")).collect();
            done.and(written)
        })?;
        let began = self.began;
        let told = |what: &str| println!("{:>5.1} s  {what}", began.elapsed().as_secs_f32());
        told("no more faults");
        self.end()?;
        told("all workers have ended");
        let proof = self.migration.run(&["--worker", "w1", "--json"]).expect(0).json();
        assert_eq!(proof["result"], "proved", "{proof}");
        told("copied to the end and proved");
        for numbered in &written {
            assert!(numbered.count > 0, "nothing was written to {}", numbered.topic);
            let differences = clusters.target_oracle.check_numbered(numbered)?;
            assert!(differences.is_empty(), "{}: {differences:#?}\n{self}", numbered.topic);
        }
        let count: i64 = clusters
            .target_oracle
            .list_offsets(&self.grows)?
            .iter()
            .map(|at| at.stable.min(1))
            .sum();
        assert_eq!(
            count,
            self.grown as i64 - 1,
            "a record in each partition that was added\n{self}"
        );
        Ok(std::mem::take(&mut self.happened))
    }

    fn all_of(&mut self, faults: &[Fault], dice: &mut Dice) -> Result<(), Error> {
        self.workers_run(1);
        self.goes_on();
        for fault in faults {
            self.workers_run(1);
            let shows = self.make(*fault, dice)?;
            println!("{:>5.1} s  {fault}: {shows}", self.began.elapsed().as_secs_f32());
            self.happened.push((*fault, shows));
            std::thread::sleep(Duration::from_millis(200 + dice.below(2_000)));
        }
        self.workers_run(1);
        self.goes_on();
        Ok(())
    }

    fn make(&mut self, fault: Fault, dice: &mut Dice) -> Result<String, Error> {
        Ok(match fault {
            Fault::KillWorker => {
                let name = self.some_worker(dice);
                let worker = self.workers.remove(name).expect("it runs");
                worker.kill();
                self.start(name);
                format!("{name} is gone and starts again")
            }
            Fault::JoinWorker => {
                let running = self.workers.len();
                self.workers_run((running + 1).min(WORKERS.len()));
                format!("{} workers instead of {running}", self.workers.len())
            }
            Fault::FreezeWorker => {
                self.workers_run(2);
                let name = self.some_worker(dice);
                self.workers[name].signal(Signal::SIGSTOP);
                let before = self.arrived();
                std::thread::sleep(FROZEN);
                let during = self.arrived() - before;
                self.workers[name].signal(Signal::SIGCONT);
                format!("{name} slept {FROZEN:?}, {during} offsets meanwhile")
            }
            Fault::KillSource => {
                self.clusters.source.kill(1);
                std::thread::sleep(Duration::from_millis(dice.below(3_000)));
                self.clusters.source.restart(1)?;
                "it is back".to_owned()
            }
            Fault::KillTarget(role) => {
                let broker = self.holder(role, dice)?;
                self.clusters.target.kill(broker);
                let mut next = broker;
                eventually("another broker takes over", || {
                    next = self.holder(role, dice).unwrap_or(broker);
                    next != broker && next != 0
                });
                self.clusters.target.restart(broker)?;
                format!("broker {broker} was killed, {next} took over")
            }
            Fault::Cut(side) => {
                let mut cut = 0;
                eventually("there is a connection to cut", || {
                    cut = self.line(side).cut();
                    cut > 0
                });
                format!("{cut} connections")
            }
            Fault::HalfOpen(side) => {
                let line = self.line(side);
                let before = line.swallowed.load(Ordering::Relaxed);
                line.half_open();
                eventually("something is swallowed", || {
                    line.swallowed.load(Ordering::Relaxed) > before
                });
                std::thread::sleep(Duration::from_millis(1_000 + dice.below(4_000)));
                line.heal();
                format!("{} frames swallowed", line.swallowed.load(Ordering::Relaxed) - before)
            }
            Fault::Slow(side) => {
                let line = self.line(side);
                let before = line.bytes.load(Ordering::Relaxed);
                line.round_trip(Duration::from_millis(200));
                line.bandwidth(300_000);
                eventually("something goes through", || {
                    line.bytes.load(Ordering::Relaxed) > before + 10_000
                });
                std::thread::sleep(Duration::from_millis(1_000 + dice.below(4_000)));
                line.round_trip(Duration::ZERO);
                line.bandwidth(u32::MAX);
                format!("{} bytes went through", line.bytes.load(Ordering::Relaxed) - before)
            }
            Fault::Grow => {
                let total = self.grown + 1;
                let target = &self.clusters.target_oracle;
                // The target's topic comes into being with the first worker.
                eventually("the target has the topic", || target.list_offsets(&self.grows).is_ok());
                target.add_partitions(&self.grows, total)?;
                self.clusters.source_oracle.add_partitions(&self.grows, total)?;
                let partition = i32::try_from(self.grown).expect("few");
                let record = Record::in_partition(partition).key("k").value("grown");
                eventually("the new partition takes a record", || {
                    self.clusters
                        .source_oracle
                        .produce(&self.grows, std::slice::from_ref(&record))
                        .is_ok()
                });
                self.grown = total;
                format!("{total} partitions")
            }
        })
    }

    /// The broker of the target that has a role now; 0: none.
    fn holder(&self, role: Role, dice: &mut Dice) -> Result<usize, Error> {
        let target = &self.clusters.target_oracle;
        let lane = format!("{}-0", self.migration.group());
        Ok(match role {
            Role::Leader => {
                // Always the same one, so that a change can be told.
                let _ = dice;
                let leaders = target.describe_topic(&self.migration.ledger())?.leaders;
                leaders.first().and_then(|id| usize::try_from(*id).ok()).unwrap_or(0)
            }
            Role::Group => target.coordinators(&self.migration.group(), &lane)?.0,
            Role::Transactions => target.coordinators(&self.migration.group(), &lane)?.1,
        })
    }

    fn line(&self, side: Side) -> &Line {
        &self.lines[match side {
            Side::Source => "source",
            Side::Target => "target",
        }]
    }

    fn some_worker(&self, dice: &mut Dice) -> &'static str {
        let names: Vec<_> = self.workers.keys().copied().collect();
        names[dice.below(names.len() as u64) as usize]
    }

    fn start(&mut self, name: &'static str) {
        let worker = self.migration.start(&["--tail", "--worker", name, "--json"]);
        self.workers.insert(name, worker);
    }

    /// Sees that so many workers run.
    fn workers_run(&mut self, at_least: usize) {
        for name in WORKERS {
            if let Some(worker) = self.workers.get_mut(name)
                && !worker.is_running()
            {
                let worker = self.workers.remove(name).expect("it was there");
                self.has_ended(name, worker);
            }
        }
        for name in WORKERS {
            if self.workers.len() < at_least && !self.workers.contains_key(name) {
                self.start(name);
            }
        }
    }

    fn has_ended(&mut self, name: &str, worker: Process) {
        let ended = worker.finish();
        let code = ended.code.unwrap_or(-1);
        assert!(
            MAY_END_WITH.contains(&code),
            "{name} ended with {code}\n{}\n{}\n{self}",
            ended.stdout,
            ended.stderr
        );
        self.ended.push(format!("{name} with exit code {code}: {}", ended.stdout.trim()));
    }

    /// Ends all workers in order.
    fn end(&mut self) -> Result<(), Error> {
        for worker in self.workers.values_mut() {
            if worker.is_running() {
                worker.signal(Signal::SIGTERM);
            }
        }
        for (name, worker) in std::mem::take(&mut self.workers) {
            let ended = worker.finish();
            let code = ended.code.unwrap_or(-1);
            assert!(
                code == 0 || MAY_END_WITH.contains(&code),
                "{name} ended with {code}\n{}\n{}\n{self}",
                ended.stdout,
                ended.stderr
            );
        }
        Ok(())
    }

    /// Stable offsets of all topics on the target.
    fn arrived(&self) -> i64 {
        let name = format!("{}-", self.migration.name());
        let target = &self.clusters.target_oracle;
        let topics = target.list_topics().unwrap_or_default();
        let topics = topics.iter().filter(|topic| topic.starts_with(&name));
        let offsets = topics.flat_map(|topic| target.list_offsets(topic).unwrap_or_default());
        offsets.map(|at| at.stable).sum()
    }

    /// Waits until more is committed than now.
    #[track_caller]
    fn goes_on(&mut self) {
        let before = self.arrived();
        eventually("records arrive", || {
            self.workers_run(1);
            self.arrived() > before
        });
    }
}

impl std::fmt::Display for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (fault, shows) in &self.happened {
            writeln!(f, "  {fault}: {shows}")?;
        }
        self.ended.iter().try_for_each(|ended| writeln!(f, "  ended: {ended}"))
    }
}

/// Records of one piece: a multiple of the 100 that share a timestamp.
const PIECE: u64 = 600;

/// Writes on and on, in pieces; everything that was written, as one.
fn write(source: &Oracle, stream: &Stream, stop: &AtomicBool) -> Result<Numbered, Error> {
    let mut all = stream.numbered.clone();
    while !stop.load(Ordering::Relaxed) {
        let first = all.first + all.count;
        let first_timestamp = all.first_timestamp + i64::try_from(first / 100).expect("few");
        let piece = Numbered { first, count: PIECE, first_timestamp, ..all.clone() };
        source.produce_numbered(&piece, &stream.writing)?;
        all.count += piece.count;
    }
    Ok(all)
}
