//! A decision is a function of (rule, state, now, call): no clock, no I/O, no allocation.
//!
//! The calls are written here, once, over the functions that each kind of rule has in its own algorithm.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]
#![allow(clippy::inline_always, reason = "a state whose address is passed on is in memory instead of registers")]

mod call;
mod counter;
mod decay;
mod dispatch;
mod grouped;
mod level;
mod log;
mod numbers;
mod pure;
mod series;
mod shapes;
mod slots;
mod smooth;
mod state;
mod together;
mod uneven;

pub use call::Call;
pub(crate) use call::Verb;
pub(crate) use dispatch::with_small;
pub(crate) use grouped::Grouped;
pub(crate) use level::Level;
#[cfg(feature = "remote")]
pub(crate) use numbers::Numbers;
pub(crate) use shapes::shapes;
pub use state::State;
pub(crate) use state::{Entry, Small};
pub(crate) use together::{Held, Part, together};
#[cfg(feature = "remote")]
pub(crate) use together::{groups, priors, takes};
pub(crate) use uneven::Uneven;

use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::log_duration::LogDuration;
use crate::time::{Micros, millis_up};

/// The arithmetic of one kind of rule: all that the calls need of it.
///
/// Every question but `advance` is asked of a state that has been brought to `now`.
pub(crate) trait Algorithm {
    type State;

    /// A call that does not fit yet may reserve its place.
    const RESERVES: bool;

    /// A cost is admitted whatever it leads to, so that nothing else bounds it.
    const PAYS_LATER: bool = false;

    /// The state that an absent entry stands for.
    fn fresh(&self, now: Micros) -> Self::State;
    /// Brings the state to `now`. True where it was from a future that cannot be, because a clock was wrong: it has
    /// been mended, and must be kept as mended, or it would be mended for ever.
    fn advance(&self, state: &mut Self::State, now: Micros) -> bool;
    fn is_empty(&self, state: &Self::State, now: Micros) -> bool;
    fn charge(&self, state: &mut Self::State, now: Micros, cost: u64);
    fn give_back(&self, state: &mut Self::State, now: Micros, cost: u64);
    /// Makes of a cost that was charged at an earlier instant the part of it that was spent: gives back what differs
    /// now between a state in which all of it was charged then, and one in which only that part was.
    fn undo(&self, state: &mut Self::State, now: Micros, cost: u64, spent: u64, charged_at: Micros);
    /// The instant that a charge at `now` counts as; later where the clock is behind the entry.
    #[inline(always)]
    fn charged_at(&self, _state: &Self::State, now: Micros) -> Micros {
        now
    }
    /// Until this cost fits; 0 = it does.
    fn until(&self, state: &Self::State, now: Micros, cost: u64) -> Micros;
    fn fits(&self, state: &Self::State, now: Micros, cost: u64) -> bool;
    /// True if the numbers stay exact when this cost is charged, fit or not.
    fn bears(&self, state: &Self::State, cost: u64) -> bool;
    fn remaining(&self, state: &Self::State, now: Micros) -> u64;
    /// Until the state is empty.
    fn full(&self, state: &Self::State, now: Micros) -> Micros;
    /// Until one unit more fits than `remaining`; 0 = no more can.
    #[inline(always)]
    fn next(&self, state: &Self::State, now: Micros, remaining: u64) -> Micros {
        if remaining < self.quota() { self.until(state, now, remaining.saturating_add(1)) } else { 0 }
    }
    /// When the state is empty, for a store that drops it then; asked while others wait, so it may be rough where that
    /// is quicker.
    fn drains(&self, state: &Self::State, now: Micros) -> Drains {
        Drains { since: now, time: LogDuration::of(self.full(state, now)) }
    }
    /// The units that an empty entry admits.
    fn quota(&self) -> u64;
    /// The largest cost that ever fits.
    fn largest_cost(&self) -> u64 {
        self.quota()
    }
    /// The time that a full state takes to drain.
    fn window(&self) -> Micros;
    fn window_ms(&self) -> u64 {
        millis_up(self.window())
    }
    /// A denied attempt is charged as well.
    fn counts_blocked(&self) -> bool {
        false
    }
}

/// When an entry is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drains {
    /// The instant from which the drain time counts.
    pub(crate) since: Micros,
    /// No shorter than it takes.
    pub(crate) time: LogDuration,
}

/// The answer of a rule to its own check, before those of the others are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) fits: bool,
    wait: Micros,
    mended: bool,
}

#[cfg(feature = "redis")]
impl Verdict {
    /// A verdict that was found elsewhere, by the same arithmetic.
    pub(crate) fn of(fits: bool, wait: Micros) -> Self {
        Self { fits, wait, mended: false }
    }
}

/// Why a call cannot be decided at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Impossible {
    /// The cost, with that of earlier checks of the same entry, is above what the limit can ever admit.
    NeverFits { quota: u64, total: u64 },
    /// The charge would take the level out of the range in which it is exact.
    Overflows,
}

impl Impossible {
    /// The error that a caller sees.
    #[cold]
    pub(crate) fn of(self, key: &str, cost: u64) -> LimitError {
        let (problem, cost) = match self {
            Self::NeverFits { quota, total } => {
                (format!("must be at most {quota}, all that this limit ever admits at once"), total)
            }
            Self::Overflows => {
                ("must keep the level below 2^52 and its drain time below 2^53 microseconds".to_owned(), cost)
            }
        };
        LimitError::range(key, "cost", problem, cost)
    }
}

