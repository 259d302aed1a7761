//! How bytes that anybody may have written become a cell of a CSV file, and back.
//!
//! A key is shown as text where a person sees every character of it: valid UTF-8 without control and
//! format characters (so no zero-width and no direction marks), private use, unassigned and ignorable
//! characters, blanks other than the space, and U+FFFD (which stands for bytes that were lost before).
//! Everything else is hexadecimal.
//!
//! Spreadsheets take a cell that begins with `=`, `+`, `-` or `@` (ASCII or full-width, also after blanks or
//! quotes) for a formula: such a text gets a leading `'`. So does a text that begins with `'` itself; a cell
//! `text-escaped` always has exactly one `'` too many. Where semicolons separate (the default of
//! spreadsheets in half of Europe), a formula can begin behind a `;` as well: such a key is hexadecimal.
//!
//! Topic names get the `'` too (`-` is a legal first character, `'` is not, so nothing is lost).
//! Numbers never do.

use std::fmt;

/// How a key's cell is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyEncoding {
    /// The record has no key; the cell is empty.
    None,
    /// The key itself, also where it is empty.
    Text,
    /// The key behind a `'`.
    TextEscaped,
    /// The key's bytes in lower-case hexadecimal.
    Hex,
    /// HMAC-SHA-256 of the key in lower-case hexadecimal (`reconcile.keys = "hashed"`).
    HmacSha256,
}

impl KeyEncoding {
    const ALL: [Self; 5] = [Self::None, Self::Text, Self::TextEscaped, Self::Hex, Self::HmacSha256];

    /// As it stands in the column `key_encoding`.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Text => "text",
            Self::TextEscaped => "text-escaped",
            Self::Hex => "hex",
            Self::HmacSha256 => "hmac-sha-256",
        }
    }

    /// The encoding of that name.
    pub fn of(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.word().as_bytes() == word)
    }
}

impl fmt::Display for KeyEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether keys are shown, or are keyed hashes already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// The key's own bytes.
    Plain,
    /// What stands for it.
    Hashed,
}

/// Writes a key's cell to `out`, which is cleared first.
pub fn key_cell(key: Option<&[u8]>, form: KeyForm, out: &mut Vec<u8>) -> KeyEncoding {
    out.clear();
    let Some(key) = key else { return KeyEncoding::None };
    if form == KeyForm::Hashed {
        hex(key, out);
        return KeyEncoding::HmacSha256;
    }
    match std::str::from_utf8(key) {
        Ok(text) if is_printable(text) && !hides_formula(text) => {
            let escaped = is_formula(text) || text.starts_with('\'');
            if escaped {
                out.push(b'\'');
            }
            out.extend_from_slice(key);
            if escaped { KeyEncoding::TextEscaped } else { KeyEncoding::Text }
        }
        _ => {
            hex(key, out);
            KeyEncoding::Hex
        }
    }
}

/// Reads a key's cell; the outer `None`: it is not what [`key_cell`] writes.
pub fn read_key_cell(cell: &[u8], encoding: KeyEncoding) -> Option<Option<Vec<u8>>> {
    match encoding {
        KeyEncoding::None => cell.is_empty().then_some(None),
        KeyEncoding::Text => Some(Some(cell.to_vec())),
        KeyEncoding::TextEscaped => cell.strip_prefix(b"'").map(|key| Some(key.to_vec())),
        KeyEncoding::Hex | KeyEncoding::HmacSha256 => unhex(cell).map(Some),
    }
}

/// Writes a topic name's cell, or that of another text of which `'` is never the first character, to
/// `out`, which is cleared first.
pub fn name_cell(name: &str, out: &mut Vec<u8>) {
    out.clear();
    if is_formula(name) {
        out.push(b'\'');
    }
    out.extend_from_slice(name.as_bytes());
}

/// Reads a topic name's cell; `None`: it is not UTF-8.
pub fn read_name_cell(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell.strip_prefix(b"'").unwrap_or(cell)).ok()
}

/// Whether a person sees every character.
fn is_printable(text: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    }
    // `escape_debug` knows Unicode's categories: it escapes whatever does not print, and a mark at the
    // beginning, which would sit on what stands before it.
    let mut escaped = text.escape_debug();
    text.chars().all(|char| {
        if matches!(char, '"' | '\'' | '\\') {
            escaped.next();
        }
        escaped.next() == Some(char) && !is_unseen(char)
    })
}

