//! The two clusters that all tests of one binary use. Each test takes topics and plan names of its
//! own; one that kills brokers or sets broker settings starts a cluster of its own.

use super::{Cluster, Error, Oracle};
use std::sync::OnceLock;

pub struct Clusters {
    pub source: Cluster,
    pub target: Cluster,
    pub source_oracle: Oracle,
    pub target_oracle: Oracle,
}

/// Started side by side at the first call. A static is never dropped: at the end of the process,
/// however it comes, the brokers' supervisors see it, kill them and remove their data.
///
/// # Panics
/// If they cannot be started: every test that needs them then fails with the reason.
pub fn clusters() -> &'static Clusters {
    static CLUSTERS: OnceLock<Result<Clusters, Error>> = OnceLock::new();
    let started = CLUSTERS.get_or_init(|| {
        std::thread::scope(|scope| {
            let source = scope.spawn(|| start("source"));
            let target = start("target")?;
            let source = source.join().expect("starting a cluster does not panic")?;
            let source_oracle = Oracle::start(&source.bootstrap())?;
            let target_oracle = Oracle::start(&target.bootstrap())?;
            Ok(Clusters { source, target, source_oracle, target_oracle })
        })
    });
    started.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// Nobody kills them, so that a lost session would only be the fault of a busy machine.
fn start(name: &str) -> Result<Cluster, Error> {
    Cluster::builder(name).config("broker.session.timeout.ms", "60000").proxied().start()
}
