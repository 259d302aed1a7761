//! Rules over the ledger as a whole: what it is bound to, how its topic must be set up, and what the
//! group's offsets may say beside it. Pure.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::ledger::{Fence, Header, LaneState};
use crate::plan::TopicPartition;

/// What a ledger is bound to: changing any of it under a running ledger is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Plan name.
    pub plan: String,
    /// Cluster id of the source.
    pub source_cluster: String,
    /// Cluster id of the target.
    pub target_cluster: String,
    /// Lanes of the ledger topic (its partitions less one).
    pub lanes: u32,
    /// Lanes that the plan asks for, when it names a number.
    pub lanes_wanted: Option<u32>,
    /// Canonical text of the naming rule.
    pub naming: String,
    /// Canonical text of the start positions.
    pub start: String,
}

fn changed(field: &str, was: &str, is: &str, hint: &str) -> Error {
    Error::refused(
        "bound-field-changed",
        format!("the ledger is bound to {field} {was}, but now it is {is}"),
    )
    .hint(hint)
}

impl Bound {
    /// Compares with the header of a ledger partition.
    pub fn check_header(&self, header: &Header) -> Result<(), Error> {
        let address = "the bootstrap address leads to another cluster than the one that this ledger \
                       was begun with; correct it, or use a new plan name for the new pair";
        if header.plan != self.plan {
            return Err(changed(
                "plan",
                &header.plan,
                &self.plan,
                "each plan needs its own ledger",
            ));
        }
        if header.source_cluster != self.source_cluster {
            let (was, is) = (&header.source_cluster, &self.source_cluster);
            return Err(changed("source cluster", was, is, address));
        }
        if header.target_cluster != self.target_cluster {
            let (was, is) = (&header.target_cluster, &self.target_cluster);
            return Err(changed("target cluster", was, is, address));
        }
        if header.lanes != self.lanes {
            return Err(Error::refused(
                "ledger-damaged",
                format!(
                    "the ledger was made for {} lanes, but its topic has partitions for {}",
                    header.lanes, self.lanes
                ),
            )
            .hint("somebody added partitions to the ledger topic; use a new plan name"));
        }
        self.check_lanes()
    }

    /// The plan's lane count against the ledger topic's.
    pub fn check_lanes(&self) -> Result<(), Error> {
        match self.lanes_wanted {
            Some(wanted) if wanted != self.lanes => Err(changed(
                "a lane count of",
                &self.lanes.to_string(),
                &wanted.to_string(),
                "set `run.lanes` back, or to \"auto\"; the lane count is fixed for a ledger",
            )),
            _ => Ok(()),
        }
    }

    /// Compares with what a lane's bindings were made under.
    pub fn check_lane(&self, lane: &LaneState) -> Result<(), Error> {
        if let Some(naming) = &lane.naming
            && *naming != self.naming
        {
            let hint = "set `topics.rename` back; another naming needs a new plan name";
            return Err(changed("the naming", naming, &self.naming, hint));
        }
        if let Some(start) = &lane.start
            && *start != self.start
        {
            let hint = "set `topics.start` back; another start needs a new plan name";
            return Err(changed("the start", start, &self.start, hint));
        }
        Ok(())
    }
}

/// Configs of the ledger topic, as set when onceover creates it: records never expire, and no
/// unclean leader election forgets them.
pub const LEDGER_CONFIGS: [(&str, &str); 4] = [
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    ("unclean.leader.election.enable", "false"),
];

/// Checks the ledger topic's configs in effect.
pub fn check_ledger_configs(
    topic: &str,
    in_effect: &BTreeMap<String, String>,
) -> Result<(), Error> {
    for (name, wanted) in LEDGER_CONFIGS {
        let is = in_effect.get(name).map_or("not told", String::as_str);
        if is != wanted {
            return Err(Error::check(
                "ledger-topic",
                format!("ledger topic `{topic}` has `{name}={is}`, it must be `{wanted}`"),
            )
            .hint(format!(
                "set it: `kafka-configs.sh --bootstrap-server TARGET --alter --topic {topic} \
                 --add-config {name}={wanted}`"
            )));
        }
    }
    Ok(())
}

