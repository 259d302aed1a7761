//! Schema ids in front of keys and values, and whether both registries mean the same by them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Look;
use crate::check::Rule;
use crate::check::facts::{Facts, Known, PairFacts, Sample, Schema, SchemaFacts};
use crate::check::verdict::{Verdict, Verdicts};
use crate::check::words::list;

pub const SCHEMAS: Rule = Rule::Pair(check);

/// A line of `schema-ids.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaRow<'f> {
    /// The source's topic.
    pub topic: &'f str,
    /// `key` or `value`.
    pub part: &'static str,
    /// The id.
    pub id: i32,
    /// Sampled records with it.
    pub records: u64,
    /// `equal`, `different`, `not on the target`, `not on the source` or why it is not known.
    pub result: String,
}

/// Ids of a sample that are taken for schema ids: text or numbers can begin with a 0 byte too, so nine of
/// ten must begin like that.
pub fn framed(sample: &Sample) -> [(&'static str, &BTreeMap<i32, u64>); 2] {
    static NONE: BTreeMap<i32, u64> = BTreeMap::new();
    let taken = |ids: &'_ BTreeMap<i32, u64>, of: u64| {
        let with: u64 = ids.values().sum();
        of > 0 && with.saturating_mul(10) >= of.saturating_mul(9)
    };
    let keys = taken(&sample.key_schemas, sample.keyed);
    let values = taken(&sample.value_schemas, sample.values);
    [
        ("key", if keys { &sample.key_schemas } else { &NONE }),
        ("value", if values { &sample.value_schemas } else { &NONE }),
    ]
}

/// Every schema id in use, by topic.
pub fn rows(facts: &Facts) -> Vec<SchemaRow<'_>> {
    let mut rows = Vec::new();
    for pair in &facts.pairs {
        let Some(sample) = pair.source.sample.ok() else { continue };
        for (part, ids) in framed(sample) {
            rows.extend(ids.iter().map(|(&id, &records)| SchemaRow {
                topic: &pair.source.name,
                part,
                id,
                records,
                result: match resolved(facts, id) {
                    Ok(result) => result.word().to_owned(),
                    Err(why) => format!("unknown: {why}"),
                },
            }));
        }
    }
    rows
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Resolved {
    Equal,
    Different,
    NotOnTarget,
    NotOnSource,
}

impl Resolved {
    fn word(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::NotOnTarget => "not on the target",
            Self::NotOnSource => "not on the source",
        }
    }
}

fn resolved(facts: &Facts, id: i32) -> Result<Resolved, String> {
    let known = facts.schemas.get()?.get(&id).ok_or("it was not asked for")?;
    let SchemaFacts { source, target } = known;
    let source = source.told("source registry")?;
    let target = target.told("target registry")?;
    Ok(match (source, target) {
        (None, _) => Resolved::NotOnSource,
        (Some(_), None) => Resolved::NotOnTarget,
        (Some(source), Some(target)) if same(source, target) => Resolved::Equal,
        _ => Resolved::Different,
    })
}

