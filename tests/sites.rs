//! Two sites: each side is read where the other cluster cannot be reached, and compared without any.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::brokers::{Error, Record, shared};
use crate::pipe::harness::{Finished, Migration};

/// Nobody listens there: whoever tries to connect fails.
const NOWHERE: &str = "127.0.0.1:1";

/// A migration that was copied, with the plan of each site.
struct Sites {
    migration: Migration,
    home: PathBuf,
}

impl Sites {
    /// Copies `topics`, and proves it once where both clusters can be reached.
    fn copied(name: &str, topics: &[&str]) -> Sites {
        let rest = format!("topics.include = {topics:?}");
        let migration = Migration::new(name, &rest);
        migration.run(&["--json"]).expect(0);
        let home = migration.proof().parent().expect("a folder").to_owned();
        let sites = Sites { migration, home };
        sites.plans(&rest);
        sites
    }

    /// Each site's plan has the address of its own cluster alone.
    fn plans(&self, rest: &str) {
        let clusters = shared::clusters();
        let (source, target) = (clusters.source.bootstrap(), clusters.target.bootstrap());
        for (side, source, target) in [("source", &*source, NOWHERE), ("target", NOWHERE, &*target)]
        {
            let text = format!(
                "name = \"{}\"\nsource.bootstrap = \"{source}\"\ntarget.bootstrap = \"{target}\"\n{rest}\n",
                self.migration.name
            );
            fs::write(self.home.join(format!("{side}.toml")), text).expect("a plan is written");
        }
    }

    fn onceover(&self, args: &[&str]) -> Finished {
        let done = Command::new(env!("CARGO_BIN_EXE_onceover"))
            .args(args)
            .current_dir(&self.home)
            .output()
            .expect("onceover starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Finished { code: done.status.code(), stdout: text(done.stdout), stderr: text(done.stderr) }
    }

    /// Reads the target, then what its scope says of the source.
    fn both(&self, source: &str, target: &str) {
        self.target(target).expect(0);
        self.source(target, source).expect(0);
    }

    fn target(&self, out: &str) -> Finished {
        self.onceover(&["reconcile", "target.toml", "--side", "target", "--out", out])
    }

    fn source(&self, scope_of: &str, out: &str) -> Finished {
        let scope = format!("{scope_of}/scope.json");
        let side = ["reconcile", "source.toml", "--side", "source"];
        self.onceover(&[&side[..], &["--scope", &scope, "--out", out]].concat())
    }

    fn diff(&self, a: &str, b: &str, out: &str) -> Finished {
        self.onceover(&["diff", a, b, "--out", out, "--json"])
    }

    /// What travels over a thin link.
    fn without_manifest(&self, folder: &str, copy: &str) {
        fs::create_dir(self.home.join(copy)).expect("a new folder");
        for name in ["scope.json", "buckets.csv", "summary.json", "SHA256SUMS"] {
            fs::copy(self.home.join(folder).join(name), self.home.join(copy).join(name))
                .expect("a file of a side");
        }
    }

    /// Types the commands that a comparison has printed, each where its cluster is; the last one's end.
    fn follow(&self, compared: &Value) -> Finished {
        let commands = compared["two_sites"]["commands"].as_array().expect("commands").clone();
        assert_eq!(commands.len(), 3);
        let mut last = None;
        for command in &commands {
            let command = command.as_str().expect("text");
            let plan =
                if command.contains("--side source") { "source.toml" } else { "target.toml" };
            let args: Vec<&str> = command
                .split(' ')
                .skip(1)
                .map(|word| if word == "PLAN" { plan } else { word })
                .chain(["--json"])
                .collect();
            if let Some(done) = last.replace(self.onceover(&args)) {
                done.expect(0);
            }
        }
        last.expect("three commands")
    }

    fn rows(&self, file: impl AsRef<Path>) -> Vec<String> {
        let text = fs::read_to_string(self.home.join(file)).expect("a file");
        text.lines().skip(1).map(str::to_owned).collect()
    }
}

fn keyed(topic: &str, records: std::ops::Range<u32>, partitions: i32) -> Result<(), Error> {
    let record = |n: u32| {
        let partition = i32::try_from(n).unwrap_or(0) % partitions;
        Record::in_partition(partition).key(format!("key-{}", n % 500)).value(format!("value {n}"))
    };
    let records: Vec<Record> = records.map(record).collect();
    shared::clusters().source_oracle.produce(topic, &records).map(drop)
}

fn intruder() -> Record {
    Record::in_partition(2).key("intruder").value("not from the source")
}

#[test]
fn a_copy_is_proved_by_two_sites_that_never_meet_and_a_foreign_record_is_named() -> Result<(), Error>
{
    let clusters = shared::clusters();
    let (source, target) = (&clusters.source_oracle, &clusters.target_oracle);
    source.create_topic("sites-orders", 4, &[("retention.ms", "-1")])?;
    source.create_topic("sites-state", 2, &[("cleanup.policy", "compact")])?;
    keyed("sites-orders", 0..4000, 4)?;
    keyed("sites-state", 0..2000, 2)?;
    source.produce("sites-orders", &[Record::in_partition(1).value("without a key")])?;
    source.produce("sites-state", &[Record::in_partition(0).key("key-8")])?;
    let sites = Sites::copied("sites", &["sites-orders", "sites-state"]);

    sites.both("S", "T");
    let equal = sites.diff("S", "T", "D").expect(0).json();
    assert_eq!(equal["result"], "proved");
    assert_eq!(equal["source"]["records_compared"], 6002);
    assert_eq!(equal["two_sites"]["by"], "manifests");
    assert_eq!(sites.rows("D/diff.csv").len(), 0);
    assert_eq!(sites.rows("D/partitions.csv").len(), 6);
    // In the other order, and by buckets alone.
    sites.without_manifest("S", "S-thin");
    sites.without_manifest("T", "T-thin");
    let equal = sites.diff("T-thin", "S-thin", "D-thin").expect(0).json();
    assert_eq!(
        (&equal["result"], &equal["two_sites"]["by"]),
        (&"proved".into(), &"buckets".into())
    );

    target.produce("sites-orders", &[intruder()])?;
    sites.both("S2", "T2");
    let differs = sites.diff("S2", "T2", "D2").expect(1).json();
    assert_eq!(differs["differences_by_kind"]["extra"], 1);
    let rows = sites.rows("D2/diff.csv");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].starts_with("sites-orders,2,intruder,text,extra,"), "{}", rows[0]);
    assert!(rows[0].ends_with(",later writer"), "{}", rows[0]);

    // Folders of different passes are no proof, whatever is in them.
    let apart = sites.diff("S", "T2", "D3").expect(2).json();
    let why = apart["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("do not belong together: pass that took the ranges differs"), "{why}");
    let twice = sites.diff("T", "T2", "D3").expect(2).json();
    assert!(twice.to_string().contains("both folders are of the target"), "{twice}");
    let over = sites.diff("S", "T", "S").expect(2).json();
    assert!(over.to_string().contains("would replace those of `S`"), "{over}");
    sites.diff("S", "T", "D3").expect(0);
    fs::write(sites.home.join("S/buckets.csv"), "").expect("a damaged file");
    let damaged = sites.diff("S", "T", "D3").expect(2).json();
    assert!(damaged.to_string().contains("buckets.csv` is not the file"), "{damaged}");
    Ok(())
}

