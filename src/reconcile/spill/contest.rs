//! Which of many sorted streams is next.

use std::cmp::Ordering;

use crate::reconcile::key::KeyAt;

/// A loser tree: the winner is the stream with the smallest key, the first of equal ones. After the
/// winner has moved on, as many comparisons as the tree has levels find the next one.
///
/// The streams stay with the caller, who passes `at`: the key at which a stream stands, `None` at its
/// end.
pub struct Contest {
    /// The beginning of each stream's key, so that most comparisons are of two numbers.
    ranks: Vec<u128>,
    /// Stream that lost at each inner node; node 0 is not used.
    losers: Vec<u32>,
    winner: u32,
}

impl Contest {
    /// A contest of `streams` streams.
    pub fn new<'a>(streams: usize, at: impl Fn(usize) -> Option<KeyAt<'a>>) -> Self {
        let ranks = (0..streams).map(|stream| rank(at(stream))).collect();
        let mut contest = Self { ranks, losers: vec![0; streams], winner: 0 };
        // Leaves are the nodes from `streams` on; `winners` is by node.
        let mut winners = vec![0; streams];
        winners.extend(0..streams as u32);
        for node in (1..streams).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            let first = contest.precedes(one, other, &at);
            (winners[node], contest.losers[node]) = if first { (one, other) } else { (other, one) };
        }
        contest.winner = winners.get(1).copied().unwrap_or(0);
        contest
    }

    /// The stream that is next, if there is one; it may be at its end, and then all are.
    pub fn winner(&self) -> Option<usize> {
        (!self.ranks.is_empty()).then_some(self.winner as usize)
    }

    /// The winner stands somewhere else now.
    pub fn moved<'a>(&mut self, at: impl Fn(usize) -> Option<KeyAt<'a>>) {
        let mut first = self.winner;
        self.ranks[first as usize] = rank(at(first as usize));
        let mut node = (first as usize + self.ranks.len()) / 2;
        while node > 0 {
            if self.precedes(self.losers[node], first, &at) {
                std::mem::swap(&mut self.losers[node], &mut first);
            }
            node /= 2;
        }
        self.winner = first;
    }

    fn precedes<'a>(&self, one: u32, other: u32, at: &impl Fn(usize) -> Option<KeyAt<'a>>) -> bool {
        let (a, b) = (one as usize, other as usize);
        let order = self.ranks[a].cmp(&self.ranks[b]).then_with(|| match (at(a), at(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        });
        order.then(one.cmp(&other)).is_lt()
    }
}

/// Topic, whether there is a key, and its first 11 bytes: a smaller rank is a smaller key, equal ranks
/// say nothing. The end has the greatest rank, which a key may share.
fn rank(at: Option<KeyAt<'_>>) -> u128 {
    let Some(at) = at else { return u128::MAX };
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&at.topic.to_be_bytes());
    if let Some(key) = at.key {
        bytes[4] = 1;
        let len = key.len().min(11);
        bytes[5..5 + len].copy_from_slice(&key[..len]);
    }
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reconcile::key::Key;

    /// Keys of few bytes, on both sides of the length at which ranks end.
    fn key() -> impl Strategy<Value = Key> {
        let byte = prop_oneof![9 => Just(255u8), 1 => Just(0)];
        let key = prop::option::of(prop::collection::vec(byte, 0..14));
        let topic = prop_oneof![Just(0), Just(u32::MAX)];
        (topic, key, 0i32..3).prop_map(|(topic, key, partition)| Key { topic, key, partition })
    }

    proptest! {
        #[test]
        fn streams_come_out_as_one_stable_order(
            mut streams in prop::collection::vec(prop::collection::vec(key(), 0..6), 0..9),
        ) {
            streams.iter_mut().for_each(|stream| stream.sort());
            let mut positions = vec![0; streams.len()];
            let at = |stream: usize, positions: &[usize]| {
                streams[stream].get(positions[stream]).map(Key::at)
            };
            let mut contest = Contest::new(streams.len(), |stream| at(stream, &positions));
            let mut found = Vec::new();
            while let Some(winner) = contest.winner()
                && let Some(key) = at(winner, &positions)
            {
                found.push((key, winner));
                positions[winner] += 1;
                contest.moved(|stream| at(stream, &positions));
            }
            let mut expected: Vec<(KeyAt<'_>, usize)> = (0..)
                .zip(&streams)
                .flat_map(|(n, stream)| stream.iter().map(move |key| (key.at(), n)))
                .collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_smaller_rank_is_a_smaller_key(a in key(), b in key()) {
            if rank(Some(a.at())) < rank(Some(b.at())) {
                prop_assert!(a < b);
            }
        }
    }
}
