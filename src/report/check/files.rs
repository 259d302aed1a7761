//! What a spreadsheet reads: `checks.csv`, `acls.csv`, `schema-ids.csv`.

use std::fs;
use std::path::Path;

use super::CheckReport;
use crate::check::facts::{Facts, Resource};
use crate::check::{MissingAcl, missing_acls, schema_rows};
use crate::error::{Error, Result};
use crate::report::audit::cell::name_cell;
use crate::report::audit::local::local_error;

/// A file's header and rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in the folder.
    pub name: &'static str,
    /// Names of its columns.
    pub columns: &'static [&'static str],
    /// Its rows, each with as many cells.
    pub rows: Vec<Vec<String>>,
}

/// Every finding.
pub fn checks(report: &CheckReport) -> Table {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let name = |name: &Option<std::sync::Arc<str>>| {
        name.as_ref().map_or_else(String::new, ToString::to_string)
    };
    let rows = report.findings.iter().map(|one| {
        vec![
            one.severity.word().to_owned(),
            one.check.to_owned(),
            name(&one.topic),
            name(&one.target),
            text(&one.about),
            one.reason.clone(),
            text(&one.hint),
            one.blocks.to_string(),
            text(&one.allowed),
            text(&one.assumed),
        ]
    });
    Table {
        name: "checks.csv",
        columns: &[
            "severity", "check", "topic", "target", "about", "reason", "hint", "blocks", "allowed",
            "assumed",
        ],
        rows: rows.collect(),
    }
}

/// Every ACL that the target lacks; nothing where they could not be compared (`checks.csv` says why).
pub fn acls(facts: &Facts) -> Table {
    let pattern = |resource: &Resource| if resource.prefixed { "prefixed" } else { "literal" };
    let missing = missing_acls(facts).unwrap_or_default();
    let rows = missing.iter().map(|MissingAcl { source, target }| {
        vec![
            target.principal.clone(),
            if target.allow { "allow" } else { "deny" }.to_owned(),
            target.operation.to_string(),
            format!("{:?}", target.resource.kind).to_lowercase(),
            source.resource.name.clone(),
            target.resource.name.clone(),
            pattern(&target.resource).to_owned(),
            target.host.clone(),
        ]
    });
    Table {
        name: "acls.csv",
        columns: &[
            "principal",
            "permission",
            "operation",
            "resource",
            "name_on_source",
            "name_on_target",
            "pattern",
            "host",
        ],
        rows: rows.collect(),
    }
}

/// Every schema id in use.
pub fn schema_ids(facts: &Facts) -> Table {
    let rows = schema_rows(facts).into_iter().map(|row| {
        vec![
            row.topic.to_owned(),
            row.part.to_owned(),
            row.id.to_string(),
            row.records.to_string(),
            row.result,
        ]
    });
    Table {
        name: "schema-ids.csv",
        columns: &["topic", "part", "id", "sampled_records", "result"],
        rows: rows.collect(),
    }
}

impl Table {
    /// The file's bytes. What a spreadsheet would take for a formula is quoted.
    ///
    /// # Errors
    /// None that is known: memory does not fail.
    pub fn to_csv(&self) -> Result<Vec<u8>> {
        let mut csv =
            csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut cell = Vec::new();
        let told = |error: &dyn std::fmt::Display| {
            Error::fault(format!("cannot form `{}`: {error}", self.name))
        };
        csv.write_record(self.columns).map_err(|error| told(&error))?;
        for row in &self.rows {
            for text in row {
                name_cell(text, &mut cell);
                csv.write_field(&cell).map_err(|error| told(&error))?;
            }
            csv.write_record(None::<&[u8]>).map_err(|error| told(&error))?;
        }
        csv.into_inner().map_err(|error| told(&error))
    }
}

/// Writes a table to a file, over what is there. `redact` takes secrets out of every cell.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, table: Table, redact: impl Fn(&str) -> String) -> Result<()> {
    let rows = table.rows.into_iter().map(|row| row.iter().map(|cell| redact(cell)).collect());
    let table = Table { rows: rows.collect(), ..table };
    fs::write(path, table.to_csv()?).map_err(|error| local_error("write", path, &error))
}

/// Writes all files into a folder, which is made if it is missing.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write_files(
    folder: &Path,
    report: &CheckReport,
    facts: &Facts,
    redact: impl Fn(&str) -> String,
) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| local_error("make the folder", folder, &error))?;
    for table in [checks(report), acls(facts), schema_ids(facts)] {
        let path = folder.join(table.name);
        write(&path, table, &redact)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;
    use crate::check::facts::{Acl, Acls, Known, Operation, ResourceKind, Sample};
    use crate::check::fixture::facts;

    #[test]
    fn every_finding_is_a_row_and_no_cell_is_a_formula() {
        let mut report = report(2);
        report.findings[0].reason = "=1+1".into();
        let csv = String::from_utf8(checks(&report).to_csv().unwrap()).unwrap();
        assert_eq!(csv.lines().count(), report.findings.len() + 1);
        assert!(csv.starts_with(
            "severity,check,topic,target,about,reason,hint,blocks,allowed,assumed\r\n"
        ));
        assert!(csv.contains(",'=1+1,"), "{csv}");
    }

    #[test]
    fn acls_and_schema_ids_have_files_of_their_own() {
        let mut facts = facts();
        let resource = Resource { kind: ResourceKind::Topic, name: "ord".into(), prefixed: true };
        let (principal, host) = ("User:app".to_owned(), "*".to_owned());
        let acl = Acl { resource, principal, host, operation: Operation::Write, allow: true };
        facts.source.acls = Known::Known(Acls::List(vec![acl]));
        facts.target.acls = Known::Known(Acls::List(Vec::new()));
        let sample =
            Sample { records: 1, values: 1, value_schemas: [(7, 1)].into(), ..Sample::default() };
        facts.pairs[0].source.sample = Known::Known(sample);
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("check");
        write_files(&into, &report(1), &facts, |text| text.replace("registries", "*****")).unwrap();
        let read = |name: &str| fs::read_to_string(into.join(name)).unwrap();
        assert_eq!(
            read("acls.csv").lines().nth(1),
            Some("User:app,allow,Write,topic,ord,ord,prefixed,*")
        );
        assert_eq!(
            read("schema-ids.csv").lines().nth(1),
            Some("orders,value,7,1,unknown: the plan names no *****")
        );
    }
}
