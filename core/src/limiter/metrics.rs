//! The numbers of a limiter, with names for the systems that collect them, and its top actors.

use super::Limiter;
pub use super::meter::{Top, TopActor};
use crate::names::named;
use crate::store::remote::{BreakerState, Latency, Statistics};
use crate::tally::{Counted, WAIT_BOUNDS_MS};

/// A metric of a limiter, with the numbers that it has now; see [`Limiter::metrics`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name in Prometheus.
    pub name: &'static str,
    /// Its name in OpenTelemetry.
    pub instrument: &'static str,
    /// Its meaning, in a sentence.
    pub help: &'static str,
    /// Its unit in OpenTelemetry: `s` or `1`.
    pub unit: &'static str,
    /// The kind of its numbers.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its numbers; none where it is a histogram.
    pub samples: Vec<Sample>,
    /// Its distributions, where it is a histogram.
    pub histograms: Vec<Histogram>,
}

/// A number of a [`Metric`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// The value of each label.
    pub labels: Vec<String>,
    /// The number.
    pub value: f64,
}

/// A distribution of a [`Metric`], since the limiter was made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Histogram {
    /// The value of each label.
    pub labels: Vec<String>,
    /// Each bound, and the number of values up to it: also of those of the bounds before.
    pub buckets: Vec<(f64, u64)>,
    /// The number of all values, also of those above the last bound.
    pub count: u64,
    /// All values together.
    pub sum: f64,
}

/// The kind of a [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricKind {
    /// Its numbers only grow.
    Counter,
    /// Its numbers go up and down.
    Gauge,
    /// It has distributions, whose counts only grow.
    Histogram,
}

named!(MetricKind, "kind", Counter = "counter", Gauge = "gauge", Histogram = "histogram");

/// A metric with the numbers that are read for it.
struct Definition {
    name: &'static str,
    instrument: &'static str,
    help: &'static str,
    unit: &'static str,
    kind: MetricKind,
    labels: &'static [&'static str],
    of: Of,
}

/// The numbers of a metric.
enum Of {
    /// Of every limit.
    Limit(fn(&Counted) -> f64),
    /// Of every limit, by outcome.
    Outcomes(fn(&Counted) -> Outcomes),
    /// Of the store.
    Store(fn(&Statistics) -> f64),
    /// Of the store, by the reason.
    Failures,
    /// Of every limit that had a call wait, by the time that it took.
    Waits,
    /// Of the store, by the time that it took.
    Latency,
}

/// Few servers are faster, and each bound is one number more for whoever stores them.
const SHORTEST: f64 = 0.000_1;

