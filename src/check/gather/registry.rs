//! Schema registries that speak Confluent's protocol: what an id stands for on each side.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::check::facts::{Known, Sample, Schema, SchemaFacts};
use crate::check::framed;
use crate::plan::{Plan, Registry};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// More ids than that in front of a topic's records are no ids.
const IDS: usize = 1_000;

/// Asks both registries for every id that the samples hold.
pub fn compare<'a>(
    plan: &Plan,
    samples: impl Iterator<Item = &'a Sample>,
) -> Known<BTreeMap<i32, SchemaFacts>> {
    let (Some(source), Some(target)) = (&plan.source.registry, &plan.target.registry) else {
        return Known::unknown("the plan has no `[source.registry]` and `[target.registry]`");
    };
    let ids: BTreeSet<i32> = samples.flat_map(ids).take(IDS).collect();
    let (source, target) = match (Asker::new(source), Asker::new(target)) {
        (Ok(source), Ok(target)) => (source, target),
        (Err(why), _) => return Known::unknown(format!("source registry: {why}")),
        (_, Err(why)) => return Known::unknown(format!("target registry: {why}")),
    };
    let both = ids.into_iter().map(|id| {
        let facts = SchemaFacts { source: source.schema(id), target: target.schema(id) };
        (id, facts)
    });
    Known::Known(both.collect())
}

/// The ids of a sample, keys' and values' alike, where they look like ids.
fn ids(sample: &Sample) -> impl Iterator<Item = i32> {
    framed(sample).into_iter().flat_map(|(_, ids)| ids.keys()).copied()
}

struct Asker {
    agent: Agent,
    base: String,
    authorization: Option<String>,
}

impl Asker {
    fn new(registry: &Registry) -> Result<Self, String> {
        let mut config =
            Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
        if let Some(path) = &registry.ca_location {
            let pem = std::fs::read(path).map_err(|error| format!("`{path}`: {error}"))?;
            let parsed = ureq::tls::parse_pem(&pem).filter_map(|item| match item {
                Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let roots: Vec<Certificate<'static>> = parsed.collect();
            if roots.is_empty() {
                return Err(format!("`{path}` holds no certificate"));
            }
            let roots = RootCerts::Specific(std::sync::Arc::new(roots));
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let (base, inline) = without_user(registry.url.expose());
        let secret = |secret: &Option<crate::plan::Secret>| {
            secret.as_ref().map(|secret| secret.expose().to_owned())
        };
        let user = secret(&registry.username)
            .map(|user| format!("{user}:{}", secret(&registry.password).unwrap_or_default()));
        let authorization = match (secret(&registry.token), user.or(inline)) {
            (Some(token), _) => Some(format!("Bearer {token}")),
            (None, Some(user)) => Some(format!("Basic {}", base64(user.as_bytes()))),
            (None, None) => None,
        };
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { agent: config.build().into(), base, authorization })
    }

    /// What the registry says about an id. No address and no secret is in the reason of a failure.
    fn schema(&self, id: i32) -> Known<Option<Schema>> {
        let mut request = self
            .agent
            .get(format!("{}/schemas/ids/{id}", self.base))
            .header("accept", "application/vnd.schemaregistry.v1+json, application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = match request.call() {
            Ok(response) => response,
            Err(error) => return Known::unknown(said(&error)),
        };
        let status = response.status().as_u16();
        let body: Option<Value> = response.body_mut().read_json().ok();
        match (status, body) {
            (200, Some(body)) => match schema(&body) {
                Some(schema) => Known::Known(Some(schema)),
                None => Known::unknown("it answered with something else than a schema"),
            },
            // 40403: schema not found. A bare 404 is another server, or another path.
            (404, Some(body)) if body["error_code"] == 40403 => Known::Known(None),
            (401 | 403, _) => Known::unknown(format!("it refuses us (HTTP {status})")),
            (status, _) => Known::unknown(format!("it answered with HTTP {status}")),
        }
    }
}

/// The kind of an error, without the address.
fn said(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".into(),
        ureq::Error::HostNotFound => "its host is not known".into(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::ConnectionFailed => "it cannot be reached".into(),
        ureq::Error::Tls(why) => format!("TLS: {why}"),
        ureq::Error::Rustls(error) => format!("TLS: {error}"),
        _ => "it could not be asked".into(),
    }
}

fn schema(body: &Value) -> Option<Schema> {
    let text = body["schema"].as_str()?.to_owned();
    let references = body["references"].as_array().into_iter().flatten().map(|reference| {
        let part = |name: &str| reference[name].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", part("name"), part("subject"), reference["version"])
    });
    Some(Schema {
        // Left out for Avro, which was the only one at first.
        kind: body["schemaType"].as_str().unwrap_or("AVRO").to_owned(),
        text,
        references: references.collect(),
    })
}

/// An address without `user:password@`, and those.
fn without_user(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), None) };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((user, host)) => (format!("{scheme}://{host}{}", &rest[end..]), Some(user.to_owned())),
        None => (url.to_owned(), None),
    }
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for some in bytes.chunks(3) {
        let byte = |index: usize| u32::from(some.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > some.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!([of(""), of("f"), of("fo"), of("foo")], ["", "Zg==", "Zm8=", "Zm9v"]);
        assert_eq!(of("Aladdin:open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn a_password_in_the_address_is_sent_as_a_header() {
        let (base, user) = without_user("http://a:b%40@host:8081/path");
        assert_eq!((base.as_str(), user.as_deref()), ("http://host:8081/path", Some("a:b%40")));
        assert_eq!(without_user("http://host"), ("http://host".into(), None));
    }

    #[test]
    fn a_schema_without_a_kind_is_avro() {
        let body = serde_json::json!({ "schema": "\"string\"" });
        assert_eq!(schema(&body).expect("a schema").kind, "AVRO");
        assert_eq!(schema(&serde_json::json!({ "other": 1 })), None);
    }
}
