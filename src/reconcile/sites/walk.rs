//! Both sides' manifests, read back key by key.

use std::iter::Peekable;

use crate::error::Result;
use crate::reconcile::manifest::PartitionPair;
use crate::report::audit::ManifestRow;

/// Shows every key of a topic once, with all its partitions in their order. Holds one key at a time.
///
/// # Errors
/// Those of reading, and of the callback.
pub(super) fn walk(
    source: impl Iterator<Item = Result<ManifestRow>>,
    target: impl Iterator<Item = Result<ManifestRow>>,
    mut group: impl FnMut(&str, Option<&[u8]>, &[PartitionPair]) -> Result<()>,
) -> Result<()> {
    let (mut source, mut target) = (source.peekable(), target.peekable());
    let mut pairs: Vec<PartitionPair> = Vec::new();
    let mut current: Option<ManifestRow> = None;
    while let Some(side) = next_side(&mut source, &mut target)? {
        let from_source = match side {
            Next::Source | Next::Both => source.next().transpose()?,
            Next::Target => None,
        };
        let from_target = match side {
            Next::Target | Next::Both => target.next().transpose()?,
            Next::Source => None,
        };
        let pair = |partition| PartitionPair {
            partition,
            source: from_source.as_ref().map(|row| row.manifest),
            target: from_target.as_ref().map(|row| row.manifest),
        };
        let Some(partition) =
            from_source.as_ref().or(from_target.as_ref()).map(|row| row.partition)
        else {
            break;
        };
        let pair = pair(partition);
        let Some(row) = from_source.or(from_target) else { break };
        match &current {
            Some(of) if of.topic == row.topic && of.key == row.key => {}
            of => {
                if let Some(of) = of {
                    group(&of.topic, of.key.as_deref(), &pairs)?;
                }
                pairs.clear();
                current = Some(row);
            }
        }
        pairs.push(pair);
    }
    match current {
        Some(of) => group(&of.topic, of.key.as_deref(), &pairs),
        None => Ok(()),
    }
}

enum Next {
    Source,
    Target,
    Both,
}

/// On which side the next row stands; an error of either comes first.
fn next_side<S, T>(source: &mut Peekable<S>, target: &mut Peekable<T>) -> Result<Option<Next>>
where
    S: Iterator<Item = Result<ManifestRow>>,
    T: Iterator<Item = Result<ManifestRow>>,
{
    Ok(match (source.peek(), target.peek()) {
        (Some(Err(error)), _) | (_, Some(Err(error))) => return Err(error.clone()),
        (None, None) => None,
        (Some(_), None) => Some(Next::Source),
        (None, Some(_)) => Some(Next::Target),
        (Some(Ok(a)), Some(Ok(b))) => Some(match a.order().cmp(&b.order()) {
            std::cmp::Ordering::Less => Next::Source,
            std::cmp::Ordering::Greater => Next::Target,
            std::cmp::Ordering::Equal => Next::Both,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::reconcile::manifest::Manifest;

    fn row(topic: &str, key: Option<&[u8]>, partition: i32) -> Result<ManifestRow> {
        let manifest = Manifest::default();
        Ok(ManifestRow {
            topic: topic.into(),
            key: key.map(<[u8]>::to_vec),
            partition,
            form: None,
            manifest,
        })
    }

    fn groups(
        source: Vec<Result<ManifestRow>>,
        target: Vec<Result<ManifestRow>>,
    ) -> Result<String> {
        let mut shown = Vec::new();
        walk(source.into_iter(), target.into_iter(), |topic, key, pairs| {
            let sides = |pair: &PartitionPair| {
                let there = |one: &Option<Manifest>, word: &'static str| one.map_or("", |_| word);
                format!(
                    "{}{}{}",
                    pair.partition,
                    there(&pair.source, "s"),
                    there(&pair.target, "t")
                )
            };
            let key = key.map_or("-".into(), |key| String::from_utf8_lossy(key).into_owned());
            let pairs: Vec<String> = pairs.iter().map(sides).collect();
            shown.push(format!("{topic}/{key}: {}", pairs.join(" ")));
            Ok(())
        })?;
        Ok(shown.join("; "))
    }

    #[test]
    fn every_key_is_shown_once_with_its_partitions_on_both_sides() {
        let source = vec![
            row("a", None, 0),
            row("a", Some(b"k"), 0),
            row("a", Some(b"k"), 2),
            row("b", Some(b"k"), 2),
        ];
        let target =
            vec![row("a", Some(b"j"), 1), row("a", Some(b"k"), 1), row("a", Some(b"k"), 2)];
        assert_eq!(groups(source, target).unwrap(), "a/-: 0s; a/j: 1t; a/k: 0s 1t 2st; b/k: 2s");
        assert_eq!(groups(Vec::new(), Vec::new()).unwrap(), "");
    }

    #[test]
    fn a_damaged_row_on_either_side_ends_it_with_its_error() {
        let bad = || Err(Error::usage("line 3 is damaged"));
        let ok = || row("a", Some(b"k"), 0);
        assert!(groups(vec![ok(), bad()], vec![ok()]).is_err());
        assert!(groups(vec![ok()], vec![ok(), bad()]).is_err());
    }
}
