//! `${env:NAME}` and `${file:PATH}` in a value.

use std::io;
use std::path::Path;

/// A value with its references resolved.
#[derive(Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What it means.
    pub value: String,
    /// What came from `${…}`: secrets, whatever their name.
    pub secrets: Vec<String>,
}

/// Where references lead.
pub struct Sources<'a> {
    /// An environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// A file's text.
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// What relative paths are relative to: the plan's folder.
    pub folder: &'a Path,
}

/// Whether a text refers to something outside of the plan.
pub fn has_reference(text: &str) -> bool {
    text.contains("${env:") || text.contains("${file:")
}

/// Resolves every reference in `text`; `$${` stands for `${`. Errors name variables and paths, never
/// a value.
pub fn resolve(text: &str, sources: &Sources<'_>) -> Result<Resolved, String> {
    let mut value = String::with_capacity(text.len());
    let mut secrets = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(escaped) = rest[..at].strip_suffix('$') {
            value.push_str(escaped);
            value.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        value.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let Some(end) = rest.find('}') else {
            return Err(
                "`${` without its `}`; a `${` that is meant as such is written `$${`".into()
            );
        };
        let found = lookup(&rest[..end], sources)?;
        value.push_str(&found);
        secrets.push(found);
        rest = &rest[end + 1..];
    }
    value.push_str(rest);
    if !secrets.is_empty() {
        secrets.push(value.clone());
    }
    Ok(Resolved { value, secrets })
}

fn lookup(reference: &str, sources: &Sources<'_>) -> Result<String, String> {
    if let Some(name) = reference.strip_prefix("env:") {
        if name.is_empty() {
            return Err("`${env:…}` without a name".into());
        }
        return (sources.env)(name)
            .ok_or_else(|| format!("the environment variable `{name}` is not set"));
    }
    if let Some(path) = reference.strip_prefix("file:") {
        if path.is_empty() {
            return Err("`${file:…}` without a path".into());
        }
        let path = sources.folder.join(path);
        let text = (sources.read_file)(&path).map_err(|error| {
            // The kind, not the message: what a reader put into it is not known here.
            format!("cannot read the file `{}`: {}", path.display(), error.kind())
        })?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        return Ok(text.strip_suffix('\r').unwrap_or(text).to_string());
    }
    Err("`${…}` must be `${env:NAME}` or `${file:PATH}`; a `${` that is meant as such is written \
         `$${`"
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Resolved, String> {
        resolve(
            text,
            &Sources {
                env: &|name| (name == "USER").then(|| "joe".to_string()),
                read_file: &|path| {
                    if path == Path::new("/plans/secret") {
                        Ok("hunter22\n".into())
                    } else {
                        Err(io::Error::new(io::ErrorKind::NotFound, "hunter23"))
                    }
                },
                folder: Path::new("/plans"),
            },
        )
    }

    fn error(text: &str) -> String {
        read(text).err().unwrap_or_else(|| panic!("`{text}` resolved"))
    }

    #[test]
    fn references_are_resolved_within_a_text() {
        let resolved = read("${env:USER}:${file:secret}@x").expect("both exist");
        assert_eq!(resolved.value, "joe:hunter22@x");
        assert_eq!(resolved.secrets, ["joe", "hunter22", "joe:hunter22@x"]);
        assert_eq!(read("${file:/plans/secret}").ok().map(|r| r.value), Some("hunter22".into()));
    }

    #[test]
    fn an_escaped_dollar_stays() {
        let resolved = read("pa$${env:USER}$").expect("no reference");
        assert_eq!((resolved.value.as_str(), resolved.secrets.len()), ("pa${env:USER}$", 0));
    }

    #[test]
    fn what_cannot_be_resolved_is_named() {
        assert_eq!(error("${env:NOBODY}"), "the environment variable `NOBODY` is not set");
        assert_eq!(error("${file:gone}"), "cannot read the file `/plans/gone`: entity not found");
        assert!(error("${vault:x}").starts_with("`${…}` must be"));
        assert!(error("${env:USER").starts_with("`${` without its `}`"));
    }
}
