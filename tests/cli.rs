//! The binary as a shell sees it: exit codes, what goes to stdout and what to stderr. No cluster needed.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn onceover(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onceover"));
    command.args(args).env_remove("ONCEOVER_LOG").env_remove("RUST_BACKTRACE");
    command
}

fn output(args: &[&str]) -> Output {
    onceover(args).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn help_and_version_go_to_stdout() {
    for args in [&["--help"][..], &["run", "-h"], &["--version"]] {
        let done = output(args);
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        assert!(text(&done.stdout).contains("onceover"), "{args:?}");
        assert!(done.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_wrong_command_line_is_told_on_stderr_and_exits_with_2() {
    let done = output(&["rum", "p.toml"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(done.stdout.is_empty());
    assert!(text(&done.stderr).contains("rum"));
}

#[test]
fn with_json_a_wrong_command_line_is_an_object_on_stdout_too() {
    let done = output(&["--json", "rum"]);
    assert_eq!(done.status.code(), Some(2));
    let object: Value = serde_json::from_slice(&done.stdout).expect("one JSON object");
    assert_eq!((&object["schema"], &object["error"]["exit"]), (&json!(1), &json!(2)));
    assert_eq!(object["error"]["kind"], "usage");
    assert!(text(&done.stderr).contains("rum"));
}

#[test]
fn init_does_not_touch_a_file_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, "precious").unwrap();
    let out = path.to_str().unwrap();
    let args = ["init", "--source", "localhost:1", "--target", "localhost:2", "--out", out];
    let done = output(&args);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert!(done.stdout.is_empty());
    let said = text(&done.stderr);
    assert!(said.starts_with("error: `") && said.contains("exists already\nhint: "), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn an_error_is_an_object_on_stdout_with_json_and_a_json_line_on_stderr_with_json_logs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let args = ["init", "--source", "localhost:1", "--target", "localhost:2", "--out", out];
    let done = onceover(&args).args(["--json", "--log-format", "json"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let object: Value = serde_json::from_slice(&done.stdout).expect("one JSON object");
    let line: Value = serde_json::from_slice(&done.stderr).expect("one JSON line");
    assert_eq!(object["error"]["message"], line["message"]);
    assert_eq!(line["level"], "ERROR");
}

#[test]
fn a_log_filter_that_cannot_be_read_is_a_usage_error() {
    let done = onceover(&["run", "p.toml"]).env("ONCEOVER_LOG", "onceover=loud").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("`ONCEOVER_LOG`"), "{}", text(&done.stderr));
}

#[test]
fn streams_that_nobody_reads_do_not_change_the_exit_code() {
    for (args, code) in [(&["--help"][..], 0), (&["--json", "rum"], 2), (&["run", "no-such-plan"], 2)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = onceover(args)
            .stdout(writer.try_clone().unwrap())
            .stderr(writer)
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
