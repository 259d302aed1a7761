//! What a client says unasked: log lines and errors that belong to no call.
//!
//! librdkafka tells *why* it cannot reach a cluster only here; the call that waits just times out.
//! So the last telling line is kept, and whoever reports a time-out adds it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::sys::code::Code;
use crate::error::Side;

/// The same line of the same cluster is shown once in this time; repeats are for `-v`.
const QUIET: Duration = Duration::from_secs(30);

/// How long a telling reason stands against a less telling one.
const MEMORY: Duration = Duration::from_secs(30);

/// Remembers which lines were shown, for all clients of a cluster.
#[derive(Debug, Default)]
pub(super) struct Shown(Mutex<HashMap<String, Instant>>);

impl Shown {
    /// Whether a line like this (numbers apart) was shown a moment ago; notes it otherwise.
    fn recently(&self, line: &str) -> bool {
        let key: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
        let now = Instant::now();
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() > 1000 {
            shown.retain(|_, at| now.duration_since(*at) < QUIET);
        }
        match shown.get(&key) {
            Some(at) if now.duration_since(*at) < QUIET => true,
            _ => {
                shown.insert(key, now);
                false
            }
        }
    }
}

/// How much a line tells about why nothing works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    /// A connection broke.
    Connection,
    /// Credentials or certificates are refused: nothing but a person helps.
    Security,
}

/// The ear of one client.
#[derive(Debug)]
pub(crate) struct Notices {
    side: Side,
    /// Which of the cluster's clients: `admin`, `reader`, `writer`, ….
    part: String,
    shown: Arc<Shown>,
    reason: Mutex<Option<(Telling, Instant, String)>>,
    errors: Mutex<Vec<(Code, String)>>,
    /// Highest and lowest version of each request that all brokers know which this client has talked to.
    api_versions: Mutex<BTreeMap<i16, (i16, i16)>>,
}

impl Notices {
    pub(super) fn new(side: Side, part: &str, shown: Arc<Shown>) -> Self {
        Notices {
            side,
            part: part.to_owned(),
            shown,
            reason: Mutex::new(None),
            errors: Mutex::new(Vec::new()),
            api_versions: Mutex::new(BTreeMap::new()),
        }
    }

    /// Takes a log line; `level` is syslog's (0 emergency to 7 debug).
    pub(super) fn log(&self, level: i32, facility: &str, line: &str) {
        let line = tidy(line);
        // On other levels it complains.
        if facility == "APIVERSION" && level == 7 {
            self.note_version(line);
            return;
        }
        if level <= 4 && matches!(facility, "FAIL" | "ERROR") {
            self.note_reason(telling(line), line);
        }
        let (side, part) = (self.side, self.part.as_str());
        // Properties of the plan go to readers and writers alike, and the other half says so each
        // time; a producer that is given up with records in its queue is told so by us.
        let calm = matches!(facility, "CONFWARN" | "TERMINATE")
            || self.shown.recently(&format!("{side} {line}"));
        match level {
            0..=2 if !calm => tracing::error!(%side, part, facility, "{line}"),
            0..=4 if !calm => tracing::warn!(%side, part, facility, "{line}"),
            0..=6 => tracing::debug!(%side, part, facility, "{line}"),
            _ => tracing::trace!(%side, part, facility, "{line}"),
        }
    }

    /// Keeps what a client that was started with `debug=feature` says about a broker's requests. The
    /// library has no call that tells.
    fn note_version(&self, line: &str) {
        let Some((request, (low, high))) = api_version(line) else { return };
        let mut known = self.api_versions.lock().unwrap_or_else(PoisonError::into_inner);
        let all = known.entry(request).or_insert((low, high));
        *all = (all.0.max(low), all.1.min(high));
    }

    /// Lowest and highest version of each request, as far as brokers have told.
    pub(super) fn api_versions(&self) -> BTreeMap<i16, (i16, i16)> {
        self.api_versions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes an error that belongs to no call.
    pub(super) fn error(&self, code: Code, reason: &str) {
        let reason = tidy(reason);
        match code {
            // Says only that there is a reason.
            Code::ALL_BROKERS_DOWN => {}
            Code::SSL | Code::AUTHENTICATION | Code::SASL_AUTHENTICATION_FAILED => {
                self.note_reason(Telling::Security, reason);
            }
            _ => self.note_reason(telling(reason), reason),
        }
        tracing::debug!(side = %self.side, part = self.part, ?code, "{reason}");
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.retain(|(known, _)| *known != code);
        errors.push((code, reason.to_owned()));
    }

    fn note_reason(&self, telling: Telling, line: &str) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        let stands =
            reason.as_ref().is_some_and(|(known, at, _)| *known > telling && at.elapsed() < MEMORY);
        if !stands {
            *reason = Some((telling, Instant::now(), line.to_owned()));
        }
    }

