//! The command line as typed: verbs, flags, and the words of `--help` (`docs/cli.md` repeats them, and a
//! test compares).

mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::check::resources::Form;
use crate::error::{Error, Side};
use crate::plan::parse_rate;
use crate::report::LogFormat;
use crate::report::logs::Level;
use words::{
    ABOUT, CHECK_EXAMPLES, DIFF_EXAMPLES, ENVIRONMENT, EXAMPLES, EXIT_CODES, INIT_EXAMPLES,
    LONG_ABOUT, RECONCILE_EXAMPLES, RUN_EXAMPLES, STATUS_EXAMPLES,
};

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "onceover",
    version,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = format!("{EXAMPLES}\nSee `onceover --help` for exit codes, `onceover run --help` for a verb"),
    after_long_help = format!("{EXAMPLES}\n{EXIT_CODES}\n{ENVIRONMENT}"),
    disable_help_subcommand = true,
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// Flags of all verbs.
    #[command(flatten)]
    pub common: Common,
}

/// Verbs, in the order in which a migration needs them.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a commented plan from what is there
    Init(InitArgs),
    /// Find what could ruin the migration, before a byte moves
    Check(CheckArgs),
    /// Copy a plan's topics to the target, exactly once
    Run(RunArgs),
    /// Prove that both sides hold the same, and write down what differs
    Reconcile(ReconcileArgs),
    /// Compare what the two sides of `reconcile --side` have read, without a network
    Diff(DiffArgs),
    /// Show where a plan stands: positions, fence, lag, workers
    Status(StatusArgs),
}

/// Flags of all verbs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Print the result to stdout as JSON (one object; `--ledger`: one a line)
    #[arg(long, global = true)]
    pub json: bool,

    /// Form of the log on stderr
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        hide_possible_values = true,
        help = "Form of the log on stderr: text or json"
    )]
    pub log_format: LogFormat,

    /// Say more: -v debug, -vv trace, -vvv the libraries too
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Say only warnings and errors, and show no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show no bars and no status lines
    #[arg(long, global = true)]
    pub no_progress: bool,
}

impl Common {
    /// How much to say.
    pub fn level(&self) -> Level {
        Level { verbose: self.verbose, quiet: self.quiet }
    }
}

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub struct InitArgs {
    /// Bootstrap servers of the old cluster: host:port, more than one with commas
    #[arg(long, value_name = "SERVERS")]
    pub source: String,

    /// Bootstrap servers of the new cluster
    #[arg(long, value_name = "SERVERS")]
    pub target: String,

    /// Name of the plan: lower-case letters, digits and `-`; names the ledger, the group and the
    /// transactional ids
    #[arg(long)]
    pub name: Option<String>,

    /// Write the plan here, not to stdout; a file that exists is not touched
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The plan file
    pub plan: PathBuf,

    /// Write every finding to this file; one that exists is replaced
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write checks.csv, acls.csv and schema-ids.csv into this folder; those that exist are replaced
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How fast the copy will be, as `50MiB/s`, for what retention deletes meanwhile
    /// [default: as fast as the sample was read]
    #[arg(long, value_name = "RATE", value_parser = bytes_per_second)]
    pub rate: Option<u64>,

    /// Print what has to be created and granted, in place of what was found: commands of Kafka's tools
    /// (sh), or Terraform (hcl)
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        conflicts_with = "json",
        hide_possible_values = true
    )]
    pub print_resources: Option<Form>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The plan file
    pub plan: PathBuf,

    /// Copy until stopped, rather than to what is there now
    #[arg(long)]
    pub tail: bool,

    /// End with the copy; `onceover reconcile` proves it later
    #[arg(long, conflicts_with = "tail")]
    pub no_reconcile: bool,

    /// Folder of the proof's files [default: <plan name>-proof]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Name of this worker: one restarted under it has its lanes back at once, a second one takes them
    /// over [default: machine, host and a slot number]
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    pub worker: Option<String>,
}

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
#[command(after_help = RECONCILE_EXAMPLES)]
pub struct ReconcileArgs {
    /// The plan file
    pub plan: PathBuf,

