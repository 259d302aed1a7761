//! The read-only look at both clusters before anything is written: selection, checks, refusals.
//!
//! While other workers run, the ledger moves under our eyes. A refusal that was judged against a
//! state that is no longer the latest proves nothing, so it is dropped here: each lane judges again
//! after it has fenced its predecessors, when nobody else can move it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{Admin, ClusterError, Created, NewTopic, TopicInfo};
use crate::error::{Error, Kind, Result};
use crate::ledger::{ControlState, LaneState};
use crate::pipe::ask::Ask;
use crate::pipe::bound::{
    Bound, GroupSays, LEDGER_CONFIGS, check_ledger_configs, check_ledger_replicas, compare_group,
    group_ahead,
};
use crate::pipe::clusters::Clusters;
use crate::pipe::gather::{Pair, Question, gather};
use crate::pipe::pairs::{Pairs, together, topic_pairs};
use crate::pipe::refuse::judge;
use crate::pipe::scope::Scope;
use crate::plan::{LaneCount, Plan, TopicPartition, auto_lanes, lane_of};

/// What the look found.
pub struct Preflight {
    /// The partitions of this run.
    pub scope: Scope,
    /// Topics that the target lacks, the ledger among them when there is none yet.
    pub to_create: Vec<NewTopic>,
    /// What the ledger is bound to.
    pub bound: Bound,
    /// The ledger as read, for whoever goes on reading.
    pub ledger: LedgerSeen,
    /// Worth saying, and no reason to stop.
    pub warnings: Vec<String>,
}

/// The ledger as the preflight read it.
#[derive(Default)]
pub struct LedgerSeen {
    /// One state per lane.
    pub lanes: Vec<LaneState>,
    /// The control partition.
    pub control: ControlState,
    /// Per lane, the log end it was read at, and whether no transaction was open below it.
    ends: Vec<(i64, bool)>,
}

/// Looks at both clusters and refuses what must not be run. Writes nothing.
pub fn preflight(plan: &Plan, clusters: &Clusters) -> Result<Preflight> {
    look_again(plan, clusters, &mut together)
}