/// Characters that count as printing and are not seen (Unicode: Default_Ignorable_Code_Point, and the
/// blank Braille pattern), or that stand for something else.
fn is_unseen(char: char) -> bool {
    matches!(
        char,
        '\u{034f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{fffd}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a spreadsheet may take a cell of this text for a formula.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '"']);
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

/// Whether a spreadsheet that separates at semicolons may find a formula in the middle of this text.
fn hides_formula(text: &str) -> bool {
    text.split(';').skip(1).any(|part| is_formula(part.trim_start_matches([' ', '"', '\''])))
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell(key: &[u8]) -> (String, &'static str) {
        let mut out = vec![42];
        let encoding = key_cell(Some(key), KeyForm::Plain, &mut out);
        (String::from_utf8(out).unwrap(), encoding.word())
    }

    #[test]
    fn what_a_person_can_read_is_text() {
        for key in
            ["", "customer-17", "a b", "größe", "日本", "नमस्ते", "a\"b,c", "a'b\\", "👍", "a;b"]
        {
            assert_eq!(cell(key.as_bytes()), (key.to_owned(), "text"));
        }
    }

    #[test]
    fn what_a_person_cannot_see_or_trust_is_hexadecimal() {
        let keys: [&[u8]; 5] = [b"\xff\x00", b"a\0", b"a\nb", b"\ta", b"\x80abc"];
        for key in keys {
            assert_eq!(cell(key).1, "hex", "{key:?}");
        }
        for trick in [
            "a\u{200b}",
            "a\u{202e}b",
            "\u{feff}a",
            "a\u{2066}",
            "a\u{fffd}",
            "a\u{a0}b",
            "\u{301}a",
            "a\u{85}",
            "a\u{ad}",
            "a\u{3164}",
            "a\u{fe0f}",
            "a\u{e0041}",
            "a\u{2028}",
            "a\u{7f}",
        ] {
            assert_eq!(cell(trick.as_bytes()).1, "hex", "{trick:?}");
        }
        assert_eq!(cell(b"\xff\x00"), ("ff00".into(), "hex"));
    }

    #[test]
    fn what_could_be_a_formula_is_escaped_and_says_so() {
        for key in ["=1+1", "+1", "-1", "@x", "＝1", "＋1", "－1", "＠x", "  =1", "'a", "'=1"] {
            assert_eq!(cell(key.as_bytes()), (format!("'{key}"), "text-escaped"));
        }
    }

    #[test]
    fn a_formula_behind_a_semicolon_is_hexadecimal() {
        for key in ["a;=1", "a; \"=1", "a;b;@x", "=1;=1"] {
            assert_eq!(cell(key.as_bytes()).1, "hex", "{key}");
        }
    }

    #[test]
    fn no_key_an_empty_key_and_a_hashed_key_are_told_apart() {
        let mut out = Vec::new();
        assert_eq!(key_cell(None, KeyForm::Plain, &mut out), KeyEncoding::None);
        assert_eq!(key_cell(None, KeyForm::Hashed, &mut out), KeyEncoding::None);
        assert_eq!(key_cell(Some(b""), KeyForm::Plain, &mut out), KeyEncoding::Text);
        assert!(out.is_empty());
        assert_eq!(key_cell(Some(b"ab"), KeyForm::Hashed, &mut out), KeyEncoding::HmacSha256);
        assert_eq!(out, b"6162");
    }

    #[test]
    fn a_topic_name_is_escaped_where_it_could_be_a_formula_and_read_back() {
        for (name, expected) in [("-x", "'-x"), ("orders.v1", "orders.v1"), ("_a-b", "_a-b")] {
            let mut out = Vec::new();
            name_cell(name, &mut out);
            assert_eq!(out, expected.as_bytes());
            assert_eq!(read_name_cell(&out), Some(name));
        }
    }

    #[test]
    fn only_what_is_written_is_read() {
        assert_eq!(read_key_cell(b"x", KeyEncoding::None), None);
        assert_eq!(read_key_cell(b"x", KeyEncoding::TextEscaped), None);
        for wrong in ["f", "FF", "0g", "+1"] {
            assert_eq!(read_key_cell(wrong.as_bytes(), KeyEncoding::Hex), None, "{wrong}");
        }
        assert_eq!(KeyEncoding::of(b"base64"), None);
    }

    /// Near misses of everything that is decided here, and any bytes.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..8),
            "[-=+@';\" a＝é\u{200b}\u{301}\u{fffd}\t\r\n]{0,6}".prop_map(String::into_bytes),
            any::<String>().prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]
        #[test]
        fn cell_and_encoding_give_the_key_back(key in prop::option::of(key())) {
            let mut out = Vec::new();
            let encoding = key_cell(key.as_deref(), KeyForm::Plain, &mut out);
            prop_assert_eq!(KeyEncoding::of(encoding.word().as_bytes()), Some(encoding));
            prop_assert_eq!(read_key_cell(&out, encoding), Some(key));
        }

        #[test]
        fn no_cell_begins_like_a_formula(key in key()) {
            let mut out = Vec::new();
            key_cell(Some(&key), KeyForm::Plain, &mut out);
            let text = String::from_utf8(out).unwrap();
            for (at, _) in text.match_indices(';').chain([(0, "")]) {
                let cell = text[at..].trim_start_matches([';', ' ', '"']);
                prop_assert!(!cell.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']), "{}", text);
            }
            prop_assert!(!text.chars().any(char::is_control));
        }
    }
}
