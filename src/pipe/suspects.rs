//! Where a record must be that the target has refused. Pure.
//!
//! All of a transaction is aborted with it, and nobody says which one it was. So everything that the transaction had
//! read is sent again in small transactions, which come through but for one; and that one is sent again with one
//! record per request. Single requests for all of it would take hours on a far link.

use std::collections::BTreeMap;

use crate::plan::TopicPartition;

/// Per partition, up to where was read when the record was refused.
type Read = BTreeMap<TopicPartition, i64>;

/// Records of a small transaction. Sent one by one, five of them are under way at a time: on a link of 300 ms these
/// take 6 s, and a look at the source, up to 8,192 records, would take longer than the transaction's time-out.
const FEW: u64 = 100;

/// The transaction that was refused, and the small one within it.
#[derive(Debug)]
pub struct Suspects {
    large: Option<Read>,
    small: Option<Read>,
    few: u64,
}

impl Default for Suspects {
    fn default() -> Self {
        Self::by(FEW)
    }
}

impl Suspects {
    /// None yet; to be looked for in transactions of so many records.
    pub fn by(few: u64) -> Self {
        Self { large: None, small: None, few }
    }

    /// How many more records a transaction may take that has `open` of them; none: as many as come.
    pub fn room(&self, open: u64) -> Option<u64> {
        self.any().then(|| self.few.saturating_sub(open))
    }

    /// A record was refused, among what was read. Returns whether records are to be sent one by one now.
    pub fn closer(&mut self, read: &Read) -> bool {
        let seen = self.large.is_some();
        *(if seen { &mut self.small } else { &mut self.large }) = Some(read.clone());
        seen
    }

    /// Whether transactions are to be small.
    pub fn any(&self) -> bool {
        self.large.is_some() || self.small.is_some()
    }

    /// Everything read so far is committed. Returns whether records are to be sent one by one still.
    pub fn committed(&mut self, read: &Read) -> bool {
        let is_through = |until: &Read| {
            let mut both = until.iter().filter_map(|(at, until)| Some((read.get(at)?, until)));
            both.all(|(at, until)| at >= until)
        };
        self.large.take_if(|until| is_through(until));
        self.small.take_if(|until| is_through(until));
        self.small.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(a: i64, b: i64) -> Read {
        [(TopicPartition::new("a", 0), a), (TopicPartition::new("b", 0), b)].into()
    }

    #[test]
    fn a_refused_record_is_looked_for_in_small_transactions_and_then_one_by_one() {
        let mut suspects = Suspects::default();
        assert!(!suspects.any());
        assert!(!suspects.closer(&read(1_000, 500)));
        assert!(suspects.any());
        assert!(!suspects.committed(&read(200, 0)));
        assert!(suspects.closer(&read(400, 0)), "the small one was refused as well");
        assert!(suspects.committed(&read(300, 0)));
        assert!(!suspects.committed(&read(400, 0)), "the small one came through");
        assert!(suspects.any(), "the large one did not yet");
        suspects.committed(&read(1_000, 499));
        assert!(suspects.any());
        suspects.committed(&read(1_000, 500));
        assert!(!suspects.any());
    }

    #[test]
    fn while_it_looks_transactions_are_small_and_else_they_are_not() {
        let mut suspects = Suspects::by(10);
        assert_eq!(suspects.room(5_000), None);
        suspects.closer(&read(1_000, 500));
        let rooms = [0, 1, 9, 10, 11].map(|open| suspects.room(open));
        assert_eq!(rooms, [Some(10), Some(9), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn a_partition_that_the_lane_has_lost_is_waited_for_no_more() {
        let mut suspects = Suspects::default();
        suspects.closer(&read(10, 10));
        suspects.committed(&[(TopicPartition::new("a", 0), 10)].into());
        assert!(!suspects.any());
    }
}
