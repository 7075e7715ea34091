//! Keys of limits that are given as text without a name.
//!
//! A key says where the limit stands, in the same words in every framework of every language: a fleet of two languages
//! enforces one limit. It never depends on requests, nor on the order in which anything is made.

use std::collections::HashMap;

use crate::limit::Limit;
use crate::names::named;

/// The key of a limit of a whole application.
pub const APP: &str = "app";

/// The end of a candidate's key: it has entries of its own beside the limit that it might replace.
pub const CANDIDATE: &str = " candidate";

/// The way in which a framework writes parameters into the path of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Syntax {
    /// `{id}`, `{id:int}`: those of Starlette.
    Braces,
    /// `<id>`, `<int:id>`: Flask and Django; and the named groups of Django's regular expressions.
    Angles,
    /// `:id`, `:id(\d+)`, `:id{[0-9]+}`, `:id?`, `*`, `*rest`: Express, Fastify, Hono, Koa.
    Colons,
}

named!(Syntax, "syntax", Braces = "braces", Angles = "angles", Colons = "colons");

/// The template of a route as all frameworks share it: every parameter by its name in braces, a `*` as it stands, one
/// slash at the front, and none at the end unless the route has it.
///
/// ```
/// use tidegate::http::{Syntax, template};
///
/// assert_eq!(template("/users/{id:int}", Syntax::Braces), "/users/{id}");
/// assert_eq!(template("/users/<int:id>", Syntax::Angles), "/users/{id}");
/// assert_eq!(template("/users/:id", Syntax::Colons), "/users/{id}");
/// ```
#[must_use]
pub fn template(path: &str, syntax: Syntax) -> String {
    let made = match syntax {
        Syntax::Braces => braces(path),
        Syntax::Angles => angles(path),
        Syntax::Colons => colons(path, 0),
    };
    let mut clean = String::with_capacity(made.len() + 1);
    for letter in std::iter::once('/').chain(made.chars()) {
        if letter != '/' || !clean.ends_with('/') {
            clean.push(letter);
        }
    }
    clean
}

/// The key of a route's limit: its method and its template.
///
/// `HEAD` does not count beside `GET`, nor `OPTIONS` beside others, as frameworks add them by themselves. Several methods
/// are sorted. Without methods, where the route takes all of them or they are not known, the template stands alone.
///
/// ```
/// use tidegate::http::route_name;
///
/// assert_eq!(route_name(&["HEAD", "GET", "OPTIONS"], "/users/{id}"), "GET /users/{id}");
/// assert_eq!(route_name(&["PUT", "PATCH"], "/users/{id}"), "PATCH,PUT /users/{id}");
/// assert_eq!(route_name(&[""; 0], "/users/{id}"), "/users/{id}");
/// ```
#[must_use]
pub fn route_name(methods: &[impl AsRef<str>], template: &str) -> String {
    let mut known: Vec<_> = methods.iter().map(|method| method.as_ref().to_ascii_uppercase()).collect();
    known.sort_unstable();
    known.dedup();
    if known.iter().any(|method| method == "GET") {
        known.retain(|method| method != "HEAD");
    }
    if known.len() > 1 {
        known.retain(|method| method != "OPTIONS");
    }
    if known.is_empty() { template.to_owned() } else { format!("{} {template}", known.join(",")) }
}

/// The keys of a limiter's limits: names that were derived, each with the place that it was derived for, and definitions.
#[derive(Debug, Default)]
pub struct Names {
    places: HashMap<String, u64>,
    definitions: HashMap<String, Limit>,
}

/// Places and definitions are made when a program starts. More than this are made while requests are served, and are not
/// looked at.
const MOST_NAMES: usize = 10_000;

