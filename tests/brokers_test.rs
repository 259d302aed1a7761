//! The brokers of the tests do what they say.

use crate::brokers::shared;

#[test]
fn two_clusters_start() {
    let begin = std::time::Instant::now();
    let clusters = shared::clusters();
    eprintln!(
        "{:?} {} {}",
        begin.elapsed(),
        clusters.source.bootstrap(),
        clusters.target.bootstrap()
    );
}
