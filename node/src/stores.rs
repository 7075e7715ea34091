//! Limiters by the URL of their store, and their statistics.

use std::sync::Arc;
use std::time::Duration;

use napi::Env;
use napi::ValueType;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::ffi::{Dialect, STORE_OPTIONS};
use tidegate::limits::Value;
use tidegate::metrics::{Metric, TopActor};
use tidegate::remote::{BreakerState, Statistics};
use tidegate::{Limiter, ffi};

use crate::errors::{Answered, Failure};
use crate::limiters::keep;
use crate::queue::ReplyQueue;
use crate::registry;
use crate::reply::{Content, Reply, Upkeep};
use crate::text::text;
use crate::value::value;

/// Makes a limiter over the store at this URL; returns its number. Its events come to the reply queue for `listener`.
#[napi(catch_unwind)]
pub(crate) fn make_limiter(
    env: Env,
    queue: Option<f64>,
    listener: f64,
    url: Unknown<'_>,
    names: Vec<String>,
    values: Vec<Unknown<'_>>,
) -> Either<f64, Failure> {
    let queue = queue.and_then(|queue| registry::with(|registry| registry.queues.get(queue).cloned()));
    new_limiter(queue.as_ref(), listener, &url, names, &values)
        .map_or_else(|failure| Either::B(*failure), |limiter| Either::A(keep(env, limiter)))
}

