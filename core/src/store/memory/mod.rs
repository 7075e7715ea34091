//! Entries in this process's memory.

mod counts;
mod crowded;
mod levels;
mod lock;
mod moment;
mod one;
mod overflow;
mod several;
mod shelf;
mod slot;
mod table;
#[cfg(feature = "remote")]
mod warning;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use spin::MutexGuard;

use self::counts::Counts;
pub(crate) use self::levels::{FEW, LevelCheck, Merge, ShownTwo, Whole};
use self::lock::Lock;
pub(crate) use self::moment::Moment;
#[cfg(not(all(feature = "shm", target_os = "linux")))]
use self::moment::Timeline;
pub(crate) use self::one::{EntryCall, Undecided};
use self::overflow::BoundedTable;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(in crate::store) use self::{
    moment::Timeline,
    one::afresh,
    overflow::{CELLS, Seats},
    several::{decide, shards_of},
    shelf::{Kept, Shelf, Shelves},
    slot::{Drain, GIVEN_LIVES},
    table::{CANDIDATES, Position, SWEEP_AT_MOST, SWEEP_PER_MILLI},
};

#[cfg(feature = "remote")]
use self::warning::Warning;
use crate::clock;
use crate::error::Error;
#[cfg(feature = "remote")]
use crate::events::{Event, Events};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;

const DEFAULT_MAX_ENTRIES: usize = 1_000_000;
const MOST_SHARDS: usize = 64;
const ENTRIES_PER_SHARD: usize = 4096;
/// One in so many entries is for those who find no place of their own.
const SHARED: usize = 8;

/// A bounded store in this process's memory.
///
/// Only drained entries are removed: a call that comes a millisecond or more after the last sweep checks a short part
/// of the table. There is no thread and no timer. When the store is full and no entry has drained, a new actor is counted
/// together with others, in one of the shared entries: it may be denied early, but is never admitted too often. Any
/// number of threads may share a store, and together they never admit more than a limit allows.
///
/// An entry takes 39 to 45 bytes, for any length of the actor's name.
///
/// ```
/// use tidegate::{Limit, Limiter, Memory};
///
/// let limiter = Limiter::new(Memory::with_max_entries(10));
/// let login = Limit::bucket("login", 3).build()?;
/// for _ in 0..3 {
///     limiter.limit_sync(&login, "eve")?;
/// }
/// for newcomer in 0..1000 {
///     limiter.limit_sync(&login, &newcomer.to_string())?;
/// }
/// assert!(limiter.limit_sync(&login, "eve")?.blocked);
/// // Nine have entries of their own, and the tenth entry is for all others together.
/// assert_eq!((limiter.memory().len(), limiter.memory().overflowed()), (9, 992));
/// # Ok::<(), tidegate::Error>(())
/// ```
pub struct Memory {
    shards: Box<[Shard]>,
    /// The most entries that actors may have of their own.
    max_entries: usize,
    /// The most shared entries that a shard may have.
    lanes: usize,
    len: AtomicUsize,
    evictions: AtomicU64,
    overflowed: AtomicU64,
    counts: Counts,
    #[cfg(feature = "remote")]
    warning: Warning,
}

/// On a pair of cache lines of its own, which a processor fetches together, so that threads at work on neighbours do
/// not slow each other down.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Lock<BoundedTable>);