type Outcomes = Vec<(&'static str, u64)>;

macro_rules! definitions {
    ($($help:literal $kind:ident $name:literal $unit:literal [$($label:literal),*] $of:expr;)+) => {
        &[$(Definition {
            name: definitions!(@ $kind $name),
            instrument: concat!("tidegate.", $name),
            help: $help,
            unit: $unit,
            kind: MetricKind::$kind,
            labels: &[$($label),*],
            of: $of,
        },)+]
    };
    (@ Counter $name:literal) => { concat!("tidegate_", $name, "_total") };
    (@ Gauge $name:literal) => { concat!("tidegate_", $name) };
    (@ Histogram $name:literal) => { concat!("tidegate_", $name, "_seconds") };
}

const DEFINITIONS: &[Definition] = definitions! {
    "Calls that a limit allowed or denied, or that failed; an acquire counts once, when it is over."
        Counter "decisions" "1" ["limit", "outcome"] Of::Outcomes(|of| {
            vec![("allowed", of.roomy + of.near), ("denied", of.denied), ("failed", of.failed)]
        });
    "Calls that a limit in shadow mode, or a candidate, would have allowed or denied."
        Counter "observed_decisions" "1" ["limit", "outcome"] Of::Outcomes(|of| {
            vec![("allowed", of.observed_allowed), ("denied", of.observed_denied)]
        });
    "Calls that a limit allowed, and that left less than a fifth of it."
        Counter "near_limit" "1" ["limit"] Of::Limit(|of| of.near as f64);
    "The time for which calls of acquire waited for their turn, of those that waited."
        Histogram "wait_duration" "s" ["limit"] Of::Waits;
    "Units of concurrency limits that were taken; less those released, they are under way, or their lease is over."
        Counter "held_units" "1" ["limit"] Of::Limit(|of| of.held as f64);
    "Units of concurrency limits that were released."
        Counter "released_units" "1" ["limit"] Of::Limit(|of| of.released as f64);
    "Calls that the store did not decide, by the reason."
        Counter "degraded" "1" ["reason"] Of::Failures;
    "Calls that were denied without the store, because it had denied them before."
        Counter "deny_cache_hits" "1" [] Of::Store(|of| of.deny_cache_hits as f64);
    "Decisions that were sent to the store."
        Counter "store_calls" "1" [] Of::Store(|of| of.store_calls as f64);
    "Round trips to the store."
        Counter "store_batches" "1" [] Of::Store(|of| of.batches as f64);
    "The time that the store took for each decision that it answered in time."
        Histogram "store_duration" "s" [] Of::Latency;
    "Entries of the store that could not be read, and were replaced."
        Counter "corrupt_entries" "1" [] Of::Store(|of| of.corrupt_entries as f64);
    "1 while a server that failed is probed and not asked, else 0."
        Gauge "breaker_open" "1" [] Of::Store(|of| f64::from(u8::from(of.breaker == BreakerState::Open)));
    "Entries in memory."
        Gauge "entries" "1" [] Of::Store(|of| of.entries as f64);
    "Drained entries that were removed from memory early, because it was full."
        Counter "evictions" "1" [] Of::Store(|of| of.evictions as f64);
    "Calls that were decided by an entry shared between actors, because the memory was full."
        Counter "overflowed" "1" [] Of::Store(|of| of.overflowed as f64);
    "Processes that share the memory."
        Gauge "processes" "1" [] Of::Store(|of| of.processes as f64);
};

impl Limiter {
    /// Every metric of this limiter in this process, with the numbers that it has now, for a program that exports them.
    ///
    /// The first call turns the counts by limit on, for this limiter and its clones; before, nothing is counted by
    /// limit, and nothing is spent on it. A call of several limits counts for each of them, as denied for those that
    /// denied it. The first 256 keys are counted apart, all others as the limit `other`. No label names an actor.
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let (limiter, login) = (Limiter::new(Memory::new()), Limit::bucket("login", 2).build()?);
    /// limiter.metrics();
    /// for _ in 0..3 {
    ///     limiter.limit_sync(&login, "ada")?;
    /// }
    /// let metrics = limiter.metrics();
    /// let decisions = metrics.iter().find(|metric| metric.name == "tidegate_decisions_total").unwrap();
    /// assert_eq!(decisions.labels, ["limit", "outcome"]);
    /// assert_eq!(decisions.samples[0].labels, ["login", "allowed"]);
    /// assert_eq!(decisions.samples[0].value, 2.0);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let limits = self.meter.on().read();
        let stats = self.stats();
        DEFINITIONS.iter().map(|definition| definition.read(&limits, &stats)).collect()
    }

    /// The actors that this limiter and its clones denied most in this process, and those that they charged most, at most
    /// `count` of each, the first ones first. They cover the last five minutes and the one under way.
    ///
    /// The first call turns the counts by actor on; before, nothing is counted, and nothing is spent on it. Calls of
    /// [`limit`](Self::limit), `acquire` and `hold` count, and those of [`charge`](Self::charge) as charged. An
    /// [observed](crate::Check::observed) check never counts.
    ///
    /// Memory is bounded: at most 256 actors are counted apart in each minute. Up to there all counts are exact. Beyond,
    /// the true count is at most `count` and at least `count - error`, the error is at most 1/256 of what all actors
    /// have together, and no actor with more than that share is missed.
    ///
    /// Actors may be personal data: show them to operators, and do not make metrics of them.
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let (limiter, login) = (Limiter::new(Memory::new()), Limit::bucket("login", 2).build()?);
    /// limiter.top(10);
    /// for actor in ["ada", "ada", "ada", "ada", "bob"] {
    ///     limiter.limit_sync(&login, actor)?;
    /// }
    /// let top = limiter.top(10);
    /// assert_eq!((top.denied[0].actor.as_str(), top.denied[0].count, top.denied[0].error), ("ada", 2, 0));
    /// assert_eq!(top.charged[1].actor, "bob");
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn top(&self, count: usize) -> Top {
        self.meter.on().top(count)
    }
}

