//! What `cleanup.policy` means for the proof.

/// The topic's `cleanup.policy`, the same on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Whole sequence per key.
    Delete,
    /// Last record per key, where a tombstone equals an absent key.
    Compact,
    /// The same, and retention may have taken what is old.
    CompactDelete,
}

impl Policy {
    /// From the config's value: a list with commas; anything without `compact` is [`Policy::Delete`].
    pub fn of(cleanup_policy: &str) -> Self {
        let has = |word| cleanup_policy.split(',').any(|part| part.trim() == word);
        match (has("compact"), has("delete")) {
            (true, true) => Self::CompactDelete,
            (true, false) => Self::Compact,
            (false, _) => Self::Delete,
        }
    }

    /// Of two sides that differ (another tool's copy) the policy that claims less.
    #[must_use]
    pub fn combined(self, other: Self) -> Self {
        match self == other {
            true => self,
            false if self.compacts() || other.compacts() => Self::CompactDelete,
            false => Self::Delete,
        }
    }

    /// Whether only the last record of a key counts.
    pub fn compacts(self) -> bool {
        self != Self::Delete
    }

    /// As Kafka spells it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::CompactDelete => "compact,delete",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_a_list_in_any_order() {
        assert_eq!(Policy::of("delete"), Policy::Delete);
        assert_eq!(Policy::of("delete, compact"), Policy::CompactDelete);
        assert_eq!(Policy::of("compact"), Policy::Compact);
        assert_eq!(Policy::of(""), Policy::Delete);
    }

    #[test]
    fn of_two_policies_the_one_that_claims_less_counts() {
        use Policy::{Compact, CompactDelete, Delete};
        for (one, other, claims) in [
            (Delete, Delete, Delete),
            (Compact, Compact, Compact),
            (Delete, Compact, CompactDelete),
            (Compact, CompactDelete, CompactDelete),
        ] {
            assert_eq!((one.combined(other), other.combined(one)), (claims, claims));
        }
    }
}
