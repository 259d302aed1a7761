//! What we need on each cluster, and whether we have it.
//!
//! Brokers tell what we may do with topics, groups and the cluster (KIP-430), super users and
//! `allow.everyone.if.no.acl.found` included. For transactional ids, and for topics that are not there yet,
//! nothing tells: there the ACLs are read, if we may read them, and judged as the brokers do.

use std::collections::{BTreeMap, BTreeSet};

use super::Depth;
use super::acls::number;
use super::creates::Creates;
use super::side::Site;
use crate::check::facts::{Acl, Acls, Known, Operation, Resource, ResourceKind, Right, RightFacts};
use crate::error::Side;
use crate::pipe::clusters::Clusters;
use crate::plan::{Plan, Selection};

/// What the plan moves, as far as rights go.
pub struct Ours<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its topics.
    pub selection: &'a Selection,
    /// What would be made.
    pub creates: &'a Creates,
    /// The ledger's topic exists.
    pub ledger_there: bool,
}

impl Ours<'_> {
    /// Our rights on one side.
    pub fn look(
        &self,
        side: Side,
        clusters: &Clusters,
        site: &Site,
        depth: Depth,
    ) -> Vec<RightFacts> {
        if depth == Depth::Again {
            return Vec::new();
        }
        let needed = self.needed(side);
        let groups = groups(clusters, side, &needed);
        let told = Told {
            acls: &site.facts.acls,
            principal: &site.facts.principal,
            cluster: site.authorized.as_ref(),
            super_user: super_user(site, &groups),
            everyone: &groups.everyone,
        };
        let granted = |right: &Right| match right.resource.kind {
            ResourceKind::Topic => self.topic(right, site, &told),
            ResourceKind::Group => match groups.of(&right.resource.name) {
                Some(may) => told.listed(right, may),
                None => told.by_acls(right),
            },
            ResourceKind::Cluster => match told.cluster {
                Some(may) => told.listed(right, may),
                None => told.by_acls(right),
            },
            ResourceKind::TransactionalId => told.by_acls(right),
        };
        needed.into_iter().map(|right| RightFacts { granted: granted(&right), right }).collect()
    }

    fn topic(&self, right: &Right, site: &Site, told: &Told<'_>) -> Known<bool> {
        let name = right.resource.name.as_str();
        let looked = site.topics.get(name);
        if right.operation == Operation::Create {
            let by_cluster = told.cluster.is_some_and(|may| may.contains(&5));
            return match self.creates.may(name) {
                Some(may) => Known::Known(may),
                None if by_cluster => Known::Known(true),
                None => told.by_acls(right),
            };
        }
        match looked {
            // Whoever may read, write or look at the configs may see it as well.
            Some(looked) if looked.denied => Known::Known(false),
            Some(looked) => match &looked.authorized {
                Some(may) => told.listed(right, may),
                None => told.by_acls(right),
            },
            None => told.by_acls(right),
        }
    }

    /// The least that `run` needs on a side, as tried on the StandardAuthorizer of Apache Kafka (README,
    /// "The least rights"); Read and Write imply Describe.
    fn needed(&self, side: Side) -> Vec<Right> {
        use Operation::{Create, DescribeConfigs, Read, Write};
        let mut rights = Vec::new();
        let mut need = |kind, name: &str, prefixed, operations: &[Operation]| {
            let resource = Resource { kind, name: name.to_owned(), prefixed };
            let right = |&operation| Right { resource: resource.clone(), operation };
            rights.extend(operations.iter().map(right));
        };
        for pair in &self.selection.topics {
            match side {
                Side::Source => {
                    need(ResourceKind::Topic, &pair.source, false, &[Read, DescribeConfigs]);
                }
                Side::Target => {
                    need(ResourceKind::Topic, &pair.target, false, &[Read, Write, DescribeConfigs]);
                    if self.creates.of(&pair.target).is_some() {
                        need(ResourceKind::Topic, &pair.target, false, &[Create]);
                    }
                }
            }
        }
        if side == Side::Target {
            let ledger = self.plan.ledger_topic();
            need(ResourceKind::Topic, ledger, false, &[Read, Write, DescribeConfigs]);
            if !self.ledger_there {
                need(ResourceKind::Topic, ledger, false, &[Create]);
            }
            need(ResourceKind::Group, &self.plan.group(), false, &[Read]);
            // One for each lane, and their number may not be known yet.
            let ids = format!("{}-", self.plan.group());
            need(ResourceKind::TransactionalId, &ids, true, &[Write]);
        }
        rights
    }
}

