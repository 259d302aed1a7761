//! What happens, in which order: pure, from a seed.

use std::fmt;

/// Random enough, and the same on every machine: splitmix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// What a broker of the target does for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Leads a partition of a topic.
    Leader,
    /// Coordinates the workers' group.
    Group,
    /// Coordinates a lane's transactional id.
    Transactions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Source,
    Target,
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A worker gets SIGKILL, and starts again under its name.
    KillWorker,
    /// One more worker, if there are fewer than three.
    JoinWorker,
    /// A worker is stopped for longer than its session lasts, and wakes up as a zombie.
    FreezeWorker,
    /// The source's broker gets SIGKILL, and starts again.
    KillSource,
    /// The target's broker with that role gets SIGKILL, and starts again.
    KillTarget(Role),
    /// All connections of the workers to a side are cut.
    Cut(Side),
    /// For some seconds a side takes everything and answers nothing.
    HalfOpen(Side),
    /// For some seconds a side is 200 ms and a narrow link away.
    Slow(Side),
    /// Topics on both sides get one more partition.
    Grow,
}

impl Fault {
    /// Each that a schedule must have.
    pub const ALL: [Fault; 14] = [
        Fault::KillWorker,
        Fault::JoinWorker,
        Fault::FreezeWorker,
        Fault::KillSource,
        Fault::KillTarget(Role::Leader),
        Fault::KillTarget(Role::Group),
        Fault::KillTarget(Role::Transactions),
        Fault::Cut(Side::Source),
        Fault::Cut(Side::Target),
        Fault::HalfOpen(Side::Source),
        Fault::HalfOpen(Side::Target),
        Fault::Slow(Side::Source),
        Fault::Slow(Side::Target),
        Fault::Grow,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Every fault once, and `more` others, in a random order.
pub fn schedule(dice: &mut Dice, more: usize) -> Vec<Fault> {
    let mut faults = Fault::ALL.to_vec();
    let pick = |dice: &mut Dice| Fault::ALL[dice.below(Fault::ALL.len() as u64) as usize];
    faults.extend((0..more).map(|_| pick(dice)));
    for last in (1..faults.len()).rev() {
        faults.swap(last, dice.below(last as u64 + 1) as usize);
    }
    faults
}

#[test]
fn a_schedule_has_every_fault_and_follows_from_its_seed() {
    let of = |seed| schedule(&mut Dice::new(seed), 6);
    let (one, two) = (of(1), of(2));
    assert!(one == of(1) && one != two);
    assert_eq!(one.len(), Fault::ALL.len() + 6);
    assert!(Fault::ALL.iter().all(|fault| one.contains(fault) && two.contains(fault)));
}
