//! What a lane gets to know at its start: the plan, its partitions, the fence.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::ask::Connections;
use super::stage::{Stage, Time};
use crate::ledger::{ControlState, Entry, Fence, Header, LaneState, Role};
use crate::pipe::bound::Bound;
use crate::pipe::gather::Pair;
use crate::pipe::scope::Scope;
use crate::pipe::shared::Shared;
use crate::pipe::view::View;
use crate::plan::{Env, Plan, TopicPartition, check_by_table};
use crate::report::Board;

pub(super) fn plan() -> Plan {
    let text = "name = 't'\nsource.bootstrap = 'a:9092'\ntarget.bootstrap = 'b:9092'\n\
                [topics]\ninclude = ['/.*/']\n[run]\nlanes = 1\n";
    let env = Env {
        env: &|_| None,
        read_file: &|_| Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        property: &check_by_table,
    };
    Plan::parse("plan.toml", text, Path::new(""), &env).expect("a plan")
}

fn pair(topic: &str, partition: i32) -> Pair {
    let source = TopicPartition::new(topic, partition);
    let target = TopicPartition::new(format!("new.{topic}"), partition);
    Pair { source, target, compacted: false, delete_retention: None }
}

/// All partitions of the one lane.
pub(super) fn pairs() -> Vec<Pair> {
    vec![pair("a", 0), pair("a", 1), pair("b", 0)]
}

/// Worker `actor`'s own.
pub(super) fn shared(
    stage: &Arc<Stage>,
    plan: &Plan,
    pairs: &[Pair],
    actor: usize,
    fence: Option<&Fence>,
) -> Arc<Shared<Connections>> {
    let header = Header {
        plan: "t".into(),
        generation: 1,
        lanes: 1,
        source_cluster: "s".into(),
        target_cluster: "t".into(),
        partition_role: Role::Control,
        tool: "0".into(),
        created: 1,
    };
    let mut control = ControlState::default();
    let entries = [Entry::Header(header)].into_iter();
    let entries = entries.chain(fence.cloned().map(Entry::Fence));
    for (offset, entry) in (0..).zip(entries) {
        control.apply(offset, entry).expect("it fits");
    }
    Arc::new(Shared {
        plan: plan.clone(),
        scope: Scope { pairs: pairs.to_vec(), lanes: 1 },
        bound: Bound {
            plan: "t".into(),
            source_cluster: "s".into(),
            target_cluster: "t".into(),
            lanes: 1,
            lanes_wanted: None,
            naming: "new".into(),
            start: "earliest".into(),
        },
        view: View::new(vec![LaneState::default()], control),
        board: Board::default(),
        bucket: None,
        worker: format!("worker {actor}"),
        tail: fence.is_none(),
        fresh: BTreeSet::new(),
        overrides: Vec::new(),
        clock: Box::new(Time(stage.clone(), actor)),
        clusters: Connections::new(stage, actor, plan.ledger_topic()),
    })
}
