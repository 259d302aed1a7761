//! A panic in any thread ends the process with exit code 70, and asks for a report. That is safe at any
//! moment: what was not committed is aborted by the next owner of the lane.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;

use super::out::{error_json, print};
use super::screen::Screen;
use crate::error::Error;

/// From now on a panic ends the process; with `json` an object on stdout says so as well.
pub fn exit_on_panic(screen: Screen, json: bool) {
    std::panic::set_hook(Box::new(move |info| {
        let error = error_of(info);
        // Not through the bars: their lock may be held by the thread that panics.
        let mut stderr = std::io::stderr();
        let fresh_line = if stderr.is_terminal() { "\n" } else { "" };
        let _ = writeln!(stderr, "{fresh_line}{}", screen.error_line(&error));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            let _ = writeln!(stderr, "{}", screen.redact(&trace.to_string()));
        }
        if json {
            let _ = print(&screen.redact_json(error_json(&error)).to_string());
        }
        std::process::exit(i32::from(error.exit_code()));
    }));
}

fn error_of(info: &PanicHookInfo<'_>) -> Error {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("without a name").to_owned();
    let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message");
    Error::fault(format!("{message} (thread `{thread}`{})", place.unwrap_or_default())).hint(format!(
        "what was committed is safe, and the same command goes on from there; please report this with \
         the log and `onceover {}` at {}/issues",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_REPOSITORY")
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Not a test of its own: the one below starts it in a process that may end.
    #[test]
    #[ignore = "ends the process"]
    fn a_thread_that_panics() {
        let screen = Screen::default();
        screen.set_redactor(|text| text.replace("hunter2", "***"));
        exit_on_panic(screen, true);
        let lane = std::thread::Builder::new().name("lane 3".into());
        let _ = lane.spawn(|| panic!("the password is hunter2")).unwrap().join();
    }

    #[test]
    fn a_panic_in_any_thread_ends_the_process_with_70_and_asks_for_a_report() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "report::panics::tests::a_thread_that_panics"])
            .args(["--ignored", "--nocapture"])
            .output()
            .unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert_eq!(child.status.code(), Some(70), "{stdout}{stderr}");
        assert!(stderr.contains("the password is *** (thread `lane 3`"), "{stderr}");
        assert!(stderr.contains("hint: ") && stderr.contains("/issues"), "{stderr}");
        assert!(stdout.contains(r#""exit":70"#), "{stdout}");
        assert!(!stdout.contains("hunter2"), "{stdout}");
    }
}
