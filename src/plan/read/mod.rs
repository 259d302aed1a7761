//! From a plan file to a [`Plan`]: parse, resolve, check, fill in defaults; no network.
//!
//! All problems of a file are told at once, each with line and field. No message ever holds a value
//! out of the file: a value in the wrong place may be a secret.

mod cluster;
mod fields;
mod later;
mod problems;
mod run;
mod topics;

use std::cell::RefCell;
use std::io;
use std::path::Path;

use toml::de::DeTable;

use self::fields::{Fields, Value};
use self::problems::Problems;
use super::names::plan_name_fault;
use super::properties::PropertyFault;
use super::resolve::{Resolved, Sources, resolve};
use super::secret::Redactor;
use super::settings::Plan;
use crate::error::{Error, Result, Side};

/// Judges a property of librdkafka: name, value, and the cluster that it is for.
pub type PropertyCheck<'a> = dyn Fn(&str, &str, Side) -> Result<(), PropertyFault> + 'a;

/// What loading a plan needs of the world around it.
pub struct Env<'a> {
    /// An environment variable, for `${env:NAME}`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// A file's text: the plan, and `${file:PATH}`.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Whether librdkafka takes a property.
    pub property: &'a PropertyCheck<'a>,
}

impl<'a> Env<'a> {
    /// The process's own environment and files.
    pub fn of_process(property: &'a PropertyCheck<'a>) -> Self {
        Self {
            env: &|name| std::env::var(name).ok(),
            read_file: &|path| std::fs::read_to_string(path),
            property,
        }
    }
}

impl Plan {
    /// Reads and checks the plan at `path`. Errors (exit 2) name file, line and field.
    pub fn load(path: &Path, env: &Env<'_>) -> Result<Plan> {
        let file = path.display().to_string();
        let text = (env.read_file)(path).map_err(|error| {
            let kind = error.kind();
            let error = Error::usage(format!("cannot read the plan `{file}`: {kind}"));
            if kind == io::ErrorKind::NotFound {
                error.hint("`onceover init --source A --target B` writes a commented plan")
            } else {
                error
            }
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&file, &text, folder, env)
    }

    /// Reads and checks a plan's text. `file` is what errors call it, `folder` what relative
    /// `${file:PATH}`s are relative to.
    pub fn parse(file: &str, text: &str, folder: &Path, env: &Env<'_>) -> Result<Plan> {
        let problems = Problems::new(file, text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => return Err(not_toml(problems, text, &error)),
        };
        let cx = Reading { problems, env, folder, secrets: RefCell::default() };
        let plan = read_plan(&cx, Fields::root(&cx, document.get_ref()));
        match cx.problems.into_error() {
            Some(error) => Err(error),
            None => Ok(Plan { redactor: Redactor::new(cx.secrets.take()), ..plan }),
        }
    }
}

/// toml's own display shows the offending line, which may hold a secret.
fn not_toml(problems: Problems<'_>, text: &str, error: &toml::de::Error) -> Error {
    let at = error.span().map_or(text.len(), |span| span.start).min(text.len());
    let (_, line_start) = problems.line(at);
    let column = text.get(line_start..at).map_or(0, |before| before.chars().count()) + 1;
    let message = error.message();
    let quotes = (message.contains("string values must be quoted"))
        .then(|| "text stands in quotes, such as `name = \"orders-eu\"`".to_string());
    problems.add_to_file(at, format!("not valid TOML at column {column}: {message}"), quotes);
    problems.into_error().expect("a problem was added")
}

/// What the readers of sections share.
struct Reading<'e> {
    problems: Problems<'e>,
    env: &'e Env<'e>,
    folder: &'e Path,
    secrets: RefCell<Vec<String>>,
}

impl Reading<'_> {
    /// Resolves the references in a value; what came from them is a secret from here on, but for
    /// switches and small numbers in fields that hold no secret by their name (masking every `true` and
    /// every `3` would hide the log, not the value).
    fn resolve(&self, field: &Value<'_>, text: &str, secret_field: bool) -> Option<String> {
        let sources =
            Sources { env: self.env.env, read_file: self.env.read_file, folder: self.folder };
        match resolve(text, &sources) {
            Ok(Resolved { value, secrets }) => {
                let says_nothing = |text: &String| {
                    matches!(text.as_str(), "true" | "false") || text.parse::<u16>().is_ok()
                };
                let kept = secrets.into_iter().filter(|text| secret_field || !says_nothing(text));
                self.secrets.borrow_mut().extend(kept);
                Some(value)
            }
            Err(text) => {
                field.problem(&text);
                None
            }
        }
    }

    /// Nobody may see this.
    fn keep_secret(&self, text: &str) {
        self.secrets.borrow_mut().push(text.to_string());
    }
}

/// What a plan would do is not built yet: refusing is better than copying something else.
fn not_supported(value: &Value<'_>, what: &str) {
    value.problem_hint(
        &format!("{what} not supported yet"),
        "leave it out; a plan that would be copied differently than it says is refused",
    );
}

fn read_plan(cx: &Reading<'_>, mut root: Fields<'_>) -> Plan {
    let name = root.required("name").and_then(|name| {
        let text = name.string()?;
        if let Some(fault) = plan_name_fault(text) {
            name.problem(&fault);
            return None;
        }
        Some(text.to_string())
    });
    let name = name.unwrap_or_default();
    let source = cluster::read(cx, root.table("source"), Side::Source);
    let target = cluster::read(cx, root.table("target"), Side::Target);
    let topics = topics::read(root.table("topics"));
    let ledger = run::ledger(root.table("ledger"), &name);
    let run = run::run(root.table("run"));
    let (allow, assume) = later::checks(&mut root);
    later::transforms(&mut root);
    Plan {
        source,
        target,
        topics,
        ledger,
        run,
        allow,
        assume,
        reconcile: later::reconcile(cx, root.table("reconcile")),
        diff: later::diff(root.table("diff")),
        groups: later::groups(root.table("groups")),
        waves: later::waves(&mut root),
        cutover: later::cutover(root.table("cutover")),
        name,
        redactor: Redactor::default(),
    }
}
