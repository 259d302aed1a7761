//! A source that is no longer the log that was copied: a topic made anew behind the tail's back, and an
//! unclean leader election after which the log end goes back and grows again past the position.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::brokers::{Cluster, Error, Numbered, Oracle, Record, Writing, shared};
use crate::pipe::harness::{Finished, Migration, Process, await_exactly, eventually};
use crate::pipe::refusals::{Case, PARTITIONS};

/// What a log holds that is not the one that was copied.
fn other(numbered: &Numbered, count: u64) -> Numbered {
    Numbered { first: 1_000_000, seed: 9, count, ..numbered.clone() }
}

/// The target holds exactly these.
#[track_caller]
fn holds_exactly(target: &Oracle, numbered: &Numbered) -> Result<(), Error> {
    assert_eq!(target.check_numbered(numbered)?, [""; 0], "{numbered:?}");
    Ok(())
}

/// It ended because the source is another log; its words.
#[track_caller]
fn refused(finished: Finished) -> String {
    let finished = finished.expect(5);
    assert_eq!(finished.error_kind(), "source-not-same-log", "{}", finished.stderr);
    let error = &finished.json()["error"];
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("new plan name")), "{error}");
    error["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_topic_made_anew_and_refilled_while_the_tail_is_frozen_is_taken_over_by_no_record()
-> Result<(), Error> {
    let case = Case::empty("lineage-anew")?;
    let old = Numbered::new(&case.name, PARTITIONS, 200);
    case.source.produce_numbered(&old, &Writing::default())?;
    let tail = case.migration.start(&["--tail", "--json"]);
    await_exactly(&case.target, &old);

    // Frozen, it sees neither the old topic go nor the new one grow: its positions are in the log again
    // when it wakes up.
    tail.signal(Signal::SIGSTOP);
    let was = case.source.describe_topic(&case.name)?.id;
    case.source.delete_topic(&case.name)?;
    let is = case.source.create_topic(&case.name, PARTITIONS, &[])?;
    case.source.produce_numbered(&other(&old, 600), &Writing::default())?;
    let ends = case.source.list_offsets(&case.name)?;
    assert!(was != is && ends.iter().all(|end| end.latest == 300), "behind 100: {ends:?}");
    tail.signal(Signal::SIGCONT);

    let why = refused(tail.finish());
    assert!(why.contains(&was) && why.contains(&is), "{why}");
    holds_exactly(&case.target, &old)?;
    assert_eq!(case.entries("refused").len(), 1);
    // One that is started later finds the same.
    refused(case.migration.run(&["--json"]));
    refused(case.migration.run(&["--tail", "--json"]));
    holds_exactly(&case.target, &old)
}

/// A source of three brokers: 1 and 2 hold the topics, 3 keeps the controllers' quorum.
struct Source {
    cluster: Cluster,
    oracle: Oracle,
}

/// A topic of one partition there, and a plan that copies it to the shared target.
struct Copied<'a> {
    source: &'a Source,
    numbered: Numbered,
    migration: Migration,
}

impl Source {
    fn start() -> Result<Source, Error> {
        let builder = Cluster::builder("lineage-source").brokers(3).heap_mb(256).quick_restart();
        let cluster = builder.start()?;
        let oracle = Oracle::start(&cluster.bootstrap())?;
        Ok(Source { cluster, oracle })
    }

    /// A topic with 100 records, of which `leader` is the first to lead it.
    fn topic(&self, name: &str, leader: usize) -> Result<Copied<'_>, Error> {
        let replicas = [leader, 3 - leader];
        let unclean = [("unclean.leader.election.enable", "true"), ("min.insync.replicas", "1")];
        self.oracle.create_assigned_topic(name, &[&replicas], &unclean)?;
        let target = shared::clusters().target.bootstrap();
        let rest = format!("topics.include = [\"{name}\"]");
        let migration = Migration::between(name, &self.cluster.bootstrap(), &target, &rest);
        let mut copied = Copied { source: self, numbered: Numbered::new(name, 1, 0), migration };
        copied.more()?;
        Ok(copied)
    }

    fn end(&self, topic: &str) -> Option<i64> {
        // A client that knows only the dead leader is given up quickly.
        let quick = self.oracle.within(Duration::from_secs(5));
        Some(quick.list_offsets(topic).ok()?[0].latest)
    }
}

