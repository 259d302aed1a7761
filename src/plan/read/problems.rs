//! What is wrong with a plan file, each with its line and field; all of it is told at once.

use std::cell::RefCell;

use crate::error::Error;
use crate::plan::nearest::nearest;

/// The problems of one file, and where its lines begin.
pub(super) struct Problems<'f> {
    file: &'f str,
    line_starts: Vec<usize>,
    found: RefCell<Vec<Problem>>,
    unknown: RefCell<Vec<Unknown>>,
    /// Full paths of all fields that were asked for.
    known: RefCell<Vec<String>>,
}

struct Problem {
    at: usize,
    text: String,
    hint: Option<String>,
}

struct Unknown {
    at: usize,
    path: String,
    name: String,
    is_table: bool,
    siblings: Vec<&'static str>,
}

impl<'f> Problems<'f> {
    pub(super) fn new(file: &'f str, text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            file,
            line_starts: std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect(),
            found: RefCell::default(),
            unknown: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// Line of a byte offset, from 1, and the offset of the line's first byte.
    pub(super) fn line(&self, at: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= at);
        (line, self.line_starts[line.saturating_sub(1)])
    }

    /// Something is wrong with the field at `path`. `text` must not hold a value.
    pub(super) fn add(&self, at: usize, path: &str, text: &str, hint: Option<String>) {
        let text = format!("`{path}`: {text}");
        self.found.borrow_mut().push(Problem { at, text, hint });
    }

    /// Something is wrong with the file.
    pub(super) fn add_to_file(&self, at: usize, text: String, hint: Option<String>) {
        self.found.borrow_mut().push(Problem { at, text, hint });
    }

    /// A field was asked for: it exists.
    pub(super) fn knows(&self, path: String) {
        self.known.borrow_mut().push(path);
    }

    /// A field that nobody asked for.
    pub(super) fn unknown(
        &self,
        at: usize,
        path: String,
        name: String,
        is_table: bool,
        siblings: Vec<&'static str>,
    ) {
        self.unknown.borrow_mut().push(Unknown { at, path, name, is_table, siblings });
    }

    /// The error that tells everything, in the order of the lines; `None` if nothing is wrong.
    pub(super) fn into_error(self) -> Option<Error> {
        let mut found = self.found.take();
        for unknown in self.unknown.take() {
            let text = format!("`{}`: unknown {}", unknown.path, unknown.what());
            let hint = self.suggestion(&unknown);
            found.push(Problem { at: unknown.at, text, hint });
        }
        found.sort_by_key(|problem| problem.at);
        let place = |problem: &Problem| {
            format!("{}:{}: {}", self.file, self.line(problem.at).0, problem.text)
        };
        if let [only] = &found[..] {
            let error = Error::usage(place(only));
            return Some(match &only.hint {
                Some(hint) => error.hint(hint.clone()),
                None => error,
            });
        }
        let lines = found.iter().map(|problem| match &problem.hint {
            Some(hint) => format!("{}\n  hint: {hint}", place(problem)),
            None => place(problem),
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        (!found.is_empty()).then(|| Error::usage(text))
    }

    /// The nearest sibling; else a field of the same name elsewhere; else what there is.
    fn suggestion(&self, unknown: &Unknown) -> Option<String> {
        let parent = unknown.path.strip_suffix(unknown.name.as_str()).unwrap_or_default();
        if let Some(near) = nearest(&unknown.name, unknown.siblings.iter().copied()) {
            return Some(format!("did you mean `{parent}{near}`?"));
        }
        let known = self.known.borrow();
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
        if let Some(path) = known.iter().find(|path| last(path) == unknown.name) {
            return Some(format!("did you mean `{path}`?"));
        }
        let names: Vec<_> = known.iter().map(|path| last(path)).collect();
        if let Some(near) = nearest(&unknown.name, names.iter().map(String::as_str)) {
            let path = known.iter().find(|path| last(path) == near)?;
            return Some(format!("did you mean `{path}`?"));
        }
        Some(format!("known here: `{}`", unknown.siblings.join("`, `")))
    }
}

impl Unknown {
    fn what(&self) -> &'static str {
        if self.is_table { "table" } else { "field" }
    }
}
