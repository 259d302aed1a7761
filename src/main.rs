//! Parse, set up logs, call the library, map the error to an exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use onceover::cli::{self, Cli};
use onceover::report::{Screen, logs, out, panics};
use onceover::verbs;

fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    let _points = fail::FailScenario::setup();
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return help_or_usage(&error, &args),
    };
    let json = cli.common.json;
    let screen = Screen::new(cli.common.log_format);
    panics::exit_on_panic(screen.clone(), json);
    let done = logs::init(&screen, cli.common.log_format, cli.common.level())
        .and_then(|()| verbs::call(&cli, &screen));
    match done {
        Ok(code) => code.into(),
        Err(error) => {
            out::tell_error(&screen, &error, json);
            error.exit_code().into()
        }
    }
}

fn help_or_usage(error: &clap::Error, args: &[OsString]) -> ExitCode {
    // A closed stream must not change the exit code.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let usage = cli::usage_error(error);
    if cli::wants_json(args) {
        let _ = out::print(&out::error_json(&usage).to_string());
    }
    usage.exit_code().into()
}
