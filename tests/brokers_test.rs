//! The brokers of the tests do what they say.

use crate::brokers::jvm::wait_until;
use crate::brokers::{Cluster, Error, Oracle, Record, distribution, java, ports, shared};
use nix::sys::signal;
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn is_alive(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| signal::kill(Pid::from_raw(pid), None).is_ok())
}

#[test]
fn two_different_clusters_serve_all_tests() -> Result<(), Error> {
    let clusters = shared::clusters();
    let (source, brokers) = clusters.source_oracle.describe_cluster()?;
    let (target, _) = clusters.target_oracle.describe_cluster()?;
    assert_eq!(source, clusters.source.cluster_id());
    assert_eq!(target, clusters.target.cluster_id());
    assert_ne!(source, target);
    assert_eq!(brokers, [1]);
    Ok(())
}

#[test]
fn a_broker_keeps_its_data_and_port_when_it_is_stopped_killed_and_restarted() -> Result<(), Error> {
    let cluster = Cluster::builder("restarted").quick_restart().start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    oracle.create_topic("orders", 1, &[])?;
    let bootstrap = cluster.bootstrap();
    let first = cluster.pid(1).expect("it runs");

    cluster.stop(1)?;
    assert!(!is_alive(first));
    assert_eq!(cluster.pid(1), None);
    cluster.restart(1)?;
    assert_eq!(cluster.bootstrap(), bootstrap);
    oracle.produce("orders", &[Record::in_partition(0).value("kept")])?;

    let second = cluster.pid(1).expect("it runs");
    cluster.kill(1);
    assert!(!is_alive(second));
    cluster.restart(1)?;
    assert_eq!(oracle.list_offsets("orders")?[0].latest, 1);
    Ok(())
}

#[test]
fn a_paused_broker_answers_only_after_it_is_resumed() -> Result<(), Error> {
    let cluster = Cluster::builder("paused").start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    assert_eq!(oracle.list_topics()?, [""; 0]);
    cluster.pause(1);
    let refused = oracle.within(Duration::from_millis(200)).list_topics().unwrap_err();
    assert!(refused.to_string().contains("TimeoutException"), "{refused}");
    cluster.resume(1);
    assert_eq!(oracle.list_topics()?, [""; 0]);
    Ok(())
}

#[test]
fn three_brokers_go_on_when_one_is_killed() -> Result<(), Error> {
    let cluster = Cluster::builder("three").brokers(3).quick_restart().start()?;
    let oracle = Oracle::start(&cluster.bootstrap())?;
    assert_eq!(oracle.describe_cluster()?.1, [1, 2, 3]);
    oracle.create_topic("orders", 3, &[("min.insync.replicas", "2")])?;
    let topic = oracle.describe_topic("orders")?;
    assert_eq!(topic.replication, 3);
    assert!((1..=3).all(|id| topic.leaders.contains(&id)), "{topic:?}");

    cluster.kill(2);
    let record = |partition| Record::in_partition(partition).value("written without broker 2");
    oracle.produce("orders", &[record(0), record(1), record(2)])?;
    let there = wait_until(PATIENCE, || {
        oracle.describe_cluster().is_ok_and(|(_, brokers)| brokers == [1, 3])
    });
    assert!(there, "the cluster still names broker 2");

    cluster.restart(2)?;
    let back = wait_until(PATIENCE, || {
        oracle.describe_cluster().is_ok_and(|(_, brokers)| brokers == [1, 2, 3])
    });
    assert!(back, "broker 2 is not back");
    Ok(())
}

#[test]
fn a_panic_ends_the_cluster_and_keeps_its_logs() {
    let (mut pid, mut logs) = (0, Path::new("").to_owned());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let cluster = Cluster::builder("panicked").start().unwrap();
        pid = cluster.pid(1).expect("it runs");
        logs = cluster.logs_dir().to_owned();
        assert!(is_alive(pid) && logs.join("data-1").exists());
        std::panic::resume_unwind(Box::new("as a failing test does"));
    }));
    assert!(panicked.is_err());
    assert!(pid != 0 && !is_alive(pid));
    assert!(!logs.join("data-1").exists());
    assert!(logs.join("broker-1.log").exists());
}

