//! Lanes that a group at rest leaves to nobody: a pure rule.
//!
//! The group takes lanes back in two rounds. Its first answer takes them from their owner, who commits,
//! gives them back and asks again; the second answer hands them out. A worker that dies in between and
//! comes back under its name gets its share of the first answer (that is what its name is for), and owes a
//! question that it knows nothing of. The coordinator sees no reason to ask anybody: without a change of
//! the group nobody gets those lanes, ever (seen by the fault suite).

use std::collections::BTreeSet;

use crate::cluster::GroupMember;

/// Whether no member has some of the ledger's `partitions`, though the group is at rest: `worker`, who has just
/// been given its share, is listed with one. (In a group that is not, nobody is.)
pub fn orphans(members: &[GroupMember], worker: &str, partitions: u32) -> bool {
    let named = |member: &&GroupMember| member.instance_id.as_deref() == Some(worker);
    let at_rest = members.iter().find(named).is_some_and(|member| !member.partitions.is_empty());
    let assigned: BTreeSet<i32> =
        members.iter().flat_map(|member| &member.partitions).map(|at| at.partition).collect();
    at_rest && assigned.len() < usize::try_from(partitions).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TopicPartition;

    fn member(name: &str, lanes: &[i32]) -> GroupMember {
        GroupMember {
            member_id: format!("{name}-1"),
            instance_id: Some(name.into()),
            client_id: "c".into(),
            host: "/10.0.0.1".into(),
            partitions: lanes.iter().map(|&lane| TopicPartition::new("ledger", lane)).collect(),
        }
    }

    #[test]
    fn a_lane_between_two_rounds_is_an_orphan() {
        assert!(orphans(&[member("a", &[0, 1]), member("b", &[])], "a", 3));
        assert!(!orphans(&[member("a", &[0, 1]), member("b", &[2])], "a", 3));
    }

    #[test]
    fn a_group_that_is_about_to_share_out_has_none() {
        assert!(!orphans(&[member("a", &[]), member("b", &[])], "a", 3));
        assert!(!orphans(&[member("b", &[0])], "a", 3));
    }
}
