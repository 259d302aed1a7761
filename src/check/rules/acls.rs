//! ACLs of the source that are missing on the target: of the plan's topics and of groups.
//!
//! Producers' Write is among them: a tool that mirrors topics for reading leaves it out, and producers
//! fail at the cutover.

use std::collections::BTreeMap;

use super::Look;
use crate::check::Rule;
use crate::check::facts::{Acl, Acls, Facts, Operation, PairFacts, Resource, ResourceKind};
use crate::check::verdict::{Verdict, Verdicts};

pub const TOPICS: Rule = Rule::Pair(check_topic);
pub const GROUPS: Rule = Rule::Whole(check_groups);

/// An ACL that the target lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingAcl {
    /// As it is on the source.
    pub source: Acl,
    /// As it would have to be on the target: with the topic's name there.
    pub target: Acl,
}

/// ACLs of both sides, or what there is to say without.
fn lists(facts: &Facts) -> Result<(&[Acl], &[Acl]), Verdict> {
    let source = facts.source.acls.told("source ACLs")?;
    let target = facts.target.acls.told("target ACLs")?;
    match (source, target) {
        (Acls::NoAuthorizer, _) => Err(Verdict::pass("the source has no authorizer, so no ACLs")),
        (Acls::List(_), Acls::NoAuthorizer) => Err(Verdict::warn(
            "the source has ACLs, the target has no authorizer: everybody may do everything",
        )),
        (Acls::List(source), Acls::List(target)) => Ok((source, target)),
    }
}

/// Every ACL of the plan's topics and groups that the target lacks, sorted; the error is what there is to
/// say without a comparison.
pub fn missing(facts: &Facts) -> Result<Vec<MissingAcl>, Verdict> {
    let (source, target) = lists(facts)?;
    let mut all: Vec<_> =
        facts.pairs.iter().flat_map(|pair| of_topic(facts, pair, source, target)).collect();
    all.extend(of_groups(facts, source, target));
    all.sort();
    all.dedup();
    Ok(all)
}

fn of_topic(facts: &Facts, pair: &PairFacts, source: &[Acl], target: &[Acl]) -> Vec<MissingAcl> {
    let about = |acl: &&Acl| {
        acl.resource.kind == ResourceKind::Topic && acl.resource.covers_name(&pair.source.name)
    };
    lacking(facts, source.iter().filter(about), target, |resource| {
        // A pattern that holds for the name on the target too stays one.
        if resource.name == "*" || resource.covers_name(&pair.target_name) {
            return resource.clone();
        }
        let name = pair.target_name.to_string();
        Resource { kind: ResourceKind::Topic, name, prefixed: false }
    })
}

fn of_groups(facts: &Facts, source: &[Acl], target: &[Acl]) -> Vec<MissingAcl> {
    let in_scope = |acl: &&Acl| {
        acl.resource.kind == ResourceKind::Group
            && facts.groups.ok().is_none_or(|groups| {
                groups.iter().any(|group| acl.resource.covers_name(&group.name))
            })
    };
    lacking(facts, source.iter().filter(in_scope), target, Resource::clone)
}

fn lacking<'a>(
    facts: &Facts,
    source: impl Iterator<Item = &'a Acl>,
    target: &[Acl],
    there: impl Fn(&Resource) -> Resource,
) -> Vec<MissingAcl> {
    let ours = facts.source.principal.ok();
    source
        .filter(|acl| Some(&acl.principal) != ours)
        .map(|acl| MissingAcl {
            source: acl.clone(),
            target: Acl { resource: there(&acl.resource), ..acl.clone() },
        })
        .filter(|missing| !target.iter().any(|acl| covers(acl, &missing.target)))
        .collect()
}

/// Whether `acl` says all that `wanted` says, or more.
fn covers(acl: &Acl, wanted: &Acl) -> bool {
    let host = acl.host == wanted.host || acl.host == "*";
    host && acl.is_for(&wanted.principal)
        && acl.resource.covers(&wanted.resource)
        && acl.allow == wanted.allow
        && acl.decides(wanted.operation)
}

/// An answer without ACLs does not tell whether the cluster has an authorizer.
const NONE_AT_ALL: &str = "the target shows no ACL at all: if it has no authorizer, everybody may do everything \
                           there; else `--print-resources sh` has the commands";

fn told(missing: Vec<MissingAcl>, target: &[Acl], same: &str) -> Vec<Verdict> {
    let mut by_principal: BTreeMap<(bool, String), Vec<Operation>> = BTreeMap::new();
    for MissingAcl { target, .. } in missing {
        by_principal.entry((target.allow, target.principal)).or_default().push(target.operation);
    }
    if by_principal.is_empty() {
        return vec![Verdict::pass(same)];
    }
    let verdict = |((allow, principal), mut operations): ((bool, String), Vec<Operation>)| {
        operations.sort();
        operations.dedup();
        let may = if allow { "may" } else { "may not" };
        let operations: Vec<_> = operations.iter().map(|one| format!("{one:?}")).collect();
        let verdict = Verdict::warn(format!(
            "`{principal}` {may} {} on the source, and nothing says so on the target",
            operations.join(", ")
        ));
        let verdict = if target.is_empty() { verdict.hint(NONE_AT_ALL) } else { verdict };
        verdict.about(principal)
    };
    by_principal.into_iter().map(verdict).collect()
}

