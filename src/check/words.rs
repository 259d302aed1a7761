//! Values as a check's reason shows them. Pure.

use std::time::Duration;

use crate::report::numbers;

/// A config in milliseconds: −1 is for ever, and so is what nobody lives to see.
pub fn span(ms: i64) -> String {
    const CENTURIES: i64 = 1_000 * 365 * 86_400_000;
    match u64::try_from(ms) {
        Err(_) => "for ever".to_owned(),
        Ok(_) if ms >= CENTURIES => "no limit".to_owned(),
        Ok(ms) if ms > 0 && ms < 1_000 => format!("{ms} ms"),
        Ok(ms) => numbers::duration(Duration::from_millis(ms)),
    }
}

/// A config in bytes: −1 is no limit.
pub fn size(bytes: i64) -> String {
    u64::try_from(bytes).map_or_else(|_| "no limit".to_owned(), numbers::bytes)
}

/// A time.
pub fn time(ms: i64) -> String {
    numbers::time(ms).unwrap_or_else(|| format!("{ms} ms since 1970"))
}

/// Seconds that something takes.
pub fn takes(seconds: f64) -> String {
    numbers::elapsed(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

/// `a`, `b` and 3 more.
pub fn list<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_read_as_people_say_them() {
        assert_eq!(span(-1), "for ever");
        assert_eq!(span(i64::MAX), "no limit");
        assert_eq!(span(0), "0 s");
        assert_eq!(span(500), "500 ms");
        assert_eq!(span(604_800_000), "7 d 00 h");
        assert_eq!(size(-1), "no limit");
        assert_eq!(size(1_048_588), "1.0 MB");
        assert_eq!(list(&["a", "b", "c", "d"]), "`a`, `b`, `c` and 1 more");
    }
}
