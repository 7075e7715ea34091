//! Errors of documents of limits.

use std::fmt;

use super::path::join;
use crate::error::LimitError;

/// Everything that is wrong with a document of limits, in its order.
///
/// ```
/// use tidegate::config::{Format, Limits};
///
/// let error = Limits::from_str(r#"{ "api": "10/fortnight", "login": 5 }"#, Format::Json).unwrap_err();
/// assert_eq!(error.errors().len(), 2);
/// assert_eq!(error.errors()[1].to_string(), "login: must be text or a table, got 5");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}", .faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct LimitsError {
    /// The file, where it came from one.
    origin: String,
    faults: Vec<Fault>,
}

impl LimitsError {
    pub(super) fn new(origin: String, faults: Vec<Fault>) -> Self {
        Self { origin, faults }
    }

    /// Every error, in the order of the document; never none.
    #[must_use]
    pub fn errors(&self) -> &[Fault] {
        &self.faults
    }
}

/// One thing that is wrong with a document of limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    position: Option<(u64, u64)>,
    cause: Cause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    Problem(String),
    Limit(LimitError),
}

impl Fault {
    pub(super) fn new(path: String, problem: impl Into<String>) -> Self {
        Self { path, position: None, cause: Cause::Problem(problem.into()) }
    }

    pub(super) fn of_limit(path: String, error: LimitError) -> Self {
        Self { path, position: None, cause: Cause::Limit(error) }
    }

    pub(super) fn of_text(problem: impl Into<String>) -> Self {
        Self::new(String::new(), problem)
    }

    /// A limit that a program asks for is not there.
    pub(super) fn absent(name: &str) -> Self {
        Self::new(join("", name), "must be given: the program asks for it")
    }

    /// A limit holds units, or spends them, where it did the other while the program ran.
    pub(super) fn other_calls(name: &str, holds: bool) -> Self {
        let problem = if holds { "must not become" } else { "must stay" };
        Self::new(join("", name), format!("{problem} of type concurrency while the program runs"))
    }

    /// A fault in the syntax, at a line and a column counted from 1.
    pub(super) fn of_syntax(problem: impl Into<String>, position: Option<(u64, u64)>) -> Self {
        Self { position, ..Self::of_text(problem) }
    }

    /// The path inside the document, such as `limits.login.size`; empty where all of the document is meant.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The problem, without its path.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.cause {
            Cause::Problem(problem) => problem.clone(),
            Cause::Limit(error) => error.to_string(),
        }
    }

    /// The definition's own error, unless the document itself is at fault.
    #[must_use]
    pub fn limit_error(&self) -> Option<&LimitError> {
        match &self.cause {
            Cause::Problem(_) => None,
            Cause::Limit(error) => Some(error),
        }
    }

    /// The line of a syntax error, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.position.map(|(line, _)| line)
    }

    /// The column of a syntax error, counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<u64> {
        self.position.map(|(_, column)| column)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message())
    }
}
