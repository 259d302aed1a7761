//! `tools/verify.py`, another implementation with another client, says of a proof what the proof says.
//!
//! Needs a Python with the packages of `tools/requirements.txt`, named by `ONCEOVER_PYTHON`: `.ci/run` makes
//! one. Run with `cargo test -- --ignored verified_elsewhere`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::copied::Copied;
use crate::brokers::{Error, Numbered, Writing, shared};

/// Exit code and words of `verify.py`.
fn verify(args: &[&str]) -> (Option<i32>, String) {
    let home = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var_os("ONCEOVER_PYTHON").unwrap_or_else(|| "python3".into());
    let script = home.join("tools/verify.py");
    let done = Command::new(python).arg(script).args(args).current_dir(home).output();
    let done = done.expect("python starts");
    let said = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8_lossy(&said).into_owned())
}

fn line(csv: &Path, topic: &str, partition: &str) -> (Option<i32>, String) {
    let clusters = shared::clusters();
    let csv = csv.to_str().expect("a path");
    let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
    let mut args = vec!["line", csv, "--topic", topic, "--partition", partition];
    args.extend(["--source", &source, "--target", &target]);
    verify(&args)
}

#[test]
#[ignore = "needs a Python with the packages of tools/requirements.txt"]
fn another_implementation_with_another_client_comes_to_the_same_line() -> Result<(), Error> {
    let vectors = verify(&["vectors", "--check", "docs/digest.md"]);
    assert_eq!(vectors.0, Some(0), "{}", vectors.1);

    let name = "proof-elsewhere";
    let copied = Copied::empty(name, 2, &[], "")?;
    let numbered =
        Numbered { keys: 50, headers: 3, tombstone_every: 9, ..Numbered::new(name, 2, 2_000) };
    for (first, codec) in (0..).zip(["none", "gzip", "snappy", "lz4", "zstd"]) {
        let settings = [("compression.type", codec)];
        let writing = Writing {
            per_transaction: 40,
            abort_every: 7,
            settings: &settings,
            ..Writing::default()
        };
        let part = Numbered { first: first * 2_000, ..numbered.clone() };
        copied.source.produce_numbered(&part, &writing)?;
    }
    copied.run();
    let csv = copied.migration.proof().join("partitions.csv");
    for partition in ["0", "1"] {
        let said = line(&csv, name, partition);
        assert_eq!(said.0, Some(0), "{}", said.1);
    }

    // One digit of a digest is another.
    let text = std::fs::read_to_string(&csv).expect("there");
    let digest = copied.prove(&["--full"], 0).partitions[0]["target_digest"].to_owned();
    let last = if digest.ends_with('0') { "1" } else { "0" };
    let other = format!("{}{last}", &digest[..digest.len() - 1]);
    let forged = csv.with_file_name("forged.csv");
    std::fs::write(&forged, text.replace(&digest, &other)).expect("written");
    let said = line(&forged, name, "0");
    assert_eq!(said.0, Some(1), "{}", said.1);
    std::fs::remove_file(forged).expect("removed");
    Ok(())
}
