//! The two clusters: connect, admin, source reader, transactional writer, membership.
//! Only this folder names rdkafka types; `unsafe` is allowed in `sys/` alone.
//!
//! Everything blocks, on plain threads; nothing waits longer than it says. An error is a
//! [`ClusterError`]: which side, what, and in its [`Class`] what to do about it.

mod admin;
mod class;
mod connect;
mod membership;
mod notices;
mod reader;
mod sys;
mod writer;

pub use admin::{
    AclEntry, Admin, ApiVersions, At, Broker, ClusterDetail, ConfigSource, Created, GroupDetail,
    GroupMember, NewTopic, OffsetAt, PartitionDetail, PendingTopicIds, TopicConfig, TopicDetail,
    TopicInfo,
};
pub use class::{Class, ClusterError};
pub use connect::{Connection, check_property};
pub use membership::{HEARTBEAT_MS, MemberEvent, Membership, SESSION, Token};
pub use reader::{
    First, Isolation, LogRange, LogReader, Reached, ReaderTuning, SourceBatch, SourceReader,
};
pub use writer::{ControlWriter, TransactionalWriter, WriterTuning};
