//! Limits as one string: for arguments of a command line, variables of the environment, and logs.

use std::fmt;
use std::str::FromStr;

use super::{Limit, Value};
use crate::error::LimitError;

/// From a key, a colon and the limit as text, or from the wire form as JSON.
///
/// The last colon ends the key, so a key may have colons itself; blanks around both parts do not matter. A text alone has
/// no key, and two limits without one would share their entries: [`Limit::parse`] takes it beside the text.
///
/// ```
/// use tidegate::Limit;
///
/// let api: Limit = "api: 5/15m burst 20".parse()?;
/// assert_eq!(api, Limit::parse("api", "5/15m burst 20")?);
///
/// let login: Limit = r#"{ "key": "login", "type": "bucket", "size": 10 }"#.parse()?;
/// assert_eq!(login.to_string().parse::<Limit>()?, login);
///
/// let error = "100/minute".parse::<Limit>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"definition must have a key and a colon before it, as in "api: 100/minute", got "100/minute""#
/// );
/// # Ok::<(), tidegate::LimitError>(())
/// ```
impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        if text.trim_start().starts_with('{') {
            return Self::from_json(text);
        }
        let Some((key, definition)) = text.rsplit_once(':') else {
            let problem = r#"must have a key and a colon before it, as in "api: 100/minute""#;
            return Err(LimitError::range("", "definition", problem, Value::Text(text.to_owned())));
        };
        Self::parse(key.trim(), definition.trim())
    }
}

/// The wire form as JSON, as [`to_json`](Limit::to_json) gives it.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}
