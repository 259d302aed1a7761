//! What a lane asks the two clusters beside the records that it moves. With [`engine`](super::engine)
//! the whole of what a lane sees of them: its protocol runs over anything that answers these.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::cluster::{At, ClusterError, First, OffsetAt, TopicConfig, TopicInfo};
use crate::error::Side;
use crate::ledger::LedgerReader;
use crate::pipe::clusters::Clusters;
use crate::plan::TopicPartition;

/// An offset, or an error of its own, for each partition asked for.
pub type Offsets = BTreeMap<TopicPartition, Result<OffsetAt, ClusterError>>;

/// Topic ids that were asked for: waits for them, at most so long. None for a topic that is gone, and on
/// brokers without ids.
pub type PendingIds =
    Box<dyn FnOnce(Duration) -> Result<BTreeMap<Arc<str>, Option<String>>, ClusterError>>;

/// Questions to both clusters. None of them changes anything there.
pub trait Ask: Send + Sync {
    /// The topics of these names; none for a name without a topic.
    fn describe(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError>;

    /// The same for topics that were there: one that is missing for the moment is asked for again.
    fn describe_known(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError>;

    /// The configurations in effect of those of these topics that may be asked for them, by topic.
    fn configs(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Vec<TopicConfig>>, ClusterError>;

    /// Offsets of partitions that were there a moment ago.
    fn offsets(
        &self,
        side: Side,
        partitions: &[TopicPartition],
        at: At,
    ) -> Result<Offsets, ClusterError>;

    /// The first committed record at or after each of these offsets.
    fn first_at(
        &self,
        side: Side,
        at: &[(TopicPartition, i64)],
        each: &mut dyn FnMut(usize, First<'_>),
    ) -> Result<(), ClusterError>;

    /// Asks the source for topic ids: the question is on its way when this returns.
    fn source_ids(&self, topics: &[Arc<str>]) -> PendingIds;

    /// The committed offsets of `group` on the target, partitions without one left out; `None` while a
    /// transaction that is to change one of them is open.
    fn group_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<Option<BTreeMap<TopicPartition, i64>>, ClusterError>;

    /// The same as they are committed by now, whatever an open transaction is to make of them.
    fn group_offsets_committed(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, i64>, ClusterError>;

    /// The plan's ledger, on the target.
    fn ledger(&self) -> &LedgerReader;
}

impl Ask for Clusters {
    fn describe(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        self.admin(side).describe(topics)
    }

    fn describe_known(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Option<TopicInfo>>, ClusterError> {
        self.admin(side).describe_known(topics)
    }

    fn configs(
        &self,
        side: Side,
        topics: &[&str],
    ) -> Result<BTreeMap<String, Vec<TopicConfig>>, ClusterError> {
        let found = self.admin(side).configs_each(topics)?.into_iter();
        let told = found.filter(|(_, found)| !found.as_ref().is_err_and(ClusterError::is_denied));
        told.map(|(topic, found)| Ok((topic, found?))).collect()
    }

    fn offsets(
        &self,
        side: Side,
        partitions: &[TopicPartition],
        at: At,
    ) -> Result<Offsets, ClusterError> {
        let answers = self.admin(side).offsets(partitions, at)?.into_iter();
        Ok(answers.map(|(at, answer)| (at, answer.map_err(ClusterError::of_known_topic))).collect())
    }

    fn first_at(
        &self,
        side: Side,
        at: &[(TopicPartition, i64)],
        each: &mut dyn FnMut(usize, First<'_>),
    ) -> Result<(), ClusterError> {
        self.log(side).lock().unwrap_or_else(PoisonError::into_inner).first_at(at, each)
    }

    fn source_ids(&self, topics: &[Arc<str>]) -> PendingIds {
        let pending = self.source_admin.start_topic_ids(topics);
        Box::new(move |patience| pending.wait(patience))
    }

    fn group_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<Option<BTreeMap<TopicPartition, i64>>, ClusterError> {
        self.target_admin.group_offsets_now(group, partitions)
    }

    fn group_offsets_committed(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, i64>, ClusterError> {
        self.target_admin.group_offsets_committed(group, partitions)
    }

    fn ledger(&self) -> &LedgerReader {
        &self.ledger
    }
}
