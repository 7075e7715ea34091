//! The settings of outgoing calls by their names, as the bindings pass them.

use std::collections::HashSet;

use super::{IDEMPOTENT, Outgoing};
use crate::error::LimitError;
use crate::limit::{Limit, Value};
use crate::near::hint;

/// The names of all options of [`Outgoing::from_fields`].
pub const OUTGOING_OPTIONS: [&str; 5] = ["retries", "retryMethods", "backoff", "maxBackoff", "maxWait"];

/// The longest time of an option in seconds: 100 years.
const LONGEST: f64 = 3_155_760_000.0;

impl Outgoing {
    /// Settings by their names, of which [`OUTGOING_OPTIONS`] lists all; one that is null is as if it were not given.
    /// Times are in seconds, or in milliseconds where the name ends in `Ms`. `retryMethods` is passed as one field for each
    /// method.
    ///
    /// - `retries`: how often a refused request is repeated, 0 unless given.
    /// - `retryMethods`: the methods that are, the idempotent ones unless given.
    /// - `backoff`: the first wait where the server says nothing, 1 s unless given; each further one is twice as long.
    /// - `maxBackoff`: the longest of these, 30 s unless given.
    /// - `maxWait`: the longest wait of a request for its turn, and for its repetition. There is no bound unless given.
    ///
    /// ```
    /// use tidegate::Limit;
    /// use tidegate::http::Outgoing;
    /// use tidegate::limits::Value;
    ///
    /// let api = Limit::bucket("api", 10).build()?;
    /// let error = Outgoing::from_fields([api], [("retries".to_owned(), Value::Number(-1.0))]).unwrap_err();
    /// assert_eq!(error.to_string(), "retries must be a whole number from 0 to 100, got -1");
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no limit, one key has two definitions, an option does not exist, or a value has the wrong type or is
    /// out of bounds.
    pub fn from_fields(
        limits: impl IntoIterator<Item = Limit>,
        fields: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Self, LimitError> {
        let mut made = Self {
            limits: limits.into_iter().collect(),
            retries: 0,
            methods: Vec::new(),
            backoff_ms: 1000.0,
            max_backoff_ms: 30_000.0,
            max_wait_ms: None,
        };
        if made.limits.is_empty() {
            return Err(LimitError::range("", "limits", "must hold at least one limit", "none"));
        }
        // Else no request could be decided.
        for (at, limit) in made.limits.iter().enumerate() {
            if made.limits.iter().take(at).any(|other| other.key() == limit.key() && other != limit) {
                let given = limit.kind().type_name().unwrap_or("a legacy limit");
                return Err(LimitError::range(limit.key(), "limits", "must not define one key in two ways", given));
            }
        }
        let mut keys = HashSet::new();
        made.limits.retain(|limit| keys.insert(limit.key().to_owned()));
        for (name, value) in fields {
            if !OUTGOING_OPTIONS.contains(&plain(&name)) {
                let problem = format!("is not an option here{}", hint(&name, OUTGOING_OPTIONS));
                return Err(LimitError::wrong_type("", &crate::error::excerpt(&name), problem, "a value"));
            }
            if value != Value::Null {
                made.take(&name, &value)?;
            }
        }
        if made.methods.is_empty() {
            made.methods = IDEMPOTENT.map(str::to_owned).to_vec();
        }
        Ok(made)
    }

    fn take(&mut self, name: &str, value: &Value) -> Result<(), LimitError> {
        match plain(name) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its bounds")]
            "retries" => {
                let count = number(name, value, 100.0, "must be a whole number from 0 to 100")?;
                if count.fract() > 0.0 {
                    return Err(LimitError::range("", name, "must be a whole number from 0 to 100", count));
                }
                self.retries = count as u32;
            }
            "retryMethods" => match value {
                Value::Text(method) if is_token(method) => self.methods.push(method.to_ascii_uppercase()),
                Value::Text(_) => return Err(LimitError::range("", name, "must hold methods", value)),
                // A list without any is no wish for those that are repeated by default.
                Value::Other(_) => {
                    return Err(LimitError::wrong_type("", name, "must hold at least one method", value));
                }
                other => return Err(LimitError::wrong_type("", name, "must hold methods", other)),
            },
            "backoff" => self.backoff_ms = time(name, value)?,
            "maxBackoff" => self.max_backoff_ms = time(name, value)?,
            _ => self.max_wait_ms = Some(time(name, value)?),
        }
        Ok(())
    }
}

/// The name of a time without the unit that a host language puts behind it.
fn plain(name: &str) -> &str {
    let time = name.strip_suffix("Ms").filter(|time| ["backoff", "maxBackoff", "maxWait"].contains(time));
    time.unwrap_or(name)
}

fn is_token(method: &str) -> bool {
    !method.is_empty() && method.len() <= 32 && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A time in milliseconds, of which an error shows what was given.
fn time(name: &str, value: &Value) -> Result<f64, LimitError> {
    let (unit, units) = if name.ends_with("Ms") { (1.0, "milliseconds") } else { (1000.0, "seconds") };
    let problem = format!("must be at least 0 {units}, and at most 100 years");
    Ok(number(name, value, LONGEST * 1000.0 / unit, &problem)? * unit)
}

fn number(name: &str, value: &Value, most: f64, problem: &str) -> Result<f64, LimitError> {
    match value {
        Value::Number(number) if (0.0..=most).contains(number) => Ok(*number),
        Value::Number(number) => Err(LimitError::range("", name, problem, number)),
        other => Err(LimitError::wrong_type("", name, "must be a number", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_time_has_a_unit_in_its_name() {
        let made = |name: &str, value: f64| {
            let api = Limit::bucket("api", 10).build().expect("a limit");
            Outgoing::from_fields([api], [(name.to_owned(), Value::Number(value))]).map_err(|error| error.to_string())
        };
        for (seconds, millis) in [("backoff", "backoffMs"), ("maxBackoff", "maxBackoffMs"), ("maxWait", "maxWaitMs")] {
            let figures = |made: Outgoing| (made.backoff_ms, made.max_backoff_ms, made.max_wait_ms);
            assert_eq!(made(seconds, 2.0).map(figures), made(millis, 2000.0).map(figures));
        }
        assert_eq!(
            made("retriesMs", 2.0).expect_err("no such option"),
            "retriesMs is not an option here (did you mean retries?), got a value"
        );
    }

    #[test]
    fn one_key_has_one_definition() {
        let api = |size| Limit::bucket("api", size).build().expect("a limit");
        let made = |limits: [Limit; 2]| Outgoing::from_fields(limits, []).map_err(|error| error.to_string());
        assert_eq!(made([api(10), api(10)]).map(|made| made.limits.len()), Ok(1));
        assert_eq!(
            made([api(10), api(20)]).expect_err("two definitions"),
            r#"limit "api": limits must not define one key in two ways, got bucket"#
        );
    }
}
