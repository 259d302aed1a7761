//! Whether the source's topics are still the ones that are bound: looked at all the time, not only
//! beside commits. An idle lane commits nothing, and a consumer does not notice that a topic was
//! deleted and created anew (measured).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::ledger::LaneState;
use crate::pipe::changes::Changes;
use crate::pipe::refuse::Refusal;
use crate::pipe::shared::Shared;
use crate::pipe::watch::Duty;
use crate::plan::TopicPartition;

/// How often the ids are asked for: one request for all topics.
const EVERY: Duration = Duration::from_secs(10);
/// In how many of these rounds a tail asks for `cleanup.policy` too: configs are long.
const ROUNDS: u32 = 3;
/// How often the end of the run is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// A partition whose source topic is another one by now.
#[derive(Debug, PartialEq, Eq)]
struct Anew {
    source: TopicPartition,
    target: TopicPartition,
    was: String,
    is: String,
}

/// The first partition that is bound to another topic id than its topic has. Where one of both is not
/// known (brokers before 2.8), or the topic is gone, this tells nothing: a lane finds out.
fn anew(lanes: &[LaneState], ids: &BTreeMap<String, String>) -> Option<Anew> {
    lanes.iter().flat_map(|lane| &lane.partitions).find_map(|(source, state)| {
        let (was, is) = (state.topic_id.as_ref()?, ids.get(&*source.topic)?);
        (was != is).then(|| Anew {
            source: source.clone(),
            target: TopicPartition::new(state.target_topic.clone(), source.partition),
            was: was.clone(),
            is: is.clone(),
        })
    })
}

/// What the poll tells, once.
pub enum News {
    /// A topic is another one by now.
    Refused(Error),
    /// Topics changed under a tail, in words: it has to look again.
    Changed(String),
}

/// Asks for the ids until the run ends; `tell` is called once.
fn poll(shared: &Shared, duty: &Duty, tell: &dyn Fn(News)) {
    let mut changes = Changes::since(shared);
    let mut round = 0u32;
    let topics: BTreeSet<&str> =
        shared.scope.pairs.iter().map(|pair| &*pair.source.topic).collect();
    let topics: Vec<&str> = topics.into_iter().collect();
    let mut asked = Instant::now();
    while !duty.end.load(Ordering::Relaxed) {
        if asked.elapsed() < EVERY {
            std::thread::sleep(LOOK);
            continue;
        }
        // A source that does not answer is the lanes' affair.
        match shared.clusters.source_admin.describe(&topics) {
            Ok(found) => {
                let ids = found.into_iter().filter_map(|(name, info)| Some((name, info?.id?)));
                let other = anew(&shared.view.seen().lanes, &ids.collect());
                if let Some(Anew { source, target, was, is }) = other {
                    let why = format!("its topic id was {was} and is {is}");
                    return tell(News::Refused(
                        Refusal::NotSameLog { why }.error(&source, &target),
                    ));
                }
            }
            Err(error) => tracing::debug!(%error, "no topic ids"),
        }
        if shared.tail {
            round += 1;
            let mut changed = changes.topics(shared);
            if round.is_multiple_of(ROUNDS) && matches!(changed, Ok(None)) {
                changed = changes.policies(shared);
            }
            match changed {
                Ok(None) => {}
                Ok(Some(what)) => return tell(News::Changed(what)),
                Err(error) => tracing::debug!(%error, "no look at what changed"),
            }
        }
        asked = Instant::now();
    }
}

/// The poll in a thread of its own, so that a source that hangs hinders nothing. It ends by itself
/// with the run, and is not waited for.
pub fn start(
    shared: &Arc<Shared>,
    duty: &Arc<Duty>,
    tell: impl Fn(News) + Send + 'static,
) -> std::io::Result<()> {
    let (shared, duty) = (shared.clone(), duty.clone());
    let thread = std::thread::Builder::new().name("identity".into());
    thread.spawn(move || poll(&shared, &duty, &tell)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Bind, BindPartition, Entry, Found, Header, Role};

    fn lane(topic_id: Option<&str>) -> LaneState {
        let mut lane = LaneState::default();
        let header = Header {
            plan: "p".into(),
            generation: 1,
            lanes: 1,
            source_cluster: "s".into(),
            target_cluster: "t".into(),
            partition_role: Role::Lane(0),
            tool: "0".into(),
            created: 1,
        };
        let bound = BindPartition {
            topic: "orders".into(),
            partition: 3,
            topic_id: topic_id.map(str::to_owned),
            target_topic: "new".into(),
            target_topic_id: None,
            start: 0,
            target_start: 0,
            found: Found::Empty,
        };
        let bind = Bind {
            worker: "w".into(),
            epoch: 1,
            naming: "same".into(),
            start: "earliest".into(),
            partitions: vec![bound],
        };
        lane.apply(0, Entry::Header(header)).unwrap();
        lane.apply(1, Entry::Bind(bind)).unwrap();
        lane
    }

    fn look(bound: Option<&str>, now: &[(&str, &str)]) -> Option<Anew> {
        let ids = now.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned()));
        anew(&[LaneState::default(), lane(bound)], &ids.collect())
    }

    #[test]
    fn a_topic_with_another_id_than_it_was_bound_with_is_named_with_its_target() {
        let found = look(Some("old"), &[("orders", "other"), ("more", "x")]).expect("found");
        assert_eq!(
            (found.source, found.target),
            (TopicPartition::new("orders", 3), TopicPartition::new("new", 3))
        );
        assert_eq!((found.was.as_str(), found.is.as_str()), ("old", "other"));
        assert_eq!(look(Some("old"), &[("orders", "old")]), None);
    }

    #[test]
    fn what_brokers_do_not_tell_is_no_difference() {
        assert_eq!(look(None, &[("orders", "other")]), None);
        assert_eq!(look(Some("old"), &[("more", "x")]), None);
    }
}
