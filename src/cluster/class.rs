//! What an error of a cluster means for the lane: a pure rule (design, section 4).

use std::fmt;

use super::sys::code::Code;
use super::sys::fault::Fault;
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

    /// Whether the cluster knows us and does not let us. Of errors that are final, only those say so.
    pub fn is_denied(&self) -> bool {
        self.class == Class::Final && self.what.contains("uthorization failed")
    }

    /// The same about a topic or partition that was there a moment ago: that a broker does not know it
    /// passes, since one that has just started knows none. Whoever asks finds out otherwise if it is gone.
    pub fn of_known_topic(self) -> Self {
        let unknown = self.class == Class::Final && self.what.contains("nknown topic or partition");
        Self { class: if unknown { Class::Retriable } else { self.class }, ..self }
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
            Class::Final => Error::cluster(error.side, error.what).permanent().hint(
                "put right what it names (a right, a password, a topic), then start again: nothing was \
                 lost",
            ),
            Class::Record => Error::cluster(error.side, error.what).permanent(),
            _ => Error::cluster(error.side, error.what),
        }
    }
}

/// Which call an error came from: the same code means different things in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// An admin or metadata request.
    Ask,
    /// Fetching records.
    Fetch,
    /// Being a member of the group.
    Member,
    /// `init_transactions`.
    Init,
    /// Queueing or delivering a record, and opening a transaction.
    Produce,
    /// `send_offsets_to_transaction`.
    SendOffsets,
    /// `commit_transaction`.
    Commit,
    /// `abort_transaction`.
    Abort,
}

/// What an error means (design, section 4).
pub(super) fn classify(call: Call, fault: &Fault) -> Class {
    // The member id is an old one: of another process with our name, or of our own membership, which has joined
    // anew while the offsets waited for their coordinator (measured with one that was restarted). The
    // membership knows which: it is fenced within a heartbeat, or it is not.
    if call == Call::SendOffsets && fault.code == Code::FENCED_INSTANCE_ID {
        return Class::NotMember;
    }
    if let Some(class) = whatever_the_call(fault.code) {
        return class;
    }
    match call {
        Call::Ask | Call::Fetch | Call::Member | Call::Init => {
            if fault.retriable || transient(fault.code) { Class::Retriable } else { Class::Final }
        }
        Call::Produce if of_one_record(fault.code) => Class::Record,
        Call::Produce => Class::Abort,
        Call::SendOffsets => match fault.code {
            Code::UNKNOWN_MEMBER | Code::ILLEGAL_GENERATION => Class::NotMember,
            // A late answer could still count; only a new epoch makes it harmless.
            _ => Class::Abort,
        },
        // A transaction that was already broken was not committed.
        Call::Commit if fault.abort && !fault.fatal => Class::Abort,
        Call::Commit | Call::Abort => Class::Unclear,
    }
}

/// Codes that mean the same wherever they turn up.
pub(super) fn whatever_the_call(code: Code) -> Option<Class> {
    match code {
        Code::FENCED_INSTANCE_ID => Some(Class::TakenOver),
        Code::FENCED | Code::PRODUCER_FENCED | Code::INVALID_PRODUCER_EPOCH => Some(Class::Fenced),
        Code::TOPIC_DENIED
        | Code::GROUP_DENIED
        | Code::CLUSTER_DENIED
        | Code::TRANSACTIONAL_ID_DENIED
        | Code::AUTHENTICATION
        | Code::SASL_AUTHENTICATION_FAILED
        | Code::UNSUPPORTED_SASL_MECHANISM
        | Code::ILLEGAL_SASL_STATE
        | Code::SECURITY_DISABLED
        | Code::INVALID_TRANSACTION_TIMEOUT => Some(Class::Final),
        _ => None,
    }
}

/// Whether the cluster does not let us: no rights, wrong credentials. Only a person helps.
pub(super) fn denied(code: Code) -> bool {
    whatever_the_call(code) == Some(Class::Final)
}

/// Codes that a single record brings about.
fn of_one_record(code: Code) -> bool {
    matches!(
        code,
        Code::MESSAGE_TOO_LARGE
            | Code::RECORD_LIST_TOO_LARGE
            | Code::INVALID_MESSAGE_SIZE
            | Code::INVALID_TIMESTAMP
            | Code::INVALID_RECORD
            // Records are only compressed where that is the last thing to try.
            | Code::UNSUPPORTED_COMPRESSION_TYPE
    )
}

