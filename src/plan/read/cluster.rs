//! `[source]` and `[target]`: addresses, properties of librdkafka, schema registry.

use std::collections::BTreeMap;

use super::Reading;
use super::fields::{Fields, Value};
use crate::error::Side;
use crate::plan::properties::{
    PropertyFault, accepts, instead_of, looks_secret, only_for_producers, owned,
};
use crate::plan::resolve::has_reference;
use crate::plan::secret::{MASK, Secret};
use crate::plan::settings::{ClusterPlan, Registry};

pub(super) fn read(cx: &Reading<'_>, mut fields: Fields<'_>, side: Side) -> ClusterPlan {
    let (bootstrap, shown_bootstrap) =
        fields.required("bootstrap").and_then(|value| bootstrap(cx, &value)).unwrap_or_default();
    let mut properties = BTreeMap::new();
    let mut shown = BTreeMap::new();
    for (name, value) in fields.table("properties").all() {
        if let Some(property) = property(cx, side, &name, &value) {
            properties.insert(name.clone(), property.value);
            shown.insert(name, property.shown);
        }
    }
    let registry = registry(cx, fields.table("registry"));
    ClusterPlan { bootstrap, properties, registry, shown_bootstrap, shown }
}

/// The addresses, resolved and as they may be shown.
fn bootstrap(cx: &Reading<'_>, value: &Value<'_>) -> Option<(String, String)> {
    let raw = value.raw("a string such as `\"kafka-1:9092,kafka-2:9092\"`")?;
    let resolved = cx.resolve(value, raw, true)?;
    let mut addresses = resolved.split(',').map(str::trim).peekable();
    if resolved.trim().is_empty() || addresses.any(|address| !is_address(address)) {
        value.problem("expected addresses such as `kafka-1:9092,kafka-2:9092`");
        return None;
    }
    if has_reference(raw) {
        // The client library shows addresses one by one.
        for address in resolved.split(',').map(str::trim) {
            cx.keep_secret(address);
            let host = address.rsplit("://").next().unwrap_or(address);
            cx.keep_secret(host);
            cx.keep_secret(host.rsplit_once(':').map_or(host, |(host, _)| host));
        }
    }
    Some((resolved, raw.to_string()))
}

/// `host`, `host:port` or `PROTOCOL://host:port`; hosts are not looked up here.
fn is_address(address: &str) -> bool {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => (host, port),
        Some(_) => return false,
        None => (address, "9092"),
    };
    let host_chars = |c: char| c.is_alphanumeric() || ".-_[]:%".contains(c);
    !host.is_empty()
        && host.chars().all(host_chars)
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

struct Property {
    value: String,
    shown: String,
}

fn property(cx: &Reading<'_>, side: Side, name: &str, value: &Value<'_>) -> Option<Property> {
    if value.is_table() {
        value.problem_hint(
            "expected a value, found a table",
            format!("quote the property's name: `\"{}\" = …`", dotted(name, value)),
        );
        return None;
    }
    if let Some(why) = owned(name) {
        value.problem(&format!("onceover sets it itself: {why}"));
        return None;
    }
    if side == Side::Source && only_for_producers(name) {
        value.problem("only producers have it, and the source is only read");
        return None;
    }
    let raw = value.scalar()?;
    let secret = looks_secret(name);
    let resolved = cx.resolve(value, &raw, secret)?;
    if secret {
        cx.keep_secret(&resolved);
    }
    if let Err(fault) = (cx.env.property)(name, &resolved, side) {
        match (fault, accepts(name)) {
            (PropertyFault::Unknown, _) => cx.problems.add(
                value.at,
                &value.path,
                "librdkafka has no such property",
                instead_of(name),
            ),
            (PropertyFault::Invalid, Some(accepts)) => value.problem(&format!(
                "not a value that librdkafka takes here: {}",
                accepts.replace("..", " to ")
            )),
            (PropertyFault::Invalid, None) => {
                value.problem("not a value that librdkafka takes here")
            }
        }
        return None;
    }
    Some(Property { value: resolved, shown: if secret { MASK.to_string() } else { raw } })
}

/// The whole name of a property that was written without quotes, which TOML reads as nested tables.
fn dotted(name: &str, value: &Value<'_>) -> String {
    let mut fields = value.table().all();
    match fields.pop() {
        Some((inner, field)) if field.is_table() => format!("{name}.{}", dotted(&inner, &field)),
        Some((inner, _)) => format!("{name}.{inner}"),
        None => name.to_string(),
    }
}

fn registry(cx: &Reading<'_>, mut fields: Fields<'_>) -> Option<Registry> {
    let secret = |value: &Value<'_>| {
        let resolved = cx.resolve(value, value.raw("a string")?, true)?;
        Some(Secret::new(resolved))
    };
    let kept = |value: &Value<'_>| {
        let secret = secret(value)?;
        cx.keep_secret(secret.expose());
        Some(secret)
    };
    let url = if fields.is_there() { fields.required("url") } else { fields.value("url") };
    let url = url.and_then(|value| {
        let url = secret(&value)?;
        let Some((_, rest)) = url.expose().split_once("://") else {
            value.problem("expected an address such as `https://registry:8081`");
            return None;
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let mut shown = value.raw("a string")?.to_string();
        if let Some((user, _)) = authority.rsplit_once('@') {
            cx.keep_secret(user);
            cx.keep_secret(user.split_once(':').map_or("", |(_, password)| password));
            shown = MASK.to_string();
        }
        Some((url, shown))
    });
    let registry = Registry {
        shown_url: String::new(),
        url: Secret::new(""),
        username: fields.maybe("username", secret),
        password: fields.maybe("password", kept),
        token: fields.maybe("token", kept),
        ca_location: fields.maybe("ca_location", |value| value.some_string().map(str::to_string)),
    };
    let (url, shown_url) = url?;
    Some(Registry { url, shown_url, ..registry })
}
