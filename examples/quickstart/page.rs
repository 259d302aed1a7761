//! What is printed: one page, in the order in which it happens.

use super::brokers::Error;
use super::data::Topic;
use super::onceover::Ran;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

pub fn intro() {
    println!(
        "\
onceover quickstart: a million records from one Kafka cluster to another, exactly once, although the
program is killed in the middle; and the proof that both sides are the same

  needs  Rust and a C toolchain (both were there to get so far), a JDK 17 or newer, Maven
  takes  about a minute (56 to 74 s measured on two busy cores); the first time a minute more, to
         fetch Apache Kafka
  stays  in the build folder and on 127.0.0.1; Ctrl-C ends it and all that it has started; the proofs
         stay where you can look at them
"
    );
}

/// Says what is being done, then how long it took and what came of it.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<(T, String), Error>) -> Result<T, Error> {
    print!("{what} ");
    let _ = std::io::stdout().flush();
    let begun = Instant::now();
    let (result, said) = work()?;
    let said = if said.is_empty() { said } else { format!(": {said}") };
    println!("({}){said}", seconds(begun.elapsed()));
    Ok(result)
}

pub fn topics(topics: &[Topic]) {
    for topic in topics {
        line(&format!(
            "{:<12}{} partitions, {:>7} records, {}",
            topic.name,
            topic.partitions,
            count(topic.before.count),
            topic.kind
        ));
    }
}

/// A command as it is run, and why.
pub fn command(args: &[&str], why: &str) {
    println!("\n# {why}\n$ onceover {}", args.join(" "));
}

/// What a program printed, indented.
pub fn quote(text: &str) {
    for printed in text.trim_end().lines() {
        println!("{}", format!("    {printed}").trim_end());
    }
}

pub fn line(text: &str) {
    println!("    {text}");
}

/// What a run that ended said about itself.
pub fn ran(ran: &Ran) {
    let number = |name: &str| ran.summary[name].as_u64().unwrap_or(0);
    line(&format!(
        "{}: {} records in {} transactions, {}, exit 0",
        ran.summary["result"].as_str().unwrap_or("no result"),
        count(number("records")),
        count(number("transactions")),
        seconds(Duration::from_millis(number("elapsed_ms"))),
    ));
    let proof = &ran.summary["proof"];
    let compared = |side: &str| count(proof[side]["records_compared"].as_u64().unwrap_or(0));
    line(&format!(
        "compared {} records of the source with {} of the target in {}: {} differences",
        compared("source"),
        compared("target"),
        seconds(Duration::from_millis(proof["elapsed_ms"].as_u64().unwrap_or(0))),
        proof["differences"],
    ));
}

/// What lies in the folder of a proof.
pub fn files() {
    println!("\nwhat a proof leaves; all of it opens in a spreadsheet or an editor");
    for (name, what) in [
        ("partitions.csv", "every partition: range, counts, digests of both sides, verdict"),
        ("diff.csv", "every key that differs, and how; empty after a clean proof"),
        ("manifest-source.csv", "every key of the source: records, digest, first and last offset"),
        ("manifest-target.csv", "the same of the target"),
        ("summary.json", "the page above for a program, and what was not proved"),
        ("SHA256SUMS", "for `sha256sum -c`: nobody has changed a file since"),
    ] {
        line(&format!("{name:<21}{what}"));
    }
}

pub fn end(took: Duration, proofs: &str, logs: &Path) {
    println!("\nit took {} in all. Both clusters are stopped.", seconds(took));
    println!("proofs: {proofs}   (docs/reconcile.md says what every column means)");
    println!("logs:   {}", logs.display());
    println!("next:   a plan of your own, see README.md");
}

pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// With commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
