//! Which buckets a reading is limited to.

use std::collections::BTreeSet;

use super::buckets::{BucketId, bucket_of};
use crate::reconcile::part::Part;
use crate::report::audit::buckets::BucketAt;

/// Some buckets of some parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only(Vec<BTreeSet<BucketId>>);

impl Only {
    /// Those of `chosen` that are of one of the parts, which are sorted by topic and partition.
    pub fn new(chosen: &[BucketAt], parts: &[Part]) -> Self {
        let of = |part: &Part| {
            let here = |at: &&BucketAt| {
                at.topic == *part.source.topic && at.partition == part.source.partition
            };
            chosen.iter().filter(here).map(|at| at.bucket).collect()
        };
        Self(parts.iter().map(of).collect())
    }

    /// Whether anything is to be read of a part.
    pub fn any(&self, part: usize) -> bool {
        !self.0[part].is_empty()
    }

    /// Whether a key, or what stands for it, is to be read.
    pub fn has(&self, part: usize, key: Option<&[u8]>) -> bool {
        self.0[part].contains(&bucket_of(key))
    }
}
