//! The `plan` entry: what changed in the plan's fields since the ledger last heard of it. Pure.

use std::collections::BTreeMap;

use crate::ledger::{Change, PlanChange};
use crate::plan::PlanField;

/// The entry to write, if the plan is not the one that the ledger knows. The first one lists every
/// field, so that later ones can tell what was before. Secrets are not in the fields' texts.
pub fn plan_entry<'a>(
    known: impl Iterator<Item = &'a PlanChange>,
    fields: &[PlanField],
    hash: &str,
    at: i64,
) -> Option<PlanChange> {
    let mut last = None;
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in known {
        last = Some(entry.hash.as_str());
        for change in &entry.changes {
            match &change.after {
                Some(value) => before.insert(&change.field, value),
                None => before.remove(change.field.as_str()),
            };
        }
    }
    if last == Some(hash) {
        return None;
    }
    let mut changes = Vec::new();
    for field in fields {
        let was = before.remove(field.path.as_str());
        if was != Some(field.value.as_str()) {
            changes.push(Change {
                field: field.path.clone(),
                before: was.map(str::to_owned),
                after: Some(field.value.clone()),
            });
        }
    }
    changes.extend(before.into_iter().map(|(field, was)| Change {
        field: field.to_owned(),
        before: Some(was.to_owned()),
        after: None,
    }));
    Some(PlanChange { at, changes, hash: hash.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Binding;

    fn fields(values: &[(&str, &str)]) -> Vec<PlanField> {
        let field = |(path, value): &(&str, &str)| PlanField {
            path: (*path).to_owned(),
            value: (*value).to_owned(),
            binding: Binding::Free,
        };
        values.iter().map(field).collect()
    }

    #[test]
    fn the_first_entry_lists_every_field_and_the_next_only_what_changed() {
        let first = fields(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let one = plan_entry([].into_iter(), &first, "h1", 0).unwrap();
        assert_eq!(one.changes.len(), 3);
        assert_eq!(plan_entry([&one].into_iter(), &first, "h1", 1), None);

        let second = fields(&[("a", "1"), ("b", "5"), ("d", "4")]);
        let two = plan_entry([&one].into_iter(), &second, "h2", 1).unwrap();
        let text: Vec<_> = two
            .changes
            .iter()
            .map(|c| format!("{} {:?} {:?}", c.field, c.before.as_deref(), c.after.as_deref()))
            .collect();
        let expected =
            [r#"b Some("2") Some("5")"#, r#"d None Some("4")"#, r#"c Some("3") None"#];
        assert_eq!(text, expected);

        let back = plan_entry([&one, &two].into_iter(), &first, "h1", 2).unwrap();
        assert_eq!(back.changes.len(), 3);
    }
}
