//! Paths inside a document.

/// A path with one name more, quoted where it is not a plain word.
pub(super) fn join(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte));
    let name = if plain { crate::error::excerpt(name) } else { format!("\"{}\"", crate::error::excerpt(name)) };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
