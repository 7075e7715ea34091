//! The one list of types, and all that follows from it.

use super::form::Form;
use super::number::Scope;
use super::rules::Rules;
use crate::error::LimitError;

/// A type of limit: its wire form, and the rules that it compiles to.
pub(super) trait Definition: Sized {
    /// Its name in the wire form; the legacy form has none.
    const TYPE: Option<&'static str>;

    /// A definition in the wire form, for the examples of the documentation.
    const EXAMPLE: &'static str;

    /// Goes through its fields.
    fn form(form: &mut impl Form) -> Self;

    /// Checks its fields and compiles them, scaled for one actor.
    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError>;

    /// A denied call is charged as well.
    fn counts_blocked(&self) -> bool {
        false
    }
}

/// Makes [`Kind`](super::Kind) of the types, each given as its module and its name.
macro_rules! kinds {
    ($($module:ident::$kind:ident),* $(,)?) => {
        /// The types of limits.
        pub(crate) mod types {
            $(pub use super::$module::$kind;)*
        }

        pub(crate) use types::*;

        /// A limit's type with its parameters: a definition without a key.
        ///
        /// ```
        /// use std::time::Duration;
        /// use tidegate::Limit;
        /// use tidegate::limits::Kind;
        ///
        /// let limit = Limit::parse("api", "5/15m burst 20")?;
        /// let Kind::TokenBucket(bucket) = limit.kind() else { panic!("another type") };
        /// assert_eq!((bucket.count(), bucket.period(), bucket.burst()), (5, Duration::from_secs(900), Some(20)));
        ///
        /// let kind: Kind = serde_json::from_str(r#"{ "type": "token-bucket", "count": 5, "period": 900000, "burst": 20 }"#)?;
        /// assert_eq!(Limit::new("api", kind)?, limit);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum Kind {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`].")]
                $kind($kind),
            )*
        }

        $(
            impl From<$kind> for Kind {
                fn from(definition: $kind) -> Self {
                    Self::$kind(definition)
                }
            }

            /// From the wire form without a key, as a [`Kind`]; another type is an error.
            impl<'de> serde::Deserialize<'de> for $kind {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    match Kind::deserialize(deserializer)? {
                        Kind::$kind(definition) => Ok(definition),
                        other => Err(serde::de::Error::custom(other.instead_of(<$kind as Definition>::TYPE))),
                    }
                }
            }
        )*

        impl Kind {
            /// Its name in the wire form; the legacy form has none.
            pub(crate) fn type_name(&self) -> Option<&'static str> {
                match self {
                    $(Self::$kind(_) => <$kind as Definition>::TYPE,)*
                }
            }

            /// The type of this name, made of the fields that a form gives it; none where there is no such type.
            fn read(form: &mut impl Form, name: Option<&str>) -> Option<Self> {
                $(
                    if name == <$kind as Definition>::TYPE {
                        return Some(<$kind as Definition>::form(form).into());
                    }
                )*
                None
            }

            fn compile(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
                let rules = match self {
                    $(Self::$kind(definition) => Definition::rules(definition, scope),)*
                }?;
                Ok(rules.with_block(self.block_rule(scope.key)?))
            }

            fn counts_blocked(&self) -> bool {
                match self {
                    $(Self::$kind(definition) => Definition::counts_blocked(definition),)*
                }
            }

            /// All types, in the order of the list.
            pub(crate) fn outlines() -> Vec<Outline> {
                vec![$(Outline::of::<$kind>(stringify!($kind))),*]
            }
        }
    };
}

pub(super) use kinds;