/// What the cluster tells about rights.
struct Told<'a> {
    acls: &'a Known<Acls>,
    principal: &'a Known<String>,
    /// What we may do with the cluster.
    cluster: Option<&'a BTreeSet<i32>>,
    /// Whether we may do what the ACLs allow only to others; none where nothing tells.
    super_user: Option<bool>,
    /// Whether we may do what no ACL speaks of.
    everyone: &'a Known<bool>,
}

impl Told<'_> {
    /// A broker lists what we may do. One without an authorizer lists all.
    fn listed(&self, right: &Right, may: &BTreeSet<i32>) -> Known<bool> {
        match number(right.operation) {
            Some(number) => Known::Known(may.contains(&number)),
            None => Known::unknown("the brokers do not tell"),
        }
    }

    fn by_acls(&self, right: &Right) -> Known<bool> {
        let acls = match self.acls.get() {
            Ok(Acls::NoAuthorizer) => return Known::Known(true),
            Ok(Acls::List(acls)) => acls,
            Err(why) => {
                return Known::unknown(format!(
                    "nothing tells it but the ACLs, and they could not be read: {why}"
                ));
            }
        };
        let principal = match self.principal.get() {
            Ok(principal) => principal,
            Err(why) => return Known::unknown(format!("the ACLs name somebody: {why}")),
        };
        match judge(acls, principal, right) {
            Judged::Allowed => Known::Known(true),
            Judged::Denied => Known::Known(false),
            _ if self.super_user == Some(true) => Known::Known(true),
            Judged::Nobody => self.everyone.clone(),
            Judged::ForOthers => match self.super_user {
                Some(is) => Known::Known(is),
                None => Known::unknown(
                    "the ACLs allow it to others alone; whether we are a super user nothing tells",
                ),
            },
        }
    }
}

/// Whether we are a super user, whom no ACL names: who may do something that the ACLs allow only to others
/// is one. Whoever may not do everything with the cluster, or not see a topic or group, is none.
fn super_user(site: &Site, groups: &Groups) -> Option<bool> {
    /// Create, Alter, Describe, ClusterAction, AlterConfigs.
    const EVERYTHING: [i32; 5] = [5, 7, 8, 9, 11];
    let everything = |may: &BTreeSet<i32>| EVERYTHING.iter().all(|one| may.contains(one));
    if !site.authorized.as_ref().is_none_or(everything) {
        return Some(false);
    }
    if site.topics.values().any(|looked| looked.denied)
        || groups.may.values().any(BTreeSet::is_empty)
    {
        return Some(false);
    }
    let Ok(Acls::List(acls)) = site.facts.acls.get() else { return None };
    let principal = site.facts.principal.ok()?;
    let judged = |kind, name: &str, operation| {
        let resource = Resource { kind, name: name.to_owned(), prefixed: false };
        judge(acls, principal, &Right { resource, operation })
    };
    let cluster = judged(ResourceKind::Cluster, "kafka-cluster", Operation::Alter);
    if cluster == Judged::ForOthers && site.authorized.is_some() {
        return Some(true); // it may do everything, as was seen above
    }
    let tells = |kind, name: &str, may: &BTreeSet<i32>, operations: &[Operation]| {
        let for_others = |one: &&Operation| judged(kind, name, **one) == Judged::ForOthers;
        let one = operations.iter().find(for_others)?;
        Some(may.contains(&number(*one)?))
    };
    // Whoever has the least rights may not delete what ACLs speak of; a super user may.
    let mut topics = site.topics.iter().filter_map(|(name, looked)| {
        let may = looked.authorized.as_ref()?;
        tells(ResourceKind::Topic, name, may, &[Operation::Write, Operation::Delete])
    });
    let mut groups = groups.may.iter().filter_map(|(name, may)| {
        tells(ResourceKind::Group, name, may, &[Operation::Read, Operation::Delete])
    });
    topics.next().or_else(|| groups.next())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Allowed,
    Denied,
    /// ACLs speak of the resource, and allow it to others.
    ForOthers,
    /// No ACL speaks of the resource: super users and `allow.everyone.if.no.acl.found` decide.
    Nobody,
}

