//! What can be done to a lane and to its clusters.

use proptest::prelude::*;
use proptest::sample::select;

use super::stage::Fault;

/// Which incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The one that the group names.
    Owner,
    /// One that has lost the lane, and may not know.
    Zombie,
}

/// One action of a play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The source gets so many records outside of transactions.
    Append { partition: usize, count: usize },
    /// One of the source's producers writes in its transaction, and begins one where none is open.
    Transact { producer: u64, partition: usize, count: usize },
    /// It ends its transaction.
    End { producer: u64, commit: bool },
    /// A look at the source brings at most so many records.
    Batch(usize),
    /// A lane makes so many calls.
    Run(Who, u32),
    /// A call will go wrong.
    Plan(Fault),
    /// A worker is killed.
    Kill(Who),
    /// The lane gets a worker if it has none; with a fence, or a tail.
    Start { tail: bool },
    /// The group gives the lane to another worker; the former one is not told yet.
    TakeOver { tail: bool },
    /// The group wants the lane back, or the worker is stopped: the lane commits and closes.
    Finish,
    /// A second signal: the lane aborts and closes.
    Abort,
    /// Workers that have lost the lane are told.
    Tell,
    /// The coordinator ends the open transaction.
    Expire,
    /// Everything stands still for so many seconds.
    Freeze(u64),
    /// Late requests arrive.
    Release,
    /// Markers are written.
    Mark,
    /// The group's offsets are deleted; only those of one partition, or all.
    LoseGroup { all: bool },
    /// One of the group's offsets is set back.
    SetGroupBack,
    /// All of them are set forward: the lane refuses to go on. Only in plays with a name.
    SetGroupAhead,
}

impl Action {
    /// Without what it acts on.
    pub(super) fn name(self) -> String {
        let whole = format!("{self:?}");
        whole.split([' ', '(']).next().unwrap_or_default().to_owned()
    }
}

const PARTITIONS: usize = 3;

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![4 => Just(Who::Owner), 1 => Just(Who::Zombie)]
}

fn action() -> impl Strategy<Value = Action> {
    let append = (0..PARTITIONS, 1usize..6)
        .prop_map(|(partition, count)| Action::Append { partition, count });
    let transact = (0u64..2, 0..PARTITIONS, 1usize..4)
        .prop_map(|(producer, partition, count)| Action::Transact { producer, partition, count });
    let end =
        (0u64..2, any::<bool>()).prop_map(|(producer, commit)| Action::End { producer, commit });
    let tail = || any::<bool>();
    prop_oneof![
        6 => append,
        3 => transact,
        3 => end,
        1 => (1usize..6).prop_map(Action::Batch),
        24 => (who(), 1u32..60).prop_map(|(who, calls)| Action::Run(who, calls)),
        14 => select(&Fault::ALL[..]).prop_map(Action::Plan),
        2 => who().prop_map(Action::Kill),
        5 => tail().prop_map(|tail| Action::Start { tail }),
        3 => tail().prop_map(|tail| Action::TakeOver { tail }),
        1 => Just(Action::Finish),
        1 => Just(Action::Abort),
        1 => Just(Action::Tell),
        2 => Just(Action::Expire),
        1 => (1u64..130).prop_map(Action::Freeze),
        6 => Just(Action::Release),
        1 => Just(Action::Mark),
        1 => any::<bool>().prop_map(|all| Action::LoseGroup { all }),
        1 => Just(Action::SetGroupBack),
    ]
}

/// A play: whether the target's brokers verify partitions, and what happens.
pub(super) fn play() -> impl Strategy<Value = (bool, Vec<Action>)> {
    let start = any::<bool>()
        .prop_map(|tail| vec![Action::Append { partition: 0, count: 3 }, Action::Start { tail }]);
    let actions = prop::collection::vec(action(), 1..60);
    (any::<bool>(), start, actions).prop_map(|(verifies, mut start, actions)| {
        start.extend(actions);
        (verifies, start)
    })
}