#[test]
fn over_a_thin_link_the_buckets_that_differ_are_read_again_and_the_key_is_named()
-> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic("sites-thin", 4, &[("retention.ms", "-1")])?;
    keyed("sites-thin", 0..4000, 4)?;
    let sites = Sites::copied("sites-thin", &["sites-thin"]);
    let foreign = Record::in_partition(2).key("key-2").value("not from the source");
    clusters.target_oracle.produce("sites-thin", &[foreign])?;
    sites.both("S-whole", "T-whole");
    sites.without_manifest("S-whole", "S");
    sites.without_manifest("T-whole", "T");

    let compared = sites.diff("S", "T", "D").expect(1).json();
    assert_eq!(compared["result"], "not-proved");
    assert_eq!(compared["two_sites"]["buckets_to_read_again"], 1);
    let buckets = sites.rows("D/buckets-differing.csv");
    assert_eq!(buckets.len(), 1);
    assert!(buckets[0].starts_with("sites-thin,2,"), "{buckets:?}");
    assert_eq!(sites.rows("D/diff.csv").len(), 0);

    let named = sites.follow(&compared).expect(1).json();
    assert_eq!(named["differences"], 1);
    let rows = sites.rows(format!("{}-again/diff.csv", sites.migration.name));
    assert!(rows.len() == 1 && rows[0].starts_with("sites-thin,2,key-2,text,extra,"), "{rows:?}");
    assert!(rows[0].contains(",8,9,"), "both sides have read all records of the key: {rows:?}");
    // Of 125 keys in that partition only those of one bucket were read again.
    let again = sites.rows("S-again/manifest-source.csv").len();
    let whole = sites.rows("S-whole/manifest-source.csv").len();
    assert!(again > 0 && again < whole / 20, "{again} of {whole}");
    Ok(())
}

#[test]
fn another_cluster_or_a_topic_that_was_made_anew_is_refused_beside_the_source() -> Result<(), Error>
{
    let clusters = shared::clusters();
    let source = &clusters.source_oracle;
    source.create_topic("sites-anew", 1, &[("retention.ms", "-1")])?;
    keyed("sites-anew", 0..10, 1)?;
    let sites = Sites::copied("sites-anew", &["sites-anew"]);
    sites.target("T").expect(0);
    let plan = sites.home.join("source.toml");
    let right = fs::read_to_string(&plan).expect("a plan");
    let wrong = right.replace(&clusters.source.bootstrap(), &clusters.target.bootstrap());
    fs::write(&plan, wrong).expect("a plan of the wrong cluster");
    let refused = sites.source("T", "S").expect(5);
    assert!(refused.stderr.contains("another-cluster"), "{}", refused.stderr);

    fs::write(&plan, right).expect("the plan");
    source.delete_topic("sites-anew")?;
    source.create_topic("sites-anew", 1, &[("retention.ms", "-1")])?;
    keyed("sites-anew", 0..10, 1)?;
    let refused = sites.source("T", "S").expect(5);
    assert!(refused.stderr.contains("topic-created-anew"), "{}", refused.stderr);
    Ok(())
}

