//! Somebody else's transaction on the ledger.

use crate::brokers::{Error, Record, shared};
use crate::pipe::crowd::Crowd;
use crate::pipe::harness::eventually;

/// A reader of committed records sees nothing of what lies behind the open entry: whoever took that for the
/// ledger's end would copy everything behind it again.
#[test]
fn carries_hidden_behind_the_open_entry_of_a_dead_producer_are_waited_for() -> Result<(), Error> {
    let crowd = Crowd::new("faults-held-open", 60_000, 12)?;
    let target = &shared::clusters().target_oracle;
    let (ledger, stranger) = (crowd.migration.ledger(), "faults-held-open-stranger");
    let worker = crowd.worker("w1");
    crowd.await_arrival(0.1);
    let dead = target.transactional(stranger, &[])?;
    dead.begin()?;
    dead.produce(&ledger, &[Record::in_partition(0).value("open for ever")])?;
    dead.abandon();
    eventually("carries lie behind it", || {
        target.list_offsets(&ledger).is_ok_and(|ends| ends[0].latest > ends[0].stable + 4)
    });
    worker.kill();

    let mut worker = crowd.worker("w1");
    worker.wait_for(&format!("an open transaction on target {ledger}-0"));
    assert_eq!(target.open_transactions(&ledger, 0)?.len(), 1);
    assert!(worker.is_running());
    // What its time-out would do in the end.
    target.fence(stranger)?;
    worker.finish().expect(0);
    crowd.is_complete()
}