impl Definition {
    fn read(&self, limits: &[(String, Counted)], stats: &Statistics) -> Metric {
        let Self { name, instrument, help, unit, kind, labels, .. } = *self;
        let sample = |labels, value| Sample { labels, value };
        let mut histograms = Vec::new();
        let samples = match &self.of {
            Of::Limit(read) => limits.iter().map(|(key, of)| sample(vec![key.clone()], read(of))).collect(),
            Of::Outcomes(read) => limits
                .iter()
                .flat_map(|(key, of)| read(of).into_iter().map(move |(outcome, count)| (key, outcome, count)))
                .map(|(key, outcome, count)| sample(vec![key.clone(), outcome.to_owned()], count as f64))
                .collect(),
            Of::Store(read) => vec![sample(Vec::new(), read(stats))],
            Of::Failures => {
                let by_reason = stats.failures.iter();
                by_reason.map(|(reason, count)| sample(vec![reason.name().to_owned()], *count as f64)).collect()
            }
            Of::Waits => {
                let waited = limits.iter().filter(|(_, of)| of.waited_ms > 0);
                histograms.extend(waited.map(|(key, of)| Histogram::of_waits(key, of)));
                Vec::new()
            }
            Of::Latency => {
                histograms.extend(Histogram::of_latency(&stats.latency));
                Vec::new()
            }
        };
        Metric { name, instrument, help, unit, kind, labels, samples, histograms }
    }
}

impl Histogram {
    fn of_waits(key: &str, of: &Counted) -> Self {
        let bounds = WAIT_BOUNDS_MS.map(|bound| Some(bound as f64 / 1000.0));
        let counts = bounds.into_iter().chain([None]).zip(of.waits);
        Self::new(vec![key.to_owned()], counts, of.waited_ms as f64 / 1000.0)
    }

    /// Nothing of a store that takes no time.
    fn of_latency(latency: &Latency) -> Option<Self> {
        let counts = latency.buckets.iter().map(|(bound, count)| (bound.map(|bound| bound.as_secs_f64()), *count));
        let mut all = Self::new(Vec::new(), counts, latency.sum.as_secs_f64());
        all.buckets.retain(|(bound, _)| *bound > SHORTEST);
        (!all.buckets.is_empty()).then_some(all)
    }

    /// Of the counts between the bounds, where the last one has none.
    fn new(labels: Vec<String>, counts: impl Iterator<Item = (Option<f64>, u64)>, sum: f64) -> Self {
        let (mut buckets, mut all) = (Vec::new(), 0);
        for (bound, count) in counts {
            all += count;
            buckets.extend(bound.map(|bound| (bound, all)));
        }
        Self { labels, buckets, count: all, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::remote::Stats;
    use crate::tally::Tally;

    #[test]
    fn a_wait_is_in_the_bucket_of_its_bound_and_in_all_after_it() {
        let tally = Tally::new(false);
        for wait_ms in [1, 10, 11, 30, 300_000, 300_001, u64::from(u32::MAX)] {
            tally.waited(wait_ms);
        }
        let histogram = Histogram::of_waits("login", &tally.read());
        assert_eq!(histogram.buckets[..3], [(0.01, 2), (0.03, 4), (0.1, 4)]);
        assert_eq!(histogram.buckets[9], (300.0, 5));
        assert_eq!((histogram.count, histogram.sum), (7, 4_295_567.348));
    }

    #[test]
    fn a_decision_of_the_store_is_in_every_bucket_that_it_was_faster_than() {
        let stats = Stats::default();
        for micros in [0, 90, 127, 128, 1_048_575, 1_048_576, 5_000_000] {
            stats.took(micros);
        }
        let histogram = Histogram::of_latency(&stats.read(BreakerState::Closed).latency).expect("a histogram");
        assert_eq!(histogram.buckets[..2], [(0.000_128, 3), (0.000_256, 4)]);
        assert_eq!(histogram.buckets.last(), Some(&(1.048_576, 5)));
        assert_eq!((histogram.buckets.len(), histogram.count, histogram.sum), (14, 7, 7.097_496));
        assert_eq!(Histogram::of_latency(&Latency::default()), None);
    }
}
