//! Arguments as a host language passes them, checked here so that every language refuses the same ones with the same
//! words; and what a host may do while a thread of its own waits. For the bindings alone: it may change at any time.

mod here;

use std::time::Duration;

#[cfg(feature = "remote")]
pub use self::here::{count_answer, count_one, is_counted};
pub use self::here::{decide_uncounted, in_turn, limit_one_sync, limit_two_sync};
use crate::Error;
use crate::algorithm::whole;
use crate::charge::ONE_EACH;
pub use crate::charge::{Charge, OfHeld, holds_some, may_hold, shortest_lease};
use crate::check::{Check, OwnedCheck};
pub use crate::check::{LONGEST_ACTOR, long_actor};
use crate::clock;
pub use crate::config::Entry;
use crate::decision::Call;
use crate::error::LimitError;
use crate::explain::CallExplanation;
use crate::headers::Style;
pub use crate::hold::Costs as Taken;
pub use crate::hold::term::{Renewal, Term};
use crate::info::LimitInfo;
pub use crate::info::{InfoField, Takes as InfoTakes};
#[cfg(feature = "remote")]
pub use crate::interrupt::while_waiting;
pub use crate::limit::{Bounds, Field, Outline, Takes as FieldTakes};
use crate::limit::{Kind, Value};
use crate::limiter::Limiter;
#[cfg(feature = "redis")]
pub use crate::limiter::Opened;
#[cfg(feature = "remote")]
use crate::limiter::Top;
#[cfg(feature = "remote")]
pub use crate::limiter::UnsentCall;
use crate::llm::Estimator;
pub use crate::near::hint;
pub use crate::reply_queue::{ReplyQueue, Wake};
#[cfg(feature = "redis")]
pub use crate::store::dialect::Dialect;
#[cfg(feature = "redis")]
pub use crate::store::option_list::{STORE_OPTIONS, StoreOption, Takes};
#[cfg(feature = "redis")]
pub use crate::store::redis::bare_command;
use crate::time::{EXACT, Micros};
use crate::{config, limit};

/// A limiter over the store at this URL, with options as a host language spells them; a listener gets the events of
/// the store.
///
/// # Errors
/// As [`Limiter::open`](crate::Limiter::open), in the host language's words.
#[cfg(feature = "redis")]
pub fn open(
    dialect: Dialect,
    url: &str,
    options: impl IntoIterator<Item = (String, Value)>,
    listener: impl Fn(&crate::events::Event) + Send + Sync + 'static,
) -> Result<Opened, LimitError> {
    Limiter::open_as(dialect, url, options, Some(listener))
}

/// The wire forms of all types, for whatever is generated from them.
#[must_use]
pub fn outlines() -> Vec<Outline> {
    Kind::outlines()
}

/// The longest key of a limit, in bytes.
pub const LONGEST_KEY: usize = limit::LONGEST_KEY;
/// The longest limit as text, in bytes.
pub const LONGEST_TEXT: usize = limit::LONGEST_TEXT;
/// The most overrides of a document.
pub const MOST_OVERRIDES: usize = config::MOST_OVERRIDES;

/// A limit as text, as a regular expression.
#[must_use]
pub fn text_pattern() -> String {
    limit::text_pattern()
}

/// The last whole millisecond before 2^53 microseconds.
const LATEST_MILLIS: f64 = 9_007_199_254_740.0;

/// One answer for several of a call, as [`LimitInfo::checks`] has them.
#[must_use]
pub fn merged(answers: Vec<LimitInfo>) -> LimitInfo {
    LimitInfo::merged(answers)
}

/// A cost: an integer from 0 to 2^53.
///
/// # Errors
/// When it is anything else; `key` is the limit's.
pub fn cost(key: &str, cost: f64) -> Result<u64, LimitError> {
    units(key, "cost", cost)
}