impl Names {
    /// No names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that the limits of a place have this derived name; false where another place has it already, so that the
    /// two would count together by accident.
    ///
    /// ```
    /// use tidegate::http::Names;
    ///
    /// let mut names = Names::new();
    /// assert!(names.claim("app", 1) && names.claim("app", 1));
    /// assert!(!names.claim("app", 2));
    /// ```
    pub fn claim(&mut self, name: &str, place: u64) -> bool {
        if let Some(known) = self.places.get(name) {
            return *known == place;
        }
        if self.places.len() < MOST_NAMES {
            self.places.insert(name.to_owned(), place);
        }
        true
    }

    /// Notes a definition. Returns it and an earlier one that has the same key and is another one, so that the two count
    /// together, in words for a [mistake](crate::http::Mistake::SameKeyTwice); `None` where there is none.
    ///
    /// ```
    /// use tidegate::Limit;
    /// use tidegate::http::Names;
    ///
    /// let mut names = Names::new();
    /// assert_eq!(names.define(&Limit::bucket("api", 5).build()?), None);
    /// assert_eq!(names.define(&Limit::bucket("api", 5).build()?), None);
    /// assert!(names.define(&Limit::bucket("api", 6).build()?).is_some_and(|both| both.contains(r#""size":5"#)));
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn define(&mut self, limit: &Limit) -> Option<String> {
        if let Some(known) = self.definitions.get(limit.key()) {
            return (known != limit).then(|| format!("{known} and {limit}"));
        }
        if self.definitions.len() < MOST_NAMES {
            self.definitions.insert(limit.key().to_owned(), limit.clone());
        }
        None
    }

    /// Forgets the names of a place that is no longer there.
    pub fn release(&mut self, place: u64) {
        self.places.retain(|_, known| *known != place);
    }
}

/// The text up to the bracket that closes the first one, which is left out, and the rest behind it.
fn enclosed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == open => depth += 1,
            _ if letter == close => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[open.len_utf8()..at], &text[at + close.len_utf8()..]));
                }
            }
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

fn braces(path: &str) -> String {
    let mut made = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('{') {
        made.push_str(&rest[..at]);
        let Some((inside, behind)) = enclosed(&rest[at..], '{', '}') else {
            made.push_str(&rest[at..]);
            return made;
        };
        let name = inside.split_once(':').map_or(inside, |(name, _)| name);
        parameter(&mut made, name);
        rest = behind;
    }
    made.push_str(rest);
    made
}

fn angles(path: &str) -> String {
    if path.contains("(?P<") || path.contains('^') || path.ends_with('$') || path.ends_with("\\Z") {
        return expression(path);
    }
    let mut made = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('<') {
        made.push_str(&rest[..at]);
        let Some((inside, behind)) = enclosed(&rest[at..], '<', '>') else {
            made.push_str(&rest[at..]);
            return made;
        };
        converted(&mut made, inside);
        rest = behind;
    }
    made.push_str(rest);
    made
}

/// A parameter in angles: before its name the converter, whose arguments may hold a colon.
fn converted(made: &mut String, inside: &str) {
    parameter(made, inside.rsplit_once(':').map_or(inside, |(_, name)| name));
}

/// A regular expression: its groups by their names, without anchors. What else it says stays as it stands, but for the
/// parameters of paths that it is included in, or that it includes.
fn expression(path: &str) -> String {
    let mut made = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(letter) = rest.chars().next() {
        if letter == '('
            && let Some((inside, behind)) = enclosed(rest, '(', ')')
        {
            match inside.strip_prefix("?P<").and_then(|named| named.split_once('>')) {
                Some((name, _)) => parameter(&mut made, name),
                None if inside.starts_with("?:") => made.push_str(&rest[..rest.len() - behind.len()]),
                None => parameter(&mut made, ""),
            }
            rest = behind;
            continue;
        }
        if letter == '<'
            && let Some((inside, behind)) = enclosed(rest, '<', '>')
        {
            converted(&mut made, inside);
            rest = behind;
            continue;
        }
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            '^' | '$' => after,
            '\\' if after.starts_with(['Z', 'A']) => &after[1..],
            '\\' if after.starts_with(['.', '-', '/']) => {
                made.push_str(&after[..1]);
                &after[1..]
            }
            _ => {
                made.push(letter);
                after
            }
        };
    }
    made
}

