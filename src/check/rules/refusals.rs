//! What the pipe itself would refuse: other logs than the ledger knows, foreign records, deletions that may
//! have expired (design, section 6).

use super::Look;
use crate::check::Rule;
use crate::check::verdict::{Verdict, Verdicts};

pub const REFUSALS: Rule = Rule::Whole(check);

fn check(look: &Look<'_>) -> Verdicts {
    Ok(vec![match look.facts.refusals.get()? {
        None => Verdict::pass("a run would be refused for nothing"),
        Some(refusal) => {
            // Several come on lines of their own.
            let what = refusal.what.replace("\n  ", "; ");
            let verdict = Verdict::fail(format!("{}: {what}", refusal.word)).firm();
            match &refusal.hint {
                Some(hint) => verdict.hint(hint.clone()),
                None => verdict,
            }
        }
    }])
}

#[cfg(test)]
mod tests {
    use crate::check::facts::{Known, RefusalFacts};
    use crate::check::fixture::{facts, judged};
    use crate::check::names::REFUSALS;
    use crate::check::verdict::Severity::{Fail, Pass, Unknown};

    #[test]
    fn a_refusal_is_a_failed_check_that_nobody_can_allow() {
        let mut facts = facts();
        facts.refusals = Known::Known(None);
        assert_eq!(judged(&facts, REFUSALS)[0].severity, Pass);
        facts.refusals = Known::Known(Some(RefusalFacts {
            word: "deletions-expired".into(),
            what: "source `a-0` is compacted\n  also: source `a-1`".into(),
            hint: Some("run.on_gap".into()),
        }));
        let found = judged(&facts, REFUSALS);
        assert_eq!((found[0].severity, found[0].firm), (Fail, true));
        assert_eq!(
            found[0].reason,
            "deletions-expired: source `a-0` is compacted; also: source `a-1`"
        );
        assert_eq!(found[0].hint.as_deref(), Some("run.on_gap"));
        facts.refusals = Known::unknown("no answer");
        assert_eq!(judged(&facts, REFUSALS)[0].severity, Unknown);
    }
}
