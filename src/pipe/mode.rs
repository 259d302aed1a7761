//! A tail and a one-shot run of the same plan exclude each other: the one has no end, the other has a
//! fence that all workers must agree on. Who runs how is told by the members' `client.id`.

use std::time::{Duration, Instant};

use crate::cluster::{GroupMember, SESSION};
use crate::error::{Error, Result};
use crate::pipe::clusters::Clusters;
use crate::plan::Plan;
use crate::report::Board;

/// How a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Up to a fence.
    Once,
    /// Until it is stopped.
    Tail,
}

/// A worker that was killed stays a member for the session time-out, and a moment until the
/// coordinator has looked.
const UNTIL_GONE: Duration = SESSION.saturating_add(Duration::from_secs(3));

impl Mode {
    /// The mode of a run.
    pub fn of(tail: bool) -> Self {
        if tail { Self::Tail } else { Self::Once }
    }

    /// The name under which the membership of such a worker comes.
    pub fn client_id(self, plan: &str) -> String {
        match self {
            Self::Once => format!("onceover-{plan}-once"),
            Self::Tail => format!("onceover-{plan}-tail"),
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Once => Self::Tail,
            Self::Tail => Self::Once,
        }
    }

    /// A member of the group that runs in the other mode, by its worker name.
    fn opponent(self, plan: &str, members: &[GroupMember]) -> Option<String> {
        let name = self.other().client_id(plan);
        // The client adds its part: `onceover-orders-tail-member`.
        let is = |member: &&GroupMember| {
            member.client_id.strip_prefix(&name).is_some_and(|rest| rest == "-member")
        };
        let member = members.iter().find(is)?;
        Some(member.instance_id.clone().unwrap_or_else(|| member.member_id.clone()))
    }

    fn refusal(self, worker: &str) -> Error {
        match self {
            Self::Once => Error::usage(format!(
                "a tail of this plan is running (worker `{worker}`)"
            ))
            .hint(
                "stop it first: it commits and ends with exit 0, then this run goes on from there",
            ),
            Self::Tail => {
                Error::usage(format!("a one-shot run of this plan is going on (worker `{worker}`)"))
                    .hint("start the tail when it is done: it goes on from there")
            }
        }
    }
}

/// Refuses to run beside the other mode. One that has died is waited for.
pub fn exclude(mode: Mode, plan: &Plan, clusters: &Clusters, board: &Board) -> Result<()> {
    let until = Instant::now() + UNTIL_GONE;
    while let Some(worker) = opponent(mode, plan, clusters)? {
        if Instant::now() >= until {
            return Err(mode.refusal(&worker));
        }
        let other = match mode {
            Mode::Once => "tail",
            Mode::Tail => "one-shot run",
        };
        board.wait("worker", format!("the {other} of worker `{worker}` to be over"));
        std::thread::sleep(Duration::from_millis(250));
    }
    board.go_on("worker");
    Ok(())
}

/// The same as a member, without a wait: two that were started at the same moment saw nobody. Then
/// whoever sees the other gives way.
pub fn still_alone(mode: Mode, plan: &Plan, clusters: &Clusters) -> Result<()> {
    opponent(mode, plan, clusters)?.map_or(Ok(()), |worker| Err(mode.refusal(&worker)))
}

fn opponent(mode: Mode, plan: &Plan, clusters: &Clusters) -> Result<Option<String>> {
    let members = clusters.target_admin.group_members(&plan.group())?;
    Ok(mode.opponent(&plan.name, &members))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(client_id: &str) -> GroupMember {
        GroupMember {
            member_id: "m".into(),
            instance_id: Some("w".into()),
            client_id: client_id.into(),
            host: "/10.0.0.1".into(),
            partitions: Vec::new(),
        }
    }

    #[test]
    fn only_a_worker_of_the_other_mode_is_an_opponent() {
        let once = [member("onceover-p-once-member")];
        let tail = [member("onceover-p-tail-member")];
        assert_eq!(Mode::Once.opponent("p", &once), None);
        assert_eq!(Mode::Once.opponent("p", &tail).as_deref(), Some("w"));
        assert_eq!(Mode::Tail.opponent("p", &once).as_deref(), Some("w"));
        assert_eq!(Mode::Tail.opponent("p", &tail), None);
    }

    #[test]
    fn a_plan_whose_name_ends_like_a_mode_is_not_taken_for_one() {
        let once = [member(&format!("{}-member", Mode::Once.client_id("p-tail")))];
        assert_eq!(Mode::Once.opponent("p-tail", &once), None);
        assert_eq!(Mode::Tail.opponent("p-tail", &once).as_deref(), Some("w"));
    }
}
