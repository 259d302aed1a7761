//! Reading a table of the plan file field by field. What was not asked for is unknown, and said so.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Reading;
use crate::plan::pattern::Pattern;
use crate::plan::resolve::has_reference;
use crate::plan::start::Start;
use crate::plan::units::{format_size, moment, parse_duration, parse_rate, parse_size};

/// A table being read. When it is dropped, the fields that nobody asked for become problems.
pub(super) struct Fields<'a> {
    cx: &'a Reading<'a>,
    path: String,
    at: usize,
    table: Option<&'a DeTable<'a>>,
    asked: Vec<&'static str>,
    /// Any field may be in it.
    open: bool,
    /// Something else stands where the table should be, and that has been said.
    mistyped: bool,
}

/// A value, with the path and place that its problems name.
pub(super) struct Value<'a> {
    pub(super) cx: &'a Reading<'a>,
    pub(super) path: String,
    pub(super) at: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Fields<'a> {
    /// The file's outermost table.
    pub(super) fn root(cx: &'a Reading<'a>, table: &'a DeTable<'a>) -> Self {
        Self::new(cx, String::new(), 0, Some(table))
    }

    fn new(cx: &'a Reading<'a>, path: String, at: usize, table: Option<&'a DeTable<'a>>) -> Self {
        Self { cx, path, at, table, asked: Vec::new(), open: false, mistyped: false }
    }

    fn path_of(&self, name: &str) -> String {
        let bare = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let name = if bare { name.to_string() } else { format!("{name:?}") };
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }

    /// Whether the table is in the file.
    pub(super) fn is_there(&self) -> bool {
        self.table.is_some()
    }

    /// The field `name`, if it is there.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value<'a>> {
        self.asked.push(name);
        self.cx.problems.knows(self.path_of(name));
        let (key, value) = self.table?.get_key_value(name)?;
        Some(self.field(key.span().start, name, value))
    }

    /// The field `name`; its absence is a problem.
    pub(super) fn required(&mut self, name: &'static str) -> Option<Value<'a>> {
        let value = self.value(name);
        if value.is_none() && !self.mistyped {
            self.cx.problems.add(
                self.at,
                &self.path_of(name),
                "missing, and it has no default",
                None,
            );
        }
        value
    }

    /// The field `name` as `read` reads it, or the default.
    pub(super) fn or<T>(
        &mut self,
        name: &'static str,
        default: T,
        read: impl FnOnce(&Value<'a>) -> Option<T>,
    ) -> T {
        self.value(name).and_then(|value| read(&value)).unwrap_or(default)
    }

    /// The field `name` as `read` reads it, if it is there.
    pub(super) fn maybe<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Value<'a>) -> Option<T>,
    ) -> Option<T> {
        self.value(name).and_then(|value| read(&value))
    }

    /// The table `name`; an empty one if it is missing.
    pub(super) fn table(&mut self, name: &'static str) -> Fields<'a> {
        match self.value(name) {
            Some(value) => value.table(),
            None => Fields::new(self.cx, self.path_of(name), self.at, None),
        }
    }

    /// The tables of the array `name`; none if it is missing.
    pub(super) fn tables(&mut self, name: &'static str) -> Vec<Fields<'a>> {
        let items = self.value(name).and_then(|value| value.list()).unwrap_or_default();
        items.iter().map(Value::table).collect()
    }

    /// Every field of a table that may hold any, in the order of the file, with its name.
    pub(super) fn all(&mut self) -> Vec<(String, Value<'a>)> {
        self.open = true;
        let Some(table) = self.table else { return Vec::new() };
        let mut fields: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let name = key.get_ref().to_string();
                let field = self.field(key.span().start, &name, value);
                (name, field)
            })
            .collect();
        fields.sort_by_key(|(_, field)| field.at);
        fields
    }

    /// A problem of the table itself.
    pub(super) fn problem(&self, text: &str, hint: Option<String>) {
        self.cx.problems.add(self.at, &self.path, text, hint);
    }

    fn field(&self, at: usize, name: &str, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        Value { cx: self.cx, path: self.path_of(name), at, value: value.get_ref() }
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        let Some(table) = self.table.filter(|_| !self.open) else { return };
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                let (at, path) = (key.span().start, self.path_of(name));
                let is_table = value.get_ref().is_table();
                let siblings = self.asked.clone();
                self.cx.problems.unknown(at, path, name.to_string(), is_table, siblings);
            }
        }
    }
}

impl<'a> Value<'a> {
    /// Something is wrong with it; the text must not hold the value.
    pub(super) fn problem(&self, text: &str) {
        self.cx.problems.add(self.at, &self.path, text, None);
    }

    /// The same, with what to do.
    pub(super) fn problem_hint(&self, text: &str, hint: impl Into<String>) {
        self.cx.problems.add(self.at, &self.path, text, Some(hint.into()));
    }