/// Checks the ledger topic's replication in effect: a warning where the loss of one broker would be
/// the loss of the ledger.
pub fn check_ledger_replicas(
    topic: &str,
    replicas: usize,
    min_insync: Option<usize>,
    brokers: usize,
) -> Result<Option<String>, Error> {
    if let Some(min_insync) = min_insync
        && replicas > 0
        && min_insync > replicas
    {
        return Err(Error::check(
            "ledger-topic",
            format!(
                "ledger topic `{topic}` has {replicas} replica(s) and `min.insync.replicas={min_insync}`: \
                 no write can succeed"
            ),
        )
        .hint("lower the topic's `min.insync.replicas`, or give it more replicas"));
    }
    Ok((replicas == 1 && brokers > 1).then(|| {
        format!(
            "ledger topic `{topic}` has one replica on a cluster of {brokers} brokers: if that broker is \
             lost, so is the ledger, and the migration begins anew; set `ledger.replication_factor`"
        )
    }))
}

/// What the group's offsets say beside the ledger.
#[derive(Debug, PartialEq, Eq)]
pub enum GroupSays {
    /// The same.
    Same,
    /// Offsets are missing or behind: they expired or were reset. The next transaction rewrites them.
    Behind(Vec<String>),
    /// The ledger lost entries.
    Ahead(String),
}

/// Compares the group's offsets with the ledger of one lane. `carries` is the group's offset for the
/// lane's ledger partition (the number of its last carry), `positions` its offsets under the target's
/// names; `None` where the plan does not keep them there.
pub fn compare_group(
    lane: &LaneState,
    carries: Option<i64>,
    positions: Option<&BTreeMap<TopicPartition, i64>>,
) -> GroupSays {
    let last = i64::try_from(lane.last_seq).unwrap_or(i64::MAX);
    let mut behind = Vec::new();
    match carries {
        Some(group) if group > last => {
            return GroupSays::Ahead(format!(
                "the group has committed carry {group}, the ledger ends at carry {last}"
            ));
        }
        Some(group) if group == last => {}
        None if last == 0 => {}
        _ => behind.push(format!("carry {last}")),
    }
    let Some(positions) = positions else { return said(behind) };
    for (source, state) in &lane.partitions {
        let target = TopicPartition::new(state.target_topic.clone(), source.partition);
        match positions.get(&target) {
            Some(&group) if group > state.next => {
                return GroupSays::Ahead(format!(
                    "the group has position {group} for {target}, the ledger has {}",
                    state.next
                ));
            }
            Some(&group) if group == state.next => {}
            _ => behind.push(format!("{target}")),
        }
    }
    said(behind)
}

fn said(behind: Vec<String>) -> GroupSays {
    if behind.is_empty() { GroupSays::Same } else { GroupSays::Behind(behind) }
}

/// Whether a partition was added to its topic after a run had taken its fence: the plan's `start` was
/// for what the topic held then, and a new partition is copied from its beginning.
pub fn added_later<'a>(
    mut fences: impl Iterator<Item = &'a Fence>,
    partition: &TopicPartition,
) -> bool {
    fences.any(|fence| {
        fence.partitions.contains_key(&*partition.topic) && fence.get(partition).is_none()
    })
}

/// A tail and a one-shot run exclude each other while a fence is open.
pub fn tail_excluded() -> Error {
    Error::usage("a one-shot run of this plan has an open fence")
        .hint("a tail and a one-shot run exclude each other: let `onceover run PLAN` finish first")
}

