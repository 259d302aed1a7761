//! Where the verbs meet the network.

use std::ops::ControlFlow;
use std::path::Path;

use crate::cli::{InitArgs, RunArgs};
use crate::error::{Error, Result};
use crate::report::ledger_print::Message;
use crate::report::{Board, Screen, Status, Summary};

/// A loaded plan.
#[derive(Debug)]
pub struct Plan;

/// Loads the plan and hands its secrets to the screen's redactor.
pub fn load(_path: &Path, _screen: &Screen) -> Result<Plan> {
    Err(Error::fault("not wired yet"))
}

/// Copies, telling the board; how it ended.
pub fn run(_plan: &Plan, _args: &RunArgs, _board: &Board) -> Result<Summary> {
    Err(Error::fault("not wired yet"))
}

/// Reads the ledger, and the source's log ends.
pub fn status(_plan: &Plan) -> Result<Status> {
    Err(Error::fault("not wired yet"))
}

/// Shows every message of the ledger, by partition and offset, until `see` breaks off.
pub fn each_ledger_message(
    _plan: &Plan,
    _see: &mut dyn FnMut(&Message<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    Err(Error::fault("not wired yet"))
}

/// The text of a commented plan for what the two clusters hold.
pub fn plan_text(_args: &InitArgs) -> Result<String> {
    Err(Error::fault("not wired yet"))
}
