//! A key that is looked at for a while: a `Key` whose memory is used again.

use crate::reconcile::key::KeyAt;

/// A [`KeyAt`] of its own; holding the next one allocates nothing unless it is longer than all before.
#[derive(Debug, Default)]
pub struct CurrentKey {
    topic: u32,
    partition: i32,
    present: bool,
    key: Vec<u8>,
}

impl CurrentKey {
    /// Holds `at` instead.
    pub fn set(&mut self, at: KeyAt<'_>) {
        self.topic = at.topic;
        self.partition = at.partition;
        self.present = at.key.is_some();
        self.key.clear();
        self.key.extend_from_slice(at.key.unwrap_or_default());
    }

    /// What is held.
    pub fn at(&self) -> KeyAt<'_> {
        KeyAt {
            topic: self.topic,
            key: self.present.then_some(self.key.as_slice()),
            partition: self.partition,
        }
    }
}
