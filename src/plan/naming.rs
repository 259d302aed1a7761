//! The naming rule: which name a source topic has on the target.
//!
//! The same rule serves copy, consumer groups and reconciliation, so it is bound in the ledger as text.

use super::names::{is_topic_char, topic_name_fault};
use super::pattern::Pattern;

/// The plan's `topics.rename`: the first rule that matches decides; without one the name stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Naming {
    rules: Vec<Rule>,
}

/// One rule: which topics, and what they are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    from: Pattern,
    to: String,
    parts: Vec<Part>,
}

/// A piece of a new name.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Number(usize),
    Name(String),
}

impl Rule {
    /// A rule from `from` (a name, or a regular expression that matches whole names) to `to`, in which
    /// `$1`, `${1}` and `${name}` stand for what its groups matched.
    pub fn new(from: Pattern, to: &str) -> Result<Self, String> {
        let parts = parts(to)?;
        let mut names = Vec::new();
        if let Pattern::Regex { regex, .. } = &from {
            names.extend(regex.capture_names());
        }
        for part in &parts {
            match part {
                Part::Text(text) => {
                    if text.chars().any(|c| !is_topic_char(c)) {
                        return Err(
                            "only `a-z`, `A-Z`, `0-9`, `.`, `_` and `-` may be in a topic \
                                    name"
                                .into(),
                        );
                    }
                }
                _ if names.is_empty() => {
                    return Err(
                        "`$` stands for a group of a regular expression, and `from` is an \
                                exact name"
                            .into(),
                    );
                }
                Part::Number(number) if *number >= names.len() => {
                    return Err(format!(
                        "group {number} does not exist, `from` has {}; for a digit after a group \
                         write `${{1}}2`",
                        names.len() - 1
                    ));
                }
                Part::Name(name) if !names.contains(&Some(name.as_str())) => {
                    return Err("`from` has no group of the name between `${` and `}`".into());
                }
                Part::Number(_) | Part::Name(_) => {}
            }
        }
        Ok(Self { from, to: to.to_string(), parts })
    }

    /// The new name, if the rule is for this topic.
    fn apply(&self, topic: &str) -> Option<String> {
        match &self.from {
            Pattern::Exact(exact) => (exact == topic).then(|| self.to.clone()),
            Pattern::Regex { regex, .. } => {
                let found = regex.captures(topic)?;
                let text = |part: &Part| match part {
                    Part::Text(text) => text.clone(),
                    Part::Number(number) => {
                        found.get(*number).map_or("", |group| group.as_str()).to_string()
                    }
                    Part::Name(name) => {
                        found.name(name).map_or("", |group| group.as_str()).to_string()
                    }
                };
                Some(self.parts.iter().map(text).collect())
            }
        }
    }
}

impl Naming {
    /// The rules in their order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// The topic's name on the target; an error if the rule makes one that Kafka does not take.
    pub fn target_of(&self, topic: &str) -> Result<String, String> {
        let Some(target) = self.rules.iter().find_map(|rule| rule.apply(topic)) else {
            return Ok(topic.to_string());
        };
        match topic_name_fault(&target) {
            Some(fault) => Err(format!("`{topic}` would be renamed to `{target}`: {fault}")),
            None => Ok(target),
        }
    }

    /// What the rules are for, in their order.
    pub fn froms(&self) -> impl Iterator<Item = &Pattern> {
        self.rules.iter().map(|rule| &rule.from)
    }

    /// Whether every topic keeps its name.
    pub fn is_identity(&self) -> bool {
        self.rules.is_empty()
    }

    /// Canonical text: what the ledger binds. Two rules with the same text name alike.
    pub fn text(&self) -> String {
        let rules: Vec<[&str; 2]> =
            self.rules.iter().map(|rule| [rule.from.text(), rule.to.as_str()]).collect();
        serde_json::to_string(&rules).expect("texts are JSON")
    }
}

