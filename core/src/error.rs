//! Errors of limits, costs, factors and stores.

use std::fmt;

/// The kind of an error: a value of the wrong type, or one out of its range.
///
/// The bindings turn this into the host language's own distinction (`TypeError` and `RangeError` in JavaScript).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The value is not of the type that the field takes, or the field does not exist.
    Type,
    /// The value has the right type but is outside the field's bounds.
    Range,
}

/// The error for an invalid definition, actor, cost, factor or time; nothing was stored.
///
/// It names the limit's key, the field and the value.
///
/// ```
/// use tidegate::Limit;
///
/// let error = Limit::bucket("login", 0).build().unwrap_err();
/// assert_eq!(error.to_string(), r#"limit "login": size must be at least 1, got 0"#);
/// assert_eq!(error.field(), "size");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    key: String,
    field: String,
    problem: String,
    value: String,
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "limit \"{}\": ", self.key)?;
        }
        write!(f, "{} {}, got {}", self.field, self.problem, self.value)
    }
}

impl LimitError {
    /// `problem` completes the sentence "`field` …", as in "must be at least 1".
    pub fn new(
        kind: ErrorKind,
        key: &str,
        field: impl Into<String>,
        problem: impl Into<String>,
        value: impl fmt::Display,
    ) -> Self {
        Self(Box::new(Details {
            kind,
            key: excerpt(key),
            field: field.into(),
            problem: problem.into(),
            value: excerpt(&brief(value.to_string())),
        }))
    }

    pub(crate) fn range(key: &str, field: &str, problem: impl Into<String>, value: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Range, key, field, problem, value)
    }

    pub(crate) fn wrong_type(key: &str, field: &str, problem: impl Into<String>, value: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Type, key, field, problem, value)
    }

    /// The same error where it is due to an actor's factor.
    pub(crate) fn by_factor(self, factor: f64) -> Self {
        if self.field() == "factor" {
            return self;
        }
        let Details { kind, key, field, problem, .. } = *self.0;
        Self::new(kind, &key, "factor", format!("must leave a sound limit, whose {field} {problem}"), factor)
    }

    /// Wrong type, or out of range.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The key of the limit, cut short where it is long; empty where none was given.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The field at fault, as the wire form spells it: `size`, `dripRate`, `cost`, …
    #[must_use]
    pub fn field(&self) -> &str {
        &self.0.field
    }

    /// The problem, as in "must be at least 1".
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// The value at fault as text, cut short where it is long.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0.value
    }
}

/// A number that would take more than 21 digits, with an exponent, and any other value as it is: texts are in quotes.
fn brief(value: String) -> String {
    if value.len() <= 21 || !value.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-')) {
        return value;
    }
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => format!("{number:e}"),
        _ => value,
    }
}

/// An excerpt of a caller's text that is readable in a log: printable and at most 80 characters.
pub(crate) fn excerpt(text: &str) -> String {
    shortened(text, 80)
}

/// Printable, and at most so many characters.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(longest)
        .flat_map(|c| {
            let escaped: Vec<char> = if c.is_control() { c.escape_default().collect() } else { vec![c] };
            escaped
        })
        .collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

/// The error of a shared store that did not decide a call, with the policy [`Raise`](crate::remote::OnError::Raise), or
/// that failed a [ping](crate::Limiter::ping).
#[cfg(feature = "remote")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store did not decide: {0}")]
pub struct StoreError(Box<Trouble>);

#[cfg(feature = "remote")]
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trouble {
    failure: crate::failure::Failure,
    /// The kind of the store.
    kind: &'static str,
    server: String,
    cause: Option<String>,
}

#[cfg(feature = "remote")]
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failure, kind, server, cause } = self;
        write!(f, "{failure}")?;
        if !server.is_empty() {
            write!(f, ", {kind} at {server}")?;
        }
        cause.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(feature = "remote")]
impl StoreError {
    /// An error for this failure, of a server that is not known.
    #[must_use]
    pub fn new(failure: crate::failure::Failure) -> Self {
        Self(Box::new(Trouble { failure, kind: "", server: String::new(), cause: None }))
    }

    /// Names the kind of the store, such as `redis`, and the server.
    #[must_use]
    pub fn at(mut self, kind: &'static str, server: impl fmt::Display) -> Self {
        (self.0.kind, self.0.server) = (kind, server.to_string());
        self
    }

    /// Adds the message of the server or the system.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The kind of the failure, for programs.
    #[must_use]
    pub fn failure(&self) -> crate::failure::Failure {
        self.0.failure
    }

    /// The server that did not decide; empty if it is unknown.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// The reason in words.
    #[must_use]
    pub fn reason(&self) -> String {
        self.0.failure.to_string()
    }

    /// The message of the server or the system, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }
}

impl Error {
    /// True if the store may have charged the call all the same; see
    /// [`Failure::may_have_happened`](crate::remote::Failure::may_have_happened).
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Limit(_) => false,
            #[cfg(feature = "remote")]
            Self::Store(error) => error.failure().may_have_happened(),
            // Its call goes on without its caller.
            #[cfg(feature = "remote")]
            Self::Interrupted => true,
        }
    }
}

/// Everything that a call can fail with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The definition, the cost, the factor or the time is invalid.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The store did not decide.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The wait for the store was interrupted; only within `ffi::while_waiting`.
    #[cfg(feature = "remote")]
    #[error("the wait for the store was interrupted")]
    Interrupted,
}
