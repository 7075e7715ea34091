//! Limiters over servers, and calls that must not take longer than a deadline.
#![allow(dead_code, reason = "each test uses a part")]

use std::time::{Duration, Instant};

use tidegate::redis::RedisBuilder;
use tidegate::remote::OnError;
use tidegate::{Error, Limit, LimitInfo, Limiter, Redis};

use crate::servers::wait_until;

pub(crate) const DEADLINE: Duration = Duration::from_millis(100);
/// The time that a busy machine may add to a deadline.
pub(crate) const SLACK: Duration = Duration::from_millis(60);

pub(crate) fn hourly(key: &str, size: u64) -> Limit {
    Limit::bucket(key, size).drip_rate(Duration::from_hours(1)).build().expect("a bucket")
}

/// A store that raises its failures, and remembers no denials.
pub(crate) fn raising_store(url: &str, timeout: Duration) -> RedisBuilder {
    Redis::builder(url).timeout(timeout).on_error(OnError::Raise).deny_cache(Duration::ZERO)
}

/// A limiter over such a store, which prints its events.
pub(crate) fn raising(url: &str, timeout: Duration) -> Limiter {
    let store = raising_store(url, timeout).listener(|event| eprintln!("{event}"));
    Limiter::new(store.build().expect("a store"))
}

pub(crate) fn over(url: &str, policy: OnError) -> Limiter {
    over_in(url, policy, DEADLINE)
}

pub(crate) fn over_in(url: &str, policy: OnError, deadline: Duration) -> Limiter {
    Limiter::new(
        Redis::builder(url).timeout(deadline).on_error(policy).deny_cache(Duration::ZERO).build().expect("a store"),
    )
}

/// The same, once the store decides: a busy machine may take longer than a deadline to start a server and to connect.
pub(crate) fn well(url: &str, policy: OnError) -> Limiter {
    well_in(url, policy, DEADLINE)
}

pub(crate) fn well_in(url: &str, policy: OnError, deadline: Duration) -> Limiter {
    let limiter = over_in(url, policy, deadline);
    let decides = || limiter.peek_sync(&hourly("warm", 1), "warm").is_ok_and(|info| !info.degraded);
    wait_until("the store decides", decides);
    limiter
}

/// One call, which must not take longer than this.
pub(crate) fn ask_within(
    deadline: Duration,
    limiter: &Limiter,
    limit: &Limit,
    actor: &str,
) -> Result<LimitInfo, Error> {
    let started = Instant::now();
    let answer = limiter.limit_sync(limit, actor);
    assert!(started.elapsed() < deadline + SLACK, "took {:?}", started.elapsed());
    answer
}

pub(crate) fn ask(limiter: &Limiter, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, limit, actor)
}

pub(crate) fn from_the_store(limiter: &Limiter, limit: &Limit, actor: &str) -> bool {
    ask(limiter, limit, actor).is_ok_and(|info| !info.degraded)
}
