//! Clusters of one or more KRaft brokers on free loopback ports.

use super::distribution::{Distribution, Release, write};
use super::jvm::{self, Jvm, wait_until};
use super::properties::{self, Node, Proxied};
use super::{Error, ports, run};
use nix::sys::signal::Signal;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For a broker that hangs; one that ends is noticed at once. It takes 1 to 3 s, and was seen to take
/// minutes on a machine with 25 busy processes per core.
const START: Duration = Duration::from_secs(600);
/// Orderly, with leadership handed over; takes 0.4 s.
const STOP: Duration = Duration::from_secs(60);
/// Another process may take a port between our look and the broker's start.
const PORT_CLASHES: usize = 5;

/// What a cluster shall be like; [`Builder::start`] starts it.
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    brokers: usize,
    config: Vec<(String, String)>,
    heap_mb: u32,
    full_jit: bool,
    proxied: bool,
    release: Release,
}

impl Builder {
    /// How many brokers, all of them also controllers; 1 unless set. Internal topics have as many
    /// replicas, up to 3.
    #[must_use]
    pub fn brokers(mut self, brokers: usize) -> Builder {
        self.brokers = brokers.max(1);
        self
    }

    /// A broker setting; the last one of a key wins, also over the defaults of
    /// [`properties::of_node`].
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Builder {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// For tests that kill brokers: a killed one is let in again only after its old session, here in
    /// 4 s instead of 11 s. On a very busy machine such brokers may lose their session alive.
    #[must_use]
    pub fn quick_restart(self) -> Builder {
        let session = self.config("broker.session.timeout.ms", "3000");
        session.config("broker.heartbeat.interval.ms", "500")
    }

    /// The most heap of each broker, in MiB; 320 unless set.
    #[must_use]
    pub fn heap_mb(mut self, heap_mb: u32) -> Builder {
        self.heap_mb = heap_mb;
        self
    }

    /// With a second listener, for clients that come through a proxy; see [`Cluster::proxied`].
    #[must_use]
    pub fn proxied(mut self) -> Builder {
        self.proxied = true;
        self
    }

    /// Another Kafka than the pinned one. One that needs ZooKeeper has one broker, and makes up its
    /// cluster id itself.
    #[must_use]
    pub fn release(mut self, release: Release) -> Builder {
        self.release = release;
        self
    }

    /// For measurements: brokers that start more slowly and run as fast as they can.
    #[must_use]
    pub fn full_jit(mut self) -> Builder {
        self.full_jit = true;
        self
    }

    /// Starts all brokers and waits until each of them serves.
    ///
    /// # Errors
    /// What to install; or how a broker ended, the last lines of its log, and where the rest is.
    pub fn start(self) -> Result<Cluster, Error> {
        let distribution = Distribution::of(self.release)?;
        let folder = unused(run::folder()?, &self.name);
        fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, &e))?;
        let cluster_id = properties::cluster_id()?;
        let mut attempt = 1;
        loop {
            let ports = ports::free(4 * self.brokers)?;
            let nodes: Vec<Node> = ports
                .chunks_exact(4)
                .map(|ports| Node {
                    broker: ports[0],
                    controller: ports[1],
                    proxied: self
                        .proxied
                        .then(|| Proxied { listener: ports[2], advertised: ports[3] }),
                })
                .collect();
            let brokers = (1..).zip(&nodes).map(|(id, node)| {
                Mutex::new(Broker {
                    name: format!("broker {id} of the cluster `{}`", self.name),
                    node: *node,
                    properties: folder.join(format!("broker-{id}.properties")),
                    data: folder.join(format!("data-{id}")),
                    log: folder.join(format!("broker-{id}.log")),
                    launches: 0,
                    jvm: None,
                })
            });
            let cluster = Cluster {
                brokers: brokers.collect(),
                cluster_id: cluster_id.clone(),
                folder: folder.clone(),
                builder: self.clone(),
            };
            match cluster.start(distribution, &nodes) {
                Ok(()) => return Ok(cluster),
                Err(_) if attempt < PORT_CLASHES && cluster.had_port_clash() => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first of `name`, `name-2`, `name-3`, … that is not there yet: tests may use a name twice.
pub(super) fn unused(run: &Path, name: &str) -> PathBuf {
    static CLUSTERS: Mutex<()> = Mutex::new(());
    let _alone = CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = (1..)
        .map(|n| if n == 1 { run.join(name) } else { run.join(format!("{name}-{n}")) })
        .find(|folder| !folder.exists())
        .expect("numbers do not end");
    let _ = fs::create_dir_all(&folder);
    folder
}

/// A running cluster. Dropped, or with the process, it ends and its data go; its logs stay.
///
/// Brokers are numbered from 1. All methods take `&self`, so that tests can share a cluster; two
/// threads that steer the same broker wait for each other.
pub struct Cluster {
    brokers: Vec<Mutex<Broker>>,
    cluster_id: String,
    folder: PathBuf,
    builder: Builder,
}

struct Broker {
    name: String,
    node: Node,
    properties: PathBuf,
    data: PathBuf,
    /// Of the current launch; earlier ones have their own.
    log: PathBuf,
    launches: usize,
    jvm: Option<Jvm>,
}

impl Cluster {
    pub fn builder(name: &str) -> Builder {
        let name = name.to_owned();
        Builder {
            name,
            brokers: 1,
            config: Vec::new(),
            heap_mb: 320,
            full_jit: false,
            proxied: false,
            release: Release::Pinned,
        }
    }

    /// `host:port` of every broker, with commas.
    pub fn bootstrap(&self) -> String {
        let addresses: Vec<String> =
            (1..=self.brokers.len()).map(|id| self.broker_address(id)).collect();
        addresses.join(",")
    }

    pub fn broker_address(&self, id: usize) -> String {
        self.broker(id).node.address()
    }

    /// Where a proxy of this broker has to listen and to connect to; with [`Builder::proxied`].
    pub fn proxied(&self, id: usize) -> Option<Proxied> {
        self.broker(id).node.proxied
    }

    pub fn broker_count(&self) -> usize {
        self.brokers.len()
    }

    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// Where the brokers' logs and settings are; they outlive the cluster.
    pub fn logs_dir(&self) -> &Path {
        &self.folder
    }

    /// The process id of a broker's JVM, while it runs.
    pub fn pid(&self, id: usize) -> Option<u32> {
        self.broker(id).jvm.as_ref().map(Jvm::pid)
    }

    /// Whether a broker ended by itself, and what it said since it was last started.
    pub fn ended(&self, id: usize) -> (bool, String) {
        let mut broker = self.broker(id);
        let ended = broker.jvm.as_mut().is_none_or(Jvm::has_ended);
        (ended, broker.read_log())
    }

    /// SIGKILL: the broker is gone when this returns. Its data stay.
    pub fn kill(&self, id: usize) {
        if let Some(mut jvm) = self.broker(id).jvm.take() {
            jvm.kill();
        }
    }

    /// SIGTERM, and waits for the orderly end. Its data stay.
    pub fn stop(&self, id: usize) -> Result<(), Error> {
        let mut broker = self.broker(id);
        if let Some(mut jvm) = broker.jvm.take() {
            jvm.signal(Signal::SIGTERM);
            if !jvm.wait(STOP) {
                let what = format!("{} does not stop, it was killed", broker.name);
                return Err(broker.failed(&what));
            }
        }
        Ok(())
    }

    /// Starts a stopped or killed broker again, on its old ports and data, and waits until it
    /// serves. One that runs is stopped first.
    ///
    /// After [`Cluster::kill`] this takes 11 s, or 4 s with [`Builder::quick_restart`]: the old session
    /// has to run out.
    pub fn restart(&self, id: usize) -> Result<(), Error> {
        self.stop(id)?;
        let distribution = Distribution::of(self.builder.release)?;
        let mut broker = self.broker(id);
        broker.launch(distribution, &self.builder, &self.cluster_id)?;
        broker.await_serving(self.builder.release)
    }

    /// SIGSTOP: connections stay open, and nobody answers.
    pub fn pause(&self, id: usize) {
        if let Some(jvm) = &mut self.broker(id).jvm {
            jvm.signal(Signal::SIGSTOP);
        }
    }

    /// SIGCONT.
    pub fn resume(&self, id: usize) {
        if let Some(jvm) = &mut self.broker(id).jvm {
            jvm.signal(Signal::SIGCONT);
        }
    }

    fn broker(&self, id: usize) -> MutexGuard<'_, Broker> {
        let count = self.brokers.len();
        let broker = id.checked_sub(1).and_then(|index| self.brokers.get(index));
        let broker = broker.unwrap_or_else(|| panic!("no broker {id}: there are 1 to {count}"));
        broker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, distribution: &Distribution, nodes: &[Node]) -> Result<(), Error> {
        for id in 1..=nodes.len() {
            let mut broker = self.broker(id);
            let of = &self.builder;
            let settings = if of.release.needs_zookeeper() {
                properties::with_zookeeper(nodes[id - 1], &broker.data, &of.config)
            } else {
                properties::of_node(id, nodes, &broker.data, &of.config)
            };
            write(&broker.properties, &settings)?;
            let _ = fs::remove_dir_all(&broker.data); // of an attempt with other ports
            broker.launch(distribution, &self.builder, &self.cluster_id)?;
        }
        (1..=nodes.len()).try_for_each(|id| self.broker(id).await_serving(self.builder.release))
    }

    fn had_port_clash(&self) -> bool {
        (1..=self.brokers.len())
            .any(|id| self.broker(id).read_log().contains("Address already in use"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for id in 1..=self.brokers.len() {
            self.kill(id);
            let _ = fs::remove_dir_all(&self.broker(id).data);
        }
    }
}

impl Broker {
    fn launch(
        &mut self,
        distribution: &Distribution,
        builder: &Builder,
        cluster_id: &str,
    ) -> Result<(), Error> {
        self.launches += 1;
        if self.launches > 1 {
            let n = self.launches;
            self.log = self.properties.with_extension(format!("{n}.log"));
        }
        fs::create_dir_all(&self.data).map_err(|e| Error::io("create", &self.data, &e))?;
        let mut command = distribution.java(builder.heap_mb, builder.full_jit);
        command.extend([
            builder.release.main().into(),
            self.properties.clone().into(),
            cluster_id.into(),
        ]);
        self.jvm = Some(Jvm::start(&command, &self.log, &self.data)?);
        Ok(())
    }

    /// A broker says that it has started once the controller has let it in; then its port is tried.
    fn await_serving(&mut self, release: Release) -> Result<(), Error> {
        let started = if release.needs_zookeeper() {
            "[KafkaServer id=1] started"
        } else {
            "Kafka Server started"
        };
        let address = SocketAddr::from(([127, 0, 0, 1], self.node.broker));
        let mut ended = false;
        let serves = wait_until(START, || {
            ended = self.jvm.as_mut().is_none_or(Jvm::has_ended);
            ended
                || self.read_log().contains(started)
                    && TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
        });
        match (serves, ended) {
            (true, false) => Ok(()),
            (_, true) => Err(self.failed(&format!("{} ended while it started", self.name))),
            (false, _) => Err(self.failed(&format!("{} did not start in time", self.name))),
        }
    }

    fn read_log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The error with what the log says last.
    fn failed(&self, what: &str) -> Error {
        jvm::failed(what, &self.log)
    }
}
