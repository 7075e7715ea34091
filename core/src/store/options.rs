//! The options of a limiter, said once: their names, units, bounds and defaults, and how each is read.

use std::fs;
use std::time::Duration;

use crate::error::LimitError;
use crate::limit::Value;
use crate::store::memory::Memory;

/// One option of a limiter.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StoreOption {
    /// Its name, as [`Limiter::open`](crate::Limiter::open) takes it.
    pub name: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// Its value unless it is given.
    pub default: &'static str,
    /// Its documentation behind a space; the names of other options stand in backquotes.
    pub about: &'static str,
}

/// The type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A string.
    Text,
    /// A string that is never shown.
    Secret,
    /// The path of a file.
    File,
    /// A time from so many milliseconds to an hour.
    Milliseconds(f64),
    /// A whole number within these bounds.
    Count(f64, f64),
    /// One of these names.
    Choice(&'static [&'static str]),
    /// True or false.
    Flag,
}

const HOUR_MS: f64 = 3_600_000.0;
/// More than any machine's memory holds, and exact as a double.
const MOST_ENTRIES: f64 = 1e12;

/// Defines [`STORE_OPTIONS`]: documentation, name, type and default of each.
macro_rules! options {
    ($($(#[doc = $about:literal])+ $name:literal: $takes:expr, $default:literal;)+) => {
        /// Every option there is. Those of a store that is shared are checked for one in memory too, and change nothing
        /// there, so that only the URL has to differ between stores.
        pub const STORE_OPTIONS: &[StoreOption] = &[
            $(StoreOption { name: $name, takes: $takes, default: $default, about: concat!($($about),+) },)+
        ];
    };
}

options! {
    /// The beginning of the names of all keys in the store.
    "namespace": Takes::Text, "\"tidegate\", and nothing in the sharkey layout";
    /// The most entries that this process keeps; of a shared store, while it cannot decide.
    "maxEntries": Takes::Count(1.0, MOST_ENTRIES), "1000000";
    /// The longest time that a decision may take, connecting included.
    "timeout": Takes::Milliseconds(1.0), "100";
    /// The policy for calls that the store cannot decide.
    "onError": Takes::Choice(&["local", "allow", "deny", "raise"]), "\"local\"";
    /// The longest time for which this process remembers that a call was denied, and denies it again without asking;
    /// never longer than the denial itself said. 0 asks every time.
    "denyCache": Takes::Milliseconds(0.0), "1000";
    /// The number of replicas that must have a charge before its call is answered; where too few acknowledge it in
    /// time, the charge stays on the primary and the call is answered as `onError` says. 0 waits for none.
    "waitReplicas": Takes::Count(0.0, u32::MAX as f64), "0";
    /// The way to decide at the server: by a script, in one round trip, or by transactions, for servers that run no
    /// scripts; those take buckets alone.
    "strategy": Takes::Choice(&["script", "transactions"]), "\"script\"";
    /// The entries on the server: one key of our own each, or the two keys of Sharkey's nodes, for buckets alone.
    "layout": Takes::Choice(&["own", "sharkey"]), "\"own\"";
    /// The user, in place of the URL's.
    "username": Takes::Text, "that of the URL";
    /// The password, in place of the URL's.
    "password": Takes::Secret, "that of the URL";
    /// The user for sentinels, which have logins of their own.
    "sentinelUsername": Takes::Text, "that of the URL";
    /// The password for sentinels.
    "sentinelPassword": Takes::Secret, "that of the URL";
    /// A file of authorities to trust in place of the system's.
    "sslCaCerts": Takes::File, "the system's authorities";
    /// A file with the certificate to show the server.
    "sslCertfile": Takes::File, "none";
    /// A file with the key of that certificate.
    "sslKeyfile": Takes::File, "the certificate's own file";
    /// `none` takes any certificate for the server's own, with a warning.
    "sslCertReqs": Takes::Choice(&["required", "optional", "none"]), "\"required\"";
    /// The authorities to trust in place of the system's.
    "tls.ca": Takes::Secret, "the system's authorities";
    /// The certificate to show the server; with `key`.
    "tls.cert": Takes::Secret, "none";
    /// The key of that certificate.
    "tls.key": Takes::Secret, "none";
    /// False takes any certificate for the server's own, with a warning.
    "tls.rejectUnauthorized": Takes::Flag, "true";
}

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

    fn milliseconds(self) -> f64 {
        if self == Self::Python { 1000.0 } else { 1.0 }
    }

    fn unit(self) -> &'static str {
        if self == Self::Python { " seconds" } else { "" }
    }

    fn value(self, value: &Value) -> String {
        match (self, value) {
            (Self::Python, Value::Bool(true)) => "True".to_owned(),
            (Self::Python, Value::Bool(false)) => "False".to_owned(),
            (Self::Python, Value::Null) => "None".to_owned(),
            _ => value.to_string(),
        }
    }
}

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
                let name = crate::error::excerpt(&name);
                // What it was given may be a password.
                return Err(LimitError::wrong_type("", &name, "is not an option of a limiter", "a value"));
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

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within its bounds")]
    pub(crate) fn max_entries(&self) -> Option<usize> {
        self.number("maxEntries").map(|most| most as usize)
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
        Value::Other(_) => "something else",
    }
}
