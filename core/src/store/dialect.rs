//! The dialects of the languages.

use super::option_list::{StoreOption, Takes};
use crate::error::LimitError;
use crate::limit::Value;

/// The dialect of a language: its spelling of option names, and its unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// As the wire form does: `denyCache`, in milliseconds.
    #[default]
    Wire,
    /// `deny_cache`, in seconds.
    Python,
    /// `denyCacheMs`.
    JavaScript,
}

impl Dialect {
    /// The name of an option, or none where this language has no such option.
    #[must_use]
    pub fn name_of(self, option: &StoreOption) -> Option<String> {
        match self {
            Self::JavaScript if option.name.starts_with("ssl") => None,
            Self::JavaScript if matches!(option.takes, Takes::Milliseconds(_)) => Some(format!("{}Ms", option.name)),
            Self::Wire | Self::JavaScript => Some(option.name.to_owned()),
            Self::Python if option.name.contains('.') => None,
            Self::Python => {
                let spelled = option.name.chars().flat_map(|c| {
                    let underscore = c.is_ascii_uppercase().then_some('_');
                    underscore.into_iter().chain([c.to_ascii_lowercase()])
                });
                Some(spelled.collect())
            }
        }
    }

    pub(super) fn milliseconds(self) -> f64 {
        if self == Self::Python { 1000.0 } else { 1.0 }
    }

    pub(super) fn unit(self) -> &'static str {
        if self == Self::Python { " seconds" } else { "" }
    }

    pub(super) fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Python, Value::Bool(true)) => "True".to_owned(),
            (Self::Python, Value::Bool(false)) => "False".to_owned(),
            (Self::Python, Value::Null) => "None".to_owned(),
            _ => value.to_string(),
        }
    }

    /// This error with the names and values of this language: `maxWaitMs` and `Infinity` in JavaScript. Python spells a
    /// field by whether it was a parameter or a key of a mapping, and so does it by itself.
    #[must_use]
    pub fn error(self, error: LimitError) -> LimitError {
        if self != Self::JavaScript {
            return error;
        }
        let field = match error.field() {
            "maxWait" => "maxWaitMs",
            "retryAfter" => "retryAfterMs",
            "time" => "forMs",
            other => other,
        };
        let value = match error.value() {
            "inf" => "Infinity",
            "-inf" => "-Infinity",
            other => other,
        };
        LimitError::new(error.kind(), error.key(), field, error.problem(), value)
    }
}