/// What a run would be refused for, whatever else is wrong with the topics. Writes nothing.
///
/// # Errors
/// It could not be found out.
pub fn refused(plan: &Plan, clusters: &Clusters) -> Result<Option<Error>> {
    // What fails about the topics is for the checks to say.
    match look_again(plan, clusters, &mut |_| Ok(())) {
        Ok(_) => Ok(None),
        Err(error) if matches!(error.kind, Kind::Refused(_)) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

fn look_again(
    plan: &Plan,
    clusters: &Clusters,
    failed: &mut dyn FnMut(Vec<Error>) -> Result<()>,
) -> Result<Preflight> {
    loop {
        let before = ledger_there(plan, clusters)?;
        match look(plan, clusters, before.as_ref(), failed) {
            // Somebody else made the ledger meanwhile: what was judged without it means nothing.
            Err(_) if before.is_none() && ledger_there(plan, clusters)?.is_some() => {}
            seen => return seen,
        }
    }
}

fn ledger_there(plan: &Plan, clusters: &Clusters) -> Result<Option<TopicInfo>> {
    let name = plan.ledger_topic();
    Ok(clusters.target_admin.describe(&[name])?.remove(name).flatten())
}

fn look(
    plan: &Plan,
    clusters: &Clusters,
    ledger: Option<&TopicInfo>,
    failed: &mut dyn FnMut(Vec<Error>) -> Result<()>,
) -> Result<Preflight> {
    clusters.are_two()?;
    // The ledger first: behind a wrong address the topics are other ones too, and that they are missing
    // or differ would be the lesser half of the truth.
    let mut ledger_warnings = Vec::new();
    let known = match ledger {
        Some(topic) => {
            let lanes = u32::try_from(topic.partitions.saturating_sub(1)).unwrap_or(u32::MAX);
            let bound = bound(plan, clusters, lanes);
            ledger_warnings.extend(check_ledger_topic(plan, clusters, topic)?);
            Some((read_ledger(clusters, &bound)?, bound))
        }
        None => None,
    };
    let in_ledger = known.iter().flat_map(|(seen, _)| &seen.lanes);
    let in_ledger: BTreeSet<Arc<str>> =
        in_ledger.flat_map(|lane| lane.partitions.keys().map(|at| at.topic.clone())).collect();
    let Pairs { pairs, mut to_create, mut warnings, failures } =
        topic_pairs(plan, clusters, &in_ledger)?;
    failed(failures)?;
    warnings.extend(ledger_warnings);
    let (seen, bound) = match known {
        Some(known) => known,
        None => {
            let lanes = new_lanes(plan, pairs.len());
            to_create.push(new_ledger(plan, lanes)?);
            let seen = LedgerSeen {
                lanes: (0..lanes).map(|_| LaneState::default()).collect(),
                ends: vec![(0, true); lanes as usize],
                ..LedgerSeen::default()
            };
            (seen, bound(plan, clusters, lanes))
        }
    };
    fence_in_scope(&pairs, &seen)?;
    refusals(plan, clusters, &pairs, &seen)?;
    let scope = Scope { pairs, lanes: bound.lanes };
    Ok(Preflight { scope, to_create, bound, ledger: seen, warnings })
}

fn bound(plan: &Plan, clusters: &Clusters, lanes: u32) -> Bound {
    Bound {
        plan: plan.name.clone(),
        source_cluster: clusters.source_id.clone(),
        target_cluster: clusters.target_id.clone(),
        lanes,
        lanes_wanted: match plan.run.lanes {
            LaneCount::Auto => None,
            LaneCount::Fixed(lanes) => Some(lanes),
        },
        naming: plan.naming_text(),
        start: plan.start_text(),
    }
}

/// An open fence is finished before anything else: a partition of it that is not copied any more
/// would keep the run from ever being done.
fn fence_in_scope(pairs: &[Pair], seen: &LedgerSeen) -> Result<()> {
    let Some(fence) = seen.control.open_fence() else { return Ok(()) };
    let scope: BTreeSet<&TopicPartition> = pairs.iter().map(|pair| &pair.source).collect();
    match fence.iter().find(|(at, _)| !scope.contains(at)) {
        None => Ok(()),
        Some((at, _)) => Err(Error::refused(
            "bound-field-changed",
            format!("the open fence names {at}, which the plan or the source no longer has"),
        )
        .hint("run with the topics that the run was begun with until it is done, then change the plan")),
    }
}

/// How many lanes a ledger gets that is made for so many partitions.
pub fn new_lanes(plan: &Plan, partitions: usize) -> u32 {
    match plan.run.lanes {
        LaneCount::Fixed(lanes) => lanes,
        LaneCount::Auto => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            auto_lanes(partitions, cores)
        }
    }
}

fn new_ledger(plan: &Plan, lanes: u32) -> Result<NewTopic> {
    if !plan.ledger.create {
        let name = plan.ledger_topic();
        return Err(Error::check("ledger-topic", format!("target has no ledger topic `{name}`"))
            .hint(format!(
                "create it with {} partitions and {}, or set `ledger.create = true`",
                lanes + 1,
                LEDGER_CONFIGS.map(|(name, value)| format!("{name}={value}")).join(", ")
            )));
    }
    Ok(ledger_topic(plan, lanes))
}

/// The ledger's topic as it has to be.
pub fn ledger_topic(plan: &Plan, lanes: u32) -> NewTopic {
    NewTopic {
        name: plan.ledger_topic().to_owned(),
        partitions: i32::try_from(lanes + 1).unwrap_or(i32::MAX),
        replication_factor: plan.ledger.replication_factor.map(i32::from),
        configs: LEDGER_CONFIGS.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

/// The ledger topic's setup, in effect; returns what is worth a warning.
fn check_ledger_topic(
    plan: &Plan,
    clusters: &Clusters,
    topic: &TopicInfo,
) -> Result<Option<String>> {
    let name = plan.ledger_topic();
    if topic.partitions < 2 {
        return Err(Error::check(
            "ledger-topic",
            format!("ledger topic `{name}` has {} partition(s)", topic.partitions),
        )
        .hint("a ledger has one partition per lane, and one more for control entries"));
    }
    let configs = in_effect(&clusters.target_admin, name)?;
    check_ledger_configs(name, &configs)?;
    let min_insync = configs.get("min.insync.replicas").and_then(|value| value.parse().ok());
    check_ledger_replicas(name, topic.replicas, min_insync, clusters.target_admin.brokers())
}

fn read_ledger(clusters: &Clusters, bound: &Bound) -> Result<LedgerSeen> {
    let name = clusters.ledger.topic();
    bound.check_lanes()?;
    let mut seen = LedgerSeen::default();
    for number in 0..=bound.lanes {
        let ends = clusters.ledger.ends(number)?;
        if ends.log_start > 0 {
            return Err(Error::refused(
                "ledger-damaged",
                format!("ledger `{name}-{number}` starts at offset {}, not at 0", ends.log_start),
            )
            .hint("records of the ledger were deleted; it cannot be trusted any more"));
        }
        if number == bound.lanes {
            let control = &mut seen.control;
            clusters.ledger.entries(number, 0, ends.last_stable, &mut |offset, entry| {
                control.apply(offset, entry)
            })?;
        } else {
            let lane = clusters.ledger.lane(number, ends.last_stable)?;
            bound.check_lane(&lane)?;
            seen.lanes.push(lane);
            seen.ends.push((ends.log_end, ends.last_stable >= ends.log_end));
        }
    }
    let headers = seen.lanes.iter().filter_map(|lane| lane.header.as_ref());
    for header in headers.chain(seen.control.header.as_ref()) {
        bound.check_header(header)?;
    }
    Ok(seen)
}

fn in_effect(admin: &Admin, topic: &str) -> Result<BTreeMap<String, String>> {
    let configs = admin.configs(&[topic])?.remove(topic).unwrap_or_default();
    Ok(configs.into_iter().filter_map(|c| Some((c.name, c.value?))).collect())
}

/// Judges every partition and the group's offsets; drops what was judged against a moving lane.
fn refusals(plan: &Plan, clusters: &Clusters, pairs: &[Pair], seen: &LedgerSeen) -> Result<()> {
    let lanes = u32::try_from(seen.lanes.len()).unwrap_or(u32::MAX);
    let mut refused: Vec<(u32, Error)> = Vec::new();
    let mut known = BTreeMap::new();
    for lane in &seen.lanes {
        known.extend(lane.partitions.iter().map(|(at, state)| (at.clone(), state.clone())));
    }
    let fence = seen.control.open_fence();
    let facts = gather(
        clusters,
        &Question {
            pairs,
            known: &known,
            fence: &|at| fence.and_then(|fence| fence.get(at)),
            accept_gaps: plan.accepts_gaps(),
            settled: true,
        },
    )?;
    for one in &facts {
        if let Err(refusal) = judge(one) {
            let lane = lane_of(&one.source.topic, one.source.partition, lanes);
            refused.push((lane, refusal.error(&one.source, &one.target)));
        }
    }
    for (number, lane) in (0..).zip(&seen.lanes) {
        // Open offsets are a lane in mid-commit, or one that died there: judged after its fence.
        if let Some(GroupSays::Ahead(what)) = group_says(plan, clusters, number, lane)? {
            refused.push((number, group_ahead(&plan.group(), &what)));
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    let moving = moving_lanes(clusters, seen, refused.iter().map(|(lane, _)| *lane).collect())?;
    refused.retain(|(lane, _)| !moving.contains(lane));
    together(refused.into_iter().map(|(_, error)| error).collect())
}

/// The group's offsets beside the ledger of one lane; `None` while a transaction holds them open.
pub fn group_says(
    plan: &Plan,
    clusters: &dyn Ask,
    number: u32,
    lane: &LaneState,
) -> Result<Option<GroupSays>, ClusterError> {
    let asked = group_partitions(plan, clusters, number, lane);
    let offsets = clusters.group_offsets(&plan.group(), &asked)?;
    Ok(offsets.map(|offsets| group_compared(plan, clusters, number, lane, offsets)))
}

/// The same for offsets that stay open: those that are committed are judged as ever, and are behind at best.
pub fn open_group_says(
    plan: &Plan,
    clusters: &dyn Ask,
    number: u32,
    lane: &LaneState,
) -> Result<GroupSays, ClusterError> {
    let asked = group_partitions(plan, clusters, number, lane);
    let offsets = clusters.group_offsets_committed(&plan.group(), &asked)?;
    Ok(match group_compared(plan, clusters, number, lane, offsets) {
        GroupSays::Same => GroupSays::Behind(vec!["an open transaction".to_owned()]),
        says => says,
    })
}

fn group_partitions(
    plan: &Plan,
    clusters: &dyn Ask,
    number: u32,
    lane: &LaneState,
) -> Vec<TopicPartition> {
    let mut asked = vec![clusters.ledger().partition(number)];
    if plan.run.positions {
        asked.extend(lane.partitions.iter().map(|(source, state)| {
            TopicPartition::new(state.target_topic.clone(), source.partition)
        }));
    }
    asked
}

fn group_compared(
    plan: &Plan,
    clusters: &dyn Ask,
    number: u32,
    lane: &LaneState,
    mut offsets: BTreeMap<TopicPartition, i64>,
) -> GroupSays {
    let carries = offsets.remove(&clusters.ledger().partition(number));
    compare_group(lane, carries, plan.run.positions.then_some(&offsets))
}

/// Which of `lanes` had an open transaction, or have moved since they were read.
fn moving_lanes(
    clusters: &Clusters,
    seen: &LedgerSeen,
    lanes: BTreeSet<u32>,
) -> Result<BTreeSet<u32>> {
    let mut moving = BTreeSet::new();
    for lane in lanes {
        let (log_end, settled) = seen.ends[lane as usize];
        // Without a ledger topic nothing can move; if it exists by now, the caller looks again.
        if !settled || (log_end > 0 && clusters.ledger.ends(lane)?.log_end != log_end) {
            moving.insert(lane);
        }
    }
    Ok(moving)
}

/// Creates what the target lacks: topics first, the ledger last, so that a ledger never names a topic
/// that could not be made. Returns a topic that somebody else made since the look: a worker on another
/// machine may have made the ledger with another number of lanes, so the look is to be repeated.
pub fn prepare(clusters: &Clusters, preflight: &Preflight) -> Result<Option<String>> {
    for topic in &preflight.to_create {
        clusters.target_admin.create_topic(topic, true).map_err(|error| {
            Error::check(
                "create-topic",
                format!("target would refuse to create topic `{}`: {}", topic.name, error.what),
            )
            .hint("leave a config out with `topics.config.exclude`, or change it with `override`")
        })?;
    }
    for topic in &preflight.to_create {
        if clusters.target_admin.create_topic(topic, false)? == Created::Existed {
            return Ok(Some(topic.name.clone()));
        }
    }
    Ok(None)
}
