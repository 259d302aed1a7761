//! The two clusters: connect, admin, source reader, transactional writer, membership.
//! Only this folder names rdkafka types; `unsafe` is allowed in `sys/` alone.

mod class;

pub use class::{Class, ClusterError};
