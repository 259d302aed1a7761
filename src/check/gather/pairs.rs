//! Topic pairs: both sides of each topic, what would be made, and where copying will go on.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use super::Depth;
use super::creates::Creates;
use super::ledger::Positions;
use super::side::{Site, estimate};
use super::topics::timestamps;
use crate::check::facts::{CopyFacts, Known, PairFacts, PartitionFacts, TopicFacts};
use crate::cluster::{At, Isolation};
use crate::error::Side;
use crate::pipe::clusters::Clusters;
use crate::pipe::shared::now_ms;
use crate::plan::{Plan, Selection, Start, TopicPartition};

/// Where the copy of each partition will go on, and whether the ledger knows it.
type Starts = BTreeMap<TopicPartition, (Known<bool>, Known<i64>)>;

/// Puts both sides together.
#[expect(clippy::too_many_arguments, reason = "all that was looked at comes together here")]
pub fn assemble(
    plan: &Plan,
    clusters: &Clusters,
    selection: &Selection,
    source: &Site,
    target: &Site,
    creates: &Creates,
    positions: &Positions,
    depth: Depth,
) -> Vec<PairFacts> {
    let topics = selection.topics.iter().filter_map(|pair| source.topic(&pair.source));
    let from = starts(plan, clusters, &topics.collect::<Vec<_>>(), positions);
    let times = match depth {
        Depth::Again => BTreeMap::new(),
        _ => times(clusters, source, &from),
    };
    let pairs = selection.topics.iter().map(|pair| {
        let missing = |why: &str| TopicFacts {
            name: pair.source.clone(),
            partitions: Known::unknown(why),
            configs: Known::unknown(why),
            sample: Known::unknown(why),
        };
        let topic = match source.topics.get(&pair.source).map(|looked| looked.facts.get()) {
            Some(Ok(Some(topic))) => topic.clone(),
            Some(Err(why)) => missing(why),
            Some(Ok(None)) | None => missing("the topic is gone"),
        };
        let partitions = topic.partitions.ok().into_iter().flatten();
        let copy = partitions.map(|one| copy(&topic, one, &from, &times)).collect();
        PairFacts {
            copy,
            source: topic,
            target_name: pair.target.clone(),
            target: match target.topics.get(&pair.target) {
                Some(looked) => looked.facts.clone(),
                None => Known::unknown("it was not looked for"),
            },
            create: creates.of(&pair.target),
        }
    });
    pairs.collect()
}

fn copy(
    topic: &TopicFacts,
    one: &PartitionFacts,
    from: &Starts,
    times: &BTreeMap<TopicPartition, Known<Option<i64>>>,
) -> CopyFacts {
    let at = TopicPartition::new(topic.name.clone(), one.number);
    let (bound, from) = from.get(&at).cloned().unwrap_or_else(|| {
        let why = "it was not looked for";
        (Known::unknown(why), Known::unknown(why))
    });
    let from_ms = match (&from, &one.log_start) {
        (Known::Known(from), Known::Known(start)) if from <= start => one.oldest_ms.clone(),
        _ => times.get(&at).cloned().unwrap_or_else(|| Known::unknown("not asked for")),
    };
    let bytes = match (&from, &one.log_start, &one.log_end) {
        (Known::Known(from), Known::Known(start), Known::Known(end)) => {
            estimate(&topic.sample, *from.max(start), *end)
        }
        _ => Known::unknown("its offsets are not known"),
    };
    CopyFacts { partition: one.number, bound, from, from_ms, bytes }
}

fn starts(
    plan: &Plan,
    clusters: &Clusters,
    topics: &[&TopicFacts],
    positions: &Positions,
) -> Starts {
    let unbound = Known::Known(false);
    let mut found = Starts::new();
    let mut by_time: BTreeMap<i64, Vec<TopicPartition>> = BTreeMap::new();
    for topic in topics {
        let Some(partitions) = topic.partitions.ok() else { continue };
        let start = plan.start_for(&topic.name);
        for one in partitions {
            let at = TopicPartition::new(topic.name.clone(), one.number);
            let place = match positions.next(&at) {
                Known::Known(Some(next)) => (Known::Known(true), Known::Known(next)),
                Known::Unknown(why) => (Known::Unknown(why.clone()), Known::Unknown(why)),
                Known::Known(None) => {
                    let from = match when(start) {
                        When::First => one.log_start.clone(),
                        When::Last => one.log_end.clone(),
                        When::At(time) if one.leader.is_some() => {
                            by_time.entry(time).or_default().push(at.clone());
                            Known::unknown("the source did not tell")
                        }
                        When::At(_) => Known::unknown("no broker leads the partition"),
                    };
                    (unbound.clone(), from)
                }
            };
            found.insert(at, place);
        }
    }
    for (time, partitions) in by_time {
        match clusters.source_admin.offsets(&partitions, At::Timestamp(time)) {
            Ok(offsets) => found.extend(offsets.into_iter().map(|(at, offset)| {
                let offset = offset.map(|offset| offset.offset).map_err(|error| error.what);
                (at, (unbound.clone(), offset.into()))
            })),
            Err(error) => found.extend(
                partitions
                    .into_iter()
                    .map(|at| (at, (unbound.clone(), Known::unknown(&error.what)))),
            ),
        }
    }
    found
}

enum When {
    First,
    Last,
    /// Milliseconds since 1970.
    At(i64),
}

fn when(start: Start) -> When {
    let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match start {
        Start::Earliest => When::First,
        Start::Latest => When::Last,
        Start::Ago(ago) => When::At(now_ms().saturating_sub(millis(ago))),
        Start::At(time) => When::At(time.duration_since(UNIX_EPOCH).map_or(0, millis)),
    }
}

/// The times of the records where copying will go on, unless that is at the log start.
fn times(
    clusters: &Clusters,
    source: &Site,
    from: &Starts,
) -> BTreeMap<TopicPartition, Known<Option<i64>>> {
    const READ: i32 = 3;
    let mut wanted = Vec::new();
    for (at, (_, from)) in from {
        let Some(looked) = source.topics.get(&at.topic) else { continue };
        if looked.authorized.as_ref().is_some_and(|may| !may.contains(&READ)) {
            continue;
        }
        let partition = usize::try_from(at.partition)
            .ok()
            .and_then(|number| looked.facts.ok()?.as_ref()?.partitions.ok()?.get(number));
        let Some(one) = partition.filter(|one| one.leader.is_some()) else { continue };
        if let (Some(from), Some(start), Some(end)) =
            (from.ok(), one.log_start.ok(), one.log_end.ok())
            && start < from
            && from <= end
        {
            wanted.push((at.clone(), *from));
        }
    }
    timestamps(clusters, Side::Source, Isolation::Committed, wanted)
}
