//! Which of the source's topics are moved, and what each is called on the target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::names::{is_internal, looks_like_a_ledger, metric_name, warned_about};
use super::nearest::nearest;
use super::pattern::Pattern;
use super::settings::Plan;
use crate::error::{Error, Result};

/// A topic that is moved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopicPair {
    /// Its name on the source.
    pub source: Arc<str>,
    /// Its name on the target.
    pub target: Arc<str>,
}

/// The topics that a plan moves, as the source has them now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Sorted by source name; never empty.
    pub topics: Vec<TopicPair>,
    /// What somebody should look at before the run.
    pub warnings: Vec<String>,
}

impl Selection {
    /// The target's name of a source topic that is moved.
    pub fn target_of(&self, source: &str) -> Option<&Arc<str>> {
        let at = self.topics.binary_search_by(|pair| pair.source.as_ref().cmp(source)).ok()?;
        Some(&self.topics[at].target)
    }
}

impl Plan {
    /// Selects from all topics of the source. Errors (exit 2): an include entry that matches nothing,
    /// or names what is never moved; names on the target that collide or that Kafka does not take.
    pub fn select(&self, source_topics: &[&str]) -> Result<Selection> {
        let all: BTreeSet<&str> = source_topics.iter().copied().collect();
        let mut faults = Faults::default();
        let mut selected = BTreeSet::new();
        for entry in &self.topics.include {
            if let Some((what, hint)) = self.never_moved(entry) {
                faults.add(what, Some(hint));
                continue;
            }
            let before = selected.len();
            let mut any = false;
            for topic in all.iter().filter(|topic| entry.matches(topic) && self.may_move(topic)) {
                any = true;
                selected.insert(*topic);
            }
            if !any && selected.len() == before {
                let what = format!("`topics.include`: `{entry}` matches no topic of the source");
                faults.add(what, self.why_no_match(entry, &all));
            }
        }
        selected.retain(|topic| !matches(&self.topics.exclude, topic));
        if selected.is_empty() && faults.is_empty() {
            faults.add(
                "every topic that `topics.include` matches is in `topics.exclude` too".into(),
                None,
            );
        }
        let topics = self.name_on_target(&selected, &mut faults);
        match faults.into_error() {
            Some(error) => Err(error),
            None => Ok(Selection { warnings: self.warnings(&selected, &all), topics }),
        }
    }

    fn may_move(&self, topic: &str) -> bool {
        !is_internal(topic) && !self.is_ledger(topic)
    }

    /// Whether a topic is a ledger of this or, by its name, of any plan.
    pub fn is_ledger(&self, topic: &str) -> bool {
        topic == self.ledger.topic || looks_like_a_ledger(topic, &self.ledger.prefix)
    }

    fn never_moved(&self, entry: &Pattern) -> Option<(String, String)> {
        let Pattern::Exact(name) = entry else { return None };
        let whose = if is_internal(name) {
            "belongs to the brokers"
        } else if self.is_ledger(name) {
            "is a ledger"
        } else {
            return None;
        };
        Some((
            format!("`topics.include`: `{name}` {whose} and is never moved"),
            "leave it out of `topics.include`".into(),
        ))
    }

    fn why_no_match(&self, entry: &Pattern, all: &BTreeSet<&str>) -> Option<String> {
        let movable = || all.iter().copied().filter(|topic| self.may_move(topic));
        match entry {
            Pattern::Exact(name) => Some(match nearest(name, movable()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "is it on this cluster, and may the user describe it?".into(),
            }),
            Pattern::Regex { text, .. } => {
                let part = regex::Regex::new(text.trim_matches('/')).ok()?;
                let near = movable().find(|topic| part.is_match(topic))?;
                Some(format!(
                    "a pattern must match the whole name, and this one matches a part of `{near}`"
                ))
            }
        }
    }

    fn name_on_target(&self, selected: &BTreeSet<&str>, faults: &mut Faults) -> Vec<TopicPair> {
        let mut pairs = Vec::with_capacity(selected.len());
        let mut taken: BTreeMap<String, (&str, Arc<str>)> = BTreeMap::new();
        for source in selected {
            let target: Arc<str> = match self.topics.rename.target_of(source) {
                Ok(target) => target.into(),
                Err(fault) => {
                    faults.add(format!("`topics.rename`: {fault}"), None);
                    continue;
                }
            };
            if !self.may_move(&target) {
                let what = format!(
                    "`topics.rename`: `{source}` would be renamed to `{target}`, which belongs to \
                     the brokers or to a ledger"
                );
                faults.add(what, None);
            }
            let shared = self.topics.shared.iter().any(|shared| *shared == *target);
            match taken.insert(metric_name(&target), (source, target.clone())) {
                Some((other, same)) if same == target && !shared => faults.add(
                    format!("`{other}` and `{source}` would both become `{target}` on the target"),
                    Some("give each a name of its own in `topics.rename`".into()),
                ),
                Some((other, near)) if near != target => faults.add(
                    format!(
                        "`{other}` and `{source}` would become `{near}` and `{target}` on the \
                         target, which Kafka cannot keep side by side: `.` and `_` are the same to \
                         its metrics"
                    ),
                    Some("give one another name in `topics.rename`".into()),
                ),
                _ => {}
            }
            pairs.push(TopicPair { source: Arc::from(*source), target });
        }
        pairs
    }

    fn warnings(&self, selected: &BTreeSet<&str>, all: &BTreeSet<&str>) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut doubtful: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for topic in selected {
            if let Some(why) = warned_about(topic) {
                doubtful.entry(why).or_default().push(topic);
            }
        }
        for (why, topics) in doubtful {
            let topics = shorten(&topics);
            warnings.push(format!("{topics} will be copied, but {why}"));
        }
        let unmatched = |field: &str, entry: &Pattern| {
            format!("`{field}`: `{entry}` matches no topic, is it misspelt?")
        };
        for entry in &self.topics.exclude {
            if !all.iter().any(|topic| entry.matches(topic)) {
                warnings.push(unmatched("topics.exclude", entry));
            }
        }
        let here = |entry: &Pattern| selected.iter().any(|topic| entry.matches(topic));
        for entry in self.topics.rename.froms().filter(|entry| !here(entry)) {
            warnings.push(unmatched("topics.rename", entry));
        }
        for entry in self.topics.overrides.iter().flat_map(|over| &over.topics) {
            if !here(entry) {
                warnings.push(unmatched("topics.override", entry));
            }
        }
        warnings
    }
}

fn matches(patterns: &[Pattern], topic: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(topic))
}

/// The first names, and how many there are besides.
fn shorten(topics: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = topics.iter().take(SHOWN).map(|topic| format!("`{topic}`")).collect();
    let rest = topics.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// What is wrong with a selection, all of it.
#[derive(Default)]
struct Faults(Vec<(String, Option<String>)>);

impl Faults {
    fn add(&mut self, what: String, hint: Option<String>) {
        self.0.push((what, hint));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn into_error(mut self) -> Option<Error> {
        if self.0.len() == 1 {
            let (what, hint) = self.0.remove(0);
            let error = Error::usage(what);
            return Some(match hint {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        let lines = self.0.iter().map(|(what, hint)| match hint {
            Some(hint) => format!("{what}\n  hint: {hint}"),
            None => what.clone(),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        (!self.0.is_empty()).then(|| Error::usage(text))
    }
}

#[cfg(test)]
mod tests;
