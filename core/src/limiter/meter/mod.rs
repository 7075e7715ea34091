//! Counts by limit and by actor, of a limiter whose numbers are read.

mod actors;
mod fate;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};

use self::actors::Actors;
pub use self::actors::{Top, TopActor};
use self::fate::{Outcome, of_each};
pub(super) use self::fate::{count, is_near};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::tally::{Counted, Fate, Tally};

/// The most limits that are counted apart: what names limits by the thousand must not fill the memory, nor that of
/// whatever stores the numbers.
const MOST_LIMITS: usize = 256;
/// The limit that stands for all others.
const OTHER: &str = "other";

/// The bits of [`Meter::counts`].
const LIMITS: u8 = 1;
const ACTORS: u8 = 2;

type Tallies = BTreeMap<Box<str>, Arc<Tally>>;

/// Counts of the calls of a limiter and its clones, by the key of the limit and by the actor: each of these from the first
/// time that it is read.
#[derive(Debug)]
pub(super) struct Meter {
    /// Differs from that of every other meter of this process.
    id: u64,
    /// No two threads make calls at the same time.
    in_turn: bool,
    /// [`LIMITS`], [`ACTORS`] or both, from the first time that they are read.
    counts: AtomicU8,
    /// Replaced as a whole, without a lock that a forked child could find taken.
    tallies: ArcSwap<Tallies>,
    actors: ArcSwapOption<Actors>,
}

impl Meter {
    pub(super) fn new(in_turn: bool) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            in_turn,
            counts: AtomicU8::new(0),
            tallies: ArcSwap::default(),
            actors: ArcSwapOption::empty(),
        }
    }

    /// The counts of a limit of whose calls nothing but the fate is counted, as of nearly all. None before its first call,
    /// and where another meter met it first.
    #[inline]
    pub(super) fn of_limit<'a>(&self, limit: &'a Limit) -> Option<&'a Tally> {
        let (owner, tally) = limit.tally()?;
        let by_fate = self.counts.load(Ordering::Relaxed) == LIMITS && *owner == self.id && limit.is_simple();
        by_fate.then_some(tally)
    }

    /// Counts a call that was answered.
    pub(super) fn count(&self, checks: &[Check<'_>], call: Call, answer: Result<&LimitInfo, &Error>) {
        match call {
            Call::Limit => self.decided(checks, answer),
            Call::Acquire { .. } => self.turn(checks, answer),
            Call::Charge if answer.is_ok() => self.charged(checks),
            Call::Refund | Call::Undo { .. } | Call::UndoDegraded { .. } if answer.is_ok() && self.counts_limits() => {
                for check in checks.iter().filter(|check| check.holds() && !check.observed) {
                    self.with(check.limit, |tally| tally.released.add(check.cost.saturating_sub(check.spent)));
                }
            }
            _ => {}
        }
    }

    /// Counts an `acquire` that is over.
    pub(super) fn turn(&self, checks: &[Check<'_>], answer: Result<&LimitInfo, &Error>) {
        self.decided(checks, answer);
        if self.counts_limits()
            && let Ok(info) = answer
            && let Some(check) = checks.get(info.check_index())
            && !info.blocked
            && info.wait_ms > 0
        {
            self.with(check.limit, |tally| tally.waited(info.wait_ms));
        }
    }

    /// The numbers of every limit, in the order of their keys, which are counted from now on.
    pub(super) fn read(&self) -> Vec<(String, Counted)> {
        self.counts.fetch_or(LIMITS, Ordering::Relaxed);
        self.tallies.load().iter().map(|(key, tally)| (String::from(&**key), tally.read())).collect()
    }

    /// The first actors, which are counted from now on.
    pub(super) fn top(&self, count: usize) -> Top {
        if self.actors.load().is_none() {
            self.actors.compare_and_swap(&None::<Arc<Actors>>, Some(Arc::new(Actors::new())));
            self.counts.fetch_or(ACTORS, Ordering::Relaxed);
        }
        self.with_actors(|actors| actors.read(count)).unwrap_or_default()
    }

    #[inline]
    fn counts_limits(&self) -> bool {
        self.counts.load(Ordering::Relaxed) & LIMITS != 0
    }

    /// The counts by actor, where they are on. A forked child begins anew: a thread of its parent may have held a lock.
    fn with_actors<T>(&self, then: impl FnOnce(&Actors) -> T) -> Option<T> {
        if self.counts.load(Ordering::Relaxed) & ACTORS == 0 {
            return None;
        }
        let mut actors = self.actors.load();
        if !actors.as_ref()?.process.is_current_unless_forked() {
            self.actors.compare_and_swap(&actors, Some(Arc::new(Actors::new())));
            actors = self.actors.load();
        }
        actors.as_deref().map(then)
    }

    fn charged(&self, checks: &[Check<'_>]) {
        self.with_actors(|actors| {
            let enforced = checks.iter().filter(|check| !check.observed);
            actors.charged(enforced.map(|check| (check.actor, check.cost)));
        });
    }

    fn decided(&self, checks: &[Check<'_>], answer: Result<&LimitInfo, &Error>) {
        if let Ok(info) = answer {
            self.with_actors(|actors| actors.decided(checks, info));
        }
        if !self.counts_limits() {
            return;
        }
        let Ok(info) = answer else {
            for check in checks {
                self.with(check.limit, |tally| tally.failed.add(1));
            }
            return;
        };
        for outcome in of_each(checks, info) {
            let Outcome { check, fate } = outcome;
            self.with(check.limit, |tally| match (check.observed, fate) {
                (true, Fate::Denied) => tally.observed_denied.add(1),
                (true, _) => tally.observed_allowed.add(1),
                (false, _) => {
                    tally.decided(fate);
                    if check.holds() && !info.blocked {
                        tally.held.add(outcome.granted(info));
                    }
                }
            });
        }
    }

    /// The first meter that meets a limit leaves the place of its counts there; others look it up by the key.
    fn with<T>(&self, limit: &Limit, count: impl FnOnce(&Tally) -> T) -> T {
        let (owner, tally) = limit.tally_or(|| (self.id, self.of_key(limit.key())));
        let other = if *owner == self.id { None } else { Some(self.of_key(limit.key())) };
        count(other.as_ref().unwrap_or(tally))
    }

    fn of_key(&self, key: &str) -> Arc<Tally> {
        let place =
            |tallies: &Tallies| if tallies.len() < MOST_LIMITS || tallies.contains_key(key) { key } else { OTHER };
        let tallies = self.tallies.load();
        if let Some(tally) = tallies.get(place(&tallies)) {
            return tally.clone();
        }
        let mut tally = Arc::new(Tally::new(self.in_turn));
        self.tallies.rcu(|tallies| {
            let mut tallies = Tallies::clone(tallies);
            tally = tallies.entry(place(&tallies).into()).or_insert_with(|| tally.clone()).clone();
            tallies
        });
        tally
    }
}
