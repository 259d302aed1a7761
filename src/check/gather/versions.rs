//! Which release of Kafka the brokers have, from the requests that they know. Pure.
//!
//! No request asks for a version. Each of these versions of a request came with the release beside it
//! (Kafka's `clients/src/main/resources/common/message/*.json` tell them; 2.8, 3.9 and 4.3 were measured).

use crate::check::facts::{Known, VersionFacts};
use crate::cluster::ApiVersions;

/// Number of a request, the version that came, and the release; newest first.
const CAME_WITH: [(i16, i16, (u32, u32)); 10] = [
    (0, 13, (4, 1)), // Produce, topic ids (KIP-516)
    (3, 13, (4, 0)), // Metadata
    (1, 17, (3, 9)), // Fetch
    (66, 1, (3, 8)), // ListTransactions, by duration (KIP-994)
    (0, 10, (3, 7)), // Produce, who leads now (KIP-951)
    (1, 15, (3, 5)), // Fetch (KIP-903)
    (1, 13, (3, 1)), // Fetch, topic ids (KIP-516)
    (66, 0, (3, 0)), // ListTransactions (KIP-664)
    (60, 0, (2, 8)), // DescribeCluster (KIP-700)
    (1, 12, (2, 7)), // Fetch, diverging epochs (KIP-595)
];

/// The oldest release that all brokers have at least.
pub fn release(versions: &ApiVersions) -> Known<VersionFacts> {
    if versions.is_empty() {
        return Known::unknown("the brokers were not asked (`api.version.request` is off)");
    }
    let knows = |(request, version, _): &&(i16, i16, (u32, u32))| {
        versions.get(request).is_some_and(|(_, highest)| highest >= version)
    };
    match CAME_WITH.iter().find(knows) {
        Some((_, _, (major, minor))) => Known::Known(VersionFacts {
            major: *major,
            minor: *minor,
            from: "the requests that its brokers know".into(),
        }),
        None => Known::unknown("older than 2.7"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(versions: &[(i16, i16)]) -> Option<(u32, u32)> {
        let versions = versions.iter().map(|(request, highest)| (*request, (0, *highest)));
        release(&versions.collect()).ok().map(|found| (found.major, found.minor))
    }

    #[test]
    fn the_newest_request_that_is_known_tells_the_release() {
        assert_eq!(of(&[(0, 13), (1, 18), (3, 13), (66, 2), (60, 2)]), Some((4, 1)));
        assert_eq!(of(&[(0, 11), (1, 17), (3, 12), (66, 1), (60, 1)]), Some((3, 9)));
        assert_eq!(of(&[(0, 9), (1, 12), (3, 11), (60, 0)]), Some((2, 8)));
    }

    #[test]
    fn brokers_that_tell_nothing_have_no_release() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 3), (1, 4)]), None);
    }
}
