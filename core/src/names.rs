//! The names of an enum's values, as options and definitions spell them.

use crate::error::LimitError;

/// The error for a name that is none of these.
#[cold]
pub(crate) fn unknown<'a>(field: &str, names: impl IntoIterator<Item = &'a str>, given: &str) -> LimitError {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("{name:?}")).collect();
    let problem = match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("must be {} or {last}", others.join(", ")),
        _ => format!("must be {}", quoted.concat()),
    };
    LimitError::range("", field, problem, format_args!("{given:?}"))
}

/// Gives the values of an enum their names: `name`, `FromStr` and `Display`. An error calls the enum `$field`.
macro_rules! named {
    ($type:ident, $field:literal, $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// Every value by its name.
            pub(crate) const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant)),+];

            /// Its name, the same in every language.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// From its [name](Self::name).
        impl std::str::FromStr for $type {
            type Err = crate::error::LimitError;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::NAMES.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| *value).ok_or_else(|| {
                    crate::names::unknown($field, Self::NAMES.iter().map(|(known, _)| *known), name)
                })
            }
        }

        /// Its [name](Self::name).
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