/// The first step of a call: brings the state to `now` and asks whether the cost, or of an undo what it
/// [adds](Verb::adds), fits beside `prior`, what earlier checks of the same decision take from the same entry.
#[inline(always)]
pub(crate) fn examine<R: Algorithm>(
    algorithm: &R,
    state: &mut R::State,
    now: Micros,
    verb: Verb,
    cost: u64,
    prior: u64,
) -> Result<Verdict, Impossible> {
    let mended = algorithm.advance(state, now);
    let total = cost.saturating_add(prior);
    if matches!(verb, Verb::Limit | Verb::Peek | Verb::Denied | Verb::Acquire { .. })
        && total > algorithm.largest_cost()
    {
        return Err(Impossible::NeverFits { quota: algorithm.quota(), total });
    }
    let at_once = |fits| Ok(Verdict { fits, wait: 0, mended });
    match verb {
        Verb::Charge if algorithm.bears(state, total) => at_once(true),
        Verb::Charge => Err(Impossible::Overflows),
        Verb::Undo { .. } if total > 0 && !algorithm.bears(state, total) => Err(Impossible::Overflows),
        Verb::Refund | Verb::Undo { .. } | Verb::Reset => at_once(true),
        Verb::Acquire { max_wait } if R::RESERVES => {
            let wait = algorithm.until(state, now, total);
            let fits = wait <= max_wait;
            if fits && !algorithm.bears(state, total) {
                return Err(Impossible::Overflows);
            }
            Ok(Verdict { fits, wait, mended })
        }
        Verb::Limit | Verb::Peek | Verb::Denied | Verb::Acquire { .. } => {
            let fits = algorithm.fits(state, now, total);
            if R::PAYS_LATER && fits && !algorithm.bears(state, total) {
                return Err(Impossible::Overflows);
            }
            at_once(fits)
        }
    }
}

/// The second step, when it is known whether every check is admitted: charges or gives back, but for what an undo is
/// told was `spent`; an undo of more than was charged charges the difference.
/// Answers whether the state has to be kept; what only time has done to it, time will do again.
#[inline(always)]
pub(crate) fn commit<R: Algorithm>(
    algorithm: &R,
    state: &mut R::State,
    now: Micros,
    verb: Verb,
    check: Resolved,
    spent: u64,
) -> bool {
    let writes = match verb {
        Verb::Reset => true,
        Verb::Undo { .. } => check.cost > 0 || spent > 0,
        _ => check.cost > 0,
    };
    if !writes {
        // It writes nothing, so that what it saw is there again for a clock that steps back.
        return check.verdict.mended && verb != Verb::Peek;
    }
    if charges(algorithm, verb, check) {
        algorithm.charge(state, now, check.cost);
        return true;
    }
    match verb {
        Verb::Refund => algorithm.give_back(state, now, check.cost),
        Verb::Undo { .. } if spent > check.cost => algorithm.charge(state, now, verb.adds(check.cost, spent)),
        Verb::Undo { charged_at } => algorithm.undo(state, now, check.cost, spent, charged_at),
        Verb::Reset => *state = algorithm.fresh(now),
        _ => return check.verdict.mended && verb != Verb::Peek,
    }
    true
}

fn charges<R: Algorithm>(algorithm: &R, verb: Verb, check: Resolved) -> bool {
    match verb {
        Verb::Peek | Verb::Refund | Verb::Undo { .. } | Verb::Reset => false,
        Verb::Charge => true,
        Verb::Limit | Verb::Denied | Verb::Acquire { .. } => check.admitted || algorithm.counts_blocked(),
    }
}

/// The last step: describes the state as the call leaves it.
#[inline(always)]
pub(crate) fn answer<R: Algorithm>(
    algorithm: &R,
    state: &R::State,
    now: Micros,
    verb: Verb,
    check: Resolved,
) -> LimitInfo {
    let (blocked, awaited) = match verb {
        _ if verb.gives_back() => (!algorithm.fits(state, now, 1), 1),
        Verb::Limit | Verb::Charge | Verb::Acquire { .. } if check.admitted => (false, 1),
        // What was charged is in the state already, earlier checks of the same entry included.
        _ if charges(algorithm, verb, check) => (!check.verdict.fits, check.cost),
        _ => (!check.verdict.fits, check.cost.saturating_add(check.prior)),
    };
    let remaining = algorithm.remaining(state, now);
    LimitInfo {
        blocked,
        remaining,
        reset_ms: millis_up(algorithm.until(state, now, awaited)),
        full_reset_ms: millis_up(algorithm.full(state, now)),
        at: if charges(algorithm, verb, check) { algorithm.charged_at(state, now) } else { now },
        wait_ms: if check.admitted { millis_up(check.verdict.wait) } else { 0 },
        next_ms: millis_up(algorithm.next(state, now, remaining)),
        quota: algorithm.quota(),
        window_ms: algorithm.window_ms(),
        degraded: false,
        check: 0,
        observed: false,
        several: None,
    }
}

/// A check whose fate is known.
#[derive(Clone, Copy)]
pub(crate) struct Resolved {
    pub(crate) verdict: Verdict,
    /// Every check of the decision fits.
    pub(crate) admitted: bool,
    pub(crate) cost: u64,
    pub(crate) prior: u64,
}

impl Resolved {
    /// The only check of its decision.
    #[inline]
    pub(crate) fn alone(verdict: Verdict, cost: u64) -> Self {
        Self { verdict, admitted: verdict.fits, cost, prior: 0 }
    }
}
