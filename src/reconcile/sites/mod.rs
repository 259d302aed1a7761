//! Two sites: each side is read beside its own cluster, and compared anywhere. No record crosses the link.
//!
//! ```text
//!   beside the target                    beside the source                   anywhere
//!   reconcile --side target ─ scope.json ─> reconcile --side source
//!          └─ buckets, manifest ──────────────────────┴─ buckets, manifest ──> diff ─> verdict
//!                 ^                                   ^                          │
//!                 └───────────────────────────────────┴── buckets-differing.csv ─┘
//! ```
//!
//! - [`buckets`]: manifests folded into few digests; small enough for any link. [`only`]: some of them.
//! - [`scope_file`]: which ranges, and everything that both sides must agree upon. [`together`]: do they?
//! - `one_side`, `whole`: partitions of one side. `side`: one side's pass.
//! - `walk`: both manifests, key by key. `diff`, `diff_result`: the comparison, without a network; `again`:
//!   what to type then.

mod again;
pub mod buckets;
mod diff;
mod diff_result;
mod one_side;
pub mod only;
pub mod scope_file;
mod side;
mod side_summary;
pub mod together;
mod walk;
mod whole;

pub use diff::{DiffOptions, diff};
pub use diff_result::Diffed;
pub use only::Only;
pub use side::{SideOptions, read_side_alone};
pub use side_summary::SideSummary;
