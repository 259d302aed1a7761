//! What a partition's comparison says, and when a proof has failed though no key differs. Pure.

use crate::report::audit::{PartitionRow, Verdict};

/// What follows for a partition: `differences` of its keys differ; retention has left `nothing` that could
/// be compared; it has `overtaken` the pass, so that a suspect may have gone unseen.
pub fn verdict(differences: u64, nothing: bool, overtaken: bool) -> Verdict {
    match (differences, nothing || overtaken) {
        (0, false) => Verdict::Equal,
        (0, true) => Verdict::NotProved,
        (_, _) => Verdict::Different,
    }
}

/// How many partitions make the whole proof fail. What the source's retention took cannot be compared any
/// more, which is told, and no reason to fail as long as anything is left. Copies that are gone while
/// their originals are still there are one.
pub fn failing(rows: &[PartitionRow]) -> u64 {
    let unproved = |row: &&PartitionRow| row.verdict == Verdict::NotProved;
    let unproved: Vec<&PartitionRow> = rows.iter().filter(unproved).collect();
    let nothing_compared = unproved.len() == rows.len();
    let fails = |row: &&&PartitionRow| nothing_compared || row.expired_target > 0;
    unproved.iter().filter(fails).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::audit::partitions::tests::row;

    fn rows(verdicts: &[(Verdict, u64)]) -> Vec<PartitionRow> {
        let of = |(verdict, expired_target): &(Verdict, u64)| PartitionRow {
            verdict: *verdict,
            expired_target: *expired_target,
            ..row("t", 0)
        };
        verdicts.iter().map(of).collect()
    }

    #[test]
    fn a_difference_outweighs_what_is_not_proved() {
        assert_eq!(verdict(0, false, false), Verdict::Equal);
        assert_eq!(verdict(0, true, false), Verdict::NotProved);
        assert_eq!(verdict(0, false, true), Verdict::NotProved);
        assert_eq!(verdict(1, true, true), Verdict::Different);
    }

    #[test]
    fn a_proof_fails_by_lost_copies_and_by_nothing_left_but_not_by_the_sources_retention() {
        use Verdict::{Equal, NotProved};
        assert_eq!(failing(&rows(&[(Equal, 0), (Equal, 5)])), 0, "some copies have expired");
        assert_eq!(failing(&rows(&[(Equal, 0), (NotProved, 0)])), 0, "the source's have");
        assert_eq!(failing(&rows(&[(Equal, 0), (NotProved, 5)])), 1, "all copies of a partition");
        assert_eq!(failing(&rows(&[(NotProved, 0), (NotProved, 0)])), 2, "nothing is left");
        assert_eq!(failing(&[]), 0);
    }
}