/// The refusal for a group that is ahead.
pub fn group_ahead(group: &str, what: &str) -> Error {
    Error::refused(
        "ledger-behind-group",
        format!("the ledger lost entries, or someone moved the offsets of group `{group}`: {what}"),
    )
    .hint(format!(
        "if somebody reset the group's offsets forward, delete them \
         (`kafka-consumer-groups.sh --bootstrap-server TARGET --delete --group {group}`) and run again: the ledger is the truth; \
         if the ledger topic was restored or cut, do not go on with it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Role;

    fn bound() -> Bound {
        Bound {
            plan: "p".into(),
            source_cluster: "s".into(),
            target_cluster: "t".into(),
            lanes: 4,
            lanes_wanted: None,
            naming: "same".into(),
            start: "earliest".into(),
        }
    }

    fn header() -> Header {
        Header {
            plan: "p".into(),
            generation: 1,
            lanes: 4,
            source_cluster: "s".into(),
            target_cluster: "t".into(),
            partition_role: Role::Control,
            tool: "0".into(),
            created: 0,
        }
    }

    #[test]
    fn a_header_of_the_same_plan_and_clusters_passes() {
        assert_eq!(bound().check_header(&header()), Ok(()));
    }

    #[test]
    fn every_bound_field_is_compared() {
        let headers = [
            Header { plan: "q".into(), ..header() },
            Header { source_cluster: "x".into(), ..header() },
            Header { target_cluster: "x".into(), ..header() },
            Header { lanes: 5, ..header() },
        ];
        for other in headers {
            let error = bound().check_header(&other).unwrap_err();
            assert_eq!(error.exit_code(), 5, "{error}");
        }
        let other = Bound { lanes_wanted: Some(5), ..bound() };
        assert!(other.check_header(&header()).is_err());
        let mut lane = LaneState::default();
        lane.naming = Some("other".into());
        assert!(bound().check_lane(&lane).is_err());
        let mut lane = LaneState::default();
        lane.start = Some("latest".into());
        assert!(bound().check_lane(&lane).is_err());
    }

    #[test]
    fn a_group_ahead_of_the_ledger_is_told_from_one_behind() {
        let mut lane = LaneState::default();
        lane.last_seq = 5;
        let none = BTreeMap::new();
        assert_eq!(compare_group(&lane, Some(5), Some(&none)), GroupSays::Same);
        assert!(matches!(compare_group(&lane, Some(6), None), GroupSays::Ahead(_)));
        assert!(matches!(compare_group(&lane, Some(4), None), GroupSays::Behind(_)));
        assert!(matches!(compare_group(&lane, None, None), GroupSays::Behind(_)));
        assert_eq!(compare_group(&LaneState::default(), None, None), GroupSays::Same);
    }

    #[test]
    fn a_ledger_that_no_write_can_reach_fails_and_one_with_a_single_replica_is_warned_about() {
        assert!(check_ledger_replicas("l", 1, Some(2), 3).is_err());
        assert_eq!(check_ledger_replicas("l", 3, Some(2), 3), Ok(None));
        assert_eq!(check_ledger_replicas("l", 1, Some(1), 1), Ok(None));
        assert!(check_ledger_replicas("l", 1, Some(1), 3).unwrap().is_some());
    }

    #[test]
    fn a_ledger_that_may_expire_is_refused() {
        let mut configs: BTreeMap<String, String> =
            LEDGER_CONFIGS.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
        assert_eq!(check_ledger_configs("l", &configs), Ok(()));
        configs.insert("retention.ms".into(), "604800000".into());
        assert_eq!(check_ledger_configs("l", &configs).unwrap_err().exit_code(), 7);
    }

    #[test]
    fn a_partition_that_no_fence_of_its_topic_names_was_added_later() {
        let old = TopicPartition::new("orders", 1);
        let fence =
            Fence::new("f", 0, "w", [(TopicPartition::new("orders", 0), 5), (old.clone(), 7)]);
        let added = |topic: &str, number| {
            added_later([&fence].into_iter(), &TopicPartition::new(topic, number))
        };
        assert!(added("orders", 2));
        assert!(!added("orders", 1));
        assert!(!added("a new topic", 0));
        assert!(!added_later([].into_iter(), &old), "the first run");
    }
}
