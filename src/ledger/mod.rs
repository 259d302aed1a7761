//! What was moved: entries, replay, runs and offset translation. Pure.
//!
//! The ledger is a topic on the target: one partition per lane, and a last one for control entries. Each
//! entry is a JSON object that any Kafka tool can print, for example
//!
//! ```json
//! {"v":1,"kind":"gap","topic":"orders","partition":0,"from":17,"to":40,"reason":"expired","at":1700000000000}
//! ```
//!
//! - [`entry`](Entry): all kinds; [`encode`] and [`decode`] are the only way in and out.
//! - [`lane`](Carry) and [`control`](Fence) entries: what each kind holds.
//! - `parts`: how a large entry is cut, and put together again.
//! - [`Runs`]: the exact map from source to target offsets, and [`OffsetMap`] over many carries.
//! - [`LaneState`] and [`ControlState`]: the folds over a partition's entries.

mod arc_str;
mod assemble;
mod control;
mod control_state;
mod entry;
#[cfg(test)]
mod golden;
mod lane;
mod parts;
mod position;
mod reader;
mod replay;
mod runs;
mod runs_json;
mod translate;

pub use control::{
    Change, Done, Fence, Override, Paused, PlanChange, ProvedSide, Refused, Verified,
    VerifiedPartition,
};
pub use control_state::{ControlState, FenceStatus};
pub use entry::{DecodeError, Entry, VERSION, decode, encode};
pub use lane::{
    Anchor, Bind, BindPartition, Carry, CarryPartition, Found, Gap, Header, Phase, PhaseChange,
    Role, Snapshot, SnapshotPartition,
};
pub use parts::MAX_PART_BYTES;
pub use position::{GapRange, PartitionState};
pub use reader::{Ends, LedgerReader, Logs, ReadError};
pub use replay::{LaneState, ReplayError};
pub use runs::{NotRising, Run, Runs};
pub use translate::OffsetMap;
