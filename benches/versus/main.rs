//! onceover beside MirrorMaker 2, and both beside the brokers alone, on the same brokers in one run, in
//! turns: `cargo bench --bench versus`. What it measures and how is told in `docs/benchmarks.md`.
//!
//! Arguments after `--`, all optional:
//!
//! - `quick`: a small part of the default run, to see that the benchmark itself works (its numbers mean nothing);
//! - `rows=b512,k10`: some rows of [`rows`] and of the other measures: `latency`, `recovery`, `growth`;
//! - `contenders=onceover,mm2-exactly-once,mm2-default,limit`, `rounds=3`, `scale=0.5` (of the record counts);
//! - `mm2.KEY=VALUE`, `plan.KEY=VALUE`: settings of MirrorMaker 2 (as `mm2.consumer.max.poll.records=10000`)
//!   and of the plan (as `plan.run.lanes=3`), to try whether they do better.
//!
//! Layout: [`rows`] says what is moved, [`contenders`] who moves it, [`process`], [`memory`] and [`arrivals`] watch them,
//! [`moving`], [`latency`], [`recovery`] and [`growth`] are the measures, [`limit`] is the brokers alone,
//! [`aims`] judges, [`table`] and [`files`] show.

#[path = "../../tests/brokers/mod.rs"]
mod brokers;

mod aims;
mod arrivals;
mod contenders;
mod files;
mod growth;
mod latency;
mod limit;
mod memory;
mod moving;
mod numbers;
mod options;
mod process;
mod recovery;
mod rows;
mod stage;
mod table;

use brokers::Error;
use options::Options;
use stage::Stage;

fn main() -> Result<(), Error> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let stage = Stage::set(options)?;
    let moved = moving::measure(&stage)?;
    let delays = latency::measure(&stage)?;
    let recovered = recovery::measure(&stage)?;
    growth::measure(&stage)?;
    let judged = aims::judge(&moved, &delays, &recovered);
    table::aims(&judged);
    files::aims(&stage.files, &judged)?;
    println!("\nCSV in {}", stage.files.display());
    Ok(())
}
