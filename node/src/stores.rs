//! Limiters over a store that others share, and what they have done.

use std::sync::{Arc, Weak};
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{Either, Uint8Array, Unknown};
use napi_derive::napi;
use tidegate::{BreakerState, ErrorKind, Event, Layout, LimitError, Limiter, OnError, Redis, Statistics, Strategy};

use crate::failure::{Answered, Failure};
use crate::letter::{Content, Letter};
use crate::limiters::{keep, most_entries};
use crate::mailbox::Mailbox;
use crate::tables;
use crate::text::text;

/// How a store is reached and what becomes of calls that it cannot decide; times in milliseconds.
#[napi(object, object_to_js = false)]
pub(crate) struct StoreOptions<'a> {
    /// What the names of all keys begin with.
    pub namespace: Option<Unknown<'a>>,
    /// The longest time that a decision may take.
    pub timeout_ms: Option<f64>,
    /// The name of a policy.
    pub on_error: Option<Unknown<'a>>,
    /// How many entries this process keeps at most while the store cannot decide.
    pub max_entries: Option<f64>,
    /// The longest time that a denial is remembered.
    pub deny_cache_ms: Option<f64>,
    /// How many replicas have to acknowledge a charge.
    pub wait_replicas: Option<f64>,
    /// The name of a way to make the server decide.
    pub strategy: Option<Unknown<'a>>,
    /// The name of what entries are there.
    pub layout: Option<Unknown<'a>>,
    /// PEM: the authorities to trust.
    pub ca: Option<Uint8Array>,
    /// PEM: the certificate to show.
    pub cert: Option<Uint8Array>,
    /// PEM: the key of that certificate.
    pub key: Option<Uint8Array>,
}

/// Makes a limiter over the store at this URL; answers with its number. Its events come to the mailbox for `listener`.
#[napi(catch_unwind)]
pub(crate) fn make_shared(
    env: Env,
    mailbox: f64,
    listener: f64,
    url: Unknown<'_>,
    options: StoreOptions<'_>,
) -> Either<f64, Failure> {
    let mailbox = tables::with(|tables| tables.mailboxes.get(mailbox).map(Arc::downgrade));
    let made = mailbox
        .ok_or_else(|| Failure::internal("no such mailbox"))
        .and_then(|mailbox| new_limiter(mailbox, listener, &url, &options));
    made.map_or_else(|failure| Either::B(*failure), |limiter| Either::A(keep(env, limiter)))
}

