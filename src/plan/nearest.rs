//! The known word that a misspelt one is nearest to.

/// Below this similarity (0 to 1) a suggestion would be a guess.
const SIMILAR: f64 = 0.6;

/// The candidate that is most similar to `word`, if any is similar; the first of equals.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let similarity = similarity(&word, &candidate.to_lowercase());
        if similarity >= SIMILAR && best.is_none_or(|(most, _)| similarity > most) {
            best = Some((similarity, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How alike two words are, 0 to 1; separators count little (`commit-interval`, `commitInterval`).
fn similarity(a: &str, b: &str) -> f64 {
    let bare = |word: &str| -> String { word.chars().filter(|c| !"-_. ".contains(*c)).collect() };
    let plain = strsim::normalized_damerau_levenshtein(a, b);
    plain.max(strsim::normalized_damerau_levenshtein(&bare(a), &bare(b)) * 0.99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_find_their_neighbour() {
        let known = ["include", "exclude", "commit_interval", "commit_bytes"];
        for (word, near) in [
            ("inclde", Some("include")),
            ("commit-interval", Some("commit_interval")),
            ("commitInterval", Some("commit_interval")),
            ("COMMIT_BYTE", Some("commit_bytes")),
            ("wave", None),
        ] {
            assert_eq!(nearest(word, known), near, "{word}");
        }
    }
}
