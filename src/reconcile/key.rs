//! Which key a manifest entry is about, and the order in which everything is sorted.

/// A key of a source topic in one of its partitions.
///
/// The derived order is that of every spill file, manifest and report: topic, then key (none first, then
/// by bytes), then partition. So all partitions of a key lie side by side, and a record that moved to
/// another partition is found without looking back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyAt<'a> {
    /// Index into the pass's source topics, which are sorted by name.
    pub topic: u32,
    /// The key's bytes, or what stands for them (`reconcile.keys = "hashed"`); records without a key
    /// form one sequence per partition.
    pub key: Option<&'a [u8]>,
    /// Source partition.
    pub partition: i32,
}

impl KeyAt<'_> {
    /// The same, owning its key.
    pub fn to_owned(&self) -> Key {
        Key { topic: self.topic, key: self.key.map(<[u8]>::to_vec), partition: self.partition }
    }
}

/// [`KeyAt`] that owns its key; sorted the same way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Index into the pass's source topics.
    pub topic: u32,
    /// The key's bytes.
    pub key: Option<Vec<u8>>,
    /// Source partition.
    pub partition: i32,
}

impl Key {
    /// The same, borrowed.
    pub fn at(&self) -> KeyAt<'_> {
        KeyAt { topic: self.topic, key: self.key.as_deref(), partition: self.partition }
    }
}
