//! Sections whose verbs come later: they are read and checked in full, so that the format stands.

use std::time::Duration;

use super::fields::{Fields, Value};
use super::{Reading, not_supported};
use crate::check::{ASSUMABLE, CATALOGUE};
use crate::plan::names::plan_name_fault;
use crate::plan::nearest::nearest;
use crate::plan::pattern::Pattern;
use crate::plan::resolve::has_reference;
use crate::plan::secret::Secret;
use crate::plan::settings::{Allow, Assume, Cutover, Diff, Groups, Keys, Reconcile, Wave};

const MIB: u64 = 1 << 20;

fn required_text(fields: &mut Fields<'_>, name: &'static str) -> String {
    fields.required(name).and_then(|value| value.some_string()).unwrap_or_default().to_string()
}

fn required_topics(fields: &mut Fields<'_>) -> Vec<Pattern> {
    fields.required("topics").and_then(|value| value.some_topics()).unwrap_or_default()
}

/// The name of a check; one that nobody knows is a problem with the nearest that there is.
fn required_check(fields: &mut Fields<'_>, known: &[&'static str]) -> String {
    let named = fields.required("check").and_then(|value| {
        let name = value.some_string()?;
        if !known.contains(&name) {
            let all = || format!("there are `{}`", known.join("`, `"));
            let near = nearest(name, known.iter().copied());
            let hint = near.map_or_else(all, |near| format!("did you mean `{near}`?"));
            let text = if CATALOGUE.iter().any(|check| check.name == name) {
                "a check that nobody can answer by hand"
            } else {
                "no check has this name"
            };
            value.problem_hint(text, hint);
            return None;
        }
        Some(name.to_owned())
    });
    named.unwrap_or_default()
}

/// `[[check.allow]]` and `[[assume]]`.
pub(super) fn checks(root: &mut Fields<'_>) -> (Vec<Allow>, Vec<Assume>) {
    let known: Vec<_> = CATALOGUE.iter().map(|check| check.name).collect();
    let allow = root.table("check").tables("allow").into_iter().map(|mut fields| Allow {
        check: required_check(&mut fields, &known),
        topics: required_topics(&mut fields),
        reason: required_text(&mut fields, "reason"),
    });
    let allow = allow.collect();
    let assume = root.tables("assume").into_iter().map(|mut fields| Assume {
        check: required_check(&mut fields, &ASSUMABLE),
        topics: required_topics(&mut fields),
        value: fields.maybe("value", |value| value.plain_scalar()),
        reason: required_text(&mut fields, "reason"),
    });
    (allow, assume.collect())
}

/// `[[transform]]`: the format stands, the language comes later.
pub(super) fn transforms(root: &mut Fields<'_>) {
    let Some(transforms) = root.value("transform") else { return };
    for transform in transforms.list().unwrap_or_default() {
        let mut fields = transform.table();
        required_topics(&mut fields);
        required_text(&mut fields, "program");
        not_supported(&transform, "transforms are");
    }
}

pub(super) fn reconcile(cx: &Reading<'_>, mut fields: Fields<'_>) -> Reconcile {
    let keys = fields.or("keys", Keys::Plain, |value| {
        value.one_of(&[("plain", Keys::Plain), ("hashed", Keys::Hashed)])
    });
    let secret = fields.value("secret");
    let has_secret = secret.is_some();
    let secret = secret.and_then(|value| {
        let raw = value.raw("a string")?;
        if !has_reference(raw) {
            value.problem("a secret must come from `${env:NAME}` or `${file:PATH}`");
            return None;
        }
        let secret = cx.resolve(&value, raw, true)?;
        if secret.is_empty() {
            value.problem("the secret is empty");
        }
        Some(Secret::new(secret))
    });
    if keys == Keys::Hashed && !has_secret {
        fields.problem(
            "`keys = \"hashed\"` needs a `secret`",
            Some("`secret = \"${env:NAME}\"` or `secret = \"${file:PATH}\"`".into()),
        );
    }
    Reconcile {
        memory: fields.or("memory", 512 * MIB, |value| value.size(16 * MIB..=1 << 40)),
        every: fields.maybe("every", |value| {
            value.duration(Duration::from_secs(1)..=Duration::from_secs(30 * 86_400))
        }),
        keys,
        secret,
        ignore_headers: fields.or("ignore_headers", Vec::new(), Value::strings),
    }
}

pub(super) fn diff(mut fields: Fields<'_>) -> Diff {
    // What a spreadsheet opens without complaint.
    Diff {
        max_rows: fields.or("max_rows", 100_000, |value| value.integer(1..=u64::from(u32::MAX))),
    }
}

pub(super) fn groups(mut fields: Fields<'_>) -> Groups {
    let every = || vec![Pattern::parse("/.*/").expect("a pattern")];
    Groups {
        include: fields.maybe("include", Value::names).unwrap_or_else(every),
        exclude: fields.or("exclude", Vec::new(), Value::names),
    }
}

/// `[[wave]]`.
pub(super) fn waves(root: &mut Fields<'_>) -> Vec<Wave> {
    let mut waves: Vec<Wave> = Vec::new();
    for mut fields in root.tables("wave") {
        let name = fields.required("name").and_then(|value| {
            let name = value.string()?;
            if let Some(fault) = plan_name_fault(name) {
                value.problem(&fault);
                return None;
            }
            if waves.iter().any(|wave| wave.name == name) {
                value.problem("another wave has this name");
            }
            Some(name.to_string())
        });
        let topics = required_topics(&mut fields);
        waves.push(Wave { name: name.unwrap_or_default(), topics });
    }
    waves
}

pub(super) fn cutover(mut fields: Fields<'_>) -> Cutover {
    let quiet = fields.or("quiet", Duration::from_secs(120), |value| {
        value.duration(Duration::from_secs(1)..=Duration::from_secs(86_400))
    });
    Cutover { quiet }
}
