//! Arguments as a host language passes them, checked here so that every language refuses the same ones with the same
//! words; and what a host may do while a thread of its own waits. For the bindings alone: it may change at any time.

use std::time::Duration;

use crate::algorithm::whole;
pub use crate::charge::Charge;
use crate::charge::ONE_EACH;
use crate::check::Check;
use crate::error::LimitError;
use crate::limit::Kind;

use crate::time::{EXACT, Micros};

pub use crate::config::Entry;
pub use crate::info::{InfoField, Takes as InfoTakes};
#[cfg(feature = "remote")]
pub use crate::interrupt::while_waiting;
#[cfg(feature = "redis")]
pub use crate::limiter::Opened;
#[cfg(feature = "remote")]
pub use crate::limiter::UnsentCall;
pub use crate::reply_queue::{ReplyQueue, Wake};
#[cfg(feature = "redis")]
pub use crate::store::dialect::Dialect;
#[cfg(feature = "redis")]
pub use crate::store::option_list::{STORE_OPTIONS, StoreOption, Takes};

/// A limiter over the store at this URL, with options as a host language spells them; a listener gets the events of
/// the store.
///
/// # Errors
/// As [`Limiter::open`](crate::Limiter::open), in the host language's words.
#[cfg(feature = "redis")]
pub fn open(
    dialect: Dialect,
    url: &str,
    options: impl IntoIterator<Item = (String, crate::limit::Value)>,
    listener: impl Fn(&crate::events::Event) + Send + Sync + 'static,
) -> Result<Opened, LimitError> {
    crate::limiter::Limiter::open_as(dialect, url, options, Some(listener))
}

pub use crate::limit::{Bounds, Field, Outline, Takes as FieldTakes};

/// The wire forms of all types, for whatever is generated from them.
#[must_use]
pub fn outlines() -> Vec<Outline> {
    Kind::outlines()
}

/// The last whole millisecond before 2^53 microseconds.
const LATEST_MILLIS: f64 = 9_007_199_254_740.0;

/// A cost: an integer from 0 to 2^53.
///
/// # Errors
/// When it is anything else; `key` is the limit's.
pub fn cost(key: &str, cost: f64) -> Result<u64, LimitError> {
    within(key, "cost", cost, EXACT as f64)?;
    if cost.fract() == 0.0 { Ok(whole(cost)) } else { Err(refused(key, "cost", "must be a whole number", cost)) }
}

/// The actual costs of a receipt's checks: one cost for all of them, or one for each.
#[derive(Clone, Copy, Debug)]
pub enum Spent<'a> {
    /// Of every check, where they were charged the same.
    All(f64),
    /// Of each check, in order.
    Each(&'a [f64]),
}

/// The units spent of each of these checks, for [`Charge::settle`].
///
/// Costs may be those of the enforced checks alone. An observed one then costs what the first enforced check of the same
/// charge does; without such a check it keeps its charge.
///
/// # Errors
/// When there is not one cost for each, or one of them is not an integer from 0 to 2^53.
pub fn spent(checks: &[Check<'_>], spent: Spent<'_>) -> Result<Vec<u64>, LimitError> {
    let key = checks.first().map_or("", |check| check.limit.key());
    match spent {
        Spent::All(units) => {
            let units = cost(key, units)?;
            let mut costs = checks.iter().filter(|check| !check.observed).map(|check| check.cost);
            let first = costs.next();
            if units > 0 && costs.any(|cost| Some(cost) != first) {
                return Err(LimitError::wrong_type(key, "cost", ONE_EACH, units));
            }
            let is_charged = |check: &Check<'_>| units > 0 && first.is_some_and(|cost| cost != check.cost);
            Ok(checks.iter().map(|check| if is_charged(check) { check.cost } else { units }).collect())
        }
        Spent::Each(each) if each.len() == checks.len() => {
            checks.iter().zip(each).map(|(check, units)| cost(check.limit.key(), *units)).collect()
        }
        Spent::Each(each) if each.len() == checks.iter().filter(|check| !check.observed).count() => {
            let enforced = || checks.iter().filter(|check| !check.observed).zip(each);
            let of = |check: &Check<'_>| {
                let same = |(other, _): &(&Check<'_>, _)| other.cost == check.cost;
                enforced().find(same).map_or(Ok(check.cost), |(_, units)| cost(check.key(), *units))
            };
            let mut given = each.iter();
            let one = |check: &Check<'_>| match if check.observed { None } else { given.next() } {
                Some(units) => cost(check.key(), *units),
                None => of(check),
            };
            checks.iter().map(one).collect()
        }
        Spent::Each(each) => {
            let given = format!("{} costs for {} checks", each.len(), checks.len());
            Err(LimitError::range(key, "cost", ONE_EACH, given))
        }
    }
}

/// The longest actor that a binding passes on, in bytes of UTF-8.
pub const LONGEST_ACTOR: usize = 65_536;

/// The error for an actor that is too long; `key` is the limit's.
#[must_use]
pub fn long_actor(key: &str, bytes: usize) -> LimitError {
    let problem = format!("must be at most {LONGEST_ACTOR} bytes long");
    LimitError::range(key, "actor", problem, format!("{bytes} bytes"))
}

/// The error for a value in the place of text; `key` is the limit's.
#[must_use]
pub fn not_text(key: &str, field: &str, value: &crate::limit::Value) -> LimitError {
    value.not_text(key, field)
}

/// The error for a name in a document that is not Unicode.
#[must_use]
pub fn malformed_name() -> LimitError {
    let problem = "must have well-formed names, without lone surrogates";
    LimitError::range("", "limits", problem, crate::limit::Value::Malformed)
}

/// An instant in milliseconds since the Unix epoch, to the nearest microsecond.
///
/// # Errors
/// When it is before the epoch, not finite, or so far ahead (the year 2255) that it is no longer exact.
pub fn instant(key: &str, millis: f64) -> Result<Micros, LimitError> {
    within(key, "now", millis, LATEST_MILLIS)?;
    Ok(whole((millis * 1000.0).round()))
}

/// The longest wait of an `acquire`, in milliseconds.
///
/// # Errors
/// When it is negative, not finite or above 2^53 microseconds.
pub fn max_wait(key: &str, millis: f64) -> Result<Duration, LimitError> {
    within(key, "maxWait", millis, LATEST_MILLIS)?;
    Ok(Duration::from_micros(whole((millis * 1000.0).round())))
}

fn within(key: &str, field: &str, value: f64, most: f64) -> Result<(), LimitError> {
    if value.is_nan() || value < 0.0 {
        Err(refused(key, field, "must be at least 0", value))
    } else if value > most {
        Err(refused(key, field, format!("must be at most {most}"), value))
    } else {
        Ok(())
    }
}

fn refused(key: &str, field: &str, problem: impl Into<String>, value: f64) -> LimitError {
    LimitError::range(key, field, problem, value)
}