fn new_limiter(mailbox: Weak<Mailbox>, to: f64, url: &Unknown<'_>, options: &StoreOptions<'_>) -> Answered<Limiter> {
    let mut store = Redis::open(&text(url, "", "url")?)?;
    if let Some(namespace) = &options.namespace {
        store = store.namespace(&text(namespace, "", "namespace")?);
    }
    if let Some(strategy) = &options.strategy {
        let problem = r#"must be "script" or "transactions""#;
        store = store.strategy(named(strategy, "strategy", Strategy::named, problem)?)?;
    }
    if let Some(layout) = &options.layout {
        store = store.layout(named(layout, "layout", Layout::named, r#"must be "own" or "sharkey""#)?)?;
    }
    if let Some(millis) = options.timeout_ms {
        store = store.timeout(span("timeoutMs", SHORTEST_TIMEOUT_MS, millis)?);
    }
    if let Some(policy) = &options.on_error {
        let problem = r#"must be "local", "allow", "deny" or "raise""#;
        store = store.on_error(named(policy, "onError", OnError::named, problem)?);
    }
    if let Some(bound) = options.max_entries {
        store = store.max_entries(most_entries(bound)?);
    }
    if let Some(millis) = options.deny_cache_ms {
        store = store.deny_cache(span("denyCacheMs", 0.0, millis)?);
    }
    if let Some(replicas) = options.wait_replicas {
        store = store.wait_replicas(wait_replicas(replicas)?);
    }
    if let Some(authority) = &options.ca {
        store = store.certificate_authority(authority)?;
    }
    if let (Some(certificate), Some(key)) = (&options.cert, &options.key) {
        store = store.client_certificate(certificate, key)?;
    }
    Ok(Limiter::new(store.listener(events_to(mailbox, to))))
}

/// A listener that hands events to a mailbox; it must not keep the one of an environment that has ended.
pub(crate) fn events_to(mailbox: Weak<Mailbox>, to: f64) -> impl Fn(&Event) + Send + Sync + 'static {
    move |event| {
        if let Some(mailbox) = mailbox.upgrade() {
            let _ = mailbox.post(Letter { to, content: Content::Event(event.clone()) });
        }
    }
}

const SHORTEST_TIMEOUT_MS: f64 = 1.0;
const LONGEST_MS: f64 = 3_600_000.0;

fn span(field: &'static str, least: f64, millis: f64) -> Result<Duration, LimitError> {
    if millis >= least && millis <= LONGEST_MS {
        return Ok(Duration::from_secs_f64(millis / 1000.0));
    }
    let problem = format!("must be from {least} to {LONGEST_MS}");
    Err(LimitError::new(ErrorKind::Range, "", field, problem, millis))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range")]
fn wait_replicas(replicas: f64) -> Result<u32, LimitError> {
    if replicas >= 0.0 && replicas.fract() == 0.0 && replicas <= f64::from(u32::MAX) {
        return Ok(replicas as u32);
    }
    let problem = format!("must be a whole number from 0 to {}", u32::MAX);
    Err(LimitError::new(ErrorKind::Range, "", "waitReplicas", problem, replicas))
}

/// A choice by its name.
fn named<T>(given: &Unknown<'_>, field: &'static str, choose: fn(&str) -> Option<T>, problem: &str) -> Answered<T> {
    let name = text(given, "", field)?;
    match choose(&name) {
        Some(chosen) => Ok(chosen),
        None => Err(LimitError::new(ErrorKind::Range, "", field, problem, tidegate::Value::Text(name)).into()),
    }
}

/// What a limiter has done.
#[napi(object, object_from_js = false)]
pub(crate) struct Counts {
    /// Each of the numbers, in the order of `lib/stats.ts`.
    pub numbers: Vec<f64>,
    /// The names of the failures.
    pub failures: Vec<&'static str>,
    /// How many calls met each failure.
    pub met: Vec<f64>,
    /// Whether the store is not being asked.
    pub open: bool,
    /// The bounds of the histogram in milliseconds; the last bucket has none.
    pub bounds: Vec<f64>,
    /// How many took less than each bound.
    pub times: Vec<f64>,
    /// All times together, in milliseconds.
    pub sum_ms: f64,
}

/// What a limiter has done.
#[napi(catch_unwind)]
pub(crate) fn stats(limiter: f64) -> Either<Counts, Failure> {
    let stats = tables::with(|tables| tables.limiters.get(limiter).map(|limiter| limiter.stats()));
    stats.map_or_else(|| Either::B(*Failure::closed()), |stats| Either::A(Counts::new(&stats)))
}

impl Counts {
    fn new(stats: &Statistics) -> Self {
        let counts = [
            stats.decisions,
            stats.admitted,
            stats.blocked,
            stats.failed,
            stats.degraded,
            stats.deny_cache_hits,
            stats.store_calls,
            stats.batches,
            stats.corrupt_entries,
        ];
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        Self {
            numbers: counts.map(|count| count as f64).to_vec(),
            failures: stats.failures.keys().map(|failure| failure.name()).collect(),
            met: stats.failures.values().map(|count| *count as f64).collect(),
            open: stats.breaker == BreakerState::Open,
            bounds: stats.latency.buckets.iter().filter_map(|(bound, _)| bound.map(millis)).collect(),
            times: stats.latency.buckets.iter().map(|(_, count)| *count as f64).collect(),
            sum_ms: millis(stats.latency.sum),
        }
    }
}
