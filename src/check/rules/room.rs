//! Room on the target's disks.

use super::Look;
use crate::check::Rule;
use crate::check::effective::on_target;
use crate::check::verdict::{Verdict, Verdicts};
use crate::report::numbers::bytes;

pub const ROOM: Rule = Rule::Whole(check);

fn check(look: &Look<'_>) -> Verdicts {
    let (mut needed, mut untold) = (0_u64, None);
    for pair in &look.facts.pairs {
        let replicas = match on_target(look.facts, pair) {
            Ok(None) => continue,
            Ok(Some(target)) => target.replicas(),
            Err(why) => Err(why),
        };
        for copy in &pair.copy {
            match (&replicas, copy.bytes.told("size of the source")) {
                (Ok(replicas), Ok(size)) => {
                    needed = needed.saturating_add(size.saturating_mul(*replicas as u64));
                }
                (Err(why), _) => untold = Some(why.clone()),
                (_, Err(why)) => untold = Some(why),
            }
        }
    }
    let needed_text = format!(
        "{} {} are to be written, replicas counted, uncompressed",
        if untold.is_some() { "at least" } else { "about" },
        bytes(needed)
    );
    let disks = look.facts.target.disks.told(&format!("{needed_text}; room on the target"))?;
    let usable = disks.iter().fold(0_u64, |sum, disk| sum.saturating_add(disk.usable));
    let reason = format!("{needed_text}; the target has room for {}", bytes(usable));
    Ok(vec![if needed > usable {
        Verdict::fail(reason)
    } else if let Some(why) = untold {
        Verdict::unknown(format!("{reason}; {why}"))
    } else if needed > usable / 10 * 8 {
        Verdict::warn(reason)
    } else {
        Verdict::pass(reason)
    }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{DiskFacts, Known};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::DISK_ROOM;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown, Warn};

    #[test]
    fn what_does_not_fit_fails_and_what_nobody_tells_is_unknown() {
        let mut facts = facts();
        assert_eq!(judged(&facts, DISK_ROOM)[0].severity, Pass);
        // Six partitions of 1 MB with three replicas each.
        for (usable, severity) in [(17_000_000, Fail), (20_000_000, Warn), (30_000_000, Pass)] {
            facts.target.disks = Known::Known(vec![DiskFacts { usable }]);
            assert_eq!(judged(&facts, DISK_ROOM)[0].severity, severity, "{usable}");
        }
        facts.pairs[0].copy[5].bytes = Known::unknown("no right to read it");
        for (usable, severity) in [(14_000_000, Fail), (30_000_000, Unknown)] {
            facts.target.disks = Known::Known(vec![DiskFacts { usable }]);
            assert_eq!(judged(&facts, DISK_ROOM)[0].severity, severity, "15 MB, {usable}");
        }
        facts.pairs[0].copy[5].bytes = Known::Known(1_000_000);
        facts.target.disks = Known::unknown("the client library has no request for it");
        let found = &judged(&facts, DISK_ROOM)[0];
        assert_eq!(found.severity, Unknown);
        assert!(found.reason.starts_with("about 18.0 MB are to be written"), "{}", found.reason);
    }
}
