//! What an error of a cluster means for the lane: a pure rule (design, section 4).

use std::fmt;

use crate::error::{Error, Side};

/// What to do about an error of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The request may be sent again after a pause; nothing was lost.
    Retriable,
    /// The transaction must be aborted, the producer made anew, the lane rebuilt from the ledger.
    Abort,
    /// It is not known whether the transaction was committed: fence anew, read the ledger.
    Unclear,
    /// Another producer holds the transactional id now, or the transaction timed out.
    Fenced,
    /// The worker's membership is gone: the lane must be dropped.
    NotMember,
    /// `FencedInstanceId`: the same worker name was started twice.
    TakenOver,
    /// One record is too large, or the topic refuses its timestamp: resend one by one to find it.
    Record,
    /// Nothing helps but a person: no rights, no such topic, wrong credentials.
    Final,
}

/// An error of one of the clusters, with what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterError {
    /// Which cluster.
    pub side: Side,
    /// What to do about it.
    pub class: Class,
    /// What was being done and what the client said, for people. Never holds a secret.
    pub what: String,
}

impl ClusterError {
    /// An error of `side` that means `class`.
    pub fn new(side: Side, class: Class, what: impl Into<String>) -> Self {
        Self { side, class, what: what.into() }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cluster: {}", self.side, self.what)
    }
}

impl std::error::Error for ClusterError {}

impl From<ClusterError> for Error {
    fn from(error: ClusterError) -> Self {
        match error.class {
            Class::TakenOver => Error::taken_over(error.what)
                .hint("each running worker needs its own `--worker` name; stop one of the two"),
            Class::Final | Class::Record => Error::cluster(error.side, error.what).permanent(),
            _ => Error::cluster(error.side, error.what),
        }
    }
}
