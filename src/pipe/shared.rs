//! What all lanes of a worker share.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use crate::ledger::Override;
use crate::pipe::bound::Bound;
use crate::pipe::clock::Clock;
use crate::pipe::clusters::Clusters;
use crate::pipe::rate::Bucket;
use crate::pipe::scope::Scope;
use crate::pipe::view::View;
use crate::plan::{Plan, TopicPartition};
use crate::report::Board;

/// Made once per run; the lanes only read it. A lane sees no more of the clusters than
/// [`Ask`](crate::pipe::ask::Ask) lets it.
pub struct Shared<C: ?Sized = Clusters> {
    /// The plan.
    pub plan: Plan,
    /// Which partitions.
    pub scope: Scope,
    /// Partitions that came new while this worker was tailing: copied from their beginning, whatever the
    /// plan's `start`.
    pub fresh: BTreeSet<TopicPartition>,
    /// What the plan takes responsibility for, to be written into the ledger once.
    pub overrides: Vec<Override>,
    /// What the ledger is bound to.
    pub bound: Bound,
    /// The ledger as the watch sees it.
    pub view: View,
    /// Progress for people.
    pub board: Board,
    /// `max_rate`, this worker's share.
    pub bucket: Option<Mutex<Bucket>>,
    /// This worker's name.
    pub worker: String,
    /// Copies until it is stopped, without a fence.
    pub tail: bool,
    /// Time as the lanes see it.
    pub clock: Box<dyn Clock>,
    /// Both clusters, connected.
    pub clusters: C,
}

/// The producers' `transaction.timeout.ms`: Kafka's own default for Connect and Streams, and below
/// every broker's default of `transaction.max.timeout.ms` (15 min).
pub const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);

/// Milliseconds since 1970, for ledger entries.
pub fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
