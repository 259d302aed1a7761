//! What is to be typed where buckets must be read again.

use super::diff::Inputs;
use crate::error::Side;

/// The second round: the source by the target's scope, the target by what the source then wrote, so that
/// both begin at the same offsets.
pub(super) fn commands(inputs: &Inputs, buckets: &str) -> Vec<String> {
    let again = |side: Side| format!("{}-again", inputs.folders[side as usize].display());
    let (source, target) = (again(Side::Source), again(Side::Target));
    let scope = inputs.scope_path(Side::Target).display().to_string();
    let read = |side: Side, scope: &str, out: &str| {
        format!(
            "onceover reconcile PLAN --side {side} --scope {} --buckets {} --out {}",
            quoted(scope),
            quoted(buckets),
            quoted(out)
        )
    };
    vec![
        read(Side::Source, &scope, &source),
        read(Side::Target, &format!("{source}/scope.json"), &target),
        format!(
            "onceover diff {} {} --out {}",
            quoted(&source),
            quoted(&target),
            quoted(&format!("{}-again", inputs.sides.source.plan))
        ),
    ]
}

/// As a shell reads it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("a/b-1.csv"), "a/b-1.csv");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }
}
