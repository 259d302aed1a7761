//! Tests of [`cli`](super).

use std::path::Path;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

#[test]
fn clap_finds_no_fault_in_the_definition() {
    Cli::command().debug_assert();
}

#[test]
fn common_flags_stand_before_or_after_the_verb() {
    for line in ["onceover --json -vv run p.toml", "onceover run p.toml --json -vv"] {
        let cli = parse(line).unwrap();
        assert!(cli.common.json);
        assert_eq!(cli.common.level(), Level { verbose: 2, quiet: false });
    }
    let cli = parse("onceover run p.toml --log-format json --tail --worker a-1").unwrap();
    assert_eq!(cli.common.log_format, LogFormat::Json);
    let Verb::Run(run) = cli.verb else { panic!("not run") };
    assert!(run.tail);
    assert_eq!(run.worker.as_deref(), Some("a-1"));
}

#[test]
fn a_wrong_command_line_exits_with_2_and_help_with_0() {
    let wrong = [
        "onceover",
        "onceover run",
        "onceover cutover p.toml",
        "onceover run p.toml -q -v",
        "onceover run p.toml --worker a/b",
        "onceover run p.toml --worker ..",
        "onceover init --source a:1",
        "onceover reconcile p.toml --side middle",
        "onceover reconcile p.toml --side source --full",
        "onceover reconcile p.toml --scope s.json",
        "onceover reconcile p.toml --side source --buckets b.csv",
        "onceover diff a",
        "onceover status p.toml --log-format xml",
        "onceover check",
        "onceover check p.toml --rate fast",
        "onceover check p.toml --rate 0B/s",
        "onceover check p.toml --print-resources yaml",
        "onceover check p.toml --print-resources sh --json",
    ];
    for line in wrong {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
    assert_eq!(parse("onceover --help").unwrap_err().exit_code(), 0);
}

#[test]
fn a_usage_error_is_one_line_without_the_usage() {
    let error = usage_error(&parse("onceover run --tail").unwrap_err());
    assert_eq!(error.what, "the following required arguments were not provided: <PLAN>");
    let error = usage_error(&parse("onceover rum p.toml").unwrap_err());
    assert_eq!(error.what, "unrecognized subcommand 'rum'");
    assert_eq!(usage_error(&parse("onceover").unwrap_err()).what, "no verb was given");
}

#[test]
fn json_is_seen_on_a_command_line_that_cannot_be_parsed() {
    let args = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
    assert!(wants_json(&args("onceover rum --json")));
    assert!(!wants_json(&args("onceover run -- --json")));
}

#[test]
fn help_names_the_exit_code_of_every_error() {
    let listed: Vec<u8> = EXIT_CODES
        .lines()
        .skip(1)
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .flat_map(|line| line[2..12].split(',').map(|code| code.trim().parse().unwrap()))
        .collect();
    let errors = [
        Error::usage(""),
        Error::cluster(Side::Source, ""),
        Error::cluster(Side::Target, ""),
        Error::refused("", ""),
        Error::taken_over(""),
        Error::check("", ""),
        Error::fault(""),
        Error::stopped(2, ""),
        Error::stopped(15, ""),
    ];
    let expected: Vec<u8> = [0, 1].into_iter().chain(errors.iter().map(Error::exit_code)).collect();
    assert_eq!(listed, expected);
}

#[test]
fn the_docs_page_is_what_help_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    if std::env::var_os("ONCEOVER_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, docs()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(page, docs(), "write it anew with ONCEOVER_BLESS=1 cargo test --lib cli");
}
