//! What a process holds, from `/proc`.

use std::fs;

/// The largest resident set that a running process has had (`VmHWM`), in kB; 0 if it has ended.
pub fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