impl Copied<'_> {
    /// The next 100 records.
    fn more(&mut self) -> Result<(), Error> {
        self.source.oracle.produce_numbered(&self.numbered.after(100), &Writing::default())?;
        self.numbered.count += 100;
        Ok(())
    }

    /// A run copies all there is.
    #[track_caller]
    fn copies(&self) -> Result<(), Error> {
        self.migration.run(&[]).expect(0);
        self.is_complete()
    }

    #[track_caller]
    fn is_complete(&self) -> Result<(), Error> {
        holds_exactly(&shared::clusters().target_oracle, &self.numbered)
    }

    fn tail(&self) -> Process {
        self.migration.start(&["--tail", "--json"])
    }

    /// Where the next run begins to read.
    fn position(&self) -> i64 {
        self.migration.status()["partitions"][0]["position"].as_i64().unwrap_or(-1)
    }
}

/// A transaction of 50 records that is aborted: with its marker it takes 51 offsets.
fn aborted(on: &Source, topic: &str) -> Result<(), Error> {
    let producer = on.oracle.transactional(topic, &[])?;
    producer.begin()?;
    let records: Vec<Record> =
        (0..50).map(|n| Record::in_partition(0).value(format!("aborted {n}")).at(1)).collect();
    producer.produce(topic, &records)?;
    producer.abort()
}

#[test]
fn an_unclean_election_is_refused_though_the_log_grows_again_past_the_position() -> Result<(), Error>
{
    let source = Source::start()?;
    let mut tailed = source.topic("lineage-tail", 1)?;
    let mut later = source.topic("lineage-later", 1)?;
    let passed = source.topic("lineage-passed", 1)?;
    let mut moved = source.topic("lineage-moved", 2)?;
    // While all brokers are there: the log of transactions needs three.
    drop(source.oracle.transactional("lineage-warm", &[])?);
    let tail = tailed.tail();
    for topic in [&later, &passed, &moved] {
        topic.copies()?;
    }
    await_exactly(&shared::clusters().target_oracle, &tailed.numbered);

    let leads = |topic| Ok::<_, Error>(source.oracle.describe_topic(topic)?.leaders);
    assert_eq!((leads("lineage-tail")?, leads("lineage-moved")?), (vec![1], vec![2]));
    // From here on broker 1 alone has what is written, and the pipe copies it.
    source.cluster.kill(2);
    tailed.more()?;
    later.more()?;
    aborted(&source, "lineage-passed")?;
    aborted(&source, "lineage-moved")?;
    await_exactly(&shared::clusters().target_oracle, &tailed.numbered);
    for topic in [&later, &passed, &moved] {
        topic.copies()?;
    }
    assert_eq!((later.position(), passed.position(), moved.position()), (200, 151, 151));
    // Its leader went in good order from 2 to 1, and only aborted records came since: no truncation.
    moved.more()?;
    moved.copies()?;

    source.cluster.kill(1);
    // The tail shall not see the shorter log; it would be refused then at once.
    tail.signal(Signal::SIGSTOP);
    source.cluster.restart(2)?;
    let others = [&tailed, &later, &passed].map(|topic| other(&topic.numbered, 150));
    let all_end_at = |end| others.iter().all(|numbered| source.end(&numbered.topic) == Some(end));
    eventually("the log ends go back", || all_end_at(100));
    for numbered in &others {
        source.oracle.produce_numbered(numbered, &Writing::default())?;
    }
    eventually("they lie behind the positions again", || all_end_at(250));
    tail.signal(Signal::SIGCONT);

    let why = refused(tail.finish());
    assert!(why.contains("offset 199"), "{why}");
    for topic in [&tailed, &later] {
        let why = refused(topic.migration.run(&["--json"]));
        assert!(why.contains("the record at offset 199 is not the one"), "{why}");
        topic.is_complete()?;
    }
    // Nothing that was carried is gone here: only what was passed over has become other records.
    let why = refused(passed.migration.run(&["--json"]));
    assert!(why.contains("offset 100"), "{why}");
    passed.is_complete()
}
