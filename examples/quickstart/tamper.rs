//! What a difference looks like: somebody else writes one record to the target.

use super::brokers::{Error, Oracle, Record};
use super::onceover::{PLAN, Program};
use super::{TAMPERED, page};

const TOPIC: &str = "orders";
const KEY: &str = "key-7";
/// The partition of all records with that key: its number modulo the topic's six.
const PARTITION: i32 = 1;

/// Whether the proof finds that record, and nothing else.
pub fn and_prove(program: &Program, target: &Oracle) -> Result<bool, Error> {
    println!(
        "\nsomebody else writes one more record with the key `{KEY}` to `{TOPIC}` on the target"
    );
    let record = Record::in_partition(PARTITION).key(KEY).value(r#"{"total": 0}"#);
    target.produce(TOPIC, &[record])?;
    let reconcile = ["reconcile", PLAN, "--full", "--out", &program.proof(TAMPERED)];
    page::command(&reconcile, "reads both sides once more, from the beginning");
    page::quote(&program.start("reconcile", &reconcile)?.finish(1)?);
    page::line("(exit 1)");

    let diff = program.proof_file(TAMPERED, "diff.csv")?;
    let mut lines = diff.trim_start_matches('\u{feff}').lines();
    let (Some(names), Some(row), None) = (lines.next(), lines.next(), lines.next()) else {
        return Err(Error::new(format!("one row was to be expected in `diff.csv`:\n{diff}")));
    };
    println!("\nits row in {}/diff.csv", program.proof(TAMPERED));
    // No cell of this row holds a comma.
    for (name, cell) in names.split(',').zip(row.split(',')) {
        page::line(format!("{name:<16}{cell}").trim_end());
    }
    page::files();
    Ok(row.starts_with(&format!("{TOPIC},{PARTITION},{KEY},text,extra,")))
}
