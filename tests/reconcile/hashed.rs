//! `reconcile.keys = "hashed"`: what leaves the clusters tells nothing to somebody who lacks the secret.

use std::fmt::Write as _;
use std::fs;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::copied::Copied;
use super::files::{Proof, Row};
use crate::brokers::{Error, Numbered, Record};
use crate::pipe::harness::Finished;

const SECRET: &str = "m0st-secret-of-all-secrets";
const PLAN: &str = "reconcile.keys = \"hashed\"\nreconcile.secret = \"${env:PROOF_SECRET}\"";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// As `docs/digest.md` has it.
fn hashed(key: &str) -> String {
    let mut hmac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length");
    hmac.update(b"onceover key v1\0");
    hmac.update(key.as_bytes());
    hex(&hmac.finalize().into_bytes())
}

/// Everything that a proof has said or written.
fn everything(copied: &Copied, said: &Finished) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![
        ("stdout".to_owned(), said.stdout.clone().into_bytes()),
        ("stderr".to_owned(), said.stderr.clone().into_bytes()),
    ];
    for entry in fs::read_dir(copied.migration.proof()).expect("a folder") {
        let path = entry.expect("an entry").path();
        all.push((path.display().to_string(), fs::read(&path).expect("a file")));
    }
    assert_eq!(all.len(), 2 + 6, "nothing but the six files is left");
    all
}

#[test]
fn with_hashed_keys_no_key_value_or_secret_is_told_and_the_same_difference_is_found()
-> Result<(), Error> {
    let name = "proof-hashed";
    let mut copied = Copied::empty(name, 2, &[], PLAN)?;
    copied.migration.set_env("PROOF_SECRET", SECRET);
    copied.numbered(&Numbered { keys: 20, ..Numbered::new(name, 2, 1_000) })?;
    let canary = Record::in_partition(0).key("canary-key").header("canary-name", "canary-header");
    copied.write(&[canary.value("canary-value").at(1_700)])?;
    let first = copied.migration.run(&["--json", "-vv"]).expect(0);
    Proof::said_by_run(&copied.migration, &first).is_clean();
    let offsets = copied.spoil(&[Record::in_partition(0)
        .key("canary-key")
        .value("canary-foreign")
        .header("canary-name", "canary-header")
        .at(1_800)])?;
    let second = copied.migration.verb("reconcile", &["--full", "--json", "-vv"]).expect(1);
    let proof = Proof::said(&copied.migration, &second);
    let found = Row {
        key_encoding: "hmac-sha-256".into(),
        source_records: 1,
        target_records: 2,
        target_offset: Some(offsets[0]),
        ..copied.row(0, &hashed("canary-key"), "extra")
    };
    assert_eq!(proof.rows, [found]);
    assert_eq!(proof.summary["keys"], "hashed");
    for at in &proof.partitions {
        assert_eq!(&at["ledger_digest"], "", "the ledger's are not keyed: {at:?}");
        assert!(!at["source_digest"].is_empty());
    }
    // Parts of every key and value that was written, as text and as hexadecimal.
    let words = ["canary", "key-1", "\"pad\":", SECRET];
    for (place, bytes) in
        everything(&copied, &first).into_iter().chain(everything(&copied, &second))
    {
        for word in
            words.map(str::to_owned).into_iter().chain(words.map(|word| hex(word.as_bytes())))
        {
            let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!found, "`{word}` in {place}");
        }
    }
    let manifest = fs::read_to_string(copied.migration.proof().join("manifest-source.csv"));
    assert!(manifest.expect("text").contains(&hashed("key-1")), "keys are there, hashed");
    Ok(())
}
