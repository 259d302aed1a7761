//! What stands in the way on the target and is taken away again: a full disk, a refused record, a lost or
//! spoilt ledger, a right that is withdrawn.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::brokers::{
    Cluster, Error, Isolation, Numbered, Oracle, Record, Stored, Writing, shared,
};
use crate::pipe::crowd::{Crowd, PARTITIONS};
use crate::pipe::harness::{Finished, Migration, Process, await_exactly, eventually};
use crate::pipe::refusals::{Case, foreign};

/// The error object of a run that ended with `code`; it has a hint.
#[track_caller]
fn error(finished: Finished, code: i32) -> Value {
    let finished = finished.expect(code);
    let error = finished.json()["error"].clone();
    assert!(error["hint"].is_string(), "{error}");
    error
}

#[track_caller]
fn says(error: &Value, field: &str, text: &str) {
    assert!(error[field].as_str().is_some_and(|said| said.contains(text)), "no `{text}`: {error}");
}

/// What has arrived is of each partition the first records, each once and in order, and not all.
#[track_caller]
fn is_a_beginning(target: &Oracle, numbered: &Numbered) -> Result<(), Error> {
    let step = i64::try_from(numbered.partitions).expect("few");
    let mut arrived = 0;
    for (first, runs) in (0..).zip(target.ids(&numbered.topic, Isolation::ReadCommitted)?) {
        let in_order = match runs.as_slice() {
            [] => true,
            [run] => run.first == first && (run.count == 1 || run.step == step),
            _ => false,
        };
        assert!(in_order, "partition {first}: {runs:?}");
        arrived += runs.iter().map(|run| run.count).sum::<i64>();
    }
    let all = i64::try_from(numbered.count).expect("few");
    assert!(0 < arrived && arrived < all, "{arrived} of {all}");
    Ok(())
}

/// The size of the largest segment of the topic's logs.
fn largest(data: &Path, topic: &str) -> u64 {
    let segments = (0..PARTITIONS).flat_map(|p| {
        let files = fs::read_dir(data.join(format!("{topic}-{p}"))).into_iter().flatten();
        files.flatten().filter(|file| file.path().extension().is_some_and(|it| it == "log"))
    });
    segments.filter_map(|file| Some(file.metadata().ok()?.len())).max().unwrap_or(0)
}

/// No file of the process can grow beyond `bytes` from now on: what a full disk does to an append, and
/// it needs neither a file system of its own nor the rights to mount one.
fn fill_up(pid: u32, bytes: u64) {
    let done = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:")])
        .status()
        .expect("`prlimit` (util-linux) is needed to bound the files of a broker");
    assert!(done.success(), "prlimit: {done}");
}

#[test]
fn a_run_goes_on_by_itself_when_the_targets_full_disk_has_room_again() -> Result<(), Error> {
    let clusters = shared::clusters();
    let target = Cluster::builder("obstacle-disk").heap_mb(256).start()?;
    let oracle = Oracle::start(&target.bootstrap())?;
    let name = "obstacle-disk";
    let (from, to) = (clusters.source.bootstrap(), target.bootstrap());
    let oracles = (&clusters.source_oracle, oracle);
    let crowd = Crowd::between(name, (&from, &to), oracles, 60_000, 16)?;
    let mut worker = crowd.worker("w1");
    crowd.await_arrival(0.2);
    let room = largest(&target.logs_dir().join("data-1"), name) + (32 << 10);
    fill_up(target.pid(1).expect("it runs"), room);
    // A broker whose only log folder fails ends itself.
    eventually("the broker has ended", || target.ended(1).0);
    let said = target.ended(1).1;
    assert!(said.contains("File too large"), "in the log below {}", target.logs_dir().display());
    assert!(worker.is_running());
    target.restart(1)?;
    crowd.in_mid_run();
    let finished = worker.finish().expect(0);
    assert!(finished.stderr.contains("side=target"), "it told of it: {}", finished.stderr);
    crowd.is_complete()
}

