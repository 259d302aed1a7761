//! `onceover status --ledger`: the ledger's entries for people who hunt a fault. Shows every byte that
//! is there, also what no version of onceover could have written. Pure.

use serde_json::{Map, Value, json};

/// One message of the ledger topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Ledger partition: the lane's number, or the last one for control entries.
    pub partition: i32,
    /// Its offset there.
    pub offset: i64,
    /// Its value.
    pub bytes: &'a [u8],
}

/// A line for people: partition, offset, kind, then the entry as it is.
pub fn text_line(message: &Message<'_>) -> String {
    let Message { partition, offset, bytes } = message;
    match fields(bytes) {
        Ok(entry) => {
            let kind = entry.get("kind").and_then(Value::as_str).unwrap_or("-");
            // As it is, not parsed and printed anew: numbers and their order stay. A line feed
            // between tokens would make two lines of one.
            let raw = String::from_utf8_lossy(bytes).replace(['\n', '\r'], " ");
            format!("{partition:>3} {offset:>8}  {kind:<8}  {}", raw.trim())
        }
        Err(why) => {
            format!("{partition:>3} {offset:>8}  {:<8}  {why}: {}", "!", bytes.escape_ascii())
        }
    }
}

/// A line for programs: the entry's fields behind `ledger_partition` and `ledger_offset`; what is not an
/// entry has `error` and the escaped `bytes` instead.
pub fn json_line(message: &Message<'_>) -> Value {
    let Message { partition, offset, bytes } = message;
    let mut line = Map::new();
    line.insert("ledger_partition".into(), json!(partition));
    line.insert("ledger_offset".into(), json!(offset));
    match fields(bytes) {
        Ok(entry) => line.extend(entry),
        Err(why) => {
            line.insert("error".into(), json!(why));
            line.insert("bytes".into(), json!(bytes.escape_ascii().to_string()));
        }
    }
    Value::Object(line)
}

/// Reads without the ledger's own decoder: entries of newer versions must be shown too.
fn fields(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("not a JSON object".to_owned()),
        Err(error) => Err(format!("not JSON ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> Message<'_> {
        Message { partition: 2, offset: 17, bytes }
    }

    const GAP: &[u8] = br#"{"v":1,"kind":"gap","topic":"orders","from":17}"#;

    #[test]
    fn an_entry_is_a_line_with_its_place_and_kind() {
        assert_eq!(
            text_line(&message(GAP)),
            r#"  2       17  gap       {"v":1,"kind":"gap","topic":"orders","from":17}"#
        );
        assert_eq!(
            json_line(&message(GAP)).to_string(),
            r#"{"ledger_partition":2,"ledger_offset":17,"v":1,"kind":"gap","topic":"orders","from":17}"#
        );
    }

    #[test]
    fn entries_of_a_newer_version_are_shown_as_they_are() {
        let line = text_line(&message(br#"{"v":9,"kind":"teleport"}"#));
        assert_eq!(line, r#"  2       17  teleport  {"v":9,"kind":"teleport"}"#);
    }

    #[test]
    fn what_is_no_entry_is_shown_escaped_in_one_line() {
        let line = text_line(&message(b"\xff\n\x1b[31m"));
        assert!(line.contains("  !         not JSON ("), "{line}");
        assert!(line.ends_with(r"\xff\n\x1b[31m"), "{line}");
        assert_eq!(json_line(&message(b"[1]\xc3"))["bytes"], r"[1]\xc3");
        assert_eq!(
            json_line(&message(b"7")).to_string(),
            r#"{"ledger_partition":2,"ledger_offset":17,"error":"not a JSON object","bytes":"7"}"#
        );
        assert!(text_line(&message(b"")).contains("not JSON"));
    }
}
