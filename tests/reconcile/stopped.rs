//! Proofs that do not come to their end, and folders that are somebody else's.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;

use super::copied::Copied;
use super::files::Proof;
use crate::brokers::{Error, Numbered};
use crate::pipe::harness::{Migration, eventually};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("there").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_proof_that_is_stopped_leaves_the_earlier_one_and_nothing_else() -> Result<(), Error> {
    let copied = Copied::empty("proof-stopped", 2, &[], "")?;
    copied.numbered(&Numbered::new("proof-stopped", 2, 200_000))?;
    copied.run();
    let folder = copied.migration.proof();
    let before = (names(&folder), Proof::read(&copied.migration).summary);
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let running = copied.migration.start_verb("reconcile", &["--full", "--json"]);
        // Made before anything is read.
        eventually("the proof has begun", || names(&folder) != before.0);
        running.signal(signal);
        let stopped = running.finish().expect(code);
        assert_eq!(stopped.error_kind(), "stopped", "{}", stopped.stdout);
        assert_eq!(names(&folder), before.0);
        assert_eq!(Proof::read(&copied.migration).summary, before.1);
    }
    Ok(())
}

#[test]
fn the_proof_of_another_plan_is_not_replaced() -> Result<(), Error> {
    let copied = Copied::empty("proof-mine", 1, &[], "")?;
    copied.numbered(&Numbered::new("proof-mine", 1, 10))?;
    copied.run();
    let theirs = copied.migration.proof();
    let before = Proof::read(&copied.migration).summary;
    let mine = Migration::new("proof-other", "topics.include = [\"proof-mine\"]");
    let out = theirs.to_str().expect("a path");
    for (verb, args) in [("reconcile", vec!["--out", out]), ("run", vec!["--out", out])] {
        let refused = mine.verb(verb, &[&args[..], &["--json"]].concat()).expect(2);
        let message = refused.json()["error"].to_string();
        assert!(message.contains("proof of plan `proof-mine`"), "{message}");
        assert!(message.contains("--out"), "{message}");
    }
    assert_eq!(Proof::read(&copied.migration).summary, before);
    assert!(!copied.target.list_topics()?.contains(&mine.ledger()), "nothing was copied for it");
    Ok(())
}