fn check_topic(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let (source, target) = lists(look.facts)?;
    let missing = of_topic(look.facts, pair, source, target);
    Ok(told(missing, target, "no ACL of the source is missing on the target"))
}

fn check_groups(look: &Look<'_>) -> Verdicts {
    let (source, target) = lists(look.facts)?;
    let missing = of_groups(look.facts, source, target);
    Ok(told(missing, target, "no ACL of the source's groups is missing on the target"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::facts::{GroupFacts, Known};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::ACLS;
    use crate::check::verdict::Severity::{Pass, Unknown, Warn};

    fn acl(
        principal: &str,
        operation: Operation,
        kind: ResourceKind,
        name: &str,
        prefixed: bool,
    ) -> Acl {
        Acl {
            resource: Resource { kind, name: name.into(), prefixed },
            principal: principal.into(),
            host: "*".into(),
            operation,
            allow: true,
        }
    }

    fn topic(operation: Operation, name: &str) -> Acl {
        acl("User:app", operation, ResourceKind::Topic, name, false)
    }

    fn with(source: Vec<Acl>, target: Vec<Acl>) -> Facts {
        let mut facts = facts();
        facts.source.acls = Known::Known(Acls::List(source));
        facts.target.acls = Known::Known(Acls::List(target));
        facts
    }

    #[test]
    fn a_producers_write_that_the_target_lacks_is_a_warning() {
        assert!(judged(&facts(), ACLS).iter().all(|one| one.severity == Pass));
        let source = vec![topic(Operation::Write, "orders"), topic(Operation::Read, "orders")];
        let facts = with(source.clone(), vec![topic(Operation::Read, "orders")]);
        let found = judged(&facts, ACLS);
        assert_eq!(found[0].severity, Warn);
        assert_eq!(
            found[0].reason,
            "`User:app` may Write on the source, and nothing says so on the target"
        );
        assert!(judged(&with(source.clone(), source), ACLS).iter().all(|one| one.severity == Pass));
    }

    #[test]
    fn a_renamed_topics_acl_is_wanted_under_the_new_name() {
        let prefixed = acl("User:app", Operation::Read, ResourceKind::Topic, "ord", true);
        let mut facts = with(vec![topic(Operation::Write, "orders"), prefixed], vec![]);
        facts.pairs[0].target_name = "pay.orders".into();
        let missing = missing(&facts).unwrap();
        let wanted: Vec<_> = missing.iter().map(|one| one.target.resource.to_string()).collect();
        assert_eq!(wanted, ["topic `pay.orders`", "topic `pay.orders`"]);
    }

    #[test]
    fn broader_rights_on_the_target_cover_narrower_ones_and_denials_do_not() {
        let all = acl("User:*", Operation::All, ResourceKind::Topic, "*", false);
        let wanted = topic(Operation::Write, "orders");
        assert!(covers(&all, &wanted));
        assert!(!covers(&Acl { allow: false, ..all }, &wanted));
        assert!(covers(&wanted, &topic(Operation::Describe, "orders")));
        assert!(!covers(&wanted, &topic(Operation::Read, "orders")));
        let prefix = acl("User:app", Operation::Write, ResourceKind::Topic, "ord", true);
        assert!(covers(&prefix, &wanted));
        assert!(!covers(&wanted, &prefix));
    }

    #[test]
    fn acls_of_groups_in_scope_are_compared_too() {
        let of = |name: &str| acl("User:app", Operation::Read, ResourceKind::Group, name, false);
        let mut facts = with(vec![of("billing"), of("other")], vec![]);
        facts.groups = Known::Known(vec![GroupFacts {
            name: "billing".into(),
            state: Known::Known("Empty".into()),
            members: Known::Known(0),
            topics: Known::Known(Default::default()),
        }]);
        assert_eq!(missing(&facts).unwrap().len(), 1);
        assert_eq!(judged(&facts, ACLS)[0].severity, Warn);
    }

    #[test]
    fn our_own_acls_and_what_nobody_may_see_are_not_compared() {
        let ours = acl("User:onceover", Operation::Read, ResourceKind::Topic, "orders", false);
        let mut facts = with(vec![ours], vec![]);
        assert_eq!(missing(&facts), Ok(vec![]));
        facts.target.acls = Known::Known(Acls::NoAuthorizer);
        assert_eq!(judged(&facts, ACLS)[0].severity, Warn);
        facts.target.acls = Known::unknown("no Describe right on the cluster");
        assert_eq!(judged(&facts, ACLS)[0].severity, Unknown);
    }
}
