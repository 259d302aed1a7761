//! All kinds of ledger entries, and their way to bytes and back.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::control::{Done, Fence, Override, Paused, PlanChange, Refused, Verified};
use super::lane::{Bind, Carry, Gap, Header, PhaseChange, Snapshot};

/// The format version that is written; older ones are read, newer ones are an error.
pub const VERSION: u64 = 1;

/// One message of a ledger partition.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// First entry of every ledger partition.
    Header(Header),
    /// Source partitions get their target partition and start.
    Bind(Bind),
    /// What one transaction moved, or a part of it.
    Carry(Carry),
    /// Source offsets that were gone before they could be read.
    Gap(Gap),
    /// Everything about the lane's partitions, or a part of it.
    Snapshot(Snapshot),
    /// A wave changes its phase.
    Phase(PhaseChange),
    /// How far a one-shot run copies, or a part of it.
    Fence(Fence),
    /// A fence was reached by every lane.
    Done(Done),
    /// What a reconciliation proved.
    Verified(Verified),
    /// Free fields of the plan changed.
    Plan(PlanChange),
    /// A refusal was overridden.
    Override(Override),
    /// A run was refused.
    Refused(Refused),
    /// Topics were paused or go on.
    Paused(Paused),
}

/// An entry that cannot be read. The caller knows topic, partition and offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer onceover wrote it.
    #[error("format version {0}, but this onceover reads up to version {VERSION}")]
    NewerVersion(u64),
    /// The version is known, the kind is not.
    #[error("unknown entry kind `{0}`")]
    UnknownKind(String),
    /// Not an entry, or one with missing, unknown or impossible fields.
    #[error("not a ledger entry: {0}")]
    Malformed(String),
}

impl Entry {
    /// Its kind, as in the field `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Entry::Header(_) => "header",
            Entry::Bind(_) => "bind",
            Entry::Carry(_) => "carry",
            Entry::Gap(_) => "gap",
            Entry::Snapshot(_) => "snapshot",
            Entry::Phase(_) => "phase",
            Entry::Fence(_) => "fence",
            Entry::Done(_) => "done",
            Entry::Verified(_) => "verified",
            Entry::Plan(_) => "plan",
            Entry::Override(_) => "override",
            Entry::Refused(_) => "refused",
            Entry::Paused(_) => "paused",
        }
    }

    /// Ledger offset of the first part of the latest snapshot, as far as this entry at `offset` of a
    /// lane partition tells: where a reader that starts at the end goes back to. Only carries and
    /// snapshots tell.
    pub fn snapshot_before(&self, offset: i64) -> Option<i64> {
        match self {
            Entry::Carry(carry) => carry.snapshot,
            // One transaction, one writer: the parts lie side by side.
            Entry::Snapshot(snapshot) => Some(offset - i64::from(snapshot.part) + 1),
            _ => None,
        }
    }
}

/// The bytes of an entry: one line of JSON, `v` and `kind` first.
pub fn encode(entry: &Entry) -> Vec<u8> {
    fn wire<T: Serialize>(kind: &'static str, body: &T) -> Vec<u8> {
        #[derive(Serialize)]
        struct Wire<'a, T> {
            v: u64,
            kind: &'static str,
            #[serde(flatten)]
            body: &'a T,
        }
        serde_json::to_vec(&Wire { v: VERSION, kind, body })
            .expect("entries are structs of text, numbers and lists")
    }
    let kind = entry.kind();
    match entry {
        Entry::Header(body) => wire(kind, body),
        Entry::Bind(body) => wire(kind, body),
        Entry::Carry(body) => wire(kind, body),
        Entry::Gap(body) => wire(kind, body),
        Entry::Snapshot(body) => wire(kind, body),
        Entry::Phase(body) => wire(kind, body),
        Entry::Fence(body) => wire(kind, body),
        Entry::Done(body) => wire(kind, body),
        Entry::Verified(body) => wire(kind, body),
        Entry::Plan(body) => wire(kind, body),
        Entry::Override(body) => wire(kind, body),
        Entry::Refused(body) => wire(kind, body),
        Entry::Paused(body) => wire(kind, body),
    }
}

/// Reads an entry. Unknown fields are an error too: what this version does not know may matter.
pub fn decode(bytes: &[u8]) -> Result<Entry, DecodeError> {
    #[derive(Deserialize)]
    struct Tag {
        v: u64,
        kind: String,
    }
    fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
        let mut fields: Map<String, Value> = serde_json::from_slice(bytes).map_err(malformed)?;
        fields.remove("v");
        fields.remove("kind");
        serde_json::from_value(Value::Object(fields)).map_err(malformed)
    }
    // Version and kind first: a newer format may have any other field.
    let Tag { v, kind } = serde_json::from_slice(bytes).map_err(malformed)?;
    match v {
        0 => return Err(DecodeError::Malformed("format version 0".to_owned())),
        1..=VERSION => {}
        _ => return Err(DecodeError::NewerVersion(v)),
    }
    Ok(match kind.as_str() {
        "header" => Entry::Header(body(bytes)?),
        "bind" => Entry::Bind(body(bytes)?),
        "carry" => Entry::Carry(body(bytes)?),
        "gap" => Entry::Gap(body(bytes)?),
        "snapshot" => Entry::Snapshot(body(bytes)?),
        "phase" => Entry::Phase(body(bytes)?),
        "fence" => Entry::Fence(body(bytes)?),
        "done" => Entry::Done(body(bytes)?),
        "verified" => Entry::Verified(body(bytes)?),
        "plan" => Entry::Plan(body(bytes)?),
        "override" => Entry::Override(body(bytes)?),
        "refused" => Entry::Refused(body(bytes)?),
        "paused" => Entry::Paused(body(bytes)?),
        _ => return Err(DecodeError::UnknownKind(kind)),
    })
}

fn malformed(error: serde_json::Error) -> DecodeError {
    DecodeError::Malformed(error.to_string())
}
