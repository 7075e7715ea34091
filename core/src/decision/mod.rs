//! A decision is a function of (rule, state, now, call): no clock, no I/O, no allocation.
//!
//! The calls are written here, once, over the functions that each kind of rule has in its own algorithm.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]
#![allow(clippy::inline_always, reason = "a state whose address is passed on is in memory instead of registers")]

mod block;
mod call;
mod dispatch;
mod meaning;
mod pure;
mod state;
mod together;

pub use call::Call;
pub(crate) use call::Verb;
pub use state::State;
pub(crate) use together::{OpenEntry, Part, drop_blocks, together};
#[cfg(feature = "remote")]
pub(crate) use together::{groups, priors, takes};

use crate::algorithm::Algorithm;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::time::{Micros, millis_up};

/// The answer of a rule to its own check, before those of the others are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) fits: bool,
    wait: Micros,
    pub(crate) repaired: bool,
}

impl Verdict {
    /// A verdict that was found elsewhere, by the same arithmetic.
    #[inline]
    pub(crate) fn of(fits: bool, wait: Micros) -> Self {
        Self { fits, wait, repaired: false }
    }
}

/// The reason why a call cannot be decided at all.
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
    pub(crate) fn of(self, verb: Verb, key: &str, cost: u64) -> LimitError {
        if let Verb::Observe { retry_after } = verb {
            let problem = "must let the entry drain within 2^53 microseconds";
            return LimitError::range(key, "retryAfter", problem, millis_up(retry_after));
        }
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
    let repaired = algorithm.advance(state, now);
    let total = cost.saturating_add(prior);
    if matches!(verb, Verb::Limit | Verb::Peek | Verb::Denied | Verb::Acquire { .. })
        && total > algorithm.largest_cost()
    {
        return Err(Impossible::NeverFits { quota: algorithm.quota(), total });
    }
    let at_once = |fits| Ok(Verdict { fits, wait: 0, repaired });
    match verb {
        Verb::Charge if algorithm.bears(state, now, total) => at_once(true),
        Verb::Charge => Err(Impossible::Overflows),
        Verb::Undo { .. } if total > 0 && !algorithm.bears(state, now, total) => Err(Impossible::Overflows),
        Verb::Observe { retry_after } => match algorithm.observe(state, now, cost, retry_after) {
            Some(raised) if !algorithm.bears(&raised, now, 0) => Err(Impossible::Overflows),
            _ => at_once(true),
        },
        Verb::Refund | Verb::Undo { .. } | Verb::Block { .. } | Verb::Reset => at_once(true),
        Verb::Renew { charged_at } => at_once(algorithm.holds(state, now, cost, charged_at)),
        Verb::Acquire { max_wait } if R::RESERVES => {
            let wait = algorithm.until(state, now, total);
            let fits = wait <= max_wait;
            if fits && !algorithm.bears(state, now, total) {
                return Err(Impossible::Overflows);
            }
            Ok(Verdict { fits, wait, repaired })
        }
        Verb::Limit | Verb::Peek | Verb::Denied | Verb::Acquire { .. } => {
            let fits = algorithm.fits(state, now, total);
            // A cost that fits is bounded by the quota, unless it is paid later; a denied one may be charged too.
            let is_unbounded = if fits { R::PAYS_LATER } else { algorithm.counts_blocked() && verb != Verb::Peek };
            if is_unbounded && !algorithm.bears(state, now, total) {
                return Err(Impossible::Overflows);
            }
            at_once(fits)
        }
    }
}

/// The part of what a call leaves that has to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: what only time has done to a state, time will do again.
    Nothing,
    /// Only that a wrong clock had left it in the future: it is kept as [mended](Algorithm::mended).
    Mended,
    /// The state as it is now.
    Written,
}

impl Verdict {
    /// It fits, and need not wait.
    #[inline]
    pub(crate) fn is_at_once(self) -> bool {
        self.fits && self.wait == 0
    }

    /// The verdict on an entry beside a block that denies the call whatever there is room for.
    fn shut(repaired: bool) -> Self {
        Self { fits: false, wait: 0, repaired }
    }

    fn unwritten(self, verb: Verb) -> Change {
        if self.repaired && verb != Verb::Peek { Change::Mended } else { Change::Nothing }
    }
}

