//! The one way to stderr: log lines, errors and bars share it, so that no line tears a bar and no
//! secret passes.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use indicatif::{MultiProgress, ProgressDrawTarget};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::error::Error;

type Redactor = Box<dyn Fn(&str) -> String + Send + Sync>;

/// How lines that go through [`MakeWriter`] are coded: for people, or as a JSON object a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    // No doc comments here: clap would spread its help over many lines to show them.
    #[default]
    Text,
    Json,
}

/// Stderr with bars on it. Clones share everything.
#[derive(Clone)]
pub struct Screen {
    bars: MultiProgress,
    redactor: Arc<RwLock<Option<Redactor>>>,
    format: LogFormat,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new(LogFormat::Text)
    }
}

impl Screen {
    /// Stderr; bars are drawn only where it is a terminal.
    pub fn new(format: LogFormat) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        Self { bars, redactor: Arc::default(), format }
    }

    /// From now on every line passes `redactor`, which takes the plan's secrets out. In JSON it gets
    /// each text before it is escaped.
    pub fn set_redactor(&self, redactor: impl Fn(&str) -> String + Send + Sync + 'static) {
        let mut slot = self.redactor.write().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Box::new(redactor));
    }

    /// `text` without the plan's secrets.
    pub fn redact(&self, text: &str) -> String {
        let slot = self.redactor.read().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map_or_else(|| text.to_owned(), |redactor| redactor(text))
    }

    /// All texts of `value` without the plan's secrets.
    pub fn redact_json(&self, value: serde_json::Value) -> serde_json::Value {
        redact_json(value, &|text| self.redact(text))
    }

    /// Writes a line to stderr, redacted, above the bars. A stderr that is closed is not an error:
    /// nobody is left to be told.
    pub fn say(&self, line: &str) {
        self.write(&self.redact(line));
    }

    /// Writes an error to stderr: in words, or where logs are JSON as a line like theirs.
    pub fn say_error(&self, error: &Error) {
        self.write(&self.error_line(error));
    }

    /// An error as [`say_error`](Screen::say_error) writes it, redacted.
    pub(super) fn error_line(&self, error: &Error) -> String {
        match self.format {
            LogFormat::Text => self.redact(&format!("error: {error}")),
            LogFormat::Json => self
                .redact_json(json!({
                    "timestamp": humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
                    "level": "ERROR",
                    "message": error.what,
                    "kind": error.word(),
                    "side": error.side().map(|side| side.to_string()),
                    "hint": error.hint,
                    "exit": error.exit_code(),
                    "target": "onceover",
                }))
                .to_string(),
        }
    }

    fn write(&self, line: &str) {
        self.bars.suspend(|| {
            let mut stderr = io::stderr().lock();
            let _ = writeln!(stderr, "{line}");
            let _ = stderr.flush();
        });
    }

    /// A line of the log as the formatter made it, without the plan's secrets.
    fn redact_log(&self, line: &str) -> String {
        match self.format {
            LogFormat::Text => self.redact(line),
            LogFormat::Json => match serde_json::from_str(line) {
                Ok(value) => self.redact_json(value).to_string(),
                Err(_) => self.redact(line),
            },
        }
    }

    /// Whether bars make sense: stderr is a terminal that can move its cursor, and nobody asked for
    /// JSON lines on it.
    pub fn draws_bars(&self) -> bool {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        self.format == LogFormat::Text && !dumb && !self.bars.is_hidden()
    }

    pub(super) fn bars(&self) -> &MultiProgress {
        &self.bars
    }
}

/// Collects one log line and hands it over whole.
#[derive(Debug)]
pub struct LogLine {
    screen: Screen,
    bytes: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            self.screen.write(&self.screen.redact_log(text));
        }
    }
}

impl<'a> MakeWriter<'a> for Screen {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { screen: self.clone(), bytes: Vec::new() }
    }
}

/// `value` with each of its texts as `redact` makes it. Names of fields are ours and stay.
pub fn redact_json(value: serde_json::Value, redact: &dyn Fn(&str) -> String) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(redact(&text)),
        Value::Array(items) => items.into_iter().map(|item| redact_json(item, redact)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, redact_json(value, redact))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(format: LogFormat) -> Screen {
        let screen = Screen::new(format);
        screen.set_redactor(|text| text.replace("hunter\"2", "***"));
        screen
    }

    #[test]
    fn before_a_redactor_is_set_text_stays_as_it_is() {
        assert_eq!(Screen::default().redact("a\nb"), "a\nb");
    }

    #[test]
    fn a_secret_is_taken_out_of_text_lines() {
        let line = screen(LogFormat::Text).redact_log("login with hunter\"2 failed");
        assert_eq!(line, "login with *** failed");
    }

    #[test]
    fn a_secret_that_json_escapes_is_taken_out_of_json_lines_and_their_order_stays() {
        let line = json!({"z": "x hunter\"2", "a": [{"b": "hunter\"2"}], "n": 7}).to_string();
        assert!(line.contains("hunter\\\"2"));
        let redacted = screen(LogFormat::Json).redact_log(&line);
        assert_eq!(redacted, r#"{"z":"x ***","a":[{"b":"***"}],"n":7}"#);
    }

    #[test]
    fn an_error_is_in_words_or_a_line_like_those_of_the_log() {
        let error = Error::usage("not hunter\"2").hint("try hunter\"2");
        assert_eq!(screen(LogFormat::Text).error_line(&error), "error: not ***\nhint: try ***");
        let line = screen(LogFormat::Json).error_line(&error);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["level"], &line["exit"]), (&json!("ERROR"), &json!(2)));
        assert_eq!((&line["message"], &line["hint"]), (&json!("not ***"), &json!("try ***")));
    }

    #[test]
    fn a_line_that_is_not_json_is_redacted_all_the_same() {
        assert_eq!(screen(LogFormat::Json).redact_log("{ hunter\"2"), "{ ***");
    }
}
