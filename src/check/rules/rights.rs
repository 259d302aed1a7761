//! Our own rights on both sides, with the command that grants what is missing.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{ClusterFacts, Known, RightFacts};
use crate::check::resources::grant;
use crate::check::verdict::{Verdict, Verdicts};

pub const RIGHTS: Rule = Rule::Whole(check);

fn check(look: &Look<'_>) -> Verdicts {
    let mut found = Vec::new();
    for cluster in [&look.facts.source, &look.facts.target] {
        let missing: Vec<_> =
            cluster.rights.iter().filter_map(|right| judge(cluster, right)).collect();
        if cluster.rights.is_empty() {
            let reason = format!("{}: nobody has looked at rights", cluster.side);
            found.push(Verdict::unknown(reason).about(cluster.side.to_string()));
        } else if missing.is_empty() {
            let rights = cluster.rights.len();
            found.push(
                Verdict::pass(format!(
                    "{}: all {rights} rights that are needed are there",
                    cluster.side
                ))
                .about(cluster.side.to_string()),
            );
        }
        found.extend(missing);
    }
    Ok(found)
}

fn judge(cluster: &ClusterFacts, facts: &RightFacts) -> Option<Verdict> {
    let right = &facts.right;
    let side = cluster.side;
    let what = format!("{:?} on {}", right.operation, right.resource);
    let verdict = match &facts.granted {
        Known::Known(true) => return None,
        Known::Known(false) => Verdict::fail(format!("{side}: {what} is missing")).firm(),
        Known::Unknown(why) => Verdict::unknown(format!("{side}: {what}: {why}")),
    };
    let principal = cluster.principal.ok().map_or("User:onceover", String::as_str);
    Some(verdict.about(side.to_string()).hint(format!("`{}`", grant(side, principal, right))))
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, Operation, Resource, ResourceKind, Right, RightFacts};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::RIGHTS;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown};

    fn right(operation: Operation, granted: Known<bool>) -> RightFacts {
        let resource =
            Resource { kind: ResourceKind::Topic, name: "orders".into(), prefixed: false };
        RightFacts { right: Right { resource, operation }, granted }
    }

    #[test]
    fn a_missing_right_fails_with_the_command_that_grants_it() {
        let mut facts = facts();
        facts.source.rights = vec![right(Operation::Read, Known::Known(true))];
        facts.target.rights = vec![right(Operation::Write, Known::Known(true))];
        let found = judged(&facts, RIGHTS);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Pass, Pass]);
        facts.target.rights.push(right(Operation::Write, Known::Known(false)));
        let found = judged(&facts, RIGHTS);
        assert_eq!((found[0].severity, found[0].firm), (Fail, true));
        assert_eq!(found[0].reason, "target: Write on topic `orders` is missing");
        assert_eq!(
            found[0].hint.as_deref(),
            Some(
                "`kafka-acls.sh --bootstrap-server TARGET --add --allow-principal User:onceover \
                 --operation Write --topic orders`"
            )
        );
        facts.source.rights[0].granted = Known::unknown("the cluster does not tell");
        assert_eq!(judged(&facts, RIGHTS)[1].severity, Unknown);
    }

    #[test]
    fn rights_that_nobody_has_looked_at_are_not_passed() {
        let mut facts = facts();
        facts.source.rights.clear();
        assert_eq!(judged(&facts, RIGHTS)[0].severity, Unknown);
    }
}