#[test]
fn what_the_source_has_lost_since_or_written_since_is_no_difference() -> Result<(), Error> {
    let clusters = shared::clusters();
    let source = &clusters.source_oracle;
    source.create_topic("sites-live", 2, &[("retention.ms", "-1")])?;
    source.create_topic("sites-live-state", 1, &[("cleanup.policy", "compact")])?;
    keyed("sites-live", 0..1000, 2)?;
    keyed("sites-live-state", 0..1000, 1)?;
    let sites = Sites::copied("sites-live", &["sites-live", "sites-live-state"]);
    sites.target("T").expect(0);
    source.delete_records("sites-live", 1, 100)?;
    keyed("sites-live", 0..10, 2)?;
    keyed("sites-live-state", 0..10, 1)?;
    sites.source("T", "S").expect(0);

    // The target has read what the source no longer has: both must begin at the same offset.
    let compared = sites.diff("S", "T", "D").expect(1).json();
    assert_eq!((&compared["result"], &compared["differences"]), (&"not-proved".into(), &0.into()));
    let superseded = r#"{"count":10,"what":"keys with a newer record, judged by the next pass"}"#;
    assert!(compared["not_proved"].to_string().contains(superseded), "{}", compared["not_proved"]);
    let buckets = sites.rows("D/buckets-differing.csv");
    assert!(buckets.iter().all(|row| row.starts_with("sites-live,1,")), "{buckets:?}");
    let after = sites.follow(&compared).expect(0).json();
    assert_eq!((&after["result"], &after["differences"]), (&"proved".into(), &0.into()));
    Ok(())
}

#[test]
fn hashed_keys_compare_under_one_secret_and_not_under_another() -> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic("sites-hashed", 2, &[("retention.ms", "-1")])?;
    keyed("sites-hashed", 0..500, 2)?;
    let sites = Sites::copied("sites-hashed", &["sites-hashed"]);
    let secret = sites.home.join("secret");
    fs::write(&secret, "correct horse battery staple").expect("a secret");
    sites.plans(&format!(
        "topics.include = [\"sites-hashed\"]\nreconcile.keys = \"hashed\"\nreconcile.secret = \"${{file:{}}}\"",
        secret.display()
    ));
    sites.both("S", "T");
    sites.diff("S", "T", "D").expect(0);
    let foreign = Record::in_partition(1).key("intruder").value("not from the source");
    clusters.target_oracle.produce("sites-hashed", &[foreign])?;
    sites.both("S2", "T2");
    sites.diff("S2", "T2", "D2").expect(1);
    let rows = sites.rows("D2/diff.csv");
    assert!(rows.len() == 1 && rows[0].contains(",hmac-sha-256,extra,"), "{rows:?}");
    for name in ["T2/manifest-target.csv", "T2/scope.json", "T2/buckets.csv", "D2/diff.csv"] {
        let text = fs::read_to_string(sites.home.join(name)).expect("a file");
        assert!(!text.contains("intruder") && !text.contains("key-1"), "{name}");
        assert!(!text.contains("correct horse"), "{name}");
    }

    fs::write(&secret, "correct horse battery stable").expect("another secret");
    let refused = sites.source("T2", "S3").expect(2);
    assert!(refused.stderr.contains("different secrets"), "{}", refused.stderr);
    Ok(())
}

#[test]
fn without_a_ledger_whole_logs_are_read_and_each_side_still_needs_its_own_cluster_alone()
-> Result<(), Error> {
    let clusters = shared::clusters();
    clusters.source_oracle.create_topic("sites-audit", 2, &[("retention.ms", "-1")])?;
    keyed("sites-audit", 0..500, 2)?;
    let sites = Sites::copied("sites-audit", &["sites-audit"]);
    let side = |side: &str, out: &str| {
        let plan = format!("{side}.toml");
        sites.onceover(&["reconcile", &plan, "--side", side, "--no-ledger", "--out", out]).expect(0)
    };
    side("target", "T");
    side("source", "S");
    let equal = sites.diff("S", "T", "D").expect(0).json();
    assert_eq!((&equal["result"], &equal["ledger"]), (&"proved".into(), &false.into()));
    let record = Record::in_partition(0).key("key-0").value("twice");
    clusters.target_oracle.produce("sites-audit", &[record])?;
    side("target", "T");
    sites.diff("S", "T", "D").expect(1);
    let rows = sites.rows("D/diff.csv");
    assert!(rows.len() == 1 && rows[0].starts_with("sites-audit,0,key-0,text,extra,"), "{rows:?}");
    Ok(())
}
