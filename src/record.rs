//! A record as a cluster shows it, whatever client read it.

/// A header: name and value, both bytes; a null value differs from an empty one.
pub type Header<'a> = (&'a [u8], Option<&'a [u8]>);

/// One record of a partition, borrowed from the client that fetched it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Offset in its own partition.
    pub offset: i64,
    /// Leader epoch under which it was written, where the broker tells it.
    pub leader_epoch: Option<i32>,
    /// Milliseconds since 1970, may be negative; `None` where the record has none (magic 0, or -1).
    pub timestamp: Option<i64>,
    /// Null and empty differ.
    pub key: Option<&'a [u8]>,
    /// Null (a tombstone in a compacted topic) and empty differ.
    pub value: Option<&'a [u8]>,
    /// In their order, with duplicates.
    pub headers: &'a [Header<'a>],
}

impl Record<'_> {
    /// Bytes of key, value and headers: what `max_rate` and `commit_bytes` count.
    pub fn bytes(&self) -> usize {
        let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
        len(self.key)
            + len(self.value)
            + self.headers.iter().map(|(name, value)| name.len() + len(*value)).sum::<usize>()
    }
}