    /// Folder of the files; one that exists must be empty or hold an earlier proof, which is replaced
    /// [default: <plan name>-proof]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Read everything again, also what was proved before
    #[arg(long)]
    pub full: bool,

    /// Compare whole logs, without the ledger: what another tool has copied
    #[arg(long)]
    pub no_ledger: bool,

    /// Read this side alone, beside its cluster, always in full; the other cluster is not contacted.
    /// `onceover diff` compares the two: see docs/two-sites.md [default folder: <plan name>-<side>]
    #[arg(long, value_enum, value_name = "SIDE", conflicts_with = "full")]
    pub side: Option<SideWord>,

    /// With --side: read the ranges of this `scope.json`, which the other side's pass has written
    #[arg(long, value_name = "FILE", requires = "side")]
    pub scope: Option<PathBuf>,

    /// With --side and --scope: read only these buckets, of a `buckets-differing.csv`
    #[arg(long, value_name = "FILE", requires_all = ["side", "scope"])]
    pub buckets: Option<PathBuf>,

    /// Folder for what does not fit into `reconcile.memory` [default: the folder of the files]
    #[arg(long, value_name = "DIR")]
    pub spill: Option<PathBuf>,
}

/// A side as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SideWord {
    /// The old cluster
    Source,
    /// The new cluster
    Target,
}

impl From<SideWord> for Side {
    fn from(word: SideWord) -> Self {
        match word {
            SideWord::Source => Self::Source,
            SideWord::Target => Self::Target,
        }
    }
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// Folder of one side
    pub a: PathBuf,

    /// Folder of the other side
    pub b: PathBuf,

    /// Folder of the files; one that exists must be empty or hold an earlier proof, which is replaced
    /// [default: <plan name>-diff]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Rows that diff.csv has at most; all differences are counted
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_rows: u64,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub struct StatusArgs {
    /// The plan file
    pub plan: PathBuf,

    /// Print the ledger's entries instead, one a line
    #[arg(long)]
    pub ledger: bool,
}

fn bytes_per_second(text: &str) -> Result<u64, String> {
    match parse_rate(text)? {
        0 => Err("it must be more than 0".to_owned()),
        rate => Ok(rate),
    }
}

/// Brokers take as `group.instance.id` what they take as a topic name (Kafka: `Topic.validate`).
fn worker_name(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match text {
        "" | "." | ".." => Err("it must have a name, and not `.` or `..`".to_owned()),
        // The slot's or lane's suffix must still fit below Kafka's 249.
        text if text.len() > 200 => Err("at most 200 characters".to_owned()),
        text if !text.chars().all(legal) => {
            Err("only letters, digits, `.`, `_` and `-` are allowed".to_owned())
        }
        text => Ok(text.to_owned()),
    }
}

/// What clap found wrong, as an error of ours: for `--json`.
pub fn usage_error(error: &clap::Error) -> Error {
    let what = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "no verb was given".to_owned()
    } else {
        let text = error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    Error::usage(what).hint("`onceover --help` lists verbs and flags")
}

/// Whether `args` ask for JSON, where they cannot be parsed as a whole.
pub fn wants_json(args: &[OsString]) -> bool {
    args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// The page `docs/cli.md`: what `--help` prints, for onceover and for each verb.
pub fn docs() -> String {
    let mut page = String::from(
        "# Command line\n\nWritten from what `--help` prints: `ONCEOVER_BLESS=1 cargo test --lib cli`.\n",
    );
    let verbs = Cli::command();
    let verbs = verbs.get_subcommands().map(|verb| Some(verb.get_name()));
    for verb in std::iter::once(None).chain(verbs) {
        let line: Vec<&str> = std::iter::once("onceover").chain(verb).collect();
        let args = line.iter().copied().chain(["--help"]);
        // Clap shows help by way of an error.
        if let Err(help) = Cli::command().term_width(100).try_get_matches_from(args) {
            let help = help.render().to_string();
            let help: Vec<&str> = help.lines().map(str::trim_end).collect();
            let (heading, help) = (line.join(" "), help.join("\n"));
            page += &format!("\n## `{heading}`\n\n```text\n{}\n```\n", help.trim_end());
        }
    }
    page
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
