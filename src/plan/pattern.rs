//! An entry of a list of topics: an exact name, or `/a regular expression/` for the whole name.

use std::fmt;

use regex::Regex;

use super::names::topic_name_fault;

/// Matches topic (or group) names: exactly one, or those that a regular expression matches as a whole.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// This name.
    Exact(String),
    /// Names that match from their first character to their last.
    Regex {
        /// As written, with its slashes.
        text: String,
        /// Anchored.
        regex: Regex,
    },
}

impl Pattern {
    /// Reads an entry of a list of topics; an exact one must be a legal topic name.
    /// Errors never contain the text.
    pub fn parse_topic(text: &str) -> Result<Self, String> {
        let pattern = Self::parse(text)?;
        if let Self::Exact(name) = &pattern
            && let Some(fault) = topic_name_fault(name)
        {
            let regex_like = name.contains(['*', '+', '?', '|', '(', '[', '^', '$', '\\', '/']);
            return Err(if regex_like {
                format!("{fault}; a regular expression stands between slashes, such as `'/pay.*/'`")
            } else {
                fault
            });
        }
        Ok(pattern)
    }

    /// Reads an exact name of any kind, or a regular expression between slashes.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(inner) => Ok(Self::Regex { text: text.to_string(), regex: anchored(inner)? }),
            None if text.starts_with('/') => {
                Err("a regular expression must end with a slash as well".into())
            }
            None => Ok(Self::Exact(text.to_string())),
        }
    }

    /// Whether the whole name matches.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Regex { regex, .. } => regex.is_match(name),
        }
    }

    /// As written in the plan.
    pub fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Regex { text, .. } => text,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// Compiles a pattern that has to match a name as a whole. The error names the position, counted in
/// characters between the slashes, and the fault; it does not repeat the pattern.
fn anchored(inner: &str) -> Result<Regex, String> {
    if inner.contains('\n') {
        return Err("not a regular expression: it has more than one line".into());
    }
    // First as written, so that positions are the user's.
    Regex::new(inner).map_err(|error| describe(&error))?;
    // The newline ends a comment, should the pattern be in verbose mode; elsewhere it is not there.
    Regex::new(&format!("^(?:{inner})$"))
        .or_else(|_| Regex::new(&format!("^(?:{inner}\n)$")))
        .map_err(|_| "not a regular expression that can match a whole name".into())
}

/// The position and the fault out of regex's drawing of them:
/// two lines with the pattern and a caret below, then `error: fault`.
fn describe(error: &regex::Error) -> String {
    let regex::Error::Syntax(drawing) = error else {
        return "not a regular expression: it is too large".into();
    };
    let fault = drawing.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let caret = drawing
        .lines()
        .find(|line| line.contains('^') && line.chars().all(|c| c == ' ' || c == '^'))
        .and_then(|line| line.chars().position(|c| c == '^'));
    const INDENT: usize = 4;
    match (fault, caret) {
        (Some(fault), Some(column)) => format!(
            "not a regular expression: {fault}, at position {}",
            column.saturating_sub(INDENT) + 1
        ),
        (Some(fault), None) => format!("not a regular expression: {fault}"),
        _ => "not a regular expression".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_expression_matches_whole_names_only() {
        let pattern = Pattern::parse_topic("/pay|payments/").expect("a pattern");
        assert!(pattern.matches("pay"));
        assert!(pattern.matches("payments"));
        assert!(!pattern.matches("payments.eu"));
        assert!(!pattern.matches("repay"));
    }

    #[test]
    fn verbose_patterns_with_a_comment_can_be_anchored() {
        let pattern = Pattern::parse_topic("/(?x) pay .* # all of them/").expect("a pattern");
        assert!(pattern.matches("payments"));
        assert!(!pattern.matches("repay"));
    }

    #[test]
    fn a_fault_is_named_with_its_position_and_without_the_pattern() {
        let errors = [
            ("/pay(ments/", "not a regular expression: unclosed group, at position 4"),
            ("/a**[/", "not a regular expression: unclosed character class, at position 4"),
            (
                "/*/",
                "not a regular expression: repetition operator missing expression, at position 1",
            ),
            ("/pay", "a regular expression must end with a slash as well"),
        ];
        for (text, error) in errors {
            assert_eq!(Pattern::parse_topic(text), Err(error.to_string()), "{text}");
        }
    }

    #[test]
    fn a_pattern_without_slashes_is_told_to_have_them() {
        let error = Pattern::parse_topic("payments.*").expect_err("no topic name");
        assert!(
            error.ends_with("a regular expression stands between slashes, such as `'/pay.*/'`")
        );
    }
}