/// The deepest optional part that is one; braces within it stay as they stand. A path nests a few, and each takes room on
/// the stack.
const DEEPEST: usize = 32;

/// `depth` is the number of optional parts around it.
fn colons(path: &str, depth: usize) -> String {
    let mut made = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(letter) = rest.chars().next() {
        // An optional part, in Express.
        if letter == '{'
            && depth < DEEPEST
            && let Some((inside, behind)) = enclosed(rest, '{', '}')
        {
            made.push('[');
            made.push_str(&colons(inside, depth + 1));
            made.push(']');
            rest = behind;
            continue;
        }
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            // Two of them are one that begins no parameter, in Fastify.
            ':' if after.starts_with(':') => {
                made.push(':');
                &after[1..]
            }
            '\\' => {
                let next = after.chars().next();
                made.extend(next);
                &after[next.map_or(0, char::len_utf8)..]
            }
            ':' | '*' => {
                let length = name_length(after);
                if length == 0 {
                    made.push(letter);
                    after
                } else {
                    parameter(&mut made, after[..length].trim_matches('"'));
                    constraint(&after[length..])
                }
            }
            _ => {
                made.push(letter);
                after
            }
        };
    }
    made
}

/// The rest behind what a parameter's value must be like.
fn constraint(rest: &str) -> &str {
    let found = match rest.chars().next() {
        Some('(') => enclosed(rest, '(', ')'),
        // An optional part of Express's begins with something that is no constraint.
        Some('{') if !rest.starts_with("{/") && !rest.starts_with("{.") && !rest.starts_with("{-") => {
            enclosed(rest, '{', '}')
        }
        _ => None,
    };
    found.map_or(rest, |(_, behind)| behind)
}

fn name_length(text: &str) -> usize {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.find('"').map_or(0, |at| at + 2);
    }
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$').unwrap_or(text.len())
}

fn parameter(made: &mut String, name: &str) {
    made.push('{');
    made.push_str(name.trim());
    made.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_has_a_template_and_braces_keep_theirs() {
        let parts = [":", "{", "}", "<", ">", "(", ")", "?P<", "\\", "*", "/", "a", "^", "$", "\"", "é"];
        for (index, one) in parts.iter().enumerate() {
            for (other_index, other) in parts.iter().enumerate() {
                for last in parts {
                    let path = format!("/{one}{other}{last}");
                    for syntax in [Syntax::Braces, Syntax::Angles, Syntax::Colons] {
                        assert!(template(&path, syntax).starts_with('/'), "{index} {other_index} {path}");
                    }
                }
            }
        }
        for path in ["/users/{id}", "/", "/a/*", "/a/"] {
            assert_eq!(template(path, Syntax::Braces), path);
        }
    }

    #[test]
    fn optional_parts_may_be_nested_as_deep_as_they_like() {
        let nested = |depth: usize| format!("/a{}{}", "{/b".repeat(depth), "}".repeat(depth));
        assert_eq!(template(&nested(3), Syntax::Colons), "/a[/b[/b[/b]]]");
        assert!(template(&nested(20_000), Syntax::Colons).starts_with("/a[/b[/b"));
    }

    #[test]
    fn a_flood_of_names_is_not_kept() {
        let mut names = Names::new();
        for place in 0..20_000 {
            assert!(names.claim(&place.to_string(), place));
        }
        assert_eq!(names.places.len(), MOST_NAMES);
        assert!(!names.claim("7", 8), "those that are known are still told apart");
        names.release(7);
        assert!(names.claim("7", 8));
        for size in 1..=20_000 {
            assert_eq!(names.define(&Limit::bucket(size.to_string(), size).build().expect("a bucket")), None);
        }
        assert_eq!(names.definitions.len(), MOST_NAMES);
        assert!(names.define(&Limit::bucket("7", 8).build().expect("a bucket")).is_some());
    }
}
