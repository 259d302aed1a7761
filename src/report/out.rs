//! Stdout: data alone. A reader that has gone (`onceover status … | head`) is no error.

use std::io::{self, ErrorKind, Write};

use serde_json::json;

use super::screen::Screen;
use crate::error::{Error, Result};

/// Version of every JSON object that onceover prints.
pub const SCHEMA: u64 = 1;

/// Whether somebody reads stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// What was printed may be read.
    There,
    /// Printing on is of no use.
    Gone,
}

/// Writes `text` and a line feed, if it has none at its end, to stdout.
///
/// # Errors
/// Stdout cannot be written, for another reason than that its reader has gone.
pub fn print(text: &str) -> Result<Reader> {
    print_to(&mut io::stdout().lock(), text)
}

fn print_to(out: &mut impl Write, text: &str) -> Result<Reader> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = write!(out, "{text}{end}").and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Error::usage(format!("cannot write to stdout: {error}"))
            .hint("is the disk that stdout leads to full?")),
    }
}

/// Prints a result for a program or for a person, without the plan's secrets.
pub fn print_result(
    screen: &Screen,
    json: bool,
    object: impl FnOnce() -> serde_json::Value,
    text: impl FnOnce() -> String,
) -> Result<Reader> {
    print(&if json { screen.redact_json(object()).to_string() } else { screen.redact(&text()) })
}

/// The JSON object of an error.
pub fn error_json(error: &Error) -> serde_json::Value {
    json!({
        "schema": SCHEMA,
        "error": {
            "kind": error.word(),
            "side": error.side().map(|side| side.to_string()),
            "message": error.what,
            "hint": error.hint,
            "retryable": error.retryable,
            "exit": error.exit_code(),
        }
    })
}

/// Tells the user: text on stderr; with `json` an object on stdout beside it.
pub fn tell_error(screen: &Screen, error: &Error, json: bool) {
    screen.say_error(error);
    if json {
        // Nobody is left to be told that the telling failed.
        let _ = print(&screen.redact_json(error_json(error)).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Side;

    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_but_a_full_disk_is() {
        assert_eq!(print_to(&mut Fails(ErrorKind::BrokenPipe), "x"), Ok(Reader::Gone));
        assert!(print_to(&mut Fails(ErrorKind::StorageFull), "x").is_err());
    }

    #[test]
    fn text_ends_with_one_line_feed() {
        let mut out = Vec::new();
        print_to(&mut out, "a").unwrap();
        print_to(&mut out, "b\n").unwrap();
        assert_eq!(out, b"a\nb\n");
    }

    #[test]
    fn an_error_in_json_has_kind_side_message_hint_retryable_and_exit() {
        let error = Error::cluster(Side::Source, "no broker answered").hint("check `bootstrap`");
        assert_eq!(
            error_json(&error).to_string(),
            r#"{"schema":1,"error":{"kind":"source","side":"source","message":"no broker answered","hint":"check `bootstrap`","retryable":true,"exit":3}}"#
        );
        let error = Error::fault("x");
        assert_eq!(
            error_json(&error).to_string(),
            r#"{"schema":1,"error":{"kind":"fault","side":null,"message":"x","hint":null,"retryable":false,"exit":70}}"#
        );
    }
}
