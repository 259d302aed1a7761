//! A worker's membership in a process of its own, that can be frozen and killed: this test binary
//! started once more, to run the one ignored test below.

use super::SOON;
use crate::brokers::shared;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use onceover::cluster::{Connection, MemberEvent, Membership};
use onceover::error::Side;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const SETUP: &str = "ONCEOVER_TEST_MEMBER";
const MARK: &str = "member: ";

/// A running member process; killed when dropped.
pub struct MemberProcess {
    child: Child,
    orders: ChildStdin,
    says: Receiver<String>,
}

impl MemberProcess {
    /// Joins group `plan` as `instance`; acknowledges every revoke at once.
    pub fn start(plan: &str, instance: &str) -> MemberProcess {
        let bootstrap = shared::clusters().target.bootstrap();
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "cluster::member_process::a_member", "--ignored", "--nocapture"])
            .env(SETUP, format!("{bootstrap} {plan} {instance}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this binary can be started");
        let orders = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, says) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, said)) = line.split_once(MARK) {
                    drop(sender.send(said.to_owned()));
                }
            }
        });
        MemberProcess { child, orders, says }
    }

    /// Its next event.
    pub fn next(&self) -> String {
        self.says.recv_timeout(SOON).expect("the member process says something")
    }

    pub fn leave(&mut self) {
        writeln!(self.orders, "leave").expect("it listens");
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, signal).expect("our own child");
    }

    /// SIGKILL; gone when this returns.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for MemberProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
#[ignore = "the body of the member processes that other tests start"]
fn a_member() {
    let Ok(setup) = std::env::var(SETUP) else { return };
    let [bootstrap, plan, instance] = setup.split(' ').collect::<Vec<_>>()[..] else { return };
    let target = Connection::new(Side::Target, bootstrap, &BTreeMap::new(), "test");
    let (sender, events) = channel();
    let member = Membership::join(&target, plan, instance, &format!("{plan}-ledger"), sender)
        .expect("joins");
    let (order, orders) = channel();
    std::thread::spawn(move || {
        // The end of our input is the end of our parent.
        for line in std::io::stdin().lines().map_while(Result::ok) {
            drop(order.send(line));
        }
        std::process::exit(1);
    });
    let say = |what: String| println!("{MARK}{what}");
    loop {
        match events.recv_timeout(Duration::from_millis(20)) {
            Ok(MemberEvent::Assigned(lanes)) => say(format!("assigned {lanes:?}")),
            Ok(MemberEvent::Revoked(lanes, token)) => {
                member.acknowledge(token);
                say(format!("revoked {lanes:?}"));
            }
            Ok(MemberEvent::Lost(lanes)) => say(format!("lost {lanes:?}")),
            Ok(MemberEvent::Fatal(error)) => say(format!("fatal {:?}", error.class)),
            Err(_) => {}
        }
        if orders.try_recv().is_ok_and(|order| order == "leave") {
            say(format!("left {:?}", member.leave(Duration::from_secs(10)).is_ok()));
            return;
        }
    }
}