    /// Why the cluster cannot be reached, as far as anything has said so in the last minutes.
    pub(super) fn reason(&self) -> Option<String> {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason
            .as_ref()
            .filter(|(_, at, _)| at.elapsed() < 4 * MEMORY)
            .map(|(_, _, line)| line.clone())
    }

    /// The errors since the last call, one of each code.
    pub(super) fn take_errors(&self) -> Vec<(Code, String)> {
        std::mem::take(&mut self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn telling(line: &str) -> Telling {
    let security = ["SASL", "SSL", "uthenticat", "ertificate"];
    if security.iter().any(|word| line.contains(word)) {
        Telling::Security
    } else {
        Telling::Connection
    }
}

/// A line without librdkafka's "(after 3ms in state CONNECT, 2 identical error(s) suppressed)".
fn tidy(line: &str) -> &str {
    match line.rfind(" (after ") {
        Some(end) if line[end..].contains("ms in state") => &line[..end],
        _ => line.trim_end(),
    }
}

/// Number and versions of a request, from the line `… ApiKey ListOffsets (2) Versions 1..8`.
fn api_version(line: &str) -> Option<(i16, (i16, i16))> {
    let (_, of) = line.rsplit_once("ApiKey ")?;
    let (request, versions) = of.rsplit_once(") Versions ")?;
    let (_, number) = request.rsplit_once('(')?;
    let (low, high) = versions.split_once("..")?;
    Some((number.parse().ok()?, (low.parse().ok()?, high.trim().parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_a_request_are_those_that_all_brokers_know() {
        let notices = notices();
        let say = |versions| {
            let line =
                format!("[thrd:main]: b:9092/1:   ApiKey ListOffsets (2) Versions {versions}");
            notices.log(7, "APIVERSION", &line);
        };
        say("0..9");
        say("1..6");
        notices.log(7, "APIVERSION", "[thrd:main]: b:9092/1: Broker API support:");
        assert_eq!(notices.api_versions(), BTreeMap::from([(2, (1, 6))]));
    }

    #[test]
    fn what_the_library_complains_of_about_versions_is_shown() {
        let notices = notices();
        let line = "b:9092/1: ApiVersionRequest v3 failed due to invalid request";
        notices.log(3, "APIVERSION", line);
        assert!(notices.shown.recently(&format!("source {line}")));
    }

    fn notices() -> Notices {
        Notices::new(Side::Source, "test", Arc::new(Shown::default()))
    }

    #[test]
    fn the_last_broken_connection_is_the_reason() {
        let notices = notices();
        notices.log(6, "INFO", "nothing to see");
        assert_eq!(notices.reason(), None);
        notices.log(
            3,
            "FAIL",
            "b1:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)",
        );
        assert_eq!(
            notices.reason().as_deref(),
            Some("b1:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused")
        );
    }

    #[test]
    fn a_refused_credential_outlasts_a_broken_connection() {
        let notices = notices();
        notices.error(Code::AUTHENTICATION, "b1: SASL authentication error: Authentication failed");
        notices.log(3, "FAIL", "b1: Disconnected");
        notices.error(Code::ALL_BROKERS_DOWN, "1/1 brokers are down");
        assert_eq!(
            notices.reason().as_deref(),
            Some("b1: SASL authentication error: Authentication failed")
        );
        let codes: Vec<Code> = notices.take_errors().into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, [Code::AUTHENTICATION, Code::ALL_BROKERS_DOWN]);
        assert_eq!(notices.take_errors(), []);
    }

    #[test]
    fn lines_that_differ_in_numbers_alone_are_shown_once() {
        let shown = Shown::default();
        assert!(!shown.recently("b1: Connect failed 17 times"));
        assert!(shown.recently("b1: Connect failed 18 times"));
        assert!(!shown.recently("b1: Disconnected"));
    }
}