/// As `StandardAuthorizer` does: one that denies wins, an operation implies what it needs.
fn judge(acls: &[Acl], principal: &str, right: &Right) -> Judged {
    let about = |acl: &&Acl| acl.resource.covers(&right.resource);
    let mut decide = acls.iter().filter(about).filter(|acl| {
        // An address that we cannot know may be ours: a denial of it is taken for one, a permission not.
        let here = !acl.allow || acl.host == "*";
        here && acl.is_for(principal) && acl.decides(right.operation)
    });
    match decide.clone().find(|acl| !acl.allow).or_else(|| decide.next()) {
        Some(acl) if acl.allow => Judged::Allowed,
        Some(_) => Judged::Denied,
        None if acls.iter().any(|acl| about(&acl)) => Judged::ForOthers,
        None => Judged::Nobody,
    }
}

/// What the coordinators say about groups.
struct Groups {
    may: BTreeMap<String, BTreeSet<i32>>,
    everyone: Known<bool>,
}

impl Groups {
    fn of(&self, name: &str) -> Option<&BTreeSet<i32>> {
        self.may.get(name)
    }
}

/// A group that nobody has: what we may do with it, we may do where no ACL speaks.
const NOBODYS: &str = "onceover.no-such-group.c0ffee";

fn groups(clusters: &Clusters, side: Side, needed: &[Right]) -> Groups {
    let mut may = BTreeMap::new();
    let wanted = needed.iter().filter(|right| right.resource.kind == ResourceKind::Group);
    let mut names: BTreeSet<&str> = wanted.map(|right| right.resource.name.as_str()).collect();
    let unknown = |why: String| Groups { may: BTreeMap::new(), everyone: Known::Unknown(why) };
    if names.is_empty() {
        return unknown("not asked for".into());
    }
    names.insert(NOBODYS);
    let names: Vec<&str> = names.into_iter().collect();
    let described = match clusters.admin(side).describe_groups(&names) {
        Ok(described) => described,
        Err(error) => return unknown(error.what),
    };
    for (name, group) in described {
        match group {
            Ok(group) => {
                if let Some(authorized) = group.authorized {
                    may.insert(name, authorized);
                }
            }
            // Whoever may read it may see it as well.
            Err(error) if error.is_denied() => {
                may.insert(name, BTreeSet::new());
            }
            Err(_) => {}
        }
    }
    let everyone = match may.remove(NOBODYS) {
        Some(may) => Known::Known(!may.is_empty()),
        None => Known::unknown("no ACL speaks of it, and super users are not told"),
    };
    Groups { may, everyone }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(prefixed: bool, name: &str, operation: Operation, allow: bool) -> Acl {
        let resource =
            Resource { kind: ResourceKind::TransactionalId, name: name.into(), prefixed };
        let (principal, host) = ("User:me".into(), "*".into());
        Acl { resource, principal, host, operation, allow }
    }

    fn right(name: &str, prefixed: bool, operation: Operation) -> Right {
        let resource =
            Resource { kind: ResourceKind::TransactionalId, name: name.into(), prefixed };
        Right { resource, operation }
    }

    fn say(acls: &[Acl], operation: Operation) -> Judged {
        judge(acls, "User:me", &right("onceover-p-", true, operation))
    }

    #[test]
    fn a_prefix_covers_what_lies_in_it_and_a_name_covers_no_prefix() {
        use Operation::Write;
        assert_eq!(say(&[acl(true, "onceover-", Write, true)], Write), Judged::Allowed);
        assert_eq!(say(&[acl(false, "*", Write, true)], Write), Judged::Allowed);
        assert_eq!(say(&[acl(true, "onceover-p-1", Write, true)], Write), Judged::Nobody);
        assert_eq!(say(&[acl(false, "onceover-p-", Write, true)], Write), Judged::Nobody);
    }

    #[test]
    fn a_denial_wins_and_writing_implies_describing() {
        use Operation::{All, Describe, Write};
        let both = [acl(true, "onceover-", Write, true), acl(false, "*", All, false)];
        assert_eq!(say(&both, Write), Judged::Denied);
        assert_eq!(say(&both[..1], Describe), Judged::Allowed);
    }

    #[test]
    fn what_others_may_is_not_ours() {
        let mut of_others = acl(true, "onceover-", Operation::Write, true);
        of_others.principal = "User:you".into();
        assert_eq!(say(&[of_others], Operation::Write), Judged::ForOthers);
        assert_eq!(say(&[], Operation::Write), Judged::Nobody);
    }
}
