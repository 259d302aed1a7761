//! Which lane moves which partition.

use xxhash_rust::xxh3::xxh3_64;

/// The most lanes that a plan may have: each is a ledger partition and a transactional id.
pub const MAX_LANES: u32 = 10_000;

/// The lane of a source partition: `(xxh3-64(topic) + partition) mod lanes`.
///
/// A topic's partitions spread evenly, and a partition never changes its lane while the lane count
/// stands, which is as long as its ledger. Changing this rule orphans every ledger there is.
///
/// # Panics
/// If `lanes` is 0.
pub fn lane_of(topic: &str, partition: i32, lanes: u32) -> u32 {
    let lanes = u64::from(lanes);
    // Both reduced before they are added: a sum that wrapped would break the even spread.
    let lane =
        (xxh3_64(topic.as_bytes()) % lanes + u64::from(partition.unsigned_abs()) % lanes) % lanes;
    u32::try_from(lane).expect("below the lane count, which is a u32")
}

/// The lane count of a new ledger when the plan leaves it open: `min(partitions, max(8, 2 x cores))`,
/// at least 1.
pub fn auto_lanes(partitions: usize, cores: usize) -> u32 {
    let lanes = partitions.min(cores.saturating_mul(2).max(8)).max(1);
    u32::try_from(lanes).unwrap_or(MAX_LANES).min(MAX_LANES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lanes_are_for_ever() {
        for (topic, partition, lanes, lane) in GOLDEN {
            assert_eq!(lane_of(topic, partition, lanes), lane, "{topic}-{partition} of {lanes}");
        }
    }

    /// Computed with another implementation of xxh3; ledgers of every version depend on them.
    const GOLDEN: [(&str, i32, u32, u32); 6] = [
        ("orders", 0, 8, 3),
        ("orders", 1, 8, 4),
        ("orders", 11, 8, 6),
        ("customers", 0, 3, 1),
        ("events.v1", 2_147_483_647, 10_000, 1_848),
        ("", 0, 7, 4),
    ];

    #[test]
    fn auto_takes_the_cores_but_never_more_than_partitions() {
        assert_eq!(auto_lanes(0, 4), 1);
        assert_eq!(auto_lanes(1, 64), 1);
        assert_eq!(auto_lanes(6, 2), 6);
        assert_eq!(auto_lanes(1_000, 2), 8);
        assert_eq!(auto_lanes(1_000, 16), 32);
        assert_eq!(auto_lanes(usize::MAX, usize::MAX), MAX_LANES);
    }

    proptest! {
        #[test]
        fn a_topics_partitions_differ_by_at_most_one_per_lane(
            topic in "[a-z.]{1,20}", partitions in 1..400i32, lanes in 1..60u32,
        ) {
            let mut load = vec![0u32; lanes as usize];
            for partition in 0..partitions {
                load[lane_of(&topic, partition, lanes) as usize] += 1;
            }
            let spread = load.iter().max().zip(load.iter().min()).map(|(most, least)| most - least);
            prop_assert!(spread <= Some(1), "{load:?}");
        }

        #[test]
        fn the_next_partition_goes_to_the_next_lane(
            topic in "[a-z.]{1,20}", partition in 0..i32::MAX, lanes in 1..=MAX_LANES,
        ) {
            let lane = lane_of(&topic, partition, lanes);
            prop_assert!(lane < lanes);
            prop_assert_eq!(lane_of(&topic, partition + 1, lanes), (lane + 1) % lanes);
        }
    }
}
