//! What we hand out is right: sample plans load, and the reference knows every field.

use std::fs;
use std::path::{Path, PathBuf};

use super::secrets::EVERYTHING;
use crate::plan::properties::owned_names;
use crate::plan::{Env, Plan, check_by_table};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn plans_in(folder: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(root(folder)) else { return Vec::new() };
    let paths = files.map(|file| file.expect("a file").path());
    let mut plans: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    plans.sort();
    plans
}

#[test]
fn every_plan_that_we_hand_out_loads() {
    let samples = plans_in("migrations-plans");
    assert!(samples.len() >= 4, "{samples:?}");
    for path in samples.iter().chain(&plans_in("examples")) {
        let env = Env {
            env: &|_| Some("set".to_string()),
            read_file: &|path| match fs::read_to_string(path) {
                // Secrets in files are not handed out.
                Err(_) if path.extension().is_none_or(|end| end != "toml") => Ok("set\n".into()),
                read => read,
            },
            property: &check_by_table,
        };
        Plan::load(path, &env).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_reference_knows_every_field() {
    let reference = fs::read_to_string(root("docs/plan.md")).expect("docs/plan.md");
    let mut section = String::new();
    for line in EVERYTHING.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_matches(['[', ']']).to_string() + ".";
        } else if let Some((field, _)) = line.split_once(" = ").filter(|(f, _)| !f.starts_with('"'))
        {
            let field = format!("`{section}{field}`").replace("target.registry", "source.registry");
            let field = field.replace("`target.", "`source.");
            assert!(reference.contains(&field), "docs/plan.md does not mention {field}");
        }
    }
}

#[test]
fn the_reference_knows_every_property_that_onceover_sets_itself() {
    let reference = fs::read_to_string(root("docs/plan.md")).expect("docs/plan.md");
    for name in owned_names() {
        assert!(reference.contains(&format!("`{name}`")), "docs/plan.md does not mention {name}");
    }
}