/// Codes that pass: somebody is starting, electing, moving, or cut off.
fn transient(code: Code) -> bool {
    matches!(
        code,
        Code::TRANSPORT
            | Code::RESOLVE
            | Code::SSL
            | Code::ALL_BROKERS_DOWN
            | Code::TIMED_OUT
            | Code::TIMED_OUT_QUEUE
            | Code::MSG_TIMED_OUT
            | Code::WAIT_COORD
            | Code::WAIT_CACHE
            // The client knows no leader (ListOffsets), or lets go of a broker that the cluster does
            // not list while it restarts: both seen when one did.
            | Code::NOENT
            | Code::DESTROY_BROKER
            | Code::IN_PROGRESS
            | Code::PREV_IN_PROGRESS
            | Code::RETRY
            | Code::LEADER_NOT_AVAILABLE
            | Code::NOT_LEADER
            | Code::REQUEST_TIMED_OUT
            | Code::BROKER_NOT_AVAILABLE
            | Code::REPLICA_NOT_AVAILABLE
            | Code::NETWORK_EXCEPTION
            | Code::COORDINATOR_LOADING
            | Code::COORDINATOR_NOT_AVAILABLE
            | Code::NOT_COORDINATOR
            | Code::NOT_CONTROLLER
            | Code::NOT_ENOUGH_REPLICAS
            | Code::REBALANCE_IN_PROGRESS
            | Code::UNKNOWN_MEMBER
            | Code::ILLEGAL_GENERATION
            | Code::CONCURRENT_TRANSACTIONS
            | Code::KAFKA_STORAGE_ERROR
            | Code::FENCED_LEADER_EPOCH
            | Code::UNKNOWN_LEADER_EPOCH
            | Code::OFFSET_NOT_AVAILABLE
            | Code::UNSTABLE_OFFSET_COMMIT
            | Code::THROTTLING_QUOTA
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(code: Code) -> Fault {
        Fault::from_code(code)
    }

    #[test]
    fn errors_mean_what_the_design_says() {
        let aborting = |code| Fault { abort: true, ..fault(code) };
        let fatal = |code| Fault { fatal: true, ..fault(code) };
        let table = [
            (Call::Ask, fault(Code::TIMED_OUT), Class::Retriable),
            (Call::Ask, fault(Code::NOT_COORDINATOR), Class::Retriable),
            (Call::Ask, fault(Code::NOENT), Class::Retriable),
            (Call::Ask, fault(Code::DESTROY_BROKER), Class::Retriable),
            (Call::Ask, fault(Code::TOPIC_DENIED), Class::Final),
            (Call::Ask, fault(Code::UNKNOWN_TOPIC_OR_PARTITION), Class::Final),
            (Call::Fetch, fault(Code::LEADER_NOT_AVAILABLE), Class::Retriable),
            (Call::Fetch, fault(Code::SASL_AUTHENTICATION_FAILED), Class::Final),
            (Call::Member, fatal(Code::FENCED_INSTANCE_ID), Class::TakenOver),
            (Call::Member, fault(Code::GROUP_DENIED), Class::Final),
            (Call::Init, fault(Code::COORDINATOR_LOADING), Class::Retriable),
            (Call::Init, fault(Code::CONCURRENT_TRANSACTIONS), Class::Retriable),
            (Call::Init, fatal(Code::TRANSACTIONAL_ID_DENIED), Class::Final),
            (Call::Init, fatal(Code::INVALID_TRANSACTION_TIMEOUT), Class::Final),
            (Call::Init, fatal(Code::FENCED), Class::Fenced),
            (Call::Produce, fault(Code::MESSAGE_TOO_LARGE), Class::Record),
            (Call::Produce, fault(Code::INVALID_TIMESTAMP), Class::Record),
            (Call::Produce, fault(Code::INVALID_RECORD), Class::Record),
            (Call::Produce, fault(Code::MSG_TIMED_OUT), Class::Abort),
            (Call::Produce, fault(Code::PURGE_QUEUE), Class::Abort),
            (Call::Produce, fault(Code::INVALID_PRODUCER_ID_MAPPING), Class::Abort),
            (Call::Produce, fault(Code::INVALID_PRODUCER_EPOCH), Class::Fenced),
            (Call::Produce, fault(Code::TOPIC_DENIED), Class::Final),
            (Call::SendOffsets, aborting(Code::UNKNOWN_MEMBER), Class::NotMember),
            (Call::SendOffsets, aborting(Code::ILLEGAL_GENERATION), Class::NotMember),
            (Call::SendOffsets, fatal(Code::FENCED_INSTANCE_ID), Class::NotMember),
            (Call::SendOffsets, fault(Code::TIMED_OUT), Class::Abort),
            (Call::SendOffsets, aborting(Code::UNKNOWN_TOPIC_OR_PARTITION), Class::Abort),
            (Call::SendOffsets, fatal(Code::PRODUCER_FENCED), Class::Fenced),
            (Call::Commit, fault(Code::TIMED_OUT), Class::Unclear),
            (Call::Commit, fault(Code::TRANSPORT), Class::Unclear),
            (Call::Commit, fatal(Code::INVALID_TXN_STATE), Class::Unclear),
            (Call::Commit, aborting(Code::MSG_TIMED_OUT), Class::Abort),
            (Call::Commit, fatal(Code::FENCED), Class::Fenced),
            (Call::Abort, fault(Code::TIMED_OUT), Class::Unclear),
            (Call::Abort, fatal(Code::FENCED), Class::Fenced),
            // A code that librdkafka does not know.
            (Call::Commit, fault(Code(32_000)), Class::Unclear),
            (Call::Produce, fault(Code(32_000)), Class::Abort),
        ];
        for (call, fault, class) in table {
            assert_eq!(classify(call, &fault), class, "{call:?} {fault:?}");
        }
    }

    #[test]
    fn only_a_name_used_twice_and_lasting_errors_are_not_worth_a_retry() {
        let retryable = |class| Error::from(ClusterError::new(Side::Target, class, "x")).retryable;
        assert!(retryable(Class::Retriable) && retryable(Class::Unclear));
        assert!(!retryable(Class::Final) && !retryable(Class::TakenOver));
    }
}
