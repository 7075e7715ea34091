//! Statistics of a limiter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Failure;
use crate::info::LimitInfo;
use crate::names::named;
use crate::time::Micros;

/// Powers of two of microseconds: the last bucket takes everything from about a second up.
const LATENCY_BUCKETS: usize = 22;

/// A count for each [`Failure`], by its index.
pub(super) type FailureCounts = [u64; Failure::ALL.len()];

/// Counters that any thread may add to.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    admitted: AtomicU64,
    blocked: AtomicU64,
    failed: AtomicU64,
    /// Denied, too: from the cache of denials.
    cached: AtomicU64,
    store_calls: AtomicU64,
    batches: AtomicU64,
    corrupt: AtomicU64,
    /// Answered without the store, or not at all, by the reason.
    failures: [AtomicU64; Failure::ALL.len()],
    latency: [AtomicU64; LATENCY_BUCKETS],
    latency_sum: AtomicU64,
}

fn one_more(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Stats {
    /// A call was answered.
    pub(crate) fn answered(&self, blocked: bool) {
        one_more(if blocked { &self.blocked } else { &self.admitted });
    }

    /// A call was answered, or ended in an error. One that gives back is never denied.
    pub(crate) fn came_to<E>(&self, answer: &Result<LimitInfo, E>, gives_back: bool) {
        match answer {
            Ok(info) => self.answered(info.blocked && !gives_back),
            Err(_) => self.failed(),
        }
    }

    /// A call ended in an error.
    pub(crate) fn failed(&self) {
        one_more(&self.failed);
    }

    /// A call was answered without the store, because of this.
    pub(crate) fn degraded(&self, failure: Failure) {
        one_more(&self.failures[failure.index()]);
    }

    /// A call was refused from the cache of denials.
    pub(crate) fn cached(&self) {
        one_more(&self.cached);
    }

    /// The calls that were answered without the store, by the reason.
    pub(super) fn failures(&self) -> FailureCounts {
        std::array::from_fn(|kind| self.failures[kind].load(Ordering::Relaxed))
    }

    /// So many decisions travel together.
    pub(crate) fn sent(&self, decisions: usize) {
        one_more(&self.batches);
        self.store_calls.fetch_add(decisions as u64, Ordering::Relaxed);
    }

    /// An entry could not be read, and was written anew.
    pub(crate) fn repaired(&self, entries: u32) {
        self.corrupt.fetch_add(u64::from(entries), Ordering::Relaxed);
    }

    /// The store took this long to decide.
    pub(crate) fn took(&self, time: Micros) {
        let bucket = (u64::BITS - time.leading_zeros()) as usize;
        one_more(&self.latency[bucket.min(LATENCY_BUCKETS - 1)]);
        self.latency_sum.fetch_add(time, Ordering::Relaxed);
    }

    /// The most time that 99 of 100 answers of the store took, as far as the histogram shows.
    pub(crate) fn most_took(&self) -> Option<Duration> {
        let counts: Vec<u64> = self.latency.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let all: u64 = counts.iter().sum();
        let mut below = 0;
        let power = counts.iter().position(|count| {
            below += count;
            all > 0 && below * 100 >= all * 99
        })?;
        Some(Duration::from_micros(1 << power))
    }

    pub(crate) fn read(&self, breaker: BreakerState) -> Statistics {
        crate::panics::point("stats");
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (admitted, failed, cached) = (of(&self.admitted), of(&self.failed), of(&self.cached));
        let (blocked, failures) = (of(&self.blocked) + cached, self.failures());
        let buckets = self.latency.iter().enumerate().map(|(power, count)| {
            let bound = (power + 1 < LATENCY_BUCKETS).then(|| Duration::from_micros(1 << power));
            (bound, of(count))
        });
        Statistics {
            decisions: admitted + blocked + failed,
            admitted,
            blocked,
            failed,
            degraded: failures.iter().sum(),
            deny_cache_hits: cached,
            store_calls: of(&self.store_calls),
            batches: of(&self.batches),
            corrupt_entries: of(&self.corrupt),
            entries: 0,
            evictions: 0,
            overflowed: 0,
            processes: 0,
            failures: Failure::ALL.into_iter().map(|failure| (failure, failures[failure.index()])).collect(),
            breaker,
            latency: Latency { buckets: buckets.collect(), sum: Duration::from_micros(of(&self.latency_sum)) },
        }
    }
}

/// Defines [`Statistics`], and from its counters the list that the bindings are generated from.
macro_rules! statistics {
    (
        $(#[$meta:meta])*
        pub struct Statistics {
            counters { $($(#[doc = $about:literal])+ $counter:ident,)+ }
            beside { $($(#[doc = $beside_about:literal])+ $beside:ident: $type:ty,)+ }
        }
    ) => {
        $(#[$meta])*
        pub struct Statistics {
            $($(#[doc = $about])+ pub $counter: u64,)+
            $($(#[doc = $beside_about])+ pub $beside: $type,)+
        }

        impl Statistics {
            /// Its counters by name, each with its documentation behind a space.
            #[doc(hidden)]
            pub const COUNTERS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($counter), concat!($($about),+)),)+];

            /// The numbers of its counters, in order.
            #[doc(hidden)]
            #[must_use]
            pub const fn counters(&self) -> [u64; Self::COUNTERS.len()] {
                [$(self.$counter),+]
            }
        }
    };
}

statistics! {
    /// The statistics of a limiter since it was made; see [`Limiter::stats`](crate::Limiter::stats).
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Statistics {
        counters {
            /// Calls that were answered or failed.
            decisions,
            /// Calls that were admitted.
            admitted,
            /// Calls that were denied, by the deny cache too.
            blocked,
            /// Calls that ended in an error.
            failed,
            /// Calls that the store did not decide: the fallback policy answered, or they failed.
            degraded,
            /// Calls that were denied by the deny cache, without the store.
            deny_cache_hits,
            /// Decisions that were sent to the store.
            store_calls,
            /// Round trips in which they were sent.
            batches,
            /// Entries of the store that could not be read, and were replaced.
            corrupt_entries,
            /// Entries that are kept now, in this process's memory or in memory that processes share.
            entries,
            /// Drained entries that were removed there early, because it was full.
            evictions,
            /// Calls that were decided there by an entry shared between actors, because it was full.
            overflowed,
            /// Processes that share the memory now; 0 for any other store.
            processes,
        }
        beside {
            /// The number of calls that the store did not decide, by the reason.
            failures: BTreeMap<Failure, u64>,
            /// The state of the circuit breaker.
            breaker: BreakerState,
            /// The time that the store took to decide.
            latency: Latency,
        }
    }
}

impl Statistics {
    /// Of a store that asks no server: the calls that were admitted, denied, and ended in an error.
    pub(crate) fn of_calls([admitted, blocked, failed]: [u64; 3]) -> Self {
        let failures = Failure::ALL.into_iter().map(|failure| (failure, 0)).collect();
        Self { decisions: admitted + blocked + failed, admitted, blocked, failed, failures, ..Self::default() }
    }
}

/// The state of a circuit breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakerState {
    /// Calls go to the store.
    #[default]
    Closed,
    /// A server failed. Its calls are answered without it until probes succeed.
    Open,
}

named!(BreakerState, "breaker", Closed = "closed", Open = "open");

/// A histogram of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// The number that took less than each bound, and no less than the bound before; the last one has no bound. Empty
    /// in memory.
    pub buckets: Vec<(Option<Duration>, u64)>,
    /// All of them together.
    pub sum: Duration,
}
