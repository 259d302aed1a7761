//! Whether a lane ended as the rules say.

use std::time::Duration;

use super::stage::{Exit, Fault, World};
use crate::error::Kind;
use crate::pipe::decide::{FENCED_OFTEN, PATIENCE};
use crate::pipe::lane::LaneEnd;
use crate::pipe::stop::Wish;

/// Judges an exit; `reached` tells whether the lane's fence is reached, where it has one. Returns the
/// name of the end.
pub(super) fn judge_end(
    world: &World,
    number: usize,
    reached: Option<bool>,
) -> Result<&'static str, String> {
    let actor = &world.actors[number];
    let wish = actor.stop.wish();
    let Some(exit) = &actor.exit else { return Err("it is still there".into()) };
    let end = match exit {
        Exit::Killed => return Ok("killed"),
        Exit::Panicked(what) => return Err(format!("worker {number} panicked: {what}")),
        Exit::Ended(end) => end,
    };
    let (name, right) = match end {
        LaneEnd::Finished => ("finished", reached == Some(true)),
        LaneEnd::Released => ("released", wish != Wish::Run),
        LaneEnd::Dropped => ("dropped", actor.lost.is_some()),
        LaneEnd::Failed(error) => match error.kind {
            Kind::TakenOver => ("failed: taken over", actor.fenced >= FENCED_OFTEN),
            Kind::Cluster(_) if error.retryable => {
                ("failed: no patience left", world.now - actor.born >= PATIENCE)
            }
            Kind::Cluster(_) => {
                let refused = actor.met.iter().filter(|fault| **fault == Fault::RecordRefused);
                let denied = actor.met.contains(&Fault::AskDenied);
                ("failed: for good", denied || refused.count() > 2)
            }
            _ => ("failed", false),
        },
    };
    if !right {
        return Err(format!(
            "worker {number} ended as {end:?} (reached: {reached:?}, {wish:?}, lost: {:?}, met {:?}, \
             fenced {}, lived {:?})",
            actor.lost,
            actor.met,
            actor.fenced,
            world.now.saturating_sub(actor.born).max(Duration::ZERO)
        ));
    }
    // No worker that ends leaves its transaction open, but where it can do nothing about it: the answer to
    // its abort did not come, or its fence, which closes the former producer first, failed or found that the
    // group had taken the lane back. The next owner cannot begin without its own fence, which aborts it.
    let left = |epoch: &u32| world.target.is_open_by(*epoch) && actor.abandoned != Some(*epoch);
    if actor.epoch.as_ref().is_some_and(left) {
        return Err(format!("worker {number} ended as {end:?} and left its transaction open"));
    }
    Ok(name)
}
