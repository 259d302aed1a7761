//! One function per verb: load the plan, call what does the work, print what came of it.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::check::resources;
use crate::check::verb::{Files, report, write_asked};
use crate::cli::{
    CheckArgs, Cli, Common, DiffArgs, InitArgs, ReconcileArgs, RunArgs, SideWord, StatusArgs, Verb,
};
use crate::error::{Error, Result, Side};
use crate::pipe::clusters::Clusters;
use crate::plan::Plan;
use crate::reconcile::sites::{self, DiffOptions, SideOptions, read_side_alone};
use crate::reconcile::{self, Options};
use crate::report::audit::Folder;
use crate::report::ledger_print::{json_line, text_line};
use crate::report::out::{Reader, SCHEMA, print, print_result};
use crate::report::{Aim, Board, ProgressMode, Reporter, Screen};
use crate::wired;

/// Does what was typed; the exit code of what ended without an error.
///
/// # Errors
/// All that the verb can meet; the kind decides the exit code.
pub fn call(cli: &Cli, screen: &Screen) -> Result<u8> {
    match &cli.verb {
        Verb::Init(args) => init(args, &cli.common),
        Verb::Check(args) => check(args, &cli.common, screen),
        Verb::Run(args) => run(args, &cli.common, screen),
        Verb::Reconcile(args) => reconcile(args, &cli.common, screen),
        Verb::Diff(args) => diff(args, &cli.common, screen),
        Verb::Status(args) if args.ledger => ledger(args, &cli.common, screen),
        Verb::Status(args) => status(args, &cli.common, screen),
    }
}

fn init(args: &InitArgs, common: &Common) -> Result<u8> {
    // Before the clusters are asked: nobody wants to wait for an answer that has no place to go.
    if let Some(path) = args.out.as_deref().filter(|path| fs::symlink_metadata(path).is_ok()) {
        return Err(exists_already(path));
    }
    let text = wired::plan_text(args)?;
    if let Some(path) = &args.out {
        write_new(path, &text)?;
    }
    match (&args.out, common.json) {
        (out, true) => print(&json!({ "schema": SCHEMA, "plan": text, "out": out }).to_string())?,
        (None, false) => print(&text)?,
        (Some(path), false) => {
            tracing::info!("wrote `{}`; read it, then: onceover run {0}", path.display());
            Reader::There
        }
    };
    Ok(0)
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists_already(path),
        _ => Error::usage(format!("cannot write `{}`: {error}", path.display())),
    })
}

fn exists_already(path: &Path) -> Error {
    Error::usage(format!("`{}` exists already", path.display()))
        .hint("a plan that may be in use is not overwritten: choose another --out")
}

fn check(args: &CheckArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let plan = wired::load(&args.plan, screen)?;
    let facts = wired::facts(&plan, args.rate)?;
    if let Some(form) = args.print_resources {
        print(&screen.redact(&resources::print(&plan, &facts, form)))?;
        return Ok(0);
    }
    let report = report(&plan, &facts);
    let files = Files { csv: args.csv.clone(), out: args.out.clone() };
    write_asked(&files, &report, &facts, |text| screen.redact(text))?;
    print_result(screen, common.json, || report.to_json(), || report.render_text())?;
    Ok(report.exit_code())
}

fn run(args: &RunArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let plan = wired::load(&args.plan, screen)?;
    let out = args.out.clone().unwrap_or_else(|| default_out(&plan));
    let proves = !args.tail && !args.no_reconcile;
    if proves {
        // Nobody wants to copy for hours to learn that the proof has no place to go.
        Folder::check(&out, &plan.name)?;
    }
    let board = Board::default();
    let mode = ProgressMode::choose(screen, common.no_progress || common.quiet);
    let aim = if args.tail { Aim::Tail } else { Aim::Fence };
    let reporter = Reporter::start(board.clone(), mode.clone(), aim);
    let done = wired::run(&plan, args, &board);
    // The bars go before anything else is said.
    reporter.finish();
    let (mut summary, copied) = done?;
    if let Some(copied) = copied.filter(|_| proves) {
        tracing::info!("copied up to the fence; comparing both sides");
        let options = Options {
            out,
            spill: None,
            full: false,
            no_ledger: false,
            worker: copied.worker.clone(),
        };
        let proof =
            prove(mode, |board| reconcile::prove(&plan, &copied.shared.clusters, &options, board));
        summary.prove(proof.map_err(wired::copied_not_proved)?);
    }
    print_result(screen, common.json, || summary.to_json(), || summary.render_text())?;
    Ok(summary.exit_code())
}

fn reconcile(args: &ReconcileArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let plan = wired::load(&args.plan, screen)?;
    if let Some(side) = args.side {
        return reconcile_side(&plan, side, args, common, screen);
    }
    let options = Options {
        out: args.out.clone().unwrap_or_else(|| default_out(&plan)),
        spill: args.spill.clone(),
        full: args.full,
        no_ledger: args.no_ledger,
        worker: host(),
    };
    let mode = ProgressMode::choose(screen, common.no_progress || common.quiet);
    let proof = prove(mode, |board| {
        let clusters = Clusters::connect(&plan)?;
        reconcile::prove(&plan, &clusters, &options, board)
    })?;
    print_result(screen, common.json, || proof.to_json(), || proof.render_text())?;
    Ok(proof.exit_code())
}

fn reconcile_side(
    plan: &Plan,
    side: SideWord,
    args: &ReconcileArgs,
    common: &Common,
    screen: &Screen,
) -> Result<u8> {
    let side = Side::from(side);
    let options = SideOptions {
        side,
        scope: args.scope.clone(),
        only: args.buckets.clone(),
        no_ledger: args.no_ledger,
        out: args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-{side}", plan.name))),
        spill: args.spill.clone(),
        worker: host(),
    };
    let mode = ProgressMode::choose(screen, common.no_progress || common.quiet);
    let read = prove(mode, |board| read_side_alone(plan, &options, board))?;
    print_result(screen, common.json, || read.to_json(), || read.render_text())?;
    Ok(0)
}

fn diff(args: &DiffArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let options = DiffOptions {
        folders: [args.a.clone(), args.b.clone()],
        out: args.out.clone(),
        max_rows: args.max_rows,
    };
    let diffed = sites::diff(&options)?;
    print_result(screen, common.json, || diffed.to_json(), || diffed.render_text())?;
    Ok(diffed.exit_code())
}

/// Who proves without being a worker of the plan.
fn host() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

fn default_out(plan: &Plan) -> PathBuf {
    PathBuf::from(format!("{}-proof", plan.name))
}

/// Proves with bars of its own.
fn prove<T>(mode: ProgressMode, work: impl FnOnce(&Board) -> Result<T>) -> Result<T> {
    let board = Board::default();
    wired::stop_on_signal(&board)?;
    let reporter = Reporter::start(board.clone(), mode, Aim::Proof);
    let proof = work(&board);
    reporter.finish();
    proof
}

fn status(args: &StatusArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let plan = wired::load(&args.plan, screen)?;
    let status = wired::status(&plan)?;
    print_result(screen, common.json, || status.to_json(), || status.render_text())?;
    Ok(0)
}

fn ledger(args: &StatusArgs, common: &Common, screen: &Screen) -> Result<u8> {
    let plan = wired::load(&args.plan, screen)?;
    wired::each_ledger_message(&plan, &mut |message| {
        let printed =
            print_result(screen, common.json, || json_line(message), || text_line(message))?;
        Ok(match printed {
            Reader::There => ControlFlow::Continue(()),
            Reader::Gone => ControlFlow::Break(()),
        })
    })?;
    Ok(0)
}