/// The least part of a cost that is of use: an integer from 1 to 2^53.
///
/// # Errors
/// When it is anything else; `key` is the limit's.
pub fn at_least(key: &str, units: f64) -> Result<u64, LimitError> {
    within(key, "atLeast", units, EXACT as f64)?;
    if units >= 1.0 && units.fract() == 0.0 {
        return Ok(whole(units));
    }
    Err(refused(key, "atLeast", "must be a whole number of at least 1", units))
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

/// This instant.
#[must_use]
pub fn now() -> Micros {
    clock::now()
}

/// The units spent of each of these checks at the end of a hold, for [`Charge::settle`]: nothing of those that are held,
/// and of the others what was `taken`, or else their cost.
///
/// # Errors
/// When a check is not there, or a cost is not an integer from 0 to 2^53.
pub fn spent_of_hold(checks: &[Check<'_>], taken: Taken<'_, f64>) -> Result<Vec<u64>, LimitError> {
    crate::hold::spent_of_hold(checks, taken, cost)
}

/// Begins to decide, for a host that waits in its own way. Returns the answer if it is known at once. Otherwise `done`
/// is called with it once, on the thread of the connection, and must not block that. `done` returns the answer if its
/// caller is gone; a charge is then given back.
///
/// # Errors
/// Inside of the answer, as [`Limiter::decide_sync_at`].
pub fn start(
    limiter: &Limiter,
    checks: &[Check<'_>],
    call: Call,
    now: Option<Micros>,
    done: impl FnOnce(Result<LimitInfo, Error>) -> Result<(), Result<LimitInfo, Error>> + Send + 'static,
) -> Option<Result<LimitInfo, Error>> {
    limiter.start(checks, call, now, done)
}

/// [`start`] for a host that sends several calls together: a call whose answer is not known at once is returned unsent.
///
/// # Errors
/// The call that is not sent.
#[cfg(feature = "remote")]
pub fn hold(
    limiter: &Limiter,
    checks: &[Check<'_>],
    call: Call,
    now: Option<Micros>,
    done: impl FnOnce(Result<LimitInfo, Error>) -> Result<(), Result<LimitInfo, Error>> + Send + 'static,
) -> Result<Result<LimitInfo, Error>, UnsentCall> {
    limiter.prepare(checks, call, now, done)
}

/// [`Limiter::explain_checks_sync`] for a host that waits in its own way: `done` gets the explanation, on this thread
/// where the answer is known at once.
pub fn start_explain(
    limiter: &Limiter,
    checks: &[Check<'_>],
    now: Option<Micros>,
    done: impl FnOnce(Result<CallExplanation, Error>) + Clone + Send + 'static,
) {
    let owned: Vec<OwnedCheck> = checks.iter().map(OwnedCheck::from).collect();
    let explained = move |info: Result<LimitInfo, Error>| {
        let checks: Vec<_> = owned.iter().map(OwnedCheck::check).collect();
        done(info.and_then(|info| Ok(CallExplanation::of(&checks, info)?)));
    };
    let later = explained.clone();
    let known = limiter.start(checks, Call::Peek, now, move |info| {
        later(info);
        Ok(())
    });
    known.map(explained);
}

/// The style of headers with this name, with the values of the options `draft` and `reset`; an error names it `field`.
///
/// # Errors
/// When one of them does not exist.
pub fn style(field: &str, name: Value, draft: Option<Value>, reset: Option<Value>) -> Result<Style, LimitError> {
    crate::http::style_of(field, name, draft, reset)
}

/// [`client_of`](crate::http::client_of), with the prefix as a host language passes it.
///
/// # Errors
/// As there, and when the prefix is no number.
pub fn client_of(address: &str, ipv6_prefix: &Value) -> Result<String, LimitError> {
    crate::http::client_of(address, crate::http::ipv6_prefix(ipv6_prefix)?)
}

/// The URL of the page of a code in the documentation.
#[must_use]
pub fn page_of(code: &str) -> String {
    crate::http::page_of(code)
}

/// The error for a value in the place of text; `key` is the limit's.
#[must_use]
pub fn not_text(key: &str, field: &str, value: &Value) -> LimitError {
    value.not_text(key, field)
}

/// The error for a name in a document that is not Unicode.
#[must_use]
pub fn malformed_name() -> LimitError {
    let problem = "must have well-formed names, without lone surrogates";
    LimitError::range("", "limits", problem, Value::Malformed)
}

/// An instant in milliseconds since the Unix epoch, to the nearest microsecond.
///
/// # Errors
/// When it is before the epoch, not finite, or so far ahead (the year 2255) that it is no longer exact.
pub fn instant(key: &str, millis: f64) -> Result<Micros, LimitError> {
    micros(key, "now", millis)
}

/// The units that are left upstream: an integer from 0 to 2^53.
///
/// # Errors
/// When it is anything else.
pub fn remaining(key: &str, left: f64) -> Result<u64, LimitError> {
    units(key, "remaining", left)
}

/// The time for which an upstream server admits nothing, in milliseconds.
///
/// # Errors
/// When it is negative, not finite or above 2^53 microseconds.
pub fn retry_after(key: &str, millis: f64) -> Result<Duration, LimitError> {
    micros(key, "retryAfter", millis).map(Duration::from_micros)
}

/// The time for which a limit is blocked, in milliseconds.
///
/// # Errors
/// When it is negative, not finite or above 2^53 microseconds.
pub fn block_time(key: &str, millis: f64) -> Result<Duration, LimitError> {
    micros(key, "time", millis).map(Duration::from_micros)
}

/// The longest wait of an `acquire`, in milliseconds.
///
/// # Errors
/// When it is negative, not finite or above 2^53 microseconds.
pub fn max_wait(key: &str, millis: f64) -> Result<Duration, LimitError> {
    micros(key, "maxWait", millis).map(Duration::from_micros)
}

/// A whole number that belongs to no limit, from 0 to 2^53.
///
/// # Errors
/// When it is anything else; `field` is its name.
pub fn count(field: &str, number: f64) -> Result<u64, LimitError> {
    units("", field, number)
}

/// The number of top actors, unless a caller says another.
pub const TOP: f64 = 10.0;

/// [`Limiter::top`] with a count as a host language passes it.
///
/// # Errors
/// When the count is not a whole number, or out of its bounds.
#[cfg(feature = "remote")]
pub fn top(limiter: &Limiter, most: f64) -> Result<Top, LimitError> {
    Ok(limiter.top(usize::try_from(count("count", most)?).unwrap_or(usize::MAX)))
}

/// An estimator with settings as a host language passes them.
///
/// # Errors
/// As [`EstimatorBuilder::build`](crate::llm::EstimatorBuilder::build), and when a number is not whole.
pub fn estimator(percentile: f64, window: f64, least: f64, pairs: f64) -> Result<Estimator, LimitError> {
    let builder = Estimator::builder().percentile(percentile).window(count("window", window)?);
    builder.least(count("least", least)?).pairs(count("pairs", pairs)?).build()
}

fn units(key: &str, field: &str, units: f64) -> Result<u64, LimitError> {
    within(key, field, units, EXACT as f64)?;
    if units.fract() == 0.0 { Ok(whole(units)) } else { Err(refused(key, field, "must be a whole number", units)) }
}

fn micros(key: &str, field: &str, millis: f64) -> Result<Micros, LimitError> {
    within(key, field, millis, LATEST_MILLIS)?;
    Ok(whole((millis * 1000.0).round()))
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

/// True if its store is asked over a network: a call may then be given up before it is answered.
#[cfg(feature = "remote")]
#[must_use]
pub const fn is_remote(limiter: &Limiter) -> bool {
    limiter.is_remote()
}

/// Walks over the whole table of a store in memory that processes share, and names what is wrong in it: for tests.
///
/// # Errors
/// When a part of the table stays locked.
#[cfg(all(feature = "shm", target_os = "linux"))]
pub fn check_shared(limiter: &Limiter) -> Result<Vec<String>, Error> {
    limiter.check_shared()
}

/// The actors that are closest to these limits, among those that at most `budget` keys of the store name.
///
/// # Errors
/// For a store whose entries have no names, a limit that the store cannot keep, and where the store cannot be reached.
#[cfg(feature = "remote")]
pub fn closest_sync(limiter: &Limiter, limits: &[limit::Limit], budget: u64) -> Result<crate::limiter::Closest, Error> {
    limiter.closest_sync(limits, budget)
}
