//! The clusters as a whole: that they are two, what their versions lack, whether their clocks agree.

use super::Look;
use crate::check::Rule;
use crate::check::facts::{ClusterFacts, VersionFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::span;
use crate::error::Side;

pub const SAME_CLUSTER: Rule = Rule::Whole(check_same);
pub const VERSIONS: Rule = Rule::Whole(check_versions);
pub const CLOCKS: Rule = Rule::Whole(check_clocks);

fn check_same(look: &Look<'_>) -> Verdicts {
    let id = |cluster: &ClusterFacts| {
        let id = cluster.id.get().cloned();
        id.map_err(|why| Verdict::unknown(format!("{} cluster id: {why}", cluster.side)))
    };
    let (source, target) = (id(&look.facts.source)?, id(&look.facts.target)?);
    Ok(vec![if source == target {
        Verdict::fail(format!("source and target are the same cluster ({source})")).firm()
    } else {
        Verdict::pass(format!("source {source}, target {target}"))
    }])
}

/// What brokers of a version and later have, and what it means to be without.
struct Lack {
    side: Side,
    since: (u32, u32),
    lacks: &'static str,
    fails: bool,
}

const LACKS: &[Lack] = &[
    Lack {
        side: Side::Source,
        since: (0, 11),
        lacks: "no transactions, headers or record batches (KIP-98): it cannot be read",
        fails: true,
    },
    Lack {
        side: Side::Source,
        since: (2, 8),
        lacks: "no topic ids (KIP-516): a topic deleted and created anew is told by its anchor alone",
        fails: false,
    },
    Lack {
        side: Side::Source,
        since: (3, 0),
        lacks: "no largest timestamp (KIP-734): ages of the newest records are not known",
        fails: false,
    },
    Lack {
        side: Side::Target,
        since: (2, 5),
        lacks: "no fencing by group membership (KIP-447): exactly once rests on it",
        fails: true,
    },
    Lack {
        side: Side::Target,
        since: (2, 8),
        lacks: "no topic ids (KIP-516): a target topic deleted and created anew is not noticed at once",
        fails: false,
    },
];

fn check_versions(look: &Look<'_>) -> Verdicts {
    let mut found = Vec::new();
    for cluster in [&look.facts.source, &look.facts.target] {
        let side = cluster.side;
        let version = match cluster.version.get() {
            Ok(version) => version,
            Err(why) => {
                found.push(
                    Verdict::unknown(format!("{side} version: {why}")).about(side.to_string()),
                );
                continue;
            }
        };
        let VersionFacts { major, minor, from } = version;
        let shown = format!("{side} {major}.{minor} ({from})");
        let lacking =
            LACKS.iter().filter(|lack| lack.side == side && (*major, *minor) < lack.since);
        let before = found.len();
        found.extend(lacking.map(|lack| {
            let reason = format!("{shown}: {}", lack.lacks);
            let verdict =
                if lack.fails { Verdict::fail(reason).firm() } else { Verdict::warn(reason) };
            verdict.about(side.to_string())
        }));
        if found.len() == before {
            found.push(Verdict::pass(shown).about(side.to_string()));
        }
    }
    Ok(found)
}

/// More than this between two clocks moves retention and `start = "-7d"` visibly.
const CLOCKS_APART_MS: i64 = 60_000;

fn check_clocks(look: &Look<'_>) -> Verdicts {
    let ahead = |cluster: &ClusterFacts| {
        let ahead = cluster.clock_ahead_ms.get().copied();
        ahead.map_err(|why| Verdict::unknown(format!("{} clock: {why}", cluster.side)))
    };
    let (source, target) = (ahead(&look.facts.source)?, ahead(&look.facts.target)?);
    let apart = target.saturating_sub(source);
    let shown = |ms: i64| span(ms.saturating_abs());
    let reason = format!(
        "the target's clock is {} {} the source's, ours {} {} it",
        shown(apart),
        if apart < 0 { "behind" } else { "ahead of" },
        shown(source),
        if source < 0 { "ahead of" } else { "behind" },
    );
    let most = [apart, source, target].map(i64::saturating_abs).into_iter().max().unwrap_or(0);
    Ok(vec![if most > CLOCKS_APART_MS { Verdict::warn(reason) } else { Verdict::pass(reason) }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, VersionFacts};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::{BROKER_VERSION, CLOCKS, SAME_CLUSTER};
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};

    #[test]
    fn one_cluster_under_two_addresses_fails() {
        let mut facts = facts();
        assert_eq!(judged(&facts, SAME_CLUSTER)[0].severity, Pass);
        facts.target.id = facts.source.id.clone();
        let found = &judged(&facts, SAME_CLUSTER)[0];
        assert_eq!((found.severity, found.firm), (Fail, true));
        facts.target.id = Known::unknown("no answer");
        assert_eq!(judged(&facts, SAME_CLUSTER)[0].severity, Unknown);
    }

    #[test]
    fn what_an_old_version_lacks_is_told_and_fails_where_nothing_works_without() {
        let mut facts = facts();
        assert!(judged(&facts, BROKER_VERSION).iter().all(|one| one.severity == Pass));
        let version = |major, minor| Known::Known(VersionFacts { major, minor, from: "x".into() });
        facts.source.version = version(2, 7);
        let found = judged(&facts, BROKER_VERSION);
        assert_eq!(found.iter().map(|one| one.severity).collect::<Vec<_>>(), [Warn, Warn, Pass]);
        facts.target.version = version(2, 4);
        assert_eq!(judged(&facts, BROKER_VERSION)[0].severity, Fail);
        facts.target.version = Known::unknown("it does not tell");
        assert_eq!(judged(&facts, BROKER_VERSION)[0].severity, Unknown);
    }

    #[test]
    fn clocks_that_are_minutes_apart_are_a_warning() {
        let mut facts = facts();
        facts.source.clock_ahead_ms = Known::Known(-500);
        assert_eq!(judged(&facts, CLOCKS)[0].severity, Pass);
        facts.target.clock_ahead_ms = Known::Known(120_000);
        let found = &judged(&facts, CLOCKS)[0];
        assert_eq!(found.severity, Warn);
        assert_eq!(
            found.reason,
            "the target's clock is 2 min 00 s ahead of the source's, ours 500 ms ahead of it"
        );
        facts.source.clock_ahead_ms = Known::unknown("no clock in the protocol");
        assert_eq!(judged(&facts, CLOCKS)[0].severity, Unknown);
    }
}
