//! Entries in this process's memory.

mod levels;
mod one;
mod several;
mod slot;
mod table;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use self::levels::Wanted;
pub(crate) use self::one::Question;
use self::slot::Timeline;
use self::table::Table;
use crate::clock;
use crate::fingerprint::Fingerprint;
use crate::time::Micros;

const DEFAULT_MAX_ENTRIES: usize = 1_000_000;
const MOST_SHARDS: usize = 64;
const ENTRIES_PER_SHARD: usize = 4096;

/// A bounded store in this process's memory.
///
/// Entries that have drained are dropped in passing, a short stretch of the table with a call that comes a millisecond
/// or more after the last; there is no thread and no timer. When it is full, a newcomer takes the place of the entry
/// closest to empty among a fixed number of candidates, so a client that is blocked, or nearly so, is not
/// forgotten for the sake of newcomers. Any number of threads may share it, and together they never
/// admit more than a limit allows.
///
/// An entry takes 40 to 50 bytes, whatever the length of the actor's name.
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
/// assert_eq!((limiter.memory().len(), limiter.memory().evictions()), (10, 991));
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    shards: Box<[Shard]>,
    max_entries: usize,
    len: AtomicUsize,
    evictions: AtomicU64,
}

/// On a pair of cache lines of its own, which a processor fetches together, so that threads at work on neighbours do
/// not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// When a decision takes place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Micros,
    timeline: Timeline,
}

impl Moment {
    /// The caller's instant, or else the clock's.
    #[inline]
    pub(crate) fn new(given: Option<Micros>) -> Self {
        match given {
            Some(now) => Self { now, timeline: Timeline::Given },
            None => Self { now: clock::now(), timeline: Timeline::Real },
        }
    }
}

impl Memory {
    /// A store of at most 1,000,000 entries.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_entries(DEFAULT_MAX_ENTRIES)
    }

    /// A store of at most this many entries, one at the least.
    #[must_use]
    pub fn with_max_entries(max_entries: usize) -> Self {
        let shards = (max_entries / ENTRIES_PER_SHARD).clamp(1, MOST_SHARDS).next_power_of_two();
        Self {
            shards: (0..shards).map(|_| Shard::default()).collect(),
            max_entries: max_entries.max(1),
            len: AtomicUsize::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    /// How many entries are kept now, drained ones that have not been dropped yet included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries were given up because the store was full.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
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
    fn lock(&self, shard: usize, moment: Moment) -> MutexGuard<'_, Table> {
        // A panic cannot leave a table half changed in a way that matters more than losing all of it.
        let mut table = self.shards[shard].0.lock().unwrap_or_else(PoisonError::into_inner);
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
