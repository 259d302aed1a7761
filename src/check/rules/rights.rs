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
        if missing.is_empty() {
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
    use crate::check::facts::{Known, Operation, RightFacts};
    use crate::check::fixture::{facts, judged, plan};
    use crate::check::names::RIGHTS;
    use crate::check::rights::{Need, needed};
    use crate::check::verdict::Severity::{Fail, Pass, Unknown};
    use crate::error::Side;

    #[test]
    fn a_missing_right_fails_with_the_command_that_grants_it() {
        let mut facts = facts();
        let plan = plan("");
        let topic = Need { topic: "orders".into(), create: false };
        for (cluster, side) in
            [(&mut facts.source, Side::Source), (&mut facts.target, Side::Target)]
        {
            cluster.rights = needed(&plan, side, std::slice::from_ref(&topic), true)
                .into_iter()
                .map(|right| RightFacts { right, granted: Known::Known(true) })
                .collect();
        }
        let found = judged(&facts, RIGHTS);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Pass, Pass]);
        let write = |right: &&mut RightFacts| {
            right.right.operation == Operation::Write && right.right.resource.name == "orders"
        };
        facts.target.rights.iter_mut().find(write).unwrap().granted = Known::Known(false);
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
}
