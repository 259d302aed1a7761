//! What is struck, where, and with what.

use std::fmt;
use std::path::Path;

/// Which part of the run a point is struck in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Between two data transactions, or in one.
    Lane,
    /// While a second worker joins and is given lanes.
    Revoke,
    /// In a lane's first transaction.
    Bindings,
}

/// A point of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub name: &'static str,
    pub place: Place,
    /// It is passed so often before it strikes.
    passed: u32,
    /// Another point, that leads to this one.
    before: &'static str,
    /// The coordinator has an open transaction of the lane then.
    pub open: bool,
}

impl Point {
    pub const fn new(name: &'static str, place: Place, passed: u32) -> Point {
        Point { name, place, passed, before: "", open: false }
    }

    pub const fn after(self, before: &'static str) -> Point {
        Point { before, ..self }
    }

    pub const fn open(self) -> Point {
        Point { open: true, ..self }
    }
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL; the worker is started again.
    Kill,
    /// The lane meets an error of this class.
    Error(&'static str),
    /// The lane stands still until the coordinator has aborted its transaction, with nobody else about.
    Outlast,
    /// The process stands still (SIGSTOP) until the group has put it out, and goes on with nobody else
    /// about.
    Frozen,
    /// The same, but another worker has taken over and committed before it goes on.
    Replaced,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Kill => f.write_str("kill"),
            Fault::Error(class) => write!(f, "error {class}"),
            Fault::Outlast => f.write_str("outlast transaction"),
            Fault::Frozen => f.write_str("outlast session"),
            Fault::Replaced => f.write_str("outlast session, replaced"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub point: &'static Point,
    pub fault: Fault,
}

impl Case {
    /// As it stands in the table.
    pub fn point_name(&self) -> String {
        let name = self.point.name;
        if self.point.place == Place::Bindings { format!("{name} (bindings)") } else { name.into() }
    }

    /// A name for its topic and plan.
    pub fn slug(&self) -> String {
        let text = format!("{} {}", self.point_name(), self.fault).replace("lane-", "");
        let words =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        format!("points-{}", words.collect::<Vec<_>>().join("-"))
    }

    /// `FAILPOINTS` of the worker that is struck; `release` is what a held lane waits for.
    pub fn failpoints(&self, release: &Path) -> String {
        let does = match self.fault {
            Fault::Error(class) => class.to_owned(),
            _ => format!("hold {}", release.display()),
        };
        let Point { name, passed, before, .. } = self.point;
        let off = if *passed > 0 { format!("{passed}*off->") } else { String::new() };
        // In mid-run while the other worker joins.
        let slowly = match self.point.place {
            Place::Revoke => "lane-after-produce=sleep(2500);",
            _ => "",
        };
        format!("{slowly}{before};{name}={off}1*return({does})->off")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.point_name(), self.fault)
    }
}
