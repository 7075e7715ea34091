//! Counts by limit and by actor, of a limiter whose numbers are read.

mod actors;
mod fate;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use arc_swap::ArcSwapOption;

use self::actors::Actors;
pub use self::actors::{Top, TopActor};
pub(super) use self::fate::of_call;
use self::fate::{Outcome, of_each};
use crate::Error;
use crate::check::{Check, OwnedCheck};
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::tally::{Counted, Fate, Tally};

/// The most limits that are counted apart: what names limits by the thousand must not fill the memory, nor that of
/// whatever stores the numbers.
const MOST_LIMITS: usize = 256;
/// The limit that stands for all others.
const OTHER: &str = "other";

/// Counts of the calls of a limiter and its clones, by the key of the limit and by the actor: each of these from the first
/// time that it is read.
#[derive(Debug)]
pub(super) struct Meter {
    /// Differs from that of every other meter of this process.
    id: u64,
    counts_limits: AtomicBool,
    tallies: RwLock<HashMap<Box<str>, Arc<Tally>>>,
    counts_actors: AtomicBool,
    actors: ArcSwapOption<Actors>,
}

/// The checks of a call under way, to be counted when it is answered.
pub(super) struct Underway {
    meter: Arc<OnceLock<Meter>>,
    checks: Vec<OwnedCheck>,
    call: Call,
}

impl Meter {
    pub(super) fn new() -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);
        Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            counts_limits: AtomicBool::new(false),
            tallies: RwLock::default(),
            counts_actors: AtomicBool::new(false),
            actors: ArcSwapOption::empty(),
        }
    }

    /// True if of a call of this limit nothing is counted but its fate.
    #[inline]
    pub(super) fn is_by_limit(&self, limit: &Limit) -> bool {
        self.counts_limits() && !self.counts_actors.load(Ordering::Relaxed) && limit.is_simple()
    }

    /// Counts such a call, which nearly all are: with one addition.
    #[expect(clippy::inline_always, reason = "a call takes 6 ns, because the answer has to be put aside for it")]
    #[inline(always)]
    pub(super) fn count_one(&self, limit: &Limit, fate: Option<Fate>) {
        match (limit.tally(), fate) {
            (Some((owner, tally)), Some(fate)) if *owner == self.id => tally.decided(fate),
            _ => self.count_first(limit, fate),
        }
    }

    /// The same of the first call of a limit, of one that another meter met first, and of one that failed.
    #[cold]
    #[inline(never)]
    fn count_first(&self, limit: &Limit, fate: Option<Fate>) {
        self.with(limit, |tally| match fate {
            Some(fate) => tally.decided(fate),
            None => tally.failed.add(1),
        });
    }

    /// Counts a call that was answered. The tries of an `acquire` are not counted, but its [turn](Self::turn) is.
    pub(super) fn count(&self, checks: &[Check<'_>], call: Call, answer: &Result<LimitInfo, Error>) {
        match call {
            Call::Limit => self.decided(checks, answer.as_ref()),
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
        self.counts_limits.store(true, Ordering::Relaxed);
        let tallies = self.tallies.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = tallies.iter().map(|(key, tally)| (String::from(&**key), tally.read())).collect();
        drop(tallies);
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// The first actors, which are counted from now on.
    pub(super) fn top(&self, count: usize) -> Top {
        if self.actors.load().is_none() {
            self.actors.compare_and_swap(&None::<Arc<Actors>>, Some(Arc::new(Actors::new())));
            self.counts_actors.store(true, Ordering::Relaxed);
        }
        self.with_actors(|actors| actors.read(count)).unwrap_or_default()
    }

    #[inline]
    fn counts_limits(&self) -> bool {
        self.counts_limits.load(Ordering::Relaxed)
    }

    /// The counts by actor, where they are on. A forked child begins anew: a thread of its parent may have held a lock.
    fn with_actors<T>(&self, then: impl FnOnce(&Actors) -> T) -> Option<T> {
        if !self.counts_actors.load(Ordering::Relaxed) {
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
        if let Some(tally) = self.tallies.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return tally.clone();
        }
        let mut tallies = self.tallies.write().unwrap_or_else(PoisonError::into_inner);
        let key = if tallies.len() < MOST_LIMITS || tallies.contains_key(key) { key } else { OTHER };
        tallies.entry(key.into()).or_default().clone()
    }
}

impl Underway {
    pub(super) fn new(meter: Arc<OnceLock<Meter>>, checks: &[Check<'_>], call: Call) -> Self {
        Self { meter, checks: checks.iter().map(OwnedCheck::from).collect(), call }
    }

    pub(super) fn ended(&self, answer: &Result<LimitInfo, Error>) {
        if let Some(meter) = self.meter.get() {
            let checks: Vec<_> = self.checks.iter().map(OwnedCheck::check).collect();
            meter.count(&checks, self.call, answer);
        }
    }
}
