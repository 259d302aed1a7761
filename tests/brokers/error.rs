use std::fmt;
use std::path::Path;

/// What went wrong while providing brokers: a text for the developer who runs the tests.
///
/// `Debug` prints the same text, so that `unwrap()` in a test shows it with its line breaks.
#[derive(Clone)]
pub struct Error(String);

impl Error {
    pub fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }

    /// An operating system error, and the path that it was about.
    pub fn io(doing: &str, path: &Path, error: &std::io::Error) -> Error {
        Error(format!("cannot {doing} `{}`: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
