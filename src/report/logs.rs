//! Logs: `tracing` events to stderr, as text or JSON, through the [`Screen`].

use std::str::FromStr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::screen::{LogFormat, Screen};
use crate::error::{Error, Result};

/// The environment variable that overrides `-v` and `-q`: directives of `tracing`'s env filter.
pub const FILTER: &str = "ONCEOVER_LOG";

/// How much to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// How often `-v` was given.
    pub verbose: u8,
    /// Whether `-q` was given.
    pub quiet: bool,
}

impl Level {
    /// The filter's text: our own events by `-v` and `-q`; those of libraries a step behind, because
    /// librdkafka tells a lot.
    fn directives(self) -> &'static str {
        match (self.quiet, self.verbose) {
            (true, _) => "warn",
            (false, 0) => "warn,onceover=info",
            (false, 1) => "info,onceover=debug",
            (false, 2) => "debug,onceover=trace",
            (false, _) => "trace",
        }
    }
}

/// Which events are shown: `filter` (the value of [`FILTER`]) where it is set and not empty, else by level.
fn filter(level: Level, filter: Option<&str>) -> Result<EnvFilter> {
    match filter.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(EnvFilter::new(level.directives())),
        Some(text) => EnvFilter::from_str(text).map_err(|error| {
            Error::usage(format!("`{FILTER}` is not a log filter: {error}"))
                .hint(format!("for example {FILTER}=debug or {FILTER}=info,onceover::pipe=trace"))
        }),
    }
}

/// Sends all events of this process to `screen`. To be called once.
///
/// # Errors
/// A filter in the environment that cannot be read: a usage error.
pub fn init(screen: &Screen, format: LogFormat, level: Level) -> Result<()> {
    let directives = std::env::var(FILTER).ok();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(level, directives.as_deref())?)
        .with_writer(screen.clone())
        .with_span_events(FmtSpan::NONE)
        // Everything must be readable without colour, so there is none: logs end up in files.
        .with_ansi(false)
        .with_target(level.verbose > 0);
    let initialised = match format {
        LogFormat::Text => builder.finish().try_init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    initialised.map_err(|error| Error::fault(format!("logs are set up already: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_over_flags_unless_it_is_empty() {
        let quiet = Level { quiet: true, verbose: 0 };
        assert_eq!(filter(quiet, Some("onceover=trace")).unwrap().to_string(), "onceover=trace");
        assert_eq!(filter(quiet, Some(" ")).unwrap().to_string(), "warn");
        assert_eq!(filter(quiet, None).unwrap().to_string(), "warn");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_a_usage_error_with_a_hint() {
        let error = filter(Level::default(), Some("onceover=loud")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.what.contains(FILTER) && error.hint.is_some(), "{error}");
    }
}