#[test]
fn a_time_that_the_target_refuses_is_blamed_on_its_record_alone() -> Result<(), Error> {
    let case = Case::empty("obstacle-time")?;
    let beside = Numbered::new("obstacle-time.b", 1, 300);
    case.source.create_topic(&beside.topic, 1, &[])?;
    case.migration.rewrite("topics.include = ['/obstacle-time.*/']\nrun.lanes = 1");
    // The numbered records are younger than 20 years.
    let young = [("message.timestamp.before.max.ms", "631152000000")];
    case.target.create_topic(&case.name, 2, &young)?;
    case.source.produce_numbered(&beside, &Writing::default())?;
    case.produce(200)?;
    let old = Record::in_partition(1).key("k").value("of 1970").at(1_000);
    assert_eq!(case.source.produce(&case.name, &[old])?, [100]);
    case.produce(200)?;

    let error = error(case.migration.run(&["--tail", "--json"]), 4);
    says(&error, "message", "record obstacle-time-1@100 for `obstacle-time-1`");
    assert_eq!(error["side"], "target", "{error}");
    let arrived = case.target.read(&case.name, Isolation::ReadCommitted)?;
    let written = case.source.read(&case.name, Isolation::ReadCommitted)?;
    for partition in 0..2 {
        let of = |all: &[Stored]| -> Vec<Record> {
            let all = all.iter().map(|one| one.record.clone());
            all.filter(|record| record.partition == partition).collect()
        };
        assert!(of(&written).starts_with(&of(&arrived)), "a beginning, and nothing else");
    }

    case.target.unset_topic_config(&case.name, &["message.timestamp.before.max.ms"])?;
    let tail = case.migration.start(&["--tail", "--json"]);
    await_exactly(&case.target, &beside);
    let digest = |oracle: &Oracle| oracle.digest(&case.name, Isolation::ReadCommitted).ok();
    eventually("all is there", || digest(&case.source) == digest(&case.target));
    tail.signal(Signal::SIGTERM);
    tail.finish().expect(0);
    case.same()
}

/// A tail that has copied 200 records.
fn tailed(name: &str) -> Result<(Case, Numbered, Process), Error> {
    let case = Case::empty(name)?;
    let numbered = Numbered::new(name, 2, 200);
    case.source.produce_numbered(&numbered, &Writing::default())?;
    let tail = case.migration.start(&["--tail", "--json"]);
    await_exactly(&case.target, &numbered);
    Ok((case, numbered, tail))
}

/// As the hints say: another plan name, an empty topic, and all is copied again.
#[track_caller]
fn is_copied_under_another_name(case: &Case, numbered: &Numbered) -> Result<(), Error> {
    case.target.delete_topic(&case.name)?;
    let again = Migration::new(
        &format!("{}-2", case.name),
        &format!("topics.include = [\"{}\"]", case.name),
    );
    again.run(&[]).expect(0);
    assert_eq!(case.target.check_numbered(numbered)?, [""; 0]);
    Ok(())
}

#[test]
fn a_ledger_deleted_under_a_tail_ends_it_and_is_not_begun_anew_over_copied_records()
-> Result<(), Error> {
    let (case, numbered, tail) = tailed("obstacle-ledger-gone")?;
    let ledger = case.migration.ledger();
    case.target.delete_topic(&ledger)?;
    case.source.produce_numbered(&numbered.after(100), &Writing::default())?;
    let error = error(tail.finish(), 5);
    assert_eq!(error["kind"], "ledger-damaged", "{error}");
    says(&error, "message", &format!("ledger topic `{ledger}` is gone"));
    assert_eq!(case.target.check_numbered(&numbered)?, [""; 0], "nothing without the ledger");

    case.refused("target-not-empty")?
        .say(&["the ledger has no position"], "copy into an empty topic");
    assert!(!case.target.list_topics()?.contains(&ledger));
    is_copied_under_another_name(&case, &Numbered { count: 300, ..numbered })
}

