//! What a process uses, from `/proc`.

use super::memory::peak_kb;
use super::numbers::{as_f64, grown};
use super::stage::now_ms;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);
/// Linux counts CPU time for user space in these, whatever it does inside.
const TICKS_PER_SECOND: f64 = 100.0;

/// At one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    at_ms: u64,
    /// User and system time of the contender and of its children, in ticks.
    ticks: u64,
    broker_ticks: u64,
}

/// Looks at a contender, its children and the brokers until it is stopped.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Usage>,
}

#[derive(Clone, Debug, Default)]
pub struct Usage {
    looks: Vec<Look>,
    /// The largest resident set (VmHWM) of the contender and of its children, summed up, in kB.
    pub peak_kb: u64,
}

impl Watch {
    pub fn start(contender: u32, brokers: Vec<u32>) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut usage = Usage::default();
            while !stopped.load(Ordering::Relaxed) {
                let processes = tree(contender);
                let looked = Look {
                    at_ms: now_ms(),
                    ticks: processes.iter().map(|pid| ticks(*pid)).sum(),
                    broker_ticks: brokers.iter().map(|pid| ticks(*pid)).sum(),
                };
                usage.looks.push(looked);
                let peak = processes.iter().map(|pid| peak_kb(*pid)).sum();
                usage.peak_kb = usage.peak_kb.max(peak);
                std::thread::sleep(LOOK);
            }
            usage
        });
        Watch { stop, thread }
    }

    /// Stops looking.
    pub fn stop(self) -> Usage {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

impl Usage {
    /// CPU seconds of the contender between two moments; from its start: from 0.
    pub fn cpu(&self, from_ms: u64, until_ms: u64) -> f64 {
        self.between(from_ms, until_ms, |look| look.ticks)
    }

    pub fn broker_cpu(&self, from_ms: u64, until_ms: u64) -> f64 {
        self.between(from_ms, until_ms, |look| look.broker_ticks)
    }

    fn between(&self, from_ms: u64, until_ms: u64, of: impl Fn(&Look) -> u64) -> f64 {
        let looks: Vec<(u64, u64)> = self.looks.iter().map(|look| (look.at_ms, of(look))).collect();
        as_f64(grown(&looks, from_ms, until_ms)) / TICKS_PER_SECOND
    }
}

/// The process and what it has started, which is nothing for all contenders so far.
fn tree(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok()) {
        all.extend(tree(child));
    }
    all
}

/// Fields 14 and 15 of `/proc/PID/stat`; the second one, a name, may hold anything.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}
