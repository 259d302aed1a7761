//! Our own rights, and ACLs that the target lacks, on clusters with an authorizer.

use std::process::Command;

use onceover::check::Severity::{Fail, Pass, Warn};
use onceover::check::{Finding, names};

use super::checked;
use crate::brokers::distribution::Distribution;
use crate::brokers::{Cluster, Error, Numbered, Oracle, Writing, shared};
use crate::pipe::harness::Migration;

/// `kafka-acls.sh`, with the words that follow its name.
fn kafka_acls(cluster: &Cluster, arguments: &[&str]) -> Result<(), Error> {
    let mut java = Distribution::get()?.java(128, false);
    java.push("org.apache.kafka.tools.AclCommand".into());
    let mut command = Command::new(&java[0]);
    command.args(&java[1..]).args(["--bootstrap-server", &cluster.bootstrap()]).args(arguments);
    let output = command.output().map_err(|e| Error::new(format!("no `kafka-acls.sh`: {e}")))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() && !said.contains("Error while") {
        Ok(())
    } else {
        Err(Error::new(format!("`kafka-acls.sh {}`: {said}", arguments.join(" "))))
    }
}

/// Runs a command that a hint printed.
fn printed(cluster: &Cluster, hint: &str) -> Result<(), Error> {
    let command = hint.trim_matches('`');
    let rest = command.strip_prefix("kafka-acls.sh --bootstrap-server TARGET ");
    let rest = rest.unwrap_or_else(|| panic!("not a command for the target: {hint}"));
    let words: Vec<String> = rest.split(' ').map(|word| word.replace('\'', "")).collect();
    kafka_acls(cluster, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_printed_commands_grant_what_is_missing_and_the_run_goes_through() -> Result<(), Error> {
    let authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
    let target = Cluster::builder("check-rights")
        .heap_mb(256)
        .config("authorizer.class.name", authorizer)
        // Everybody may do everything with what no ACL speaks of: as soon as one does, only those that it
        // names. So the oracle, which has no name either, can still steer the cluster.
        .config("allow.everyone.if.no.acl.found", "true")
        .start()?;
    let on_target = Oracle::start(&target.bootstrap())?;
    let (name, source) = ("check-rights", shared::clusters());
    source.source_oracle.create_topic(name, 2, &[])?;
    let numbered = Numbered::new(name, 2, 500);
    source.source_oracle.produce_numbered(&numbered, &Writing::default())?;
    on_target.create_topic(name, 2, &[])?;
    let rest = format!("topics.include = ['{name}']");
    let migration =
        Migration::between(name, &source.source.bootstrap(), &target.bootstrap(), &rest);
    checked(&migration.plan).is_whole(names::RIGHTS, Pass);

    // Somebody else's rights: ours are gone.
    let theirs = ["--add", "--allow-principal", "User:somebody"];
    let on = |more: &[&str]| kafka_acls(&target, &[&theirs[..], more].concat());
    on(&["--operation", "Write", "--topic", name])?;
    on(&["--operation", "Read", "--group", &migration.group()])?;
    let ids = format!("{}-", migration.group());
    let prefixed = ["--resource-pattern-type", "prefixed"];
    on(&[&["--operation", "Write", "--transactional-id", &ids][..], &prefixed].concat())?;

    let before = on_target.snapshot()?;
    let found = checked(&migration.plan);
    let missing: Vec<_> = found
        .findings
        .iter()
        .filter(|one| one.check == names::RIGHTS && one.severity == Fail)
        .collect();
    let reasons: Vec<_> = missing.iter().map(|one| one.reason.as_str()).collect();
    for part in ["topic `check-rights`", "group `onceover-check-rights`", "transactional id"] {
        assert!(reasons.iter().any(|reason| reason.contains(part)), "no {part} in {reasons:?}");
    }
    assert_eq!(on_target.snapshot()?, before, "a check changes nothing");
    let is_id = |one: &&&Finding| one.reason.contains("transactional id");
    for one in missing.iter().filter(|one| !is_id(one)) {
        printed(&target, one.hint.as_deref().unwrap_or_default())?;
    }
    let refused = migration.run(&["--json"]).expect(7);
    assert_eq!(refused.error_kind(), names::RIGHTS);
    assert!(refused.stdout.contains("transactional id"), "{}", refused.stdout);
    assert!(!on_target.list_topics()?.contains(&migration.ledger()), "nothing is written");
    for one in missing.iter().filter(is_id) {
        printed(&target, one.hint.as_deref().unwrap_or_default())?;
    }
    checked(&migration.plan).is_whole(names::RIGHTS, Pass);
    migration.run(&["--json"]).expect(0);

    // The other way round: the rights of somebody else would be missed on the cluster without ACLs.
    let (from, to) = (target.bootstrap(), source.target.bootstrap());
    let back = Migration::between("check-rights-back", &from, &to, &rest);
    let found = checked(&back.plan);
    found.is(names::ACLS, name, Warn);
    assert!(found.says(names::ACLS, Some(name)).1.contains("`User:somebody` may Write"));
    Ok(())
}
