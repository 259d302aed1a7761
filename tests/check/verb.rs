//! The verb as a person and a program meet it: exit code, report, files, resources; and that it changes
//! nothing.

use std::fs;

use crate::brokers::{Error, Record, shared};
use crate::pipe::harness::Migration;

#[test]
fn a_check_that_fails_ends_with_7_and_says_so_in_every_form() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    source.create_topic("check-verb-a", 3, &[("flush.messages", "5")])?;
    source.create_topic("check-verb-b", 3, &[])?;
    target.create_topic("check-verb-b", 2, &[])?;
    source.produce("check-verb-a", &[Record::in_partition(0).key("k").value("v")])?;
    let rest = "topics.include = ['/check-verb-./']\ntopics.replication_factor = 1";
    let migration = Migration::new("check-verb", rest);

    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("found");
    let csv = folder.path().join("all.csv");
    let (out, csv) = (out.to_str().expect("UTF-8"), csv.to_str().expect("UTF-8"));
    let text = migration.verb("check", &["--out", out, "--csv", csv]).expect(7).stdout;
    assert!(text.starts_with("check-verb: 1 check FAILED, it must not be run like this"), "{text}");
    assert!(text.contains("source has 3 partitions, target has 2"), "{text}");
    let checks = fs::read_to_string(folder.path().join("found/checks.csv")).expect("checks.csv");
    assert_eq!(checks, fs::read_to_string(csv).expect("all.csv"));
    assert!(checks.contains("\r\nfail,partitions,check-verb-b,check-verb-b,"), "{checks}");
    for name in ["acls.csv", "schema-ids.csv"] {
        assert!(folder.path().join("found").join(name).exists(), "{name}");
    }

    let json = migration.verb("check", &["--json"]).expect(7).json();
    assert_eq!((&json["result"], &json["exit"]), (&"failed".into(), &7.into()));
    let findings = json["findings"].as_array().expect("findings");
    let created =
        findings.iter().find(|one| one["check"] == "create-topic").expect("one would be made");
    assert_eq!((&created["severity"], &created["topic"]), (&"info".into(), &"check-verb-a".into()));
    assert!(created["reason"].as_str().expect("text").contains("flush.messages=5"), "{created}");

    let script = migration.verb("check", &["--print-resources", "sh"]).expect(0).stdout;
    let topic = "--create --topic check-verb-a --partitions 3 --replication-factor 1 \
                 --config flush.messages=5\n";
    assert!(script.contains(topic), "{script}");
    assert!(
        script.contains("--create --topic onceover-check-verb-ledger --partitions "),
        "{script}"
    );
    assert!(!script.contains("--topic check-verb-b "), "{script}");

    // Nothing came into being; another client says so.
    let topics = target.list_topics()?;
    for name in ["check-verb-a", "onceover-check-verb-ledger"] {
        assert!(!topics.iter().any(|topic| topic == name), "{name}");
    }
    Ok(())
}

#[test]
fn what_the_plan_allows_lets_the_check_pass() -> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic("check-verb-allowed", 1, &[])?;
    let times = [("message.timestamp.type", "LogAppendTime")];
    clusters.target_oracle.create_topic("check-verb-allowed", 1, &times)?;
    let rest = "topics.include = ['check-verb-allowed']";
    let migration = Migration::new("check-verb-allowed", rest);
    migration.verb("check", &[]).expect(7);
    migration.rewrite(&format!(
        "{rest}\n[[check.allow]]\ncheck = 'timestamp-type'\ntopics = ['check-verb-allowed']\nreason = 'agreed'"
    ));
    let text = migration.verb("check", &[]).expect(0).stdout;
    assert!(text.starts_with("check-verb-allowed: nothing fails, a run may begin\n"), "{text}");
    assert!(text.contains("gets the time of the copy (allowed: agreed)"), "{text}");
    Ok(())
}

#[test]
fn a_check_that_nobody_knows_does_not_load() {
    let migration = Migration::new(
        "check-verb-unknown",
        "topics.include = ['a']\n[[check.allow]]\ncheck = 'retension'\ntopics = ['a']\nreason = 'r'",
    );
    let error = migration.verb("check", &["--json"]).expect(2).json();
    assert_eq!(error["error"]["hint"], "did you mean `retention`?");
}
