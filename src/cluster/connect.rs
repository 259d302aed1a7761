//! How each cluster is reached: one place for addresses, credentials and every client's settings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;

use super::class::{Call, Class, ClusterError, classify};
use super::notices::{Notices, Shown};
use super::sys::client::{Client, Metadata, Role};
use super::sys::code::Code;
use super::sys::fault::{Fault, first_bad_property};
use crate::error::Side;

use crate::plan::PropertyFault;

/// Settings that the plan may change, below its properties.
const DEFAULTS: [(&str, &str); 3] = [
    // librdkafka backs off to 10 s; a broker that restarts is back earlier.
    ("reconnect.backoff.max.ms", "2000"),
    ("socket.keepalive.enable", "true"),
    // Ending a client would wait until its last metrics are sent (KIP-714).
    ("enable.metrics.push", "false"),
];

/// Settings of every client that the plan cannot change, above its properties.
const OWN: [(&str, &str); 2] =
    [("log.thread.name", "false"), ("allow.auto.create.topics", "false")];

/// How long a broker's first answer is waited for before errors are looked at, and at most: an answer to a
/// question that was given up is lost, so a broker far away is asked with more patience each time.
const FIRST_ASK: Duration = Duration::from_millis(300);
const LONGEST_ASK: Duration = Duration::from_secs(5);

/// One of the two clusters and how to reach it. Cheap to clone; holds no connection itself.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    side: Side,
    bootstrap: String,
    properties: BTreeMap<String, String>,
    client_id: String,
    shown: Arc<Shown>,
}

impl fmt::Debug for Connection {
    /// Shows no property value: any of them may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("side", &self.0.side)
            .field("bootstrap", &self.0.bootstrap)
            .field("properties", &self.0.properties.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// The cluster of `side` at `bootstrap`; `properties` are librdkafka's, as the plan has them.
    pub fn new(
        side: Side,
        bootstrap: &str,
        properties: &BTreeMap<String, String>,
        client_id: &str,
    ) -> Connection {
        Connection(Arc::new(Inner {
            side,
            bootstrap: bootstrap.to_owned(),
            properties: properties.clone(),
            client_id: client_id.to_owned(),
            shown: Arc::default(),
        }))
    }

    /// The same cluster, for clients that come under another name.
    #[must_use]
    pub fn named(&self, client_id: &str) -> Connection {
        let Inner { side, bootstrap, properties, shown, .. } = &*self.0;
        Connection(Arc::new(Inner {
            side: *side,
            bootstrap: bootstrap.clone(),
            properties: properties.clone(),
            client_id: client_id.to_owned(),
            shown: Arc::clone(shown),
        }))
    }

    /// Which cluster it is.
    pub fn side(&self) -> Side {
        self.0.side
    }

    /// Its addresses, as the plan has them.
    pub fn bootstrap(&self) -> &str {
        &self.0.bootstrap
    }

    /// The name under which its clients come; each adds its part.
    pub(super) fn client_id(&self) -> &str {
        &self.0.client_id
    }

    /// Whether the plan sets one of these properties.
    pub(super) fn sets(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.properties.contains_key(*name))
    }