    fn ok<T>(&self, result: Result<T, String>) -> Option<T> {
        result.map_err(|text| self.problem(&text)).ok()
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        }
    }

    fn mistyped(&self, expected: &str) {
        self.problem(&format!("expected {expected}, found {}", self.type_name()));
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// A string, its references not resolved.
    pub(super) fn raw(&self, expected: &str) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.mistyped(expected);
        }
        text
    }

    /// A string that may hold no reference.
    fn text(&self, expected: &str) -> Option<&'a str> {
        let text = self.raw(expected)?;
        if has_reference(text) {
            self.problem(
                "`${…}` is resolved only in `bootstrap`, properties, registries and \
                 `reconcile.secret`",
            );
            return None;
        }
        Some(text)
    }

    /// A string.
    pub(super) fn string(&self) -> Option<&'a str> {
        self.text("a string")
    }

    /// A string with something in it.
    pub(super) fn some_string(&self) -> Option<&'a str> {
        let text = self.string()?;
        if text.trim().is_empty() {
            self.problem("must not be empty");
            return None;
        }
        Some(text)
    }

    /// A string, or a number or boolean as its text.
    pub(super) fn scalar(&self) -> Option<String> {
        match self.value {
            DeValue::Integer(_) => {
                self.integer(i64::MIN..=i64::MAX).map(|number| number.to_string())
            }
            DeValue::Boolean(boolean) => Some(boolean.to_string()),
            _ => self.raw("a string, an integer or a boolean").map(str::to_string),
        }
    }

    /// The same without a reference.
    pub(super) fn plain_scalar(&self) -> Option<String> {
        if self.value.is_str() { self.string().map(str::to_string) } else { self.scalar() }
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self) -> Option<bool> {
        let boolean = self.value.as_bool();
        if boolean.is_none() {
            self.mistyped("`true` or `false`");
        }
        boolean
    }

    /// An integer within a range.
    pub(super) fn integer<T>(&self, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i64> + PartialOrd + std::fmt::Display,
    {
        let DeValue::Integer(number) = self.value else {
            self.mistyped("an integer");
            return None;
        };
        let number = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let number = number.and_then(|number| T::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.problem(&format!("must be from {} to {}", range.start(), range.end()));
        }
        number
    }

    /// A duration within a range.
    pub(super) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let duration = self.ok(parse_duration(self.text("a duration such as `\"500ms\"`")?))?;
        if !range.contains(&duration) {
            let show = humantime::format_duration;
            self.problem(&format!(
                "must be from {} to {}",
                show(*range.start()),
                show(*range.end())
            ));
            return None;
        }
        Some(duration)
    }

    /// A size in bytes within a range.
    pub(super) fn size(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let size = self.ok(parse_size(self.text("a size such as `\"64MiB\"`")?))?;
        if !range.contains(&size) {
            let show = |size: &u64| format_size(*size);
            self.problem(&format!("must be from {} to {}", show(range.start()), show(range.end())));
            return None;
        }
        Some(size)
    }

    /// Bytes per second, at least `least`.
    pub(super) fn rate(&self, least: u64) -> Option<u64> {
        let rate = self.ok(parse_rate(self.text("a rate such as `\"50MiB/s\"`")?))?;
        if rate < least {
            self.problem(&format!("must be at least {}/s", format_size(least)));
            return None;
        }
        Some(rate)
    }

    /// Where partitions begin; a time may be a string or TOML's own.
    pub(super) fn start(&self) -> Option<Start> {
        match self.value {
            DeValue::Datetime(time) => self.ok(moment(time).map(Start::At)),
            _ => self
                .ok(Start::parse(self.text("`\"earliest\"`, `\"latest\"`, `\"-7d\"` or a time")?)),
        }
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let names: Vec<_> = words.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
        let expected = names.join(" or ");
        let text = self.text(&expected)?;
        let word = words.iter().find(|(name, _)| *name == text);
        if word.is_none() {
            self.problem(&format!("expected {expected}"));
        }
        word.map(|(_, value)| *value)
    }

    /// The items of an array.
    pub(super) fn list(&self) -> Option<Vec<Value<'a>>> {
        let Some(items) = self.value.as_array() else {
            self.mistyped("an array");
            return None;
        };
        let item = |(index, item): (usize, &'a Spanned<DeValue<'a>>)| Value {
            cx: self.cx,
            path: format!("{}[{index}]", self.path),
            at: item.span().start,
            value: item.get_ref(),
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// A list of strings with something in each.
    pub(super) fn strings(&self) -> Option<Vec<String>> {
        Some(
            self.list()?.iter().filter_map(|item| item.some_string().map(str::to_string)).collect(),
        )
    }

    /// A list of topics: names, or regular expressions between slashes.
    pub(super) fn topics(&self) -> Option<Vec<Pattern>> {
        self.patterns(Pattern::parse_topic)
    }

    /// The same with at least one.
    pub(super) fn some_topics(&self) -> Option<Vec<Pattern>> {
        let topics = self.topics()?;
        if self.list()?.is_empty() {
            self.problem_hint("must not be empty", "`['/.*/']` is every topic but internal ones");
        }
        Some(topics)
    }

    /// A list of names of any kind, or regular expressions between slashes.
    pub(super) fn names(&self) -> Option<Vec<Pattern>> {
        self.patterns(Pattern::parse)
    }

    fn patterns(&self, parse: fn(&str) -> Result<Pattern, String>) -> Option<Vec<Pattern>> {
        let pattern = |item: &Value<'a>| item.ok(parse(item.some_string()?));
        Some(self.list()?.iter().filter_map(pattern).collect())
    }

    /// One name, or regular expression between slashes.
    pub(super) fn topic(&self) -> Option<Pattern> {
        self.ok(Pattern::parse_topic(self.some_string()?))
    }

    /// The table; an empty one if it is something else.
    pub(super) fn table(&self) -> Fields<'a> {
        let table = self.value.as_table();
        if table.is_none() {
            self.mistyped("a table");
        }
        let mut fields = Fields::new(self.cx, self.path.clone(), self.at, table);
        fields.mistyped = table.is_none();
        fields
    }
}
