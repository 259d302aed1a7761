//! How a run ends, and which of two ends stands. Pure.

use crate::error::{Error, Result, Side};

/// How a run ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every lane of the plan has reached the fence.
    Copied,
    /// A one-shot run was stopped by this signal before the fence, after a clean commit.
    Stopped(i32),
    /// A tail was stopped by a signal, after a clean commit.
    TailStopped,
    /// Topics or partitions changed under a tail, which committed cleanly: it is to look again.
    Changed,
}

/// What a run ends with when another end is added: the first error is the cause, what follows from it
/// would hide it; an error makes a stop unclean; what is done stays done.
pub fn weightier(known: &Result<Outcome>, new: Result<Outcome>) -> Result<Outcome> {
    match (known, new) {
        (Ok(Outcome::Changed), new) => new,
        (Ok(Outcome::Stopped(_) | Outcome::TailStopped), new @ Err(_)) => new,
        (known, _) => known.clone(),
    }
}

/// The end of a run whose `open` lanes did not close in time: nothing of theirs is lost, but a stop
/// that left them behind was not a clean one.
pub fn closed(result: Result<Outcome>, signal: Option<i32>, open: Vec<u32>) -> Result<Outcome> {
    match (result, signal) {
        (Ok(Outcome::Stopped(_) | Outcome::TailStopped), Some(signal)) if !open.is_empty() => {
            let what =
                format!("lanes {open:?} did not close in time; the next run aborts what they left");
            Err(Error::stopped(signal, what))
        }
        // Another round beside lanes of this one would be two workers under one name.
        (Ok(Outcome::Changed), _) if !open.is_empty() => {
            let what = format!("lanes {open:?} did not close in time to look at the topics again");
            Err(Error::cluster(Side::Target, what).hint("run again: it goes on where it stopped"))
        }
        (result, _) => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_that_is_stopped_while_it_looks_again_is_stopped() {
        let changed = Ok(Outcome::Changed);
        assert_eq!(weightier(&changed, Ok(Outcome::TailStopped)), Ok(Outcome::TailStopped));
        assert_eq!(weightier(&Ok(Outcome::TailStopped), changed.clone()), Ok(Outcome::TailStopped));
        assert_eq!(closed(changed.clone(), None, vec![]), changed);
        assert_eq!(closed(changed, None, vec![1]).map_err(|e| e.exit_code()), Err(4));
    }

    #[test]
    fn a_lane_that_cannot_commit_makes_a_stop_unclean_and_a_later_error_hides_no_earlier_one() {
        let error = |what: &str| Err(Error::fault(what));
        let stopped = Ok(Outcome::Stopped(15));
        assert_eq!(weightier(&stopped, error("a")), error("a"));
        assert_eq!(weightier(&error("a"), error("b")), error("a"));
        assert_eq!(weightier(&Ok(Outcome::Copied), error("a")), Ok(Outcome::Copied));
        assert_eq!(closed(stopped.clone(), Some(15), vec![]), stopped);
        assert_eq!(closed(stopped, Some(15), vec![2]).map_err(|e| e.exit_code()), Err(143));
        assert_eq!(closed(Ok(Outcome::Copied), None, vec![2]), Ok(Outcome::Copied));
    }
}
