//! WHAT to move: the plan file, topic selection and naming, lanes. Pure: nothing here touches the network.

mod fingerprint;
mod known_properties;
mod lanes;
mod names;
mod naming;
mod nearest;
mod partition;
mod pattern;
mod properties;
mod read;
mod resolve;
mod secret;
mod select;
mod settings;
mod start;
mod template;
#[cfg(test)]
pub(crate) mod tests;
mod units;

pub use fingerprint::{Binding, PlanField};
pub use lanes::{MAX_LANES, auto_lanes, lane_of};
pub use names::{metric_name, warned_about};
pub use naming::Naming;
pub use nearest::nearest;
pub use partition::TopicPartition;
pub use pattern::Pattern;
pub use properties::{PropertyFault, check_by_table, looks_secret, owned};
pub use read::{Env, PropertyCheck};
pub use secret::{MASK, Redactor, Secret};
pub use select::{Selection, TopicPair};
pub use settings::*;
pub use start::Start;
pub use template::template;
pub use units::{format_size, parse_rate};
