//! The options of a limiter, read and checked.

use std::fs;
use std::time::Duration;

use super::dialect::Dialect;
use super::option_list::{HOUR_MS, STORE_OPTIONS, StoreOption, Takes};
use crate::error::LimitError;
use crate::limit::Value;
use crate::near::hint;
use crate::store::memory::Memory;

/// Options as they were given, each checked for itself.
pub(crate) struct Given {
    values: Vec<(&'static str, Checked)>,
    dialect: Dialect,
}

enum Checked {
    Text(String),
    Number(f64),
    Flag(bool),
}

impl Given {
    /// Checks every option; one that is null is as if it were not given.
    pub(crate) fn read(
        dialect: Dialect,
        fields: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Self, LimitError> {
        let mut given = Self { values: Vec::new(), dialect };
        for (name, value) in fields {
            let is_it = |option: &&StoreOption| dialect.name_of(option).as_ref() == Some(&name);
            let Some(option) = STORE_OPTIONS.iter().find(is_it) else {
                let near = hint(&name, STORE_OPTIONS.iter().filter_map(|option| dialect.name_of(option)));
                let problem = format!("is not an option of a limiter{near}");
                // What it was given may be a password.
                return Err(LimitError::wrong_type("", &crate::error::excerpt(&name), problem, "a value"));
            };
            if given.values.iter().any(|(known, _)| *known == option.name) {
                return Err(LimitError::wrong_type("", &name, "must be given once", "two values"));
            }
            if value != Value::Null {
                given.values.push((option.name, dialect.check(&name, option.takes, value)?));
            }
        }
        for (name, beside) in [("sslKeyfile", "sslCertfile"), ("tls.key", "tls.cert"), ("tls.cert", "tls.key")] {
            if given.text(name).is_some() && given.text(beside).is_none() {
                let problem = format!("must go with {}", given.spelled(beside));
                return Err(LimitError::range("", &given.spelled(name), problem, "it alone"));
            }
        }
        Ok(given)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find_map(|(known, value)| match value {
            Checked::Text(text) if *known == name => Some(text.as_str()),
            _ => None,
        })
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.values.iter().find_map(|(known, value)| match value {
            Checked::Number(number) if *known == name => Some(*number),
            _ => None,
        })
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.values.iter().find_map(|(known, value)| match value {
            Checked::Flag(flag) if *known == name => Some(*flag),
            _ => None,
        })
    }

    /// A duration in the language's unit; one above zero does not round to zero.
    pub(crate) fn time(&self, name: &str) -> Option<Duration> {
        let millis = self.number(name)?;
        let shortest = if millis > 0.0 { Duration::from_micros(1) } else { Duration::ZERO };
        Some(Duration::from_secs_f64(millis / 1000.0).max(shortest))
    }

    pub(crate) fn file(&self, name: &'static str) -> Result<Option<Vec<u8>>, LimitError> {
        let Some(path) = self.text(name) else { return Ok(None) };
        let refused = |error| {
            let problem = format!("must be a file that can be read ({error})");
            LimitError::range("", &self.spelled(name), problem, path)
        };
        fs::read(path).map(Some).map_err(refused)
    }

    /// The option's name as the caller knows it.
    fn spelled(&self, name: &str) -> String {
        let option = STORE_OPTIONS.iter().find(|option| option.name == name);
        option.and_then(|option| self.dialect.name_of(option)).unwrap_or_else(|| name.to_owned())
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.text("namespace")
    }

    pub(crate) fn memory(&self) -> Memory {
        self.max_entries().map_or_else(Memory::new, Memory::with_max_entries)
    }

    pub(crate) fn max_entries(&self) -> Option<usize> {
        self.count("maxEntries")
    }

    pub(crate) fn max_waiters(&self) -> Option<usize> {
        self.count("maxWaiters")
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within its bounds")]
    fn count(&self, name: &str) -> Option<usize> {
        self.number(name).map(|number| number as usize)
    }
}

impl Dialect {
    fn check(self, name: &str, takes: Takes, value: Value) -> Result<Checked, LimitError> {
        let wrong_type = |problem: &str, value: &Value| {
            let shown = if takes == Takes::Secret { kind(value).to_owned() } else { self.value(value) };
            Err(LimitError::wrong_type("", name, problem, shown))
        };
        match (takes, value) {
            (Takes::Text | Takes::Secret | Takes::File, Value::Text(text)) => Ok(Checked::Text(text)),
            (Takes::Text | Takes::Secret | Takes::File | Takes::Choice(_), Value::Malformed) => {
                Err(Value::Malformed.not_text("", name))
            }
            (Takes::Text | Takes::Secret, other) => wrong_type("must be a string", &other),
            (Takes::File, other) => wrong_type("must be the path of a file", &other),
            (Takes::Flag, Value::Bool(flag)) => Ok(Checked::Flag(flag)),
            (Takes::Flag, other) => wrong_type("must be true or false", &other),
            (Takes::Milliseconds(least), Value::Number(number)) => {
                let millis = number * self.milliseconds();
                if (least..=HOUR_MS).contains(&millis) {
                    return Ok(Checked::Number(millis));
                }
                let (least, most) = (least / self.milliseconds(), HOUR_MS / self.milliseconds());
                let problem = format!("must be from {least} to {most}{}", self.unit());
                Err(LimitError::range("", name, problem, number))
            }
            (Takes::Milliseconds(_), other) if self == Self::Python => {
                wrong_type("must be a number of seconds, or a timedelta", &other)
            }
            (Takes::Milliseconds(_), other) => wrong_type("must be a number", &other),
            (Takes::Count(least, most), Value::Number(number)) => {
                if (least..=most).contains(&number) && number.fract() == 0.0 {
                    return Ok(Checked::Number(number));
                }
                Err(LimitError::range("", name, format!("must be a whole number from {least} to {most}"), number))
            }
            (Takes::Count(..), other) => wrong_type("must be a whole number", &other),
            (Takes::Choice(names), Value::Text(text)) => {
                if names.contains(&text.as_str()) {
                    return Ok(Checked::Text(text));
                }
                Err(LimitError::range("", name, one_of(names), Value::Text(text)))
            }
            (Takes::Choice(names), other) => wrong_type(&one_of(names), &other),
        }
    }
}

fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("must be {} or {last}", others.join(", ")),
        _ => format!("must be {}", names.join("")),
    }
}

/// The type of a value that must not be shown.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "a number",
        Value::Text(_) => "a string",
        Value::Bool(_) => "a boolean",
        Value::Null => "nothing",
        Value::Malformed => "a string with a lone surrogate",
        Value::Other(_) => "something else",
    }
}