/// Takes a new name apart. A number takes all digits that follow, as Java's `replaceAll` users expect;
/// `$1_x` is group 1 and `_x`.
fn parts(to: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = to;
    while let Some(at) = rest.find('$') {
        if at > 0 {
            parts.push(Part::Text(rest[..at].to_string()));
        }
        rest = &rest[at + 1..];
        let (group, after) = if let Some(inner) = rest.strip_prefix('{') {
            let end = inner.find('}').ok_or("`${` without its `}`")?;
            (&inner[..end], &inner[end + 1..])
        } else {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest.split_at(digits)
        };
        parts.push(match group.parse() {
            Ok(number) => Part::Number(number),
            Err(_) if group.is_empty() => {
                return Err("`$` needs a group after it, such as `$1` or `${name}`".into());
            }
            Err(_) => Part::Name(group.to_string()),
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_string()));
    }
    if parts.is_empty() {
        return Err("a topic name must not be empty".into());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming(rules: &[(&str, &str)]) -> Naming {
        let rule = |(from, to): &(&str, &str)| {
            Rule::new(Pattern::parse_topic(from).expect("a pattern"), to).expect("a rule")
        };
        Naming::new(rules.iter().map(rule).collect())
    }

    #[test]
    fn the_first_rule_that_matches_the_whole_name_wins() {
        let naming = naming(&[
            ("/payments\\.(.*)/", "pay.$1"),
            ("/payments\\.eu/", "never"),
            ("orders", "orders.v2"),
        ]);
        let names = [
            ("payments.eu", "pay.eu"),
            ("old.payments.eu", "old.payments.eu"),
            ("orders", "orders.v2"),
            ("orders.dlq", "orders.dlq"),
        ];
        for (from, to) in names {
            assert_eq!(naming.target_of(from), Ok(to.to_string()), "{from}");
        }
    }

    #[test]
    fn a_number_ends_where_its_digits_end() {
        let naming = naming(&[("/(.*)-(?<site>eu|us)/", "$1_${site}.${1}2")]);
        assert_eq!(naming.target_of("a-eu"), Ok("a_eu.a2".into()));
    }

    #[test]
    fn a_group_that_took_no_part_is_empty() {
        let naming = naming(&[("/a(b)?/", "x$1")]);
        assert_eq!(naming.target_of("a"), Ok("x".into()));
    }

    #[test]
    fn bad_rules_are_found_before_any_topic_is_seen() {
        let errors = [
            (
                "/a(.*)/",
                "b$2",
                "group 2 does not exist, `from` has 1; for a digit after a group write `${1}2`",
            ),
            ("/a(.*)/", "b${x}", "`from` has no group of the name between `${` and `}`"),
            ("/a(.*)/", "b$", "`$` needs a group after it, such as `$1` or `${name}`"),
            ("/a(.*)/", "b${1", "`${` without its `}`"),
            (
                "a",
                "b$1",
                "`$` stands for a group of a regular expression, and `from` is an exact name",
            ),
            ("a", "", "a topic name must not be empty"),
            ("a", "b/c", "only `a-z`, `A-Z`, `0-9`, `.`, `_` and `-` may be in a topic name"),
        ];
        for (from, to, error) in errors {
            let from = Pattern::parse_topic(from).expect("a pattern");
            assert_eq!(Rule::new(from, to), Err(error.to_string()), "{to}");
        }
    }

    #[test]
    fn a_name_that_kafka_does_not_take_is_an_error() {
        let naming = naming(&[("/a(.*)/", "$1")]);
        assert_eq!(
            naming.target_of("a"),
            Err("`a` would be renamed to ``: a topic name must not be empty".into())
        );
    }

    #[test]
    fn the_canonical_text_is_for_ever() {
        assert_eq!(naming(&[]).text(), "[]");
        assert_eq!(
            naming(&[("/pay\\.(.*)/", "p.$1"), ("a", "b")]).text(),
            r#"[["/pay\\.(.*)/","p.$1"],["a","b"]]"#
        );
    }
}
