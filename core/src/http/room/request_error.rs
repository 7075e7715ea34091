//! Errors of a decision that a request has caused, and not the program.

use crate::error::LimitError;
use crate::names::named;

/// The error of a request that cannot be decided, because of a key or a cost that was computed from it.
///
/// It is the client's mistake: the response has the status 400 or 413, and nothing is logged as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestError {
    /// The key cannot be an actor: it is too long, is not well-formed, or is neither a string nor a number.
    Key,
    /// The cost is below 0, has a fraction, or is no number at all.
    Cost,
    /// The cost is more than the limit ever admits, however long the client waits.
    TooLarge,
    /// The request could not be read for an estimate of its cost.
    Unreadable,
}

named!(RequestError, "error", Key = "key", Cost = "cost", TooLarge = "too-large", Unreadable = "unreadable",);

impl RequestError {
    /// The error of the request behind an error of a decision, by its field and its value; `None` for a mistake of the
    /// program, such as a factor below 0.
    ///
    /// The caller knows whether the request has chosen the key and the cost: an error about one that is fixed in the
    /// program is not to be passed here.
    ///
    /// ```
    /// use tidegate::http::RequestError;
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (tokens, limiter) = (Limit::bucket("tokens", 1000).build()?, Limiter::new(Memory::new()));
    /// let check = Check::new(&tokens, "ada").cost(5000);
    /// let tidegate::Error::Limit(error) = limiter.decide_sync(&[check], Call::Limit).unwrap_err() else { panic!() };
    /// assert_eq!(RequestError::of(&error), Some(RequestError::TooLarge));
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    #[must_use]
    pub fn of(error: &LimitError) -> Option<Self> {
        Self::of_field(error.field(), error.value())
    }

    /// The same by the field and the value that the error names.
    #[must_use]
    pub fn of_field(field: &str, value: &str) -> Option<Self> {
        match field {
            // One key may name several actors, and these may be too many.
            "actor" | "key" | "checks" => Some(Self::Key),
            "cost" => {
                // A cost that is none is refused before it is held against the limit.
                let is_cost = |number: f64| number.is_finite() && number >= 0.0 && number.fract() == 0.0;
                let is_cost = value.parse().is_ok_and(is_cost);
                Some(if is_cost { Self::TooLarge } else { Self::Cost })
            }
            _ => None,
        }
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::TooLarge => 413,
            Self::Key | Self::Cost | Self::Unreadable => 400,
        }
    }

    /// The phrase that goes with the status.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::TooLarge => "Content Too Large",
            Self::Key | Self::Cost | Self::Unreadable => "Bad Request",
        }
    }

    /// The sentence for the client. It repeats nothing of the request.
    #[must_use]
    pub const fn detail(self) -> &'static str {
        match self {
            Self::Key => "The key by which this request is limited is not usable.",
            Self::Cost => "The cost of this request must be a whole number, at least 0.",
            Self::TooLarge => "The cost of this request exceeds the limit; it would be denied however long you wait.",
            Self::Unreadable => "The cost of this request cannot be told.",
        }
    }
}