/// The numbers alone: the entries may be a million, and are behind locks.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("len", &self.len())
            .field("max_entries", &self.max_entries)
            .field("evictions", &self.evictions())
            .field("overflowed", &self.overflowed())
            .finish_non_exhaustive()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// A store of at most 1,000,000 entries.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_entries(DEFAULT_MAX_ENTRIES)
    }

    /// A store of at most this many entries, at least one. An eighth of them is reserved for shared entries, which are
    /// used when the store is full.
    #[must_use]
    pub fn with_max_entries(max_entries: usize) -> Self {
        clock::prepare();
        let shards = (max_entries / ENTRIES_PER_SHARD).clamp(1, MOST_SHARDS).next_power_of_two();
        let max_entries = max_entries.max(1);
        let shared = (max_entries / SHARED).max(1).min(max_entries - 1);
        Self {
            shards: (0..shards).map(|_| Shard::default()).collect(),
            max_entries: max_entries - shared,
            lanes: shared / shards,
            len: AtomicUsize::new(0),
            evictions: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            counts: Counts::default(),
            #[cfg(feature = "remote")]
            warning: Warning::default(),
        }
    }

    /// Calls this when the store is full and clients begin to share entries, at most once a minute, on the thread of
    /// such a call. Without a listener, the `tracing` subscriber gets the event.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.warning.events = Events::to(listener);
        self
    }

    #[cfg(feature = "remote")]
    pub(crate) fn telling(mut self, events: Events) -> Self {
        self.warning.events = events;
        self
    }

    /// The number of entries of single actors now, including drained ones that have not been removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of drained entries that were removed early because the store was full.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// Removes every entry, and returns the number.
    #[cfg(feature = "remote")]
    #[must_use = "it says how many there were"]
    pub(crate) fn clear(&self) -> u64 {
        let mut removed = 0;
        for shard in &self.shards {
            let mut table = shard.0.lock();
            let entries = table.clear();
            self.len.fetch_sub(entries, Ordering::Relaxed);
            removed += entries as u64;
        }
        removed
    }

    /// The number of calls that were decided by an entry shared between actors, because the store was full. While this
    /// grows, clients are denied early: the store is too small for its traffic, or a client invents names.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Counts a call that no table has counted.
    pub(crate) fn count(&self, answer: &Result<LimitInfo, Error>, gives_back: bool) {
        self.counts.count(answer, gives_back);
    }

    /// The calls that were admitted, denied, and ended in an error.
    #[cfg(feature = "remote")]
    pub(crate) fn counted(&self) -> [u64; 3] {
        let mut counted = self.counts.read();
        for shard in &self.shards {
            let table = shard.0.lock();
            for (sum, count) in counted.iter_mut().zip(table.counts()) {
                *sum += count;
            }
        }
        counted
    }

    fn count_overflowed(&self, calls: u64) {
        if calls > 0 {
            self.overflowed.fetch_add(calls, Ordering::Relaxed);
            #[cfg(feature = "remote")]
            self.warning.of_overflow(self.max_entries);
        }
    }

    /// Takes room for so many more entries, if there is.
    #[inline]
    fn reserve(&self, entries: usize) -> bool {
        let fits = self.len.fetch_add(entries, Ordering::Relaxed) + entries <= self.max_entries;
        if !fits {
            self.release(entries);
        }
        fits
    }

    #[inline]
    fn release(&self, entries: usize) {
        self.len.fetch_sub(entries, Ordering::Relaxed);
    }

    /// All that is kept of an actor is in one shard, so that several limits of it need one lock.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the low bits choose a shard, the high ones a home in it")]
    fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        fingerprint.0 as usize & (self.shards.len() - 1)
    }

    /// A shard's table, with some of its drained entries dropped.
    #[expect(clippy::inline_always, reason = "the timeline is known where it is called")]
    #[inline(always)]
    fn lock(&self, shard: usize, moment: Moment) -> MutexGuard<'_, BoundedTable> {
        // A panic cannot leave a table half changed in a way that matters more than losing all of it.
        let mut table = self.shards[shard].0.lock();
        crate::panics::point("locked");
        let swept = match moment.timeline {
            Timeline::Real => table.sweep(moment.now),
            Timeline::Given => {
                let real_now = clock::now();
                table.note_given(real_now);
                table.sweep(real_now)
            }
        };
        if swept > 0 {
            self.len.fetch_sub(swept, Ordering::Relaxed);
        }
        table
    }
}
