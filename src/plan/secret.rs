//! Values that nobody may see: whatever came from `${…}`, and properties that look like a password.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What is shown instead.
pub const MASK: &str = "***";

/// A text that shows itself to nobody but who asks by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; never put it into a message.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Takes every secret of a plan out of a text. Cheap to clone.
///
/// Give it texts before they are encoded as JSON: a secret may hold characters that JSON escapes (the
/// usual escapes are known to it as well).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    /// Longest first, so that a secret within a secret leaves no rest.
    secrets: Arc<[String]>,
}

/// Below this length a secret is taken out only where it stands as a word: `test` must not take the
/// middle out of `latest`.
const WORD_BELOW: usize = 6;

/// Lines of a multi-line secret that are shorter than this say nothing on their own.
const LINE_FROM: usize = 8;

impl Redactor {
    /// A redactor for these secrets; empty ones are left out.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for secret in secrets {
            if secret.contains('\n') {
                // A PEM: a message may show one line of it.
                let lines = secret
                    .lines()
                    .map(str::trim)
                    .filter(|line| line.len() >= LINE_FROM && !line.starts_with("-----"));
                all.extend(lines.map(str::to_string));
            }
            let json = serde_json::Value::from(secret.as_str()).to_string();
            let debug = format!("{secret:?}");
            for escaped in [json, debug] {
                let escaped = &escaped[1..escaped.len() - 1];
                if escaped != secret {
                    all.push(escaped.to_string());
                }
            }
            let trimmed = secret.trim();
            if trimmed.len() < secret.len() {
                all.push(trimmed.to_string());
            }
            all.push(secret);
        }
        all.retain(|secret| !secret.trim().is_empty());
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self { secrets: all.into() }
    }

    /// The text with `***` in place of every secret.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.secrets.iter() {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(if secret.chars().count() < WORD_BELOW {
                    without_word(&text, secret)
                } else {
                    text.replace(secret.as_str(), MASK)
                });
            }
        }
        text
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

/// Replaces `word` where no letter or digit touches it.
fn without_word(text: &str, word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let touched = text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
            || text[end..].chars().next().is_some_and(char::is_alphanumeric);
        if !touched {
            out.push_str(&text[done..at]);
            out.push_str(MASK);
            done = end;
        }
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::new(secrets.iter().map(ToString::to_string))
    }

    #[test]
    fn every_occurrence_is_taken_out() {
        let redactor = redactor(&["hunter22", "hunter22-and-more"]);
        assert_eq!(redactor.redact("a hunter22-and-more, xhunter22x"), "a ***, x***x");
        assert_eq!(redactor.redact("nothing here"), "nothing here");
    }

    #[test]
    fn short_secrets_go_only_as_words() {
        let redactor = redactor(&["test"]);
        assert_eq!(
            redactor.redact("start = latest, password=test."),
            "start = latest, password=***."
        );
    }

    #[test]
    fn escaped_forms_and_single_lines_of_a_pem_go_too() {
        let redactor =
            redactor(&["say \"hello\"", "-----BEGIN-----\nMIIEvQIBADANBg\n-----END-----"]);
        assert_eq!(redactor.redact(r#"{"p":"say \"hello\""}"#), r#"{"p":"***"}"#);
        assert_eq!(redactor.redact("bad line MIIEvQIBADANBg"), "bad line ***");
    }

    #[test]
    fn debug_shows_neither_kind() {
        assert_eq!(
            format!("{:?} {:?}", Secret::new("hunter22"), redactor(&["hunter22"])),
            "*** Redactor(1 secrets)"
        );
    }

    proptest! {
        #[test]
        fn no_secret_survives(secret in "\\PC{6,20}", before in "\\PC{0,9}", after in "\\PC{0,9}") {
            prop_assume!(!secret.trim().is_empty() && !MASK.contains(&secret));
            let redactor = redactor(&[&secret]);
            let text = format!("{before}{secret}{after}");
            let shown = redactor.redact(&text);
            prop_assert!(!shown.contains(&secret) || secret.contains(MASK));
        }
    }
}
