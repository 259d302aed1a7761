//! `[topics]`: selection, naming, starts, configs and their exceptions.

use std::collections::BTreeMap;

use super::fields::{Fields, Value};
use super::not_supported;
use crate::plan::naming::{Naming, Rule};
use crate::plan::settings::{TopicOverride, Topics};
use crate::plan::start::Start;

pub(super) fn read(mut fields: Fields<'_>) -> Topics {
    let include = fields.required("include").and_then(|value| value.some_topics());
    let rename = fields.or("rename", Vec::new(), |value| Some(rules(&value.list()?)));
    let shared = fields.or("shared", Vec::new(), |value| {
        let shared = value.strings()?;
        if !shared.is_empty() {
            not_supported(value, "shared target topics are");
        }
        Some(shared)
    });
    let mut config = fields.table("config");
    let config_exclude = config.or("exclude", Vec::new(), Value::strings);
    let mut excluded = config.table("override");
    let config_override = configs(&mut excluded, &config_exclude);
    Topics {
        include: include.unwrap_or_default(),
        exclude: fields.or("exclude", Vec::new(), Value::topics),
        create: fields.or("create", true, Value::boolean),
        replication_factor: fields.maybe("replication_factor", replication_factor),
        rename: Naming::new(rename),
        shared,
        start: fields.or("start", Start::Earliest, Value::start),
        overrides: fields
            .tables("override")
            .into_iter()
            .map(|over| topic_override(over, &config_exclude))
            .collect(),
        config_exclude,
        config_override,
    }
}

/// Kafka keeps a replication factor in 16 bits; there is no cluster with so many brokers.
pub(super) fn replication_factor(value: &Value<'_>) -> Option<i16> {
    value.integer(1..=i16::MAX)
}

fn rules(items: &[Value<'_>]) -> Vec<Rule> {
    let rule = |item: &Value<'_>| {
        let mut fields = item.table();
        let from = fields.required("from").and_then(|from| from.topic());
        let to = fields.required("to");
        let (from, to) = (from?, to?);
        let rule = Rule::new(from, to.string()?);
        rule.map_err(|text| to.problem(&text)).ok()
    };
    items.iter().filter_map(rule).collect()
}

/// Topic configs by name; one that is never copied cannot be set as well.
fn configs(fields: &mut Fields<'_>, excluded: &[String]) -> BTreeMap<String, String> {
    let mut configs = BTreeMap::new();
    for (name, value) in fields.all() {
        if value.is_table() {
            value.problem_hint(
                "expected a value, found a table",
                "quote the config's name, such as `\"retention.ms\" = \"604800000\"`",
            );
        } else if excluded.contains(&name) {
            value.problem("it is in `topics.config.exclude` as well, which leaves it alone");
        } else if let Some(text) = value.plain_scalar() {
            configs.insert(name, text);
        }
    }
    configs
}

fn topic_override(mut fields: Fields<'_>, excluded: &[String]) -> TopicOverride {
    let topics = fields.required("topics").and_then(|topics| topics.some_topics());
    let start = fields.maybe("start", Value::start);
    let replication_factor = fields.maybe("replication_factor", replication_factor);
    let mut config_fields = fields.table("config");
    let config = configs(&mut config_fields, excluded);
    TopicOverride { topics: topics.unwrap_or_default(), start, replication_factor, config }
}
