//! Who made a difference: the ledger as a witness.

use super::Rules;
use crate::reconcile::difference::MadeBy;
use crate::reconcile::line::Line;
use crate::reconcile::manifest::Place;

/// Answers with `None` where there is no ledger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Witness {
    ledger: bool,
}

impl Witness {
    pub(super) fn of(rules: Rules) -> Self {
        Self { ledger: rules.ledger }
    }

    /// Who is to blame that `source` is not on the target: the target if the ledger names the copy, else
    /// the pipe, which never carried it.
    pub(super) fn lacking(self, source: &Line) -> Option<MadeBy> {
        self.says(if source.copied_to.is_some() { MadeBy::Target } else { MadeBy::Pipe })
    }

    /// Who put `target` there: the pipe if the ledger names it, else another writer.
    pub(super) fn wrote(self, target: &Line) -> Option<MadeBy> {
        self.says(if target.place == Place::Foreign { MadeBy::Writer } else { MadeBy::Pipe })
    }

    /// `who`, if there is a witness at all.
    pub(super) fn says(self, who: MadeBy) -> Option<MadeBy> {
        self.ledger.then_some(who)
    }
}
