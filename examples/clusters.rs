//! Two empty clusters to play with: `cargo run --example clusters`, and Enter ends them.

#[path = "../tests/brokers/mod.rs"]
mod brokers;

use brokers::{Cluster, Error};

fn main() -> Result<(), Error> {
    let source = Cluster::builder("source").start()?;
    let target = Cluster::builder("target").start()?;
    println!("source {}\ntarget {}\nEnter ends them", source.bootstrap(), target.bootstrap());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Error::new(error.to_string()))?;
    Ok(())
}
