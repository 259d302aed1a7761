//! A target whose brokers are set up in a way that no transaction lives with, and one that is well.

use onceover::check::Severity::{Fail, Pass, Warn};
use onceover::check::names;

use super::{checked, checked_between_the_shared};
use crate::brokers::{Cluster, Error, shared};
use crate::pipe::harness::Migration;

#[test]
fn a_target_on_which_no_transaction_can_live_fails_by_name() -> Result<(), Error> {
    let target = Cluster::builder("check-weak")
        .heap_mb(256)
        .config("transaction.max.timeout.ms", "30000")
        // One broker is there.
        .config("transaction.state.log.replication.factor", "3")
        .config("offsets.topic.replication.factor", "3")
        .config("offsets.retention.minutes", "60")
        .config("unclean.leader.election.enable", "true")
        .start()?;
    let (name, source) = ("check-weak", shared::clusters());
    source.source_oracle.create_topic(name, 1, &[])?;
    let rest = format!("topics.include = ['{name}']");
    let migration =
        Migration::between(name, &source.source.bootstrap(), &target.bootstrap(), &rest);
    let weak = checked(&migration.plan);
    let well = checked_between_the_shared(name, &rest);
    for (check, severity) in [
        (names::TRANSACTION_TIMEOUT, Fail),
        (names::TRANSACTION_LOG, Fail),
        (names::OFFSETS_TOPIC, Fail),
        (names::OFFSETS_RETENTION, Warn),
    ] {
        weak.is_whole(check, severity);
        well.is_whole(check, Pass);
    }
    weak.is(names::DEFAULTS, name, Warn);
    well.is(names::DEFAULTS, name, Pass);
    Ok(())
}
