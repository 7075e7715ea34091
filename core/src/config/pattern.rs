//! Patterns of actors: text with `*`, and no other sign.

/// A text in which each `*` stands for any characters, or none.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
}

impl Pattern {
    /// Nothing for a text without a `*`.
    pub(super) fn of(text: &str) -> Option<Self> {
        text.contains('*').then(|| Self { text: text.to_owned() })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// In a time that grows as the lengths of both: each part is taken at its first place, and never looked for again.
    pub(super) fn matches(&self, actor: &str) -> bool {
        let Some((first, rest)) = self.text.split_once('*') else { return self.text == actor };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let inside = actor.strip_prefix(first).and_then(|actor| actor.strip_suffix(last));
        let Some(mut left) = inside else { return false };
        for part in middle.split('*') {
            match left.split_once(part) {
                Some((_, behind)) => left = behind,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn matches(pattern: &str, actor: &str) -> bool {
        Pattern::of(pattern).is_some_and(|pattern| pattern.matches(actor))
    }

    #[test]
    fn a_star_stands_for_any_characters_or_none() {
        for (pattern, actor) in [
            ("*", ""),
            ("*", "ada"),
            ("team-*", "team-"),
            ("team-*", "team-7"),
            ("*-bot", "a-bot"),
            ("a*b*c", "abc"),
            ("a*b*c", "a.b.b.c"),
            ("a**c", "ac"),
            ("**", "x"),
            ("*é*", "café!"),
            ("a?*", "a?b"),
        ] {
            assert!(matches(pattern, actor), "{pattern} {actor}");
        }
        for (pattern, actor) in [
            ("team-*", "team"),
            ("team-*", "a team-7"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("a*bb*c", "abc"),
            ("A*", "ada"),
            ("a?*", "ab"),
            ("ada", "ada"),
        ] {
            assert!(!matches(pattern, actor), "{pattern} {actor}");
        }
    }

    #[test]
    fn a_hostile_actor_takes_no_time() {
        let pattern = "*a".repeat(200) + "*b";
        assert!(!matches(&pattern, &"a".repeat(1 << 16)));
    }
}
