//! Both sides' manifests, side by side.

use super::current::CurrentKey;
use super::error::SpillError;
use super::merge::Merged;
use crate::error::Side;
use crate::reconcile::key::KeyAt;
use crate::reconcile::manifest::{Manifest, PartitionPair};

/// Shows every key of a topic once to `group`, with all its partitions in their order; and before that
/// each manifest by itself to `each`, in the order of keys on each side.
///
/// # Errors
///
/// Those of the callbacks, and of reading. Only `Ok` says that all manifests were shown.
pub fn join<E: From<SpillError>>(
    mut source: Merged<Manifest>,
    mut target: Merged<Manifest>,
    mut each: impl FnMut(Side, KeyAt<'_>, &Manifest) -> Result<(), E>,
    mut group: impl FnMut(u32, Option<&[u8]>, &[PartitionPair]) -> Result<(), E>,
) -> Result<(), E> {
    source.advance()?;
    target.advance()?;
    let mut current = CurrentKey::default();
    let mut pairs: Vec<PartitionPair> = Vec::new();
    loop {
        let (at_source, at_target) = (source.entry(), target.entry());
        let keys = [at_source, at_target].into_iter().flatten().map(|(at, _)| at);
        let Some(first) = keys.min() else { break };
        let at_source = at_source.filter(|(at, _)| *at == first).map(|(_, manifest)| *manifest);
        let at_target = at_target.filter(|(at, _)| *at == first).map(|(_, manifest)| *manifest);
        let now = current.at();
        if !pairs.is_empty() && (now.topic, now.key) != (first.topic, first.key) {
            group(now.topic, now.key, &pairs)?;
            pairs.clear();
        }
        if pairs.is_empty() {
            current.set(first);
        }
        pairs.push(PartitionPair {
            partition: first.partition,
            source: at_source,
            target: at_target,
        });
        if let Some(manifest) = &at_source {
            each(Side::Source, first, manifest)?;
        }
        if let Some(manifest) = &at_target {
            each(Side::Target, first, manifest)?;
        }
        if at_source.is_some() {
            source.advance()?;
        }
        if at_target.is_some() {
            target.advance()?;
        }
    }
    if !pairs.is_empty() {
        let last = current.at();
        group(last.topic, last.key, &pairs)?;
    }
    Ok(())
}