/// The second step, when it is known whether every check is admitted: charges or gives back, but for what an undo
/// leaves as `spent`; an undo of more than was charged charges the difference.
#[inline(always)]
pub(crate) fn commit<R: Algorithm>(
    algorithm: &R,
    state: &mut R::State,
    now: Micros,
    verb: Verb,
    check: Resolved,
    spent: u64,
) -> Change {
    if let Verb::Observe { retry_after } = verb {
        let Some(raised) = algorithm.observe(state, now, check.cost, retry_after) else {
            return check.verdict.unwritten(verb);
        };
        *state = raised;
        return Change::Written;
    }
    let writes = match verb {
        Verb::Reset => true,
        Verb::Undo { .. } => check.cost > 0 || spent > 0,
        _ => check.cost > 0,
    };
    if !writes {
        // It writes nothing, so that what it saw is there again for a clock that steps back.
        return check.verdict.unwritten(verb);
    }
    if charges(algorithm, verb, check) {
        match verb {
            Verb::Renew { charged_at } => algorithm.renew(state, now, check.cost, charged_at),
            _ => algorithm.charge(state, now, check.cost),
        }
        return Change::Written;
    }
    match verb {
        Verb::Refund => algorithm.give_back(state, now, check.cost),
        Verb::Undo { .. } if spent > check.cost => algorithm.charge(state, now, verb.adds(check.cost, spent)),
        Verb::Undo { charged_at } => algorithm.undo(state, now, check.cost, spent, charged_at),
        Verb::Reset => *state = algorithm.fresh(now),
        _ => return check.verdict.unwritten(verb),
    }
    Change::Written
}

fn charges<R: Algorithm>(algorithm: &R, verb: Verb, check: Resolved) -> bool {
    match verb {
        Verb::Peek | Verb::Refund | Verb::Undo { .. } | Verb::Observe { .. } | Verb::Block { .. } | Verb::Reset => {
            false
        }
        Verb::Charge => true,
        Verb::Renew { .. } => check.admitted,
        Verb::Limit | Verb::Denied | Verb::Acquire { .. } => {
            check.admitted || algorithm.counts_blocked() && !check.closed
        }
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
    let total = check.cost.saturating_add(check.prior);
    let (blocked, awaited) = match verb {
        _ if verb.gives_back() => (!algorithm.fits(state, now, 1), 1),
        Verb::Limit | Verb::Charge | Verb::Renew { .. } | Verb::Observe { .. } | Verb::Acquire { .. }
            if check.admitted =>
        {
            (false, 1)
        }
        // What was charged is in the state already, earlier checks of the same entry included.
        _ if charges(algorithm, verb, check) => (!check.verdict.fits, check.cost),
        // Another check denied the call, so that this one does not wait for its turn.
        Verb::Acquire { .. } if R::RESERVES => (!algorithm.fits(state, now, total), total),
        _ => (!check.verdict.fits, total),
    };
    let charged = charges(algorithm, verb, check);
    let remaining = algorithm.remaining(state, now);
    LimitInfo {
        blocked,
        remaining,
        reset_ms: millis_up(algorithm.until(state, now, awaited)),
        full_reset_ms: millis_up(algorithm.full(state, now)),
        at: if charged { algorithm.charged_at(state, now) } else { now },
        wait_ms: if matches!(verb, Verb::Acquire { .. }) && check.admitted { millis_up(check.verdict.wait) } else { 0 },
        next_ms: millis_up(algorithm.next(state, now, remaining)),
        quota: algorithm.quota(),
        window_ms: algorithm.window_ms(),
        granted: if check.admitted { verb.grants(check.cost) } else { 0 },
        degraded: false,
        check: 0,
        observed: false,
        counted: charged && !check.admitted,
        closed: false,
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
    /// A block stands beside the entry and denies the call, so that it changes nothing.
    pub(crate) closed: bool,
}

impl Resolved {
    /// The only check of its decision.
    #[inline]
    pub(crate) fn alone(verdict: Verdict, cost: u64) -> Self {
        Self { verdict, admitted: verdict.fits, cost, prior: 0, closed: false }
    }
}