    /// A property that the plan sets.
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        self.0.properties.get(name).map(String::as_str)
    }

    /// Waits until a broker answers, at most `timeout`. The error says why none did; refused
    /// credentials and certificates end the wait at once (class final).
    pub fn probe(&self, timeout: Duration) -> Result<(), ClusterError> {
        let client = self.start(Role::Producer, "probe", &[], 0)?;
        self.reach(&client, timeout).map(|_| ())
    }

    /// Waits until a broker answers `client`.
    pub(super) fn reach(
        &self,
        client: &Client,
        timeout: Duration,
    ) -> Result<Metadata, ClusterError> {
        let mut deadline = Instant::now() + timeout;
        let mut slice = FIRST_ASK;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let fault = match client.metadata(false, left.min(slice)) {
                Ok(metadata) => return Ok(metadata),
                Err(fault) => fault,
            };
            slice = (slice * 2).min(LONGEST_ASK);
            client.serve();
            let errors = client.notices().take_errors();
            if let Some((_, text)) = errors.iter().find(|(code, _)| refused(*code)) {
                let what = format!("`{}` refuses the connection: {text}", self.0.bootstrap);
                return Err(ClusterError::new(self.0.side, Class::Final, what));
            }
            // A broker that is starting may hang up in a handshake; one that speaks no TLS always does.
            if errors.iter().any(|(_, text)| text.contains("SSL handshake failed")) {
                deadline = deadline.min(Instant::now() + Duration::from_secs(5));
            }
            if Instant::now() >= deadline {
                let what = format!("no broker at `{}` answered", self.0.bootstrap);
                return Err(self.error(Call::Ask, &what, &fault, Some(client.notices())));
            }
        }
    }

    fn is_secured(&self) -> bool {
        let protocol = self.0.properties.get("security.protocol");
        protocol.is_some_and(|protocol| !protocol.eq_ignore_ascii_case("plaintext"))
    }

    /// Starts a client: defaults, the plan's properties, then `own` and what every client gets.
    pub(super) fn start(
        &self,
        role: Role,
        part: &str,
        own: &[(&str, String)],
        events: i32,
    ) -> Result<Arc<Client>, ClusterError> {
        let mut config = ClientConfig::new();
        for (name, value) in DEFAULTS {
            config.set(name, value);
        }
        for (name, value) in &self.0.properties {
            config.set(name, value);
        }
        for (name, value) in own {
            config.set(*name, value);
        }
        for (name, value) in OWN {
            config.set(name, value);
        }
        config.set("bootstrap.servers", &self.0.bootstrap);
        config.set("client.id", format!("{}-{part}", self.0.client_id));
        let notices = Arc::new(Notices::new(self.0.side, part, Arc::clone(&self.0.shown)));
        Client::start(role, &config, events, notices).map_err(|fault| {
            let what = format!("cannot start the {part} client");
            ClusterError { class: Class::Final, ..self.error(Call::Ask, &what, &fault, None) }
        })
    }

    /// An error of this cluster: what was being done, what librdkafka said, and, where nobody
    /// answered, the last reason that was heard.
    pub(super) fn error(
        &self,
        call: Call,
        what: &str,
        fault: &Fault,
        notices: Option<&Notices>,
    ) -> ClusterError {
        let mut text = format!("{what}: {}", plain(&fault.text));
        let silent = matches!(
            fault.code,
            Code::TIMED_OUT
                | Code::TRANSPORT
                | Code::MSG_TIMED_OUT
                | Code::TIMED_OUT_QUEUE
                | Code::ALL_BROKERS_DOWN
                | Code::WAIT_COORD
                | Code::RESOLVE
        );
        if silent && let Some(reason) = notices.and_then(Notices::reason) {
            // A listener that wants TLS or SASL just hangs up on a client that offers neither.
            let guess = if reason.contains("isconnected") && !self.is_secured() {
                "; it may want TLS or SASL: see `security.protocol`"
            } else {
                ""
            };
            text = format!("{text} ({reason}{guess})");
        }
        ClusterError::new(self.0.side, classify(call, fault), text)
    }
}

/// Whether a code says that the cluster does not want us: credentials or certificates.
fn refused(code: Code) -> bool {
    matches!(code, Code::AUTHENTICATION | Code::SASL_AUTHENTICATION_FAILED | Code::SSL)
}

/// librdkafka's words without the prefixes that tell its own errors from a broker's.
fn plain(text: &str) -> &str {
    text.strip_prefix("Local: ").or_else(|| text.strip_prefix("Broker: ")).unwrap_or(text)
}

/// Asks librdkafka whether it takes a property. The answer never holds the value.
pub fn check_property(name: &str, value: &str, _side: Side) -> Result<(), PropertyFault> {
    let mut config = ClientConfig::new();
    config.set(name, value);
    match first_bad_property(&config) {
        None => Ok(()),
        Some((_, fault)) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bootstrap: &str, properties: &[(&str, &str)]) -> Connection {
        let properties =
            properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Connection::new(Side::Target, bootstrap, &properties, "test")
    }

    #[test]
    fn a_property_is_checked_by_the_library_itself() {
        let check = |name, value| check_property(name, value, Side::Source);
        assert_eq!(check("security.protocol", "SASL_SSL"), Ok(()));
        assert_eq!(check("security.protocol", "SASL_TLS"), Err(PropertyFault::Invalid));
        assert_eq!(check("sasl.passwort", "hush"), Err(PropertyFault::Unknown));
        assert_eq!(check("session.timeout.ms", "soon"), Err(PropertyFault::Invalid));
    }

    #[test]
    fn a_connection_does_not_show_its_secrets() {
        let shown = format!("{:?}", at("b:9092", &[("sasl.password", "s3cret")]));
        assert!(shown.contains("sasl.password") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_refused_property_is_named_and_its_value_is_not() {
        let error = at("b:9092", &[("linger.ms", "s3cret")])
            .probe(Duration::from_millis(10))
            .expect_err("not a number");
        assert_eq!(error.class, Class::Final);
        assert!(error.what.contains("linger.ms") && !error.what.contains("s3cret"), "{error}");
    }

    #[test]
    fn nobody_listening_is_told_as_a_refused_connection() {
        // A port that was free a moment ago and is closed now.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let error = at(&format!("127.0.0.1:{port}"), &[])
            .probe(Duration::from_secs(2))
            .expect_err("nobody listens");
        assert_eq!((error.side, error.class), (Side::Target, Class::Retriable));
        assert!(error.what.contains("Connection refused"), "{error}");
    }
}
