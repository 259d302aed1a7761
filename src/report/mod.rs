//! SAY it: the board of observable facts, progress, status, summary. Nothing here touches the network.
//!
//! Stdout is data ([`out`], [`summary`]), stderr is talk ([`Screen`], [`logs`], [`progress`]).

pub mod audit;
mod bars;
pub mod board;
pub mod check;
pub mod ledger_print;
pub mod line;
pub mod logs;
pub mod numbers;
pub mod out;
pub mod pace;
pub mod panics;
pub mod progress;
pub mod screen;
pub mod status;
mod status_json;
pub mod status_partition;
mod status_text;
pub mod summary;
mod table;

pub use board::{Board, Snapshot, Wait};
pub use pace::Aim;
pub use progress::{ProgressMode, Reporter};
pub use screen::{LogFormat, Screen, redact_json};
pub use status::Status;
pub use summary::Summary;
