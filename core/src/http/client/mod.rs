//! The engine's part of HTTP clients, without I/O: from a response to what to observe, and whether to repeat its request.

mod options;
mod said;

pub use options::OUTGOING_OPTIONS;

use std::time::Duration;

use crate::limit::Limit;
use crate::time::Micros;
use said::Said;

/// The longest time for which a response stops all callers: nobody's mistake closes an API for longer.
const MOST_MILLIS: u64 = 24 * 3_600_000;

/// The methods that may be sent again, as RFC 9110 lists them.
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];

/// The settings of an HTTP client's calls: the limits that it keeps, and which requests it repeats.
///
/// ```
/// use tidegate::Limit;
/// use tidegate::http::{Outgoing, Reply};
/// use tidegate::limits::Value;
///
/// let api = Limit::token_bucket("api", 100, std::time::Duration::from_secs(60)).build()?;
/// let outgoing = Outgoing::from_fields([api], [("retries".to_owned(), Value::Number(2.0))])?;
///
/// let headers = [("Retry-After", "20"), ("X-RateLimit-Remaining", "3")];
/// let next = outgoing.judge(&Reply { status: 429, method: "GET", headers: &headers, ..Reply::default() });
/// assert_eq!(next.stop_ms, Some(20_000)); // for all callers
/// assert_eq!(next.retry_in_ms, Some(20_000)); // and then once more
/// assert_eq!(next.remaining, [(0, 3)]);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outgoing {
    limits: Vec<Limit>,
    retries: u32,
    /// In upper case.
    methods: Vec<String>,
    backoff_ms: f64,
    max_backoff_ms: f64,
    /// Without a bound where there is none.
    max_wait_ms: Option<f64>,
}

/// A response, and the request that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers: pairs of name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// The method of the request.
    pub method: &'a str,
    /// The number of its repetitions so far.
    pub attempt: u32,
    /// True if the body of the request can be sent again: there is none, or it is in memory.
    pub replayable: bool,
    /// The units that each limit had left when the request was admitted; of another length, they are not known.
    pub left: &'a [u64],
    /// A random number from 0 to 1, for the jitter.
    pub random: f64,
    /// The time, from which dates are counted where the response has no `Date`.
    pub now: Option<Micros>,
}

impl Default for Reply<'_> {
    fn default() -> Self {
        Self {
            status: 200,
            headers: &[],
            method: "GET",
            attempt: 0,
            replayable: true,
            left: &[],
            random: 0.0,
            now: None,
        }
    }
}

/// The consequences of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Next {
    /// The `remaining` to observe: the index of the limit, and its units. Empty where nothing would be raised.
    pub remaining: Vec<(usize, u64)>,
    /// The `retry_after` to observe, in milliseconds, for [`Outgoing::stop`] and the limits of [`Outgoing::observed`].
    pub stop_ms: Option<u64>,
    /// Repeat the request after so many milliseconds.
    pub retry_in_ms: Option<u64>,
}

impl Outgoing {
    /// The limits of each request.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// The indices of the limits that can be observed.
    #[must_use]
    pub fn observed(&self) -> Vec<usize> {
        (0..self.limits.len()).filter(|index| self.limits[*index].observes()).collect()
    }

    /// True if one of the limits is held until the response has been read.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.limits.iter().any(Limit::holds)
    }

    /// The limit that a response raises to stop all callers of its key. Each caller peeks at it before it sends.
    ///
    /// It stops those that wait already, which the limits cannot: their turn is theirs, whatever comes after it.
    ///
    /// # Panics
    /// Never: its definition is sound.
    #[must_use]
    pub fn stop() -> Limit {
        Limit::bucket("tidegate/stop", 1).drip_rate(Duration::from_millis(1)).build().expect("a sound definition")
    }

    /// Judges a response.
    ///
    /// A refusal is a 429, a 503, or a 403 that says that nothing remains, or when to come back. Its time is
    /// `Retry-After`, else the end of what is used up, else the backoff; with a 503 this last one is for the request alone.
    #[must_use]
    pub fn judge(&self, reply: &Reply<'_>) -> Next {
        let said = Said::read(reply.headers, reply.now);
        let mut next = Next { remaining: self.remaining(&said, reply), ..Next::default() };
        let told = said.wait_ms().map(|wait| wait.min(MOST_MILLIS));
        let is_refused = match reply.status {
            429 | 503 => true,
            403 => said.retry_after_ms.is_some() || said.is_used_up(),
            _ => false,
        };
        if !is_refused {
            return next;
        }
        let random = if reply.random.is_finite() { reply.random.clamp(0.0, 1.0) } else { 0.0 };
        let backoff = self.backoff(reply.attempt);
        next.stop_ms = told.or_else(|| (reply.status == 429).then_some(millis(backoff)));
        let wait = match next.stop_ms {
            // Not all at the same instant.
            Some(stop) => stop + millis(random * (stop as f64 / 10.0).min(1000.0)),
            None => millis(backoff * (0.5 + random / 2.0)),
        };
        let may = reply.attempt < self.retries
            && reply.replayable
            && self.methods.iter().any(|method| method.eq_ignore_ascii_case(reply.method))
            && self.max_wait_ms.is_none_or(|most| wait as f64 <= most);
        next.retry_in_ms = may.then_some(wait);
        next
    }

    /// Twice as long for each attempt.
    fn backoff(&self, attempt: u32) -> f64 {
        (self.backoff_ms * 2_f64.powi(attempt.min(60).cast_signed())).min(self.max_backoff_ms)
    }

    /// The limits to which a `remaining` belongs: the one of the size that the server names, or the only one.
    fn remaining(&self, said: &Said, reply: &Reply<'_>) -> Vec<(usize, u64)> {
        let observed = self.observed();
        let left = if reply.left.len() == self.limits.len() { reply.left } else { &[] };
        let of = |index: usize| {
            let quota = self.limits[index].quota(1.0).ok();
            let same = said.requests().find(|figures| figures.limit.is_some() && figures.limit == quota);
            let least = || said.requests().filter_map(|figures| figures.remaining).min();
            let remaining = same.and_then(|figures| figures.remaining);
            remaining.or_else(|| if observed.len() == 1 { least() } else { None })
        };
        // The entry knows it already where it had no more left.
        let raises = |(index, remaining): &(usize, u64)| left.get(*index).is_none_or(|left| remaining < left);
        observed.iter().filter_map(|index| Some((*index, of(*index)?))).filter(raises).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0, and far below 2^53")]
fn millis(value: f64) -> u64 {
    value.ceil() as u64
}