fn new_limiter(
    queue: Option<&Arc<ReplyQueue>>,
    to: f64,
    url: &Unknown<'_>,
    names: Vec<String>,
    values: &[Unknown<'_>],
) -> Answered<Limiter> {
    let url = text(url, "", "url")?;
    let mut fields = Vec::with_capacity(names.len());
    for (name, given) in names.into_iter().zip(values) {
        let value = option_value(&name, given)?;
        fields.push((name, value));
    }
    // A limiter must not keep the reply queue of an environment that has ended.
    let queue = queue.map(Arc::downgrade);
    let opened = ffi::open(Dialect::JavaScript, &url, fields, move |event| {
        if let Some(queue) = queue.as_ref().and_then(std::sync::Weak::upgrade) {
            let _ = queue.post(Reply { to, content: Content::Event(event.clone()) });
        }
    });
    Ok(opened?.limiter)
}

fn option_value(name: &str, given: &Unknown<'_>) -> Answered<Value> {
    let failed = |error: napi::Error| Failure::internal(&error.reason);
    if given.get_type().map_err(failed)? == ValueType::String {
        let known = STORE_OPTIONS.iter().find(|option| option.name == name).map_or("options", |option| option.name);
        return text(given, "", known).map(Value::Text);
    }
    value(given).map_err(failed)
}

/// Asks for the health of a limiter's store; the answer comes to the reply queue.
#[napi(catch_unwind)]
pub(crate) fn start_ping(env: Env, limiter: f64, queue: f64, to: f64) -> Option<Failure> {
    upkeep(env, limiter, queue, |limiter, replies| {
        limiter.start_ping(move |health| {
            // An undelivered answer has charged nothing.
            let _ = replies.post(Reply { to, content: Content::Upkeep(health.map(Upkeep::Health)) });
        });
    })
}

/// Removes every entry of a limiter's namespace; their number comes to the reply queue.
#[napi(catch_unwind)]
pub(crate) fn start_clear(env: Env, limiter: f64, queue: f64, to: f64) -> Option<Failure> {
    upkeep(env, limiter, queue, |limiter, replies| {
        limiter.start_clear(move |removed| {
            let _ = replies.post(Reply { to, content: Content::Upkeep(removed.map(Upkeep::Removed)) });
        });
    })
}

fn upkeep(env: Env, limiter: f64, queue: f64, begin: impl FnOnce(&Limiter, Arc<ReplyQueue>)) -> Option<Failure> {
    let found = registry::with(|registry| {
        (registry.limiters.get(limiter).map(|limiter| Limiter::clone(limiter)), registry.queues.get(queue).cloned())
    });
    match found {
        (None, _) => Some(*Failure::closed()),
        (_, None) => Some(*Failure::internal("no such queue")),
        (Some(limiter), Some(queue)) => {
            queue.began(env.raw());
            begin(&limiter, queue);
            None
        }
    }
}

/// The statistics of a limiter.
#[napi(object, object_from_js = false)]
pub(crate) struct Counts {
    /// The counters, in the engine's order.
    pub numbers: Vec<f64>,
    /// The names of the failures.
    pub failures: Vec<&'static str>,
    /// The number of calls that met each failure.
    pub met: Vec<f64>,
    /// True if the store is not being asked.
    pub open: bool,
    /// The bounds of the histogram in milliseconds; the last bucket has none.
    pub bounds: Vec<f64>,
    /// The number that took less than each bound.
    pub times: Vec<f64>,
    /// All times together, in milliseconds.
    pub sum_ms: f64,
}

/// The statistics of a limiter.
#[napi(catch_unwind)]
pub(crate) fn stats(limiter: f64) -> Either<Counts, Failure> {
    let stats = registry::with(|registry| registry.limiters.get(limiter).map(|limiter| limiter.stats()));
    stats.map_or_else(|| Either::B(*Failure::closed()), |stats| Either::A(Counts::new(&stats)))
}

/// A metric of a limiter, with the numbers that it has now.
#[napi(object, object_from_js = false)]
pub(crate) struct Numbers {
    pub name: &'static str,
    pub instrument: &'static str,
    pub help: &'static str,
    pub unit: &'static str,
    pub kind: &'static str,
    pub labels: Vec<&'static str>,
    /// The values of the labels of each number or histogram, one after the other.
    pub named: Vec<String>,
    pub values: Vec<f64>,
    /// The bounds of the histograms.
    pub bounds: Vec<f64>,
    /// The counts of each histogram, its whole count and its sum, one after the other.
    pub histograms: Vec<f64>,
}

/// The metrics of a limiter.
#[napi(catch_unwind)]
pub(crate) fn metrics(limiter: f64) -> Either<Vec<Numbers>, Failure> {
    let metrics = registry::with(|registry| registry.limiters.get(limiter).map(|limiter| limiter.metrics()));
    metrics.map_or_else(
        || Either::B(*Failure::closed()),
        |metrics| Either::A(metrics.into_iter().map(Numbers::from).collect()),
    )
}

/// The actors that a limiter denied and charged most.
#[napi(object, object_from_js = false)]
pub(crate) struct TopActors {
    pub denied: Vec<CountedActor>,
    pub charged: Vec<CountedActor>,
}

/// An actor with its count, and the most by which that is too high.
#[napi(object, object_from_js = false)]
pub(crate) struct CountedActor {
    pub actor: String,
    pub count: f64,
    pub error: f64,
}

/// The top actors of a limiter, at most so many of each kind.
#[napi(catch_unwind)]
pub(crate) fn top(limiter: f64, count: Option<f64>) -> Either<TopActors, Failure> {
    let found = registry::with(|registry| registry.limiters.get(limiter).map(|limiter| Limiter::clone(limiter)));
    let top = found.ok_or_else(Failure::closed);
    let top = top.and_then(|limiter| Ok(ffi::top(&limiter, count.unwrap_or(ffi::TOP))?));
    let rows = |actors: Vec<TopActor>| actors.into_iter().map(CountedActor::from).collect();
    top.map_or_else(
        |failure| Either::B(*failure),
        |top| Either::A(TopActors { denied: rows(top.denied), charged: rows(top.charged) }),
    )
}

impl From<TopActor> for CountedActor {
    fn from(row: TopActor) -> Self {
        Self { actor: row.actor, count: row.count as f64, error: row.error as f64 }
    }
}

impl From<Metric> for Numbers {
    fn from(metric: Metric) -> Self {
        let Metric { name, instrument, help, unit, kind, labels, samples, histograms, .. } = metric;
        let values = samples.iter().map(|sample| sample.value).collect();
        let bounds = histograms.first().map(|one| one.buckets.iter().map(|(bound, _)| *bound).collect());
        let counts = histograms
            .iter()
            .flat_map(|one| one.buckets.iter().map(|(_, count)| *count as f64).chain([one.count as f64, one.sum]));
        let (bounds, counts) = (bounds.unwrap_or_default(), counts.collect());
        let named = samples.into_iter().map(|sample| sample.labels).chain(histograms.into_iter().map(|one| one.labels));
        Self {
            name,
            instrument,
            help,
            unit,
            kind: kind.name(),
            labels: labels.to_vec(),
            named: named.flatten().collect(),
            values,
            bounds,
            histograms: counts,
        }
    }
}

impl Counts {
    fn new(stats: &Statistics) -> Self {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        Self {
            numbers: stats.counters().map(|count| count as f64).to_vec(),
            failures: stats.failures.keys().map(|failure| failure.name()).collect(),
            met: stats.failures.values().map(|count| *count as f64).collect(),
            open: stats.breaker == BreakerState::Open,
            bounds: stats.latency.buckets.iter().filter_map(|(bound, _)| bound.map(millis)).collect(),
            times: stats.latency.buckets.iter().map(|(_, count)| *count as f64).collect(),
            sum_ms: millis(stats.latency.sum),
        }
    }
}