#[test]
fn a_foreign_record_in_the_ledger_ends_a_tail_that_runs() -> Result<(), Error> {
    let (case, numbered, tail) = tailed("obstacle-ledger-foreign")?;
    let ledger = case.migration.ledger();
    let at = case.target.produce(&ledger, &[foreign()])?[0];
    let error = error(tail.finish(), 5);
    assert_eq!(error["kind"], "ledger-damaged", "{error}");
    says(&error, "message", &format!("`{ledger}-1` cannot be read at offset {at}"));
    case.source.produce_numbered(&numbered.after(100), &Writing::default())?;
    case.refused("ledger-damaged")?.say(&[&format!("offset {at}")], "a new plan name");
    assert_eq!(case.target.check_numbered(&numbered)?, [""; 0]);
    is_copied_under_another_name(&case, &Numbered { count: 300, ..numbered })
}

/// A right that a run needs, and how it ends without.
struct Right {
    name: &'static str,
    resource: &'static str,
    of: &'static str,
    right: &'static str,
    code: i32,
    says: &'static str,
}

const RIGHTS: [Right; 5] = [
    Right {
        name: "right-topic",
        resource: "TOPIC",
        of: "right-topic",
        right: "WRITE",
        code: 4,
        says: "Topic authorization failed",
    },
    Right {
        name: "right-ledger",
        resource: "TOPIC",
        of: "onceover-right-ledger-ledger",
        right: "WRITE",
        code: 4,
        says: "Topic authorization failed",
    },
    Right {
        name: "right-id",
        resource: "TRANSACTIONAL_ID",
        of: "onceover-right-id-0",
        right: "WRITE",
        code: 4,
        says: "Transactional Id authorization failed",
    },
    Right {
        name: "right-group",
        resource: "GROUP",
        of: "onceover-right-group",
        right: "READ",
        code: 4,
        says: "Group authorization failed",
    },
    Right {
        name: "right-read",
        resource: "TOPIC",
        of: "right-read",
        right: "READ",
        code: 3,
        says: "Topic authorization failed",
    },
];

#[test]
fn a_right_withdrawn_in_mid_run_ends_it_with_that_reason_and_given_back_the_next_run_goes_on()
-> Result<(), Error> {
    let clusters = shared::clusters();
    let guarded = Cluster::builder("obstacle-rights")
        .heap_mb(256)
        .config("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
        .config("allow.everyone.if.no.acl.found", "true")
        .start()?;
    let oracle = Oracle::start(&guarded.bootstrap())?;
    let mut running = Vec::new();
    for right in &RIGHTS {
        let (mut source, mut target) = (&clusters.source, &guarded);
        let (mut of_source, mut of_target) = (&clusters.source_oracle, &oracle);
        if right.code == 3 {
            (source, target) = (&guarded, &clusters.target);
            (of_source, of_target) = (&oracle, &clusters.target_oracle);
        }
        let (from, to) = (source.bootstrap(), target.bootstrap());
        let oracles = (of_source, of_target.clone());
        let crowd = Crowd::between(right.name, (&from, &to), oracles, 30_000, 30)?;
        running.push((right, crowd.worker("w1"), crowd, of_target.clone()));
    }
    for (right, _, crowd, _) in &running {
        crowd.await_arrival(0.1);
        oracle.deny(right.resource, right.of, right.right)?;
    }
    let mut ended = Vec::new();
    for (right, worker, crowd, target) in running {
        let error = error(worker.finish(), right.code);
        println!("{error}");
        says(&error, "message", right.says);
        assert_eq!(error["retryable"], false, "{error}");
        is_a_beginning(&target, &crowd.numbered)?;
        oracle.permit(right.resource, right.of)?;
        ended.push(crowd);
    }
    // Nothing is to be waited for any more.
    let again: Vec<_> = ended
        .iter()
        .map(|crowd| {
            let plan = fs::read_to_string(&crowd.migration.plan).expect("the plan");
            let quick = plan.replace("run.max_rate", "# run.max_rate");
            fs::write(&crowd.migration.plan, quick).expect("the plan is written");
            crowd.worker("w1")
        })
        .collect();
    for (worker, crowd) in again.into_iter().zip(&ended) {
        worker.finish().expect(0);
        crowd.is_complete()?;
    }
    Ok(())
}
