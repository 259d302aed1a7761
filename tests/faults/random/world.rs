//! The clusters, the workers, and how each fault is made to happen.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::schedule::{Dice, Fault, Role, Side};
use super::stream::{Stream, written_while};
use super::workers::{NAMES, Workers};
use crate::brokers::distribution::Release;
use crate::brokers::{Cluster, Error, Numbered, Oracle, Record, Writing};
use crate::faults::proxy::line::Line;
use crate::faults::proxy::server::Proxy;
use crate::pipe::harness::{Migration, eventually, unlike_source};

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
        let of = |side: &str, brokers: usize, release: Release| {
            let name = format!("random-{name}-{side}");
            let builder = Cluster::builder(&name).brokers(brokers).release(release);
            builder.quick_restart().proxied().start()
        };
        let (source, target) = std::thread::scope(|scope| {
            // When its only broker comes back, Kafka 4.3.0 leaves transactions open for ever (KAFKA-20734).
            let source = scope.spawn(|| of("source", 1, Release::V3_9));
            let target = of("target", 3, Release::Pinned)?;
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

/// A plan between the two, its workers, and who writes to its topics.
pub struct World<'a> {
    clusters: &'a Clusters,
    workers: Workers,
    streams: Vec<Stream>,
    /// Gets more partitions.
    grows: String,
    grown: usize,
    /// The workers' connections.
    source_line: Arc<Line>,
    target_line: Arc<Line>,
    /// What has happened, for whoever reads a failure, with what shows that it did.
    happened: Vec<(Fault, String)>,
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
        let (source_line, target_line) = (source.line(&prefix), target.line(&prefix));
        Ok(World {
            clusters,
            workers: Workers::of(migration),
            streams,
            grows,
            grown: 1,
            source_line,
            target_line,
            happened: Vec::new(),
            began: Instant::now(),
        })
    }

    /// Lets everything happen while records are written, then lets the copy come to its end; the oracle
    /// judges.
    pub fn run(mut self, faults: &[Fault], dice: &mut Dice) -> Result<(), Error> {
        let streams = std::mem::take(&mut self.streams);
        let (source, target) = (&self.clusters.source_oracle, &self.clusters.target_oracle);
        let written = written_while(source, &streams, || self.all_of(faults, dice))?;
        self.told("no more faults");
        self.workers.end();
        self.told("all workers have ended");
        let last = self.workers.migration.run(&["--worker", "w1", "--json"]).expect(0);
        assert_eq!(last.json()["result"], "proved", "{}", last.stdout);
        self.told("copied to the end and proved");
        for numbered in &written {
            assert!(numbered.count > 0, "nothing was written to {}", numbered.topic);
            let differences = unlike_source(source, target, numbered)?;
            assert!(differences.is_empty(), "{}: {differences:#?}\n{self}", numbered.topic);
        }
        let added: Vec<_> =
            target.list_offsets(&self.grows)?.iter().map(|at| at.stable > 0).collect();
        let wanted: Vec<_> = (0..self.grown).map(|partition| partition > 0).collect();
        assert_eq!(added, wanted, "a record in each partition that was added\n{self}");
        Ok(())
    }

    fn told(&self, what: &str) {
        println!("{:>5.1} s  {what}", self.began.elapsed().as_secs_f32());
    }

    fn all_of(&mut self, faults: &[Fault], dice: &mut Dice) -> Result<(), Error> {
        self.goes_on();
        for fault in faults {
            self.workers.run(1);
            let shows = self.make(*fault, dice)?;
            self.told(&format!("{fault}: {shows}"));
            self.happened.push((*fault, shows));
            std::thread::sleep(Duration::from_millis(200 + dice.below(2_000)));
        }
        self.goes_on();
        Ok(())
    }

    fn make(&mut self, fault: Fault, dice: &mut Dice) -> Result<String, Error> {
        match fault {
            Fault::KillWorker => {
                let name = self.workers.some(dice);
                self.workers.kill(name);
                Ok(format!("{name} is gone and starts again"))
            }
            Fault::JoinWorker => {
                let running = self.workers.count();
                self.workers.run((running + 1).min(NAMES.len()));
                Ok(format!("{} workers instead of {running}", self.workers.count()))
            }
            Fault::FreezeWorker => Ok(self.freeze(dice)),
            Fault::KillSource => {
                self.clusters.source.kill(1);
                std::thread::sleep(Duration::from_millis(dice.below(3_000)));
                self.clusters.source.restart(1)?;
                Ok("it is back".to_owned())
            }
            Fault::KillTarget(role) => self.kill_target(role),
            Fault::Cut(side) => {
                let (line, mut cut) = (self.line(side), 0);
                self.workers.run_until(1, "there is a connection to cut", || {
                    cut = line.cut();
                    cut > 0
                });
                Ok(format!("{cut} connections"))
            }
            Fault::HalfOpen(side) => {
                let line = self.line(side);
                let before = line.swallowed.load(Ordering::Relaxed);
                let swallowed = || line.swallowed.load(Ordering::Relaxed) - before;
                line.half_open();
                self.workers.run_until(1, "something is swallowed", || swallowed() > 0);
                std::thread::sleep(Duration::from_millis(1_000 + dice.below(4_000)));
                line.heal();
                Ok(format!("{} frames swallowed", swallowed()))
            }
            Fault::Slow(side) => {
                let line = self.line(side);
                let before = line.bytes.load(Ordering::Relaxed);
                let through = || line.bytes.load(Ordering::Relaxed) - before;
                line.round_trip(Duration::from_millis(200));
                line.bandwidth(300_000);
                self.workers.run_until(1, "something goes through", || through() > 10_000);
                std::thread::sleep(Duration::from_millis(1_000 + dice.below(4_000)));
                line.round_trip(Duration::ZERO);
                line.bandwidth(u32::MAX);
                Ok(format!("{} bytes went through", through()))
            }
            Fault::Grow => self.grow(),
        }
    }

    /// Stops a worker until the group has put it out, and wakes it up as a zombie.
    fn freeze(&mut self, dice: &mut Dice) -> String {
        let target = &self.clusters.target_oracle;
        let group = self.workers.migration.group();
        let members = || target.members(&group).unwrap_or_default();
        let mut name = "";
        self.workers.run_until(2, "two are members of the group", || {
            let members = members();
            members.len() >= 2
        });
        let listed = |name: &str| members().iter().any(|member| member == name);
        eventually("one of the members runs", || {
            self.workers.run(2);
            name = self.workers.some(dice);
            listed(name)
        });
        self.workers.signal(name, Signal::SIGSTOP);
        let (before, began) = (self.arrived(), Instant::now());
        // A group without its coordinator lists nobody, which says nothing.
        self.workers.run_until(2, "the group puts it out", || {
            target.members(&group).is_ok_and(|members| {
                !members.is_empty() && !members.iter().any(|member| member == name)
            })
        });
        let during = self.arrived() - before;
        self.workers.signal(name, Signal::SIGCONT);
        let slept = began.elapsed().as_secs_f32();
        format!("{name} slept {slept:.1} s, {during} offsets meanwhile")
    }

    fn kill_target(&mut self, role: Role) -> Result<String, Error> {
        let (mut broker, mut next) = (None, None);
        eventually("a broker has the role", || {
            self.workers.run(1);
            broker = self.holder(role);
            broker.is_some()
        });
        let broker = broker.expect("waited for");
        self.clusters.target.kill(broker);
        eventually("another broker takes over", || {
            next = self.holder(role).filter(|next| *next != broker);
            next.is_some()
        });
        self.clusters.target.restart(broker)?;
        // Else the next strike at a broker could be one too many.
        eventually("all replicas are in sync again", || self.is_in_sync());
        Ok(format!("broker {broker} was killed, {} took over", next.expect("waited for")))
    }

    /// The broker of the target that has a role now.
    fn holder(&self, role: Role) -> Option<usize> {
        let (target, migration) = (&self.clusters.target_oracle, &self.workers.migration);
        let lane = format!("{}-0", migration.group());
        let coordinators = || target.coordinators(&migration.group(), &lane).ok();
        let broker = match role {
            // Always of the same partition, so that a change can be told.
            Role::Leader => {
                let leader = *target.describe_topic(&migration.ledger()).ok()?.leaders.first()?;
                usize::try_from(leader).ok()?
            }
            Role::Group => coordinators()?.0,
            Role::Transactions => coordinators()?.1,
        };
        (broker > 0).then_some(broker)
    }

    /// Whether the ledger, and what the brokers know of groups and transactions, are on all brokers.
    fn is_in_sync(&self) -> bool {
        let ledger = self.workers.migration.ledger();
        ["__consumer_offsets", "__transaction_state", &ledger].iter().all(|topic| {
            let described = self.clusters.target_oracle.describe_topic(topic);
            described.is_ok_and(|it| it.in_sync.iter().all(|count| *count == it.replication))
        })
    }

    fn grow(&mut self) -> Result<String, Error> {
        let total = self.grown + 1;
        let (source, target) = (&self.clusters.source_oracle, &self.clusters.target_oracle);
        let topic = &self.grows;
        let has =
            |partitions| target.describe_topic(topic).is_ok_and(|it| it.partitions == partitions);
        // The target's topic comes into being with the first worker.
        self.workers.run_until(1, "the target has the topic", || has(self.grown));
        let mut grown = Ok(());
        let who = self.workers.grow(
            || grown = source.add_partitions(topic, total),
            || has(total),
            || drop(target.add_partitions(topic, total)),
        );
        grown?;
        let partition = i32::try_from(self.grown).expect("few");
        let record = Record::in_partition(partition).key("k").value("grown");
        eventually("the new partition takes a record", || {
            source.produce(topic, std::slice::from_ref(&record)).is_ok()
        });
        self.grown = total;
        Ok(format!("{total} partitions, on the target by {who}"))
    }

    fn line(&self, side: Side) -> Arc<Line> {
        Arc::clone(match side {
            Side::Source => &self.source_line,
            Side::Target => &self.target_line,
        })
    }

    /// Stable offsets of all topics on the target.
    fn arrived(&self) -> i64 {
        arrived(&self.clusters.target_oracle, &self.workers.migration.name)
    }

    /// Waits until more is committed than now.
    #[track_caller]
    fn goes_on(&mut self) {
        let (target, name) = (&self.clusters.target_oracle, self.workers.migration.name.clone());
        let before = arrived(target, &name);
        self.workers.run_until(1, "records arrive", || arrived(target, &name) > before);
    }
}

fn arrived(target: &Oracle, name: &str) -> i64 {
    let topics = target.list_topics().unwrap_or_default();
    let topics = topics.iter().filter(|topic| topic.starts_with(&format!("{name}-")));
    let offsets = topics.flat_map(|topic| target.list_offsets(topic).unwrap_or_default());
    offsets.map(|at| at.stable).sum()
}

impl std::fmt::Display for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut happened = self.happened.iter();
        happened.try_for_each(|(fault, shows)| writeln!(f, "  {fault}: {shows}"))?;
        write!(f, "{}", self.workers)
    }
}
