//! The name that a misspelt one may have meant.

/// Names that are longer are no spelling of any.
const LONGEST: usize = 40;

/// ` (did you mean maxWaitMs?)` for a name that is near one of those that exist, else nothing.
///
/// ```
/// use tidegate::ffi::hint;
///
/// assert_eq!(hint("maxWait", ["cost", "maxWaitMs"]), " (did you mean maxWaitMs?)");
/// assert_eq!(hint("max_wait_ms", ["cost", "maxWaitMs"]), " (did you mean maxWaitMs?)");
/// assert_eq!(hint("coast", ["cost", "maxWaitMs"]), " (did you mean cost?)");
/// assert_eq!(hint("limit", ["limiter", "limits"]), " (did you mean limits?)");
/// assert_eq!(hint("window", ["cost", "maxWaitMs"]), "");
/// ```
#[must_use]
pub fn hint<S: AsRef<str>>(name: &str, known: impl IntoIterator<Item = S>) -> String {
    let given = letters(name);
    if given.is_empty() || given.len() > LONGEST {
        return String::new();
    }
    let near = known.into_iter().filter_map(|known| {
        let letters = letters(known.as_ref());
        // A name may begin several others: the one that it is the most of is meant.
        Some(((distance(&given, &letters)?, letters.len().abs_diff(given.len())), known))
    });
    let nearest = near.min_by_key(|(distance, _)| *distance);
    nearest.map_or_else(String::new, |(_, known)| format!(" (did you mean {}?)", known.as_ref()))
}

/// The letters of a name, whatever the spelling of its language.
fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The number of letters that differ, if it is small; a name without its unit is near.
fn distance(one: &[char], two: &[char]) -> Option<usize> {
    let (short, long) = if one.len() < two.len() { (one, two) } else { (two, one) };
    if short.len() > 3 && long.starts_with(short) {
        return Some(0);
    }
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (other_at, other) in two.iter().enumerate() {
            let changed = diagonal + usize::from(letter != other);
            diagonal = row[other_at + 1];
            row[other_at + 1] = changed.min(diagonal + 1).min(row[other_at] + 1);
        }
    }
    let letters = row[two.len()];
    (letters <= 2 && letters * 2 < long.len()).then_some(letters)
}
