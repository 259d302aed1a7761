//! Numbered records with faults: what a proof has to find.

use serde_json::{Value, json};

use super::Numbered;

/// What is written in the place of a numbered record; `java/Tampered.java` does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Drop,
    /// The record, twice.
    Double,
    /// With another value.
    Value,
    /// With one header more.
    Headers,
    /// One millisecond later.
    Timestamp,
    /// In the next partition.
    Move,
    /// The record of this number; for a real swap the other one needs its fault, too.
    Swap(u64),
    /// The record, and one more with its key that has nothing else in common with it.
    Insert,
    /// The record, and one with the key `stranger`.
    Stranger,
}

impl Fault {
    pub(super) fn to_json(self, id: u64) -> Value {
        let how = match self {
            Fault::Drop => "drop",
            Fault::Double => "double",
            Fault::Value => "value",
            Fault::Headers => "headers",
            Fault::Timestamp => "timestamp",
            Fault::Move => "move",
            Fault::Swap(with) => return json!({"id": id, "how": "swap", "with": with}),
            Fault::Insert => "insert",
            Fault::Stranger => "stranger",
        };
        json!({"id": id, "how": how})
    }
}

/// The rule of `java/Numbered.java` once more, as far as it says where a record lies.
impl Numbered {
    /// The key is `key-` and this; `None` where records have no keys.
    pub fn key_number(&self, id: u64) -> Option<u64> {
        let mix = |mut z: u64| {
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let first = mix(id.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        (self.keys > 0).then(|| mix(first.wrapping_add(u64::from(self.seed))) % self.keys)
    }

    /// The partition of a record by the rule.
    pub fn partition_of(&self, id: u64) -> usize {
        let number = self.key_number(id).unwrap_or(id);
        usize::try_from(number % self.partitions as u64).unwrap_or_default()
    }

    /// Whether a record has no value by the rule.
    pub fn is_tombstone(&self, id: u64) -> bool {
        self.tombstone_every > 0 && id % self.tombstone_every == self.tombstone_every - 1
    }
}