#[test]
fn a_broker_that_cannot_start_is_told_with_its_log() {
    let error = Cluster::builder("failing").config("num.io.threads", "many").start().err();
    let error = error.expect("`many` is not a number").to_string();
    assert!(error.contains("broker 1 of the cluster `failing` ended while it started"), "{error}");
    assert!(error.contains("Invalid value many for configuration num.io.threads"), "{error}");
    let log = error.lines().last().and_then(|line| line.strip_prefix("all of it: "));
    assert!(log.is_some_and(|path| Path::new(path).is_file()), "{error}");
}

/// Runs one of the ignored tests below in a process of its own.
fn in_a_child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test is a program"));
    command.args([&format!("brokers_test::{test}"), "--exact", "--ignored", "--nocapture"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_killed_owner_leaves_no_broker_and_no_data() {
    let mut owner = in_a_child("child_that_owns_a_cluster").spawn().unwrap();
    let stdout = BufReader::new(owner.stdout.take().expect("stdout is a pipe"));
    let told = stdout.lines().map_while(Result::ok).find_map(|line| {
        let (_, told) = line.split_once("cluster: ")?;
        let (pid, logs) = told.split_once(' ')?;
        Some((pid.parse::<u32>().ok()?, logs.to_owned()))
    });
    let (pid, logs) = told.expect("the child names its broker");
    let data = Path::new(&logs).join("data-1");
    assert!(is_alive(pid) && data.exists());

    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(wait_until(PATIENCE, || !is_alive(pid)), "broker {pid} outlived its owner");
    assert!(wait_until(PATIENCE, || !data.exists()), "`{}` is still there", data.display());
}

#[test]
#[ignore = "runs in a child process"]
fn child_that_owns_a_cluster() {
    let cluster = Cluster::builder("orphaned").start().unwrap();
    println!("cluster: {} {}", cluster.pid(1).expect("it runs"), cluster.logs_dir().display());
    let _ = std::io::stdin().read_line(&mut String::new()); // until it is killed
}

#[test]
fn a_missing_jdk_or_maven_is_an_error_that_says_what_to_install() {
    let child = |test: &str| {
        let mut command = in_a_child(test);
        command.env("PATH", "/nonexistent").env_remove("JAVA_HOME");
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let without = child("child_without_tools");
    assert!(without.contains("`java` does not run"), "{without}");
    assert!(without.contains("apt install openjdk-17-jdk-headless"), "{without}");
    assert!(without.contains("`mvn` does not run"), "{without}");
    assert!(without.contains("apt install maven"), "{without}");
}

#[test]
#[ignore = "runs in a child process"]
fn child_without_tools() {
    println!("{}", java::find().unwrap_err());
    println!("{}", java::maven().unwrap_err());
}

#[test]
fn java_versions_of_all_kinds_are_understood() {
    assert_eq!(java::major(r#"openjdk version "17.0.15" 2025-04-15"#), Some(17));
    assert_eq!(java::major(r#"openjdk version "21" 2023-09-19"#), Some(21));
    assert_eq!(java::major(r#"openjdk version "25-ea" 2025-09-16"#), Some(25));
    assert_eq!(java::major(r#"java version "1.8.0_402""#), Some(8));
    assert_eq!(java::major("no Java"), None);
}

#[test]
fn the_kafka_in_use_is_the_one_of_the_pom_unless_told() -> Result<(), Error> {
    if std::env::var_os("KAFKA_HOME").is_none() {
        assert_eq!(
            distribution::Distribution::get()?.version,
            distribution::pom_version(distribution::Release::Pinned)
        );
    }
    Ok(())
}

#[test]
fn no_port_is_given_twice() -> Result<(), Error> {
    let mut ports = [ports::free(20)?, ports::free(20)?].concat();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 40);
    Ok(())
}
