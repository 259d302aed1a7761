//! Whether another owner has used the lane since its ledger was read.

use crate::cluster::{Class, ClusterError};
use crate::error::{Error, Side};
use crate::pipe::engine::{Source, Target};

use super::{Halt, Lane};

impl<S, T> Lane<S, T>
where
    S: Source,
    T: Target<Batch = S::Batch>,
{
    /// Fails with [`Class::Fenced`] where the ledger has entries behind those that the lane knows: only
    /// the lane's own transactional id writes there, so they are another owner's. Not to be asked with a
    /// transaction of our own in doubt.
    pub(super) fn nobody_else_wrote(&self) -> Result<(), Halt> {
        let log_end = self.settled_log_end()?;
        let mut state = self.state.clone();
        if self.shared.clusters.ledger().catch_up(self.number, &mut state, log_end)? {
            return Err(Halt::Cluster(ClusterError::new(
                Side::Target,
                Class::Fenced,
                "the lane's ledger has entries of another owner",
            )));
        }
        Ok(())
    }

    /// A refusal that compares the clusters with the ledger holds for the ledger as it is now. A worker
    /// that does not know yet that it has lost the lane holds an old one beside what the new owner has
    /// written since, and its refusal would end the run on all workers.
    pub(super) fn refused(&self, refusal: Error) -> Halt {
        self.nobody_else_wrote().err().unwrap_or(Halt::Person(refusal))
    }
}