/// The same schema, whatever its spaces and the order of its fields' attributes.
fn same(a: &Schema, b: &Schema) -> bool {
    let json = |schema: &Schema| serde_json::from_str::<Value>(&schema.text).ok();
    let text = match (json(a), json(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.text.trim() == b.text.trim(),
    };
    text && a.kind == b.kind && a.references == b.references
}

fn check(look: &Look<'_>, pair: &PairFacts) -> Verdicts {
    let sample = pair.source.sample.told("sample of the source")?;
    if sample.records == 0 {
        return Verdict::info("no records to look at").into();
    }
    let ids: std::collections::BTreeSet<i32> =
        framed(sample).iter().flat_map(|(_, ids)| ids.keys().copied()).collect();
    if ids.is_empty() {
        return Verdict::pass("no schema ids in front of keys or values").into();
    }
    let all = |ids: &[i32]| list(&ids.iter().map(ToString::to_string).collect::<Vec<_>>());
    if let Known::Unknown(why) = &look.facts.schemas {
        let ids: Vec<_> = ids.into_iter().collect();
        return Err(Verdict::unknown(format!("schema ids {} are in use; {why}", all(&ids))));
    }
    let mut by_result: BTreeMap<Result<Resolved, String>, Vec<i32>> = BTreeMap::new();
    for id in ids {
        by_result.entry(resolved(look.facts, id)).or_default().push(id);
    }
    let verdict = |(result, ids): (Result<Resolved, String>, Vec<i32>)| match result {
        Ok(Resolved::Equal) => {
            Verdict::pass(format!("schema ids {} are equal on both sides", all(&ids)))
        }
        Ok(Resolved::Different) => {
            Verdict::fail(format!("schema ids {} are other schemas on the target", all(&ids)))
                .about("different")
        }
        Ok(Resolved::NotOnTarget) => {
            Verdict::fail(format!("schema ids {} are not on the target", all(&ids)))
                .about("missing")
        }
        Ok(Resolved::NotOnSource) => Verdict::warn(format!(
            "schema ids {} are not on the source: no schema ids after all, or another registry's",
            all(&ids)
        ))
        .about("foreign"),
        Err(why) => Verdict::unknown(format!("schema ids {}: {why}", all(&ids))).about("unknown"),
    };
    Ok(by_result.into_iter().map(verdict).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fixture::{facts, judged};
    use crate::check::names::SCHEMA_IDS;
    use crate::check::verdict::Severity::{Fail, Info, Pass, Unknown, Warn};

    fn schema(text: &str) -> Known<Option<Schema>> {
        Known::Known(Some(Schema {
            kind: "AVRO".into(),
            text: text.into(),
            references: Vec::new(),
        }))
    }

    fn with_ids(ids: &[(i32, u64)]) -> Facts {
        let mut facts = facts();
        let value_schemas = ids.iter().copied().collect();
        let sample = Sample { records: 10, values: 10, value_schemas, ..Sample::default() };
        facts.pairs[0].source.sample = Known::Known(sample);
        facts
    }

    #[test]
    fn a_few_zero_bytes_are_no_framing() {
        assert_eq!(judged(&facts(), SCHEMA_IDS)[0].severity, Info);
        assert_eq!(judged(&with_ids(&[(1, 8)]), SCHEMA_IDS)[0].severity, Pass);
        let found = &judged(&with_ids(&[(1, 8), (2, 1)]), SCHEMA_IDS)[0];
        assert_eq!(found.severity, Unknown);
        assert_eq!(found.reason, "schema ids `1`, `2` are in use; the plan names no registries");
    }

    #[test]
    fn an_id_must_mean_the_same_schema_on_both_sides() {
        let mut facts = with_ids(&[(1, 5), (2, 5)]);
        let json = r#"{"type": "string", "doc": "x"}"#;
        let same =
            SchemaFacts { source: schema(json), target: schema(r#"{"doc":"x","type":"string"}"#) };
        let mut known = BTreeMap::from([(1, same.clone()), (2, same.clone())]);
        facts.schemas = Known::Known(known.clone());
        assert_eq!(judged(&facts, SCHEMA_IDS)[0].severity, Pass);
        let all = [
            (SchemaFacts { target: schema("\"int\""), ..same.clone() }, Fail, "different"),
            (SchemaFacts { target: Known::Known(None), ..same.clone() }, Fail, "not on the target"),
            (SchemaFacts { source: Known::Known(None), ..same.clone() }, Warn, "not on the source"),
            (
                SchemaFacts { target: Known::unknown("401"), ..same },
                Unknown,
                "unknown: target registry: 401",
            ),
        ];
        for (two, severity, result) in all {
            known.insert(2, two);
            facts.schemas = Known::Known(known.clone());
            assert_eq!(judged(&facts, SCHEMA_IDS)[0].severity, severity, "{result}");
            let rows = rows(&facts);
            assert_eq!((rows.len(), &*rows[0].result, &*rows[1].result), (2, "equal", result));
        }
    }
}
