//! Plans for tests, and tests of whole plans: wrong ones, secret ones, and those that we hand out.

mod cases;
mod samples;
mod secrets;

use std::io;
use std::path::Path;

use crate::error::Result;
use crate::plan::{Env, Plan, check_by_table};

/// What every plan needs besides `[topics]`.
pub(crate) const HEAD: &str =
    "name = 't'\nsource.bootstrap = 'a:9092'\ntarget.bootstrap = 'b:9092'\n";

/// Loads a text, properties judged by the table; `${env:SET}` is `from-the-environment`, `${file:/there}` is `from-a-file`.
pub(crate) fn parse(text: &str) -> Result<Plan> {
    let env = Env {
        env: &|name| (name == "SET").then(|| "from-the-environment".to_string()),
        read_file: &|path| {
            if path == Path::new("/there") {
                Ok("from-a-file\n".to_string())
            } else {
                Err(io::Error::from(io::ErrorKind::NotFound))
            }
        },
        property: &check_by_table,
    };
    Plan::parse("plan.toml", text, Path::new(""), &env)
}

/// The smallest plan with something added after its head.
pub(crate) fn plan_with(rest: &str) -> Plan {
    parse(&format!("{HEAD}{rest}")).unwrap_or_else(|error| panic!("{error}"))
}
