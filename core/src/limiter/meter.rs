//! Counts by limit, of a limiter whose numbers are read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::Error;
use crate::check::{Check, OwnedCheck};
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::tally::{Counted, Tally};

/// The most limits that are counted apart: what names limits by the thousand must not fill the memory, nor that of
/// whatever stores the numbers.
const MOST_LIMITS: usize = 256;
/// The limit that stands for all others.
const OTHER: &str = "other";

/// Counts of the calls of a limiter and its clones, by the key of the limit.
#[derive(Debug)]
pub(super) struct Meter {
    /// Differs from that of every other meter of this process.
    id: u64,
    tallies: RwLock<HashMap<Box<str>, Arc<Tally>>>,
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
        Self { id: IDS.fetch_add(1, Ordering::Relaxed), tallies: RwLock::default() }
    }

    /// Counts a call that was answered. The tries of an `acquire` are not counted, but its [turn](Self::turn) is.
    pub(super) fn count(&self, checks: &[Check<'_>], call: Call, answer: &Result<LimitInfo, Error>) {
        match call {
            Call::Limit => self.decided(checks, answer.as_ref()),
            Call::Refund | Call::Undo { .. } | Call::UndoDegraded { .. } if answer.is_ok() => {
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
        if let Ok(info) = answer
            && let Some(check) = checks.get(info.check_index())
            && !info.blocked
            && info.wait_ms > 0
        {
            self.with(check.limit, |tally| {
                tally.waits.add(1);
                tally.waited_ms.add(info.wait_ms);
            });
        }
    }

    /// The numbers of every limit, in the order of their keys.
    pub(super) fn read(&self) -> Vec<(String, Counted)> {
        let tallies = self.tallies.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = tallies.iter().map(|(key, tally)| (String::from(&**key), tally.read())).collect();
        drop(tallies);
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    fn decided(&self, checks: &[Check<'_>], answer: Result<&LimitInfo, &Error>) {
        let Ok(info) = answer else {
            for check in checks {
                self.with(check.limit, |tally| tally.failed.add(1));
            }
            return;
        };
        let mut answers = info.checks().iter().peekable();
        for (index, check) in checks.iter().enumerate() {
            // A limit that is translated to two has two answers; a fallback may give one for all checks.
            let (mut known, mut blocked, mut near) = (false, false, false);
            while let Some(answer) = answers.next_if(|answer| answer.check_index() == index) {
                (known, blocked) = (true, blocked | answer.blocked);
                near |= answer.is_limited() && answer.remaining.saturating_mul(5) < answer.quota;
            }
            let denied = if known { blocked } else { info.blocked && !check.observed };
            self.with(check.limit, |tally| match (check.observed, denied) {
                (true, true) => tally.observed_denied.add(1),
                (true, false) => tally.observed_allowed.add(1),
                (false, true) => tally.denied.add(1),
                (false, false) => {
                    tally.allowed.add(1);
                    if near {
                        tally.near.add(1);
                    }
                    if check.holds() && !info.blocked {
                        tally.held.add(if check.at_least > 0 { info.granted } else { check.cost });
                    }
                }
            });
        }
    }

    /// The first meter that meets a limit leaves the place of its counts there; others look it up by the key.
    fn with<T>(&self, limit: &Limit, count: impl FnOnce(&Tally) -> T) -> T {
        let (owner, tally) = limit.tally(|| (self.id, self.of_key(limit.key())));
        if *owner == self.id { count(tally) } else { count(&self.of_key(limit.key())) }
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
